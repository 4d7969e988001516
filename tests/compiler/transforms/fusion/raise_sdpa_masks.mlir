// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn-raise-sdpa: what becomes a mask region, and what a row without keys gives.
// RUN: heddle-opt --split-input-file --attn-raise-sdpa %s | FileCheck %s

// A comparison of ranges is one of positions: no tensor of the size of the scores is left.
// CHECK-LABEL: func.func @compares_positions_for_a_causal_mask
// CHECK-NOT: nn.compare
// CHECK: attn.sdpa %arg0, %arg1, %arg2 score {
// CHECK: } mask {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[KEEP:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK: attn.yield %[[KEEP]] : i1
// CHECK-NOT: fully_masked
// CHECK: return
func.func @compares_positions_for_a_causal_mask(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32> {
  %none = nn.constant dense<0.0> : tensor<f32>
  %fill = nn.constant dense<-1.0e4> : tensor<f32>
  %c0 = nn.constant dense<0> : tensor<i64>
  %c1 = nn.constant dense<1> : tensor<i64>
  %c5 = nn.constant dense<5> : tensor<i64>
  %c7 = nn.constant dense<7> : tensor<i64>
  %i = nn.range %c0, %c5, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<5xi64>
  %j = nn.range %c0, %c7, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<7xi64>
  %rows = nn.unsqueeze %i axes [1] : (tensor<5xi64>) -> tensor<5x1xi64>
  %seen = nn.compare le %j, %rows : (tensor<7xi64>, tensor<5x1xi64>) -> tensor<5x7xi1>
  %m = nn.where %seen, %none, %fill : (tensor<5x7xi1>, tensor<f32>, tensor<f32>) -> tensor<5x7xf32>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %s = nn.binary add %qk, %m : (tensor<1x2x5x7xf32>, tensor<5x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// A window is two comparisons, one of them with a distance.
// CHECK-LABEL: func.func @finds_windows
// CHECK: } mask {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-DAG: %[[D:.*]] = arith.constant -4 : index
// CHECK: %[[FIRST:.*]] = arith.addi %[[I]], %[[D]] : index
// CHECK: arith.cmpi sgt, %[[J]], %[[FIRST]] : index
// CHECK: arith.cmpi sle, %[[J]], %[[I]] : index
func.func @finds_windows(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32> {
  %none = nn.constant dense<0.0> : tensor<f32>
  %fill = nn.constant dense<-1.0e9> : tensor<f32>
  %c0 = nn.constant dense<0> : tensor<i64>
  %c1 = nn.constant dense<1> : tensor<i64>
  %c5 = nn.constant dense<5> : tensor<i64>
  %c7 = nn.constant dense<7> : tensor<i64>
  %i = nn.range %c0, %c5, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<5xi64>
  %j = nn.range %c0, %c7, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<7xi64>
  %rows = nn.unsqueeze %i axes [1] : (tensor<5xi64>) -> tensor<5x1xi64>
  %c4 = nn.constant dense<4> : tensor<i64>
  %first = nn.binary sub %rows, %c4 : (tensor<5x1xi64>, tensor<i64>) -> tensor<5x1xi64>
  %late = nn.compare gt %j, %first : (tensor<7xi64>, tensor<5x1xi64>) -> tensor<5x7xi1>
  %early = nn.compare le %j, %rows : (tensor<7xi64>, tensor<5x1xi64>) -> tensor<5x7xi1>
  %seen = nn.binary and %late, %early : (tensor<5x7xi1>, tensor<5x7xi1>) -> tensor<5x7xi1>
  %m = nn.where %seen, %none, %fill : (tensor<5x7xi1>, tensor<f32>, tensor<f32>) -> tensor<5x7xf32>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %s = nn.binary add %qk, %m : (tensor<1x2x5x7xf32>, tensor<5x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// An upper triangle of fills keeps what lies below it; a fill of -inf without a guard gives NaN.
// CHECK-LABEL: func.func @reads_triangles_of_fills
// CHECK: } mask {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: arith.cmpi slt, %[[J]], %{{.*}} : index
// CHECK: fully_masked = #attn<fully_masked nan>
func.func @reads_triangles_of_fills(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32> {
  %c1 = nn.constant dense<1> : tensor<i64>
  %fills = nn.constant dense<0xFF800000> : tensor<5x7xf32>
  %m = nn.trilu %fills, %c1 {upper} : (tensor<5x7xf32>, tensor<i64>) -> tensor<5x7xf32>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %s = nn.binary add %qk, %m : (tensor<1x2x5x7xf32>, tensor<5x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// The guard against NaN makes rows zero whose scores are all -inf.
// CHECK-LABEL: func.func @gives_zero_only_behind_a_guard
// CHECK: attn.sdpa
// CHECK: fully_masked = #attn<fully_masked zero>
// CHECK-NOT: nn.where
func.func @gives_zero_only_behind_a_guard(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32> {
  %none = nn.constant dense<0.0> : tensor<f32>
  %fill = nn.constant dense<0xFF800000> : tensor<f32>
  %c0 = nn.constant dense<0> : tensor<i64>
  %c1 = nn.constant dense<1> : tensor<i64>
  %c5 = nn.constant dense<5> : tensor<i64>
  %c7 = nn.constant dense<7> : tensor<i64>
  %i = nn.range %c0, %c5, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<5xi64>
  %j = nn.range %c0, %c7, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<7xi64>
  %rows = nn.unsqueeze %i axes [1] : (tensor<5xi64>) -> tensor<5x1xi64>
  %seen = nn.compare le %j, %rows : (tensor<7xi64>, tensor<5x1xi64>) -> tensor<5x7xi1>
  %m = nn.where %seen, %none, %fill : (tensor<5x7xi1>, tensor<f32>, tensor<f32>) -> tensor<5x7xf32>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %s = nn.binary add %qk, %m : (tensor<1x2x5x7xf32>, tensor<5x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %zero = nn.constant dense<0.0> : tensor<f32>
  %nan = nn.unary is_nan %p : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xi1>
  %w = nn.where %nan, %zero, %p : (tensor<1x2x5x7xi1>, tensor<f32>, tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %w, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// Behind a guard a finite fill is a number all the same.
// CHECK-LABEL: func.func @keeps_finite_fills_literal_behind_a_guard
// CHECK: attn.sdpa
// CHECK: } mask {
// CHECK-NOT: fully_masked
// CHECK: return
func.func @keeps_finite_fills_literal_behind_a_guard(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32> {
  %none = nn.constant dense<0.0> : tensor<f32>
  %fill = nn.constant dense<-3.40282347E+38> : tensor<f32>
  %c0 = nn.constant dense<0> : tensor<i64>
  %c1 = nn.constant dense<1> : tensor<i64>
  %c5 = nn.constant dense<5> : tensor<i64>
  %c7 = nn.constant dense<7> : tensor<i64>
  %i = nn.range %c0, %c5, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<5xi64>
  %j = nn.range %c0, %c7, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<7xi64>
  %rows = nn.unsqueeze %i axes [1] : (tensor<5xi64>) -> tensor<5x1xi64>
  %seen = nn.compare le %j, %rows : (tensor<7xi64>, tensor<5x1xi64>) -> tensor<5x7xi1>
  %m = nn.where %seen, %none, %fill : (tensor<5x7xi1>, tensor<f32>, tensor<f32>) -> tensor<5x7xf32>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %s = nn.binary add %qk, %m : (tensor<1x2x5x7xf32>, tensor<5x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %zero = nn.constant dense<0.0> : tensor<f32>
  %nan = nn.unary is_nan %p : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xi1>
  %w = nn.where %nan, %zero, %p : (tensor<1x2x5x7xi1>, tensor<f32>, tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %w, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// (1 - m) times a fill: keys are skipped where that is the fill or lower, whatever the integers are.
// CHECK-LABEL: func.func @takes_numbers_that_are_not_0_and_1
// CHECK: mask_captures(%arg3 : tensor<1x1x1x7xi64>)
// CHECK: } mask {
// CHECK: ^bb0({{.*}}, %[[M:.*]]: i64):
// CHECK: %[[KEEP:.*]] = arith.cmpi sgt, %[[M]], %{{.*}} : i64
// CHECK: attn.yield %[[KEEP]] : i1
func.func @takes_numbers_that_are_not_0_and_1(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>, %pad: tensor<1x1x1x7xi64>) -> tensor<1x2x5x8xf32> {
  %one = nn.constant dense<1.0> : tensor<f32>
  %fill = nn.constant dense<-1.0e4> : tensor<f32>
  %f = nn.cast %pad {to = f32} : (tensor<1x1x1x7xi64>) -> tensor<1x1x1x7xf32>
  %o = nn.binary sub %one, %f : (tensor<f32>, tensor<1x1x1x7xf32>) -> tensor<1x1x1x7xf32>
  %m = nn.binary mul %o, %fill : (tensor<1x1x1x7xf32>, tensor<f32>) -> tensor<1x1x1x7xf32>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %s = nn.binary add %qk, %m : (tensor<1x2x5x7xf32>, tensor<1x1x1x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// Of floats nothing is known: they are added, and no key is skipped.
// CHECK-LABEL: func.func @makes_no_mask_of_unknown_floats
// CHECK: attn.sdpa %arg0, %arg1, %arg2 score_captures(%arg3 : tensor<1x1x1x7xf32>) score {
// CHECK-NOT: mask {
// CHECK: return
func.func @makes_no_mask_of_unknown_floats(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>, %m: tensor<1x1x1x7xf32>) -> tensor<1x2x5x8xf32> {
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %s = nn.binary add %qk, %m : (tensor<1x2x5x7xf32>, tensor<1x1x1x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// A factor that comes after the mask multiplies the fill as well and is no scale.
// CHECK-LABEL: func.func @keeps_a_factor_behind_a_mask_behind_it
// CHECK: attn.sdpa
// CHECK: ^bb0(%[[S:.*]]: f32,
// CHECK: %[[SUM:.*]] = arith.addf %[[S]], %
// CHECK: arith.mulf %[[SUM]], %
// CHECK: scale = 1.000000e+00 : f32
func.func @keeps_a_factor_behind_a_mask_behind_it(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32> {
  %none = nn.constant dense<0.0> : tensor<f32>
  %fill = nn.constant dense<-1.0e9> : tensor<f32>
  %c0 = nn.constant dense<0> : tensor<i64>
  %c1 = nn.constant dense<1> : tensor<i64>
  %c5 = nn.constant dense<5> : tensor<i64>
  %c7 = nn.constant dense<7> : tensor<i64>
  %i = nn.range %c0, %c5, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<5xi64>
  %j = nn.range %c0, %c7, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<7xi64>
  %rows = nn.unsqueeze %i axes [1] : (tensor<5xi64>) -> tensor<5x1xi64>
  %seen = nn.compare le %j, %rows : (tensor<7xi64>, tensor<5x1xi64>) -> tensor<5x7xi1>
  %m = nn.where %seen, %none, %fill : (tensor<5x7xi1>, tensor<f32>, tensor<f32>) -> tensor<5x7xf32>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %a = nn.binary add %qk, %m : (tensor<1x2x5x7xf32>, tensor<5x7xf32>) -> tensor<1x2x5x7xf32>
  %s = nn.binary mul %a, %half : (tensor<1x2x5x7xf32>, tensor<f32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// -100 still leaves a weight: no mask.
// CHECK-LABEL: func.func @calls_a_mild_fill_a_number
// CHECK: attn.sdpa
// CHECK-NOT: mask {
// CHECK: return
func.func @calls_a_mild_fill_a_number(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32> {
  %none = nn.constant dense<0.0> : tensor<f32>
  %fill = nn.constant dense<-100.0> : tensor<f32>
  %c0 = nn.constant dense<0> : tensor<i64>
  %c1 = nn.constant dense<1> : tensor<i64>
  %c5 = nn.constant dense<5> : tensor<i64>
  %c7 = nn.constant dense<7> : tensor<i64>
  %i = nn.range %c0, %c5, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<5xi64>
  %j = nn.range %c0, %c7, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<7xi64>
  %rows = nn.unsqueeze %i axes [1] : (tensor<5xi64>) -> tensor<5x1xi64>
  %seen = nn.compare le %j, %rows : (tensor<7xi64>, tensor<5x1xi64>) -> tensor<5x7xi1>
  %m = nn.where %seen, %none, %fill : (tensor<5x7xi1>, tensor<f32>, tensor<f32>) -> tensor<5x7xf32>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %s = nn.binary add %qk, %m : (tensor<1x2x5x7xf32>, tensor<5x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// What holds for every position is no condition, though only rows have it: the key's own mask is all that is captured.
// CHECK-LABEL: func.func @forgets_positions_that_always_pass
// CHECK: attn.sdpa {{.*}} mask_captures(%{{.*}} : tensor<1x1x1x7xi1>)
// CHECK: } mask {
// CHECK: ^bb0({{.*}}, %[[KEPT:.*]]: i1):
// CHECK-NEXT: attn.yield %[[KEPT]] : i1
func.func @forgets_positions_that_always_pass(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>,
                                              %kept: tensor<1x1x1x7xi1>) -> tensor<1x2x5x8xf32> {
  %none = nn.constant dense<0.0> : tensor<f32>
  %fill = nn.constant dense<-1.0e9> : tensor<f32>
  %c0 = nn.constant dense<0> : tensor<i64>
  %c1 = nn.constant dense<1> : tensor<i64>
  %c5 = nn.constant dense<5> : tensor<i64>
  %i = nn.range %c0, %c5, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<5xi64>
  %rows = nn.unsqueeze %i axes [0, 1, 3] : (tensor<5xi64>) -> tensor<1x1x5x1xi64>
  %is = nn.compare ge %rows, %c0 : (tensor<1x1x5x1xi64>, tensor<i64>) -> tensor<1x1x5x1xi1>
  %seen = nn.binary and %is, %kept : (tensor<1x1x5x1xi1>, tensor<1x1x1x7xi1>) -> tensor<1x1x5x7xi1>
  %m = nn.where %seen, %none, %fill : (tensor<1x1x5x7xi1>, tensor<f32>, tensor<f32>) -> tensor<1x1x5x7xf32>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %s = nn.binary add %qk, %m : (tensor<1x2x5x7xf32>, tensor<1x1x5x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// Positions that are stored as numbers are positions: here of rows two keys apart, from the third on.
// CHECK-LABEL: func.func @takes_stored_numbers_for_positions
// CHECK-NOT: captures
// CHECK: } mask {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[ROW:.*]] = arith.muli %[[I]], %[[TWO]] : index
// CHECK-DAG: %[[LAST:.*]] = arith.addi
// CHECK: arith.cmpi sle, %[[J]], %{{.*}} : index
func.func @takes_stored_numbers_for_positions(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32> {
  %j = nn.constant dense<[[0, 1, 2, 3, 4, 5, 6]]> : tensor<1x7xi64>
  %i = nn.constant dense<[[3], [5], [7], [9], [11]]> : tensor<5x1xi64>
  %seen = nn.compare le %j, %i : (tensor<1x7xi64>, tensor<5x1xi64>) -> tensor<5x7xi1>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %fill = nn.constant dense<-1.0e9> : tensor<f32>
  %s = nn.where %seen, %qk, %fill : (tensor<5x7xi1>, tensor<1x2x5x7xf32>, tensor<f32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// One number that is out of line makes them data.
// CHECK-LABEL: func.func @reads_stored_numbers_out_of_line
// CHECK: mask_captures(%{{.*}} : tensor<1x7xi64>) score {
// CHECK: } mask {
// CHECK: ^bb0({{.*}}, %[[KEY:.*]]: i64):
// CHECK: arith.cmpi sle, %[[KEY]], %{{.*}} : i64
func.func @reads_stored_numbers_out_of_line(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32> {
  %j = nn.constant dense<[[0, 1, 2, 3, 4, 5, 7]]> : tensor<1x7xi64>
  %i = nn.constant dense<[[3], [5], [7], [9], [11]]> : tensor<5x1xi64>
  %seen = nn.compare le %j, %i : (tensor<1x7xi64>, tensor<5x1xi64>) -> tensor<5x7xi1>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %fill = nn.constant dense<-1.0e9> : tensor<f32>
  %s = nn.where %seen, %qk, %fill : (tensor<5x7xi1>, tensor<1x2x5x7xf32>, tensor<f32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// So do numbers that sums of positions can't hold.
// CHECK-LABEL: func.func @reads_stored_numbers_that_are_no_positions
// CHECK: mask_captures(%{{.*}} : tensor<1x7xi64>) score {
func.func @reads_stored_numbers_that_are_no_positions(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32> {
  %j = nn.constant dense<[[0, 1152921504606846976, 2305843009213693952, 3458764513820540928, 4611686018427387904, 5764607523034234880, 6917529027641081856]]> : tensor<1x7xi64>
  %i = nn.constant dense<[[3], [5], [7], [9], [11]]> : tensor<5x1xi64>
  %seen = nn.compare le %j, %i : (tensor<1x7xi64>, tensor<5x1xi64>) -> tensor<5x7xi1>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %fill = nn.constant dense<-1.0e9> : tensor<f32>
  %s = nn.where %seen, %qk, %fill : (tensor<5x7xi1>, tensor<1x2x5x7xf32>, tensor<f32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// A stored triangle, the third key on its first row's end.
// CHECK-LABEL: func.func @takes_a_stored_triangle_for_positions
// CHECK-NOT: captures
// CHECK: } mask {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[LAST:.*]] = arith.addi %[[I]], %{{.*}} : index
// CHECK: %[[KEEP:.*]] = arith.cmpi sle, %[[J]], %[[LAST]] : index
// CHECK: attn.yield %[[KEEP]] : i1
func.func @takes_a_stored_triangle_for_positions(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32> {
  %seen = nn.constant dense<[[true, true, true, false, false, false, false], [true, true, true, true, false, false, false], [true, true, true, true, true, false, false], [true, true, true, true, true, true, false], [true, true, true, true, true, true, true]]> : tensor<5x7xi1>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %fill = nn.constant dense<-1.0e9> : tensor<f32>
  %s = nn.where %seen, %qk, %fill : (tensor<5x7xi1>, tensor<1x2x5x7xf32>, tensor<f32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// With one element wrong, its last, it is a tensor.
// CHECK-LABEL: func.func @reads_a_triangle_with_a_hole
// CHECK: mask_captures(%{{.*}} : tensor<5x7xi1>)
// CHECK: } mask {
// CHECK: ^bb0({{.*}}, %[[KEPT:.*]]: i1):
// CHECK-NEXT: attn.yield %[[KEPT]] : i1
func.func @reads_a_triangle_with_a_hole(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32> {
  %seen = nn.constant dense<[[true, true, true, false, false, false, false], [true, true, true, true, false, false, false], [true, true, true, true, true, false, false], [true, true, true, true, true, true, false], [true, true, true, true, true, true, false]]> : tensor<5x7xi1>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %fill = nn.constant dense<-1.0e9> : tensor<f32>
  %s = nn.where %seen, %qk, %fill : (tensor<5x7xi1>, tensor<1x2x5x7xf32>, tensor<f32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// A stored window of fills: what is added is a selection, and rows that see nothing give NaN.
// CHECK-LABEL: func.func @takes_a_stored_window_of_fills_for_positions
// CHECK-NOT: captures
// CHECK: score {
// CHECK: arith.select
// CHECK: } mask {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-DAG: arith.cmpi sle, %[[J]], %{{.*}} : index
// CHECK-DAG: arith.cmpi sge, %[[J]], %{{.*}} : index
// CHECK: arith.andi
// CHECK: fully_masked = #attn<fully_masked nan>
func.func @takes_a_stored_window_of_fills_for_positions(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32> {
  %m = nn.constant dense<[[0.0, 0.0, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000], [0.0, 0.0, 0.0, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000], [0.0, 0.0, 0.0, 0.0, 0xFF800000, 0xFF800000, 0xFF800000], [0xFF800000, 0.0, 0.0, 0.0, 0.0, 0xFF800000, 0xFF800000], [0xFF800000, 0xFF800000, 0.0, 0.0, 0.0, 0.0, 0xFF800000]]> : tensor<5x7xf32>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %s = nn.binary add %qk, %m : (tensor<1x2x5x7xf32>, tensor<5x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// A mild fill is a number that positions choose.
// CHECK-LABEL: func.func @makes_no_mask_of_a_stored_mild_fill
// CHECK-NOT: captures
// CHECK: score {
// CHECK: arith.select
// CHECK-NOT: mask {
// CHECK: return
func.func @makes_no_mask_of_a_stored_mild_fill(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32> {
  %m = nn.constant dense<[[0.0, -100.0, -100.0, -100.0, -100.0, -100.0, -100.0], [0.0, 0.0, -100.0, -100.0, -100.0, -100.0, -100.0], [0.0, 0.0, 0.0, -100.0, -100.0, -100.0, -100.0], [0.0, 0.0, 0.0, 0.0, -100.0, -100.0, -100.0], [0.0, 0.0, 0.0, 0.0, 0.0, -100.0, -100.0]]> : tensor<5x7xf32>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %s = nn.binary add %qk, %m : (tensor<1x2x5x7xf32>, tensor<5x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// A part of a longer buffer of bytes, as GPT-2 keeps one: rows from the third on.
// CHECK-LABEL: func.func @shifts_a_slice_of_a_stored_triangle
// CHECK-NOT: captures
// CHECK: } mask {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[LAST:.*]] = arith.addi %[[I]], %[[TWO]] : index
// CHECK: %[[KEEP:.*]] = arith.cmpi sle, %[[J]], %{{.*}} : index
// CHECK-NEXT: attn.yield %[[KEEP]] : i1
func.func @shifts_a_slice_of_a_stored_triangle(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32> {
  %buffer = nn.constant dense<[[[[1, 0, 0, 0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1, 1, 1, 1]]]]> : tensor<1x1x9x9xui8>
  %starts = nn.constant dense<[2, 0]> : tensor<2xi64>
  %ends = nn.constant dense<[7, 7]> : tensor<2xi64>
  %axes = nn.constant dense<[2, 3]> : tensor<2xi64>
  %part = nn.slice %buffer, %starts, %ends axes(%axes : tensor<2xi64>) : (tensor<1x1x9x9xui8>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x1x5x7xui8>
  %seen = nn.cast %part {to = i1} : (tensor<1x1x5x7xui8>) -> tensor<1x1x5x7xi1>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %fill = nn.constant dense<-1.0e9> : tensor<f32>
  %s = nn.where %seen, %qk, %fill : (tensor<1x1x5x7xi1>, tensor<1x2x5x7xf32>, tensor<f32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}
