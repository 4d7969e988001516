// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn-raise-sdpa: what happens between the softmax and the values becomes a region, where one probability decides it.
// RUN: heddle-opt --split-input-file --attn-raise-sdpa %s | FileCheck %s

// A file of quantised tensors: the score's integers stay in front of the mask, those of the probabilities behind the
// softmax. Query, key and value are floats again before the op.
// CHECK: attn.report = [{heads = 2 : i64, kv_heads = 2 : i64, mask = "tensor"
// CHECK-LABEL: func.func @quantised_tensors
// CHECK-SAME: (%[[QC:.*]]: tensor<1x2x5x8xi8>,
// CHECK: %[[Q:.*]] = nn.dequantize_linear %[[QC]]
// CHECK: attn.sdpa %[[Q]], {{.*}} score {
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, {{.*}}, %[[KEEP:.*]]: i1):
// CHECK: %[[STEPS:.*]] = arith.divf %[[S]], %{{.*}} : f32
// CHECK-NEXT: math.roundeven %[[STEPS]] : f32
// CHECK: arith.trunci {{.*}} : i32 to i8
// CHECK: %[[FLOAT:.*]] = arith.mulf
// CHECK: %[[MASKED:.*]] = arith.select %[[KEEP]], %[[FLOAT]], %{{.*}} : f32
// CHECK-NEXT: attn.yield %[[MASKED]] : f32
// CHECK: } mask {
// CHECK: } probability {
// CHECK-NEXT: ^bb0(%[[P:.*]]: f32, %{{[^:]*}}: index, %{{[^:]*}}: index, %{{[^:]*}}: index, %{{[^:]*}}: index):
// CHECK: %[[PSTEPS:.*]] = arith.divf %[[P]], %{{.*}} : f32
// CHECK-NEXT: %[[WHOLE:.*]] = math.roundeven %[[PSTEPS]] : f32
// CHECK: arith.extui %{{.*}} : i8 to i32
// CHECK: %[[WEIGHT:.*]] = arith.mulf
// CHECK-NEXT: attn.yield %[[WEIGHT]] : f32
// CHECK-NOT: nn.softmax
func.func @quantised_tensors(%qc: tensor<1x2x5x8xi8>, %kc: tensor<1x2x8x7xi8>, %vc: tensor<1x2x7x8xi8>, %keep: tensor<1x1x1x7xi1>) -> tensor<1x2x5x8xf32> {
  %step = nn.constant dense<0.25> : tensor<f32>
  %zero = nn.constant dense<-3> : tensor<i8>
  %pstep = nn.constant dense<0.00392156886> : tensor<f32>
  %pzero = nn.constant dense<0> : tensor<ui8>
  %lowest = nn.constant dense<-1.0e9> : tensor<f32>
  %q = nn.dequantize_linear %qc, %step, %zero {axis = 0 : i64, block_size = 0 : i64} : (tensor<1x2x5x8xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x5x8xf32>
  %k = nn.dequantize_linear %kc, %step, %zero {axis = 0 : i64, block_size = 0 : i64} : (tensor<1x2x8x7xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x8x7xf32>
  %v = nn.dequantize_linear %vc, %step, %zero {axis = 0 : i64, block_size = 0 : i64} : (tensor<1x2x7x8xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x7x8xf32>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %sc = nn.quantize_linear %qk, %step, %zero {axis = 0 : i64, block_size = 0 : i64, to = i8} : (tensor<1x2x5x7xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x5x7xi8>
  %s = nn.dequantize_linear %sc, %step, %zero {axis = 0 : i64, block_size = 0 : i64} : (tensor<1x2x5x7xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x5x7xf32>
  %masked = nn.where %keep, %s, %lowest : (tensor<1x1x1x7xi1>, tensor<1x2x5x7xf32>, tensor<f32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %masked {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %pc = nn.quantize_linear %p, %pstep, %pzero {axis = 0 : i64, block_size = 0 : i64, to = ui8} : (tensor<1x2x5x7xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x2x5x7xui8>
  %w = nn.dequantize_linear %pc, %pstep, %pzero {axis = 0 : i64, block_size = 0 : i64} : (tensor<1x2x5x7xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %w, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// A gate of each head, as head pruning has it, whose probabilities somebody else reads before it.
// CHECK-LABEL: func.func @gates_heads
// CHECK: %{{.*}}, %[[P:.*]] = attn.sdpa {{.*}} probability_captures(%{{.*}} : tensor<1x2x1x1xf32>) probability {
// CHECK-NEXT: ^bb0(%[[PE:.*]]: f32, {{.*}}, %[[GATE:.*]]: f32):
// CHECK-NEXT: %[[W:.*]] = arith.mulf %[[PE]], %[[GATE]] : f32
// CHECK-NEXT: attn.yield %[[W]] : f32
// CHECK: return %{{.*}}, %[[P]]
func.func @gates_heads(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>, %gate: tensor<1x2x1x1xf32>) -> (tensor<1x2x5x8xf32>, tensor<1x2x5x7xf32>) {
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %qk {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %w = nn.binary mul %p, %gate : (tensor<1x2x5x7xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %w, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y, %p : tensor<1x2x5x8xf32>, tensor<1x2x5x7xf32>
}

// -----

// Each head's own step, read along the axis.
// CHECK-LABEL: func.func @steps_of_each_head
// CHECK: attn.sdpa {{.*}} probability_captures(%{{.*}} : tensor<2xf32>) probability {
// CHECK-NEXT: ^bb0(%[[P:.*]]: f32, {{.*}}, %[[STEP:.*]]: f32):
// CHECK-NEXT: arith.divf %[[P]], %[[STEP]] : f32
func.func @steps_of_each_head(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>, %step: tensor<2xf32>) -> tensor<1x2x5x8xf32> {
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %qk {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %pc = nn.quantize_linear %p, %step {axis = 1 : i64, block_size = 0 : i64, to = i8} : (tensor<1x2x5x7xf32>, tensor<2xf32>) -> tensor<1x2x5x7xi8>
  %w = nn.dequantize_linear %pc, %step {axis = 1 : i64, block_size = 0 : i64} : (tensor<1x2x5x7xi8>, tensor<2xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %w, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// A fill that becomes an integer masks nothing: its key gets the smallest code, which weighs something.
// CHECK: mask = "opaque"
// CHECK-LABEL: func.func @fills_before_integers
// CHECK: attn.sdpa
// CHECK-NOT: mask {
// CHECK: return
func.func @fills_before_integers(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>, %keep: tensor<1x1x1x7xi1>) -> tensor<1x2x5x8xf32> {
  %step = nn.constant dense<0.25> : tensor<f32>
  %zero = nn.constant dense<-3> : tensor<i8>
  %lowest = nn.constant dense<-1.0e9> : tensor<f32>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %masked = nn.where %keep, %qk, %lowest : (tensor<1x1x1x7xi1>, tensor<1x2x5x7xf32>, tensor<f32>) -> tensor<1x2x5x7xf32>
  %sc = nn.quantize_linear %masked, %step, %zero {axis = 0 : i64, block_size = 0 : i64, to = i8} : (tensor<1x2x5x7xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x5x7xi8>
  %s = nn.dequantize_linear %sc, %step, %zero {axis = 0 : i64, block_size = 0 : i64} : (tensor<1x2x5x7xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// Normalised once more: a weight depends on all probabilities of its row.
// CHECK: attn.report = [{{{.*}}reason = "the probabilities are changed by what is computed from several of them"
// CHECK-LABEL: func.func @normalised_twice
// CHECK: nn.softmax
// CHECK-NOT: attn.sdpa
// CHECK: return
func.func @normalised_twice(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32> {
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %qk {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %sum = nn.reduce sum %p axes [3] {keepdims} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x1xf32>
  %w = nn.binary div %p, %sum : (tensor<1x2x5x7xf32>, tensor<1x2x5x1xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %w, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// Zero points that only a run knows, of a type that regions don't have.
// CHECK: attn.report = [{{{.*}}reason = "the probabilities are changed by a tensor that a region can't read"
// CHECK-LABEL: func.func @unsigned_zero_point
// CHECK: nn.softmax
// CHECK-NOT: attn.sdpa
// CHECK: return
func.func @unsigned_zero_point(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>, %zero: tensor<ui8>) -> tensor<1x2x5x8xf32> {
  %step = nn.constant dense<0.25> : tensor<f32>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %qk {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %pc = nn.quantize_linear %p, %step, %zero {axis = 0 : i64, block_size = 0 : i64, to = ui8} : (tensor<1x2x5x7xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x2x5x7xui8>
  %w = nn.dequantize_linear %pc, %step, %zero {axis = 0 : i64, block_size = 0 : i64} : (tensor<1x2x5x7xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %w, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// A product of the integers themselves, and weights that another tensor stretches, are no attention's.
// CHECK: module
// CHECK-NOT: attn.report
// CHECK-LABEL: func.func @integers_that_are_multiplied
// CHECK-NOT: attn.sdpa
// CHECK: return
func.func @integers_that_are_multiplied(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xi8>, %gates: tensor<3x2x5x7xf32>, %w: tensor<3x2x7x8xf32>) -> (tensor<1x2x5x8xi32>, tensor<3x2x5x8xf32>) {
  %step = nn.constant dense<0.25> : tensor<f32>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %qk {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %pc = nn.quantize_linear %p, %step {axis = 0 : i64, block_size = 0 : i64, to = i8} : (tensor<1x2x5x7xf32>, tensor<f32>) -> tensor<1x2x5x7xi8>
  %y = nn.matmul_integer %pc, %v : (tensor<1x2x5x7xi8>, tensor<1x2x7x8xi8>) -> tensor<1x2x5x8xi32>
  %many = nn.binary mul %p, %gates : (tensor<1x2x5x7xf32>, tensor<3x2x5x7xf32>) -> tensor<3x2x5x7xf32>
  %z = nn.matmul %many, %w : (tensor<3x2x5x7xf32>, tensor<3x2x7x8xf32>) -> tensor<3x2x5x8xf32>
  return %y, %z : tensor<1x2x5x8xi32>, tensor<3x2x5x8xf32>
}

// -----

// A guard against NaN is the region's first step: here NaN comes from the scores, not from a mask.
// CHECK-LABEL: func.func @guards_before_integers
// CHECK: attn.sdpa {{.*}} probability {
// CHECK-NEXT: ^bb0(%[[P:.*]]: f32, {{.*}}: index):
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[P]], %[[P]] : f32
// CHECK: %[[NUMBER:.*]] = arith.select %[[NAN]], %{{.*}}, %[[P]] : f32
// CHECK: arith.divf %[[NUMBER]], %{{.*}} : f32
// CHECK-NOT: nn.where
func.func @guards_before_integers(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32> {
  %step = nn.constant dense<0.25> : tensor<f32>
  %none = nn.constant dense<0.0> : tensor<f32>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %qk {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %nan = nn.unary is_nan %p : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xi1>
  %g = nn.where %nan, %none, %p : (tensor<1x2x5x7xi1>, tensor<f32>, tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %pc = nn.quantize_linear %g, %step {axis = 0 : i64, block_size = 0 : i64, to = i8} : (tensor<1x2x5x7xf32>, tensor<f32>) -> tensor<1x2x5x7xi8>
  %w = nn.dequantize_linear %pc, %step {axis = 0 : i64, block_size = 0 : i64} : (tensor<1x2x5x7xi8>, tensor<f32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %w, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}
