// RUN: heddle-opt %s --canonicalize --split-input-file | FileCheck %s

// Folders: what changes nothing becomes its operand.

// CHECK-LABEL: func.func @negates_twice
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>)
// CHECK-NEXT: return %[[X]]
func.func @negates_twice(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = nn.unary neg %x : (tensor<?xf32>) -> tensor<?xf32>
  %1 = nn.unary neg %0 : (tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// -----

// CHECK-LABEL: func.func @rectifies_once
// CHECK: %[[Y:.*]] = nn.unary relu
// CHECK-NEXT: return %[[Y]]
func.func @rectifies_once(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = nn.unary relu %x : (tensor<?xf32>) -> tensor<?xf32>
  %1 = nn.unary relu %0 : (tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// -----

// CHECK-LABEL: func.func @keeps_exp_of_exp
// CHECK-COUNT-2: nn.unary exp
func.func @keeps_exp_of_exp(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = nn.unary exp %x : (tensor<?xf32>) -> tensor<?xf32>
  %1 = nn.unary exp %0 : (tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// -----

// CHECK-LABEL: func.func @negates_equality
// CHECK-NEXT: %[[Y:.*]] = nn.compare ne
// CHECK-NEXT: return %[[Y]]
func.func @negates_equality(%x: tensor<?xf32>, %y: tensor<f32>) -> tensor<?xi1> {
  %0 = nn.compare eq %x, %y : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
  %1 = nn.unary not %0 : (tensor<?xi1>) -> tensor<?xi1>
  return %1 : tensor<?xi1>
}

// -----

// With a NaN both a < b and a >= b are false.
// CHECK-LABEL: func.func @keeps_negated_order
// CHECK: nn.compare lt
// CHECK: nn.unary not
func.func @keeps_negated_order(%x: tensor<?xf32>, %y: tensor<f32>) -> tensor<?xi1> {
  %0 = nn.compare lt %x, %y : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
  %1 = nn.unary not %0 : (tensor<?xi1>) -> tensor<?xi1>
  return %1 : tensor<?xi1>
}

// -----

// CHECK-LABEL: func.func @drops_neutral_operands
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>, %[[I:.*]]: tensor<?xi64>)
// CHECK-NEXT: return %[[X]], %[[I]]
func.func @drops_neutral_operands(%x: tensor<?xf32>, %i: tensor<?xi64>) -> (tensor<?xf32>, tensor<?xi64>) {
  %one = nn.constant dense<1.0> : tensor<f32>
  %nothing = nn.constant dense<0.0> : tensor<1xf32>
  %zero = nn.constant dense<0> : tensor<i64>
  %0 = nn.binary mul %one, %x : (tensor<f32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = nn.binary div %0, %one : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  %2 = nn.binary sub %1, %nothing : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
  %3 = nn.binary add %zero, %i : (tensor<i64>, tensor<?xi64>) -> tensor<?xi64>
  return %2, %3 : tensor<?xf32>, tensor<?xi64>
}

// -----

// -0.0 + 0.0 is 0.0, and 1 / x isn't x.
// CHECK-LABEL: func.func @keeps_inexact_neighbours
// CHECK: nn.binary add
// CHECK: nn.binary div
func.func @keeps_inexact_neighbours(%x: tensor<?xf32>) -> tensor<?xf32> {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %0 = nn.binary add %x, %zero : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  %1 = nn.binary div %one, %0 : (tensor<f32>, tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// -----

// The neutral operand stretches the other one.
// CHECK-LABEL: func.func @keeps_broadcasting_neutral
// CHECK: nn.binary mul
func.func @keeps_broadcasting_neutral(%x: tensor<1xf32>) -> tensor<4xf32> {
  %ones = nn.constant dense<1.0> : tensor<4xf32>
  %0 = nn.binary mul %x, %ones : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @drops_logical_neutrals
// CHECK-SAME: (%[[P:.*]]: tensor<?xi1>)
// CHECK-NEXT: return %[[P]]
func.func @drops_logical_neutrals(%p: tensor<?xi1>) -> tensor<?xi1> {
  %true = nn.constant dense<true> : tensor<i1>
  %false = nn.constant dense<false> : tensor<i1>
  %0 = nn.binary and %p, %true : (tensor<?xi1>, tensor<i1>) -> tensor<?xi1>
  %1 = nn.binary or %false, %0 : (tensor<i1>, tensor<?xi1>) -> tensor<?xi1>
  return %1 : tensor<?xi1>
}

// -----

// CHECK-LABEL: func.func @selects_by_constant
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>, %[[Y:.*]]: tensor<?xf32>
// CHECK-NEXT: return %[[X]], %[[Y]], %[[X]]
func.func @selects_by_constant(%x: tensor<?xf32>, %y: tensor<?xf32>, %c: tensor<?xi1>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %true = nn.constant dense<true> : tensor<i1>
  %false = nn.constant dense<false> : tensor<i1>
  %0 = nn.where %true, %x, %y : (tensor<i1>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = nn.where %false, %x, %y : (tensor<i1>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %2 = nn.where %c, %x, %x : (tensor<?xi1>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0, %1, %2 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}

// -----

// CHECK-LABEL: func.func @drops_lossless_casts
// CHECK-SAME: (%[[P:.*]]: tensor<?xi1>, %[[I:.*]]: tensor<?xi32>, %[[H:.*]]: tensor<?xf16>)
// CHECK-NEXT: return %[[P]], %[[I]], %[[H]]
func.func @drops_lossless_casts(%p: tensor<?xi1>, %i: tensor<?xi32>, %h: tensor<?xf16>) -> (tensor<?xi1>, tensor<?xi32>, tensor<?xf16>) {
  %0 = nn.cast %p {to = f32} : (tensor<?xi1>) -> tensor<?xf32>
  %1 = nn.cast %0 {to = i1} : (tensor<?xf32>) -> tensor<?xi1>
  %2 = nn.cast %i {to = i64} : (tensor<?xi32>) -> tensor<?xi64>
  %3 = nn.cast %2 {to = i32} : (tensor<?xi64>) -> tensor<?xi32>
  %4 = nn.cast %h {to = f32} : (tensor<?xf16>) -> tensor<?xf32>
  %5 = nn.cast %4 {to = f16} : (tensor<?xf32>) -> tensor<?xf16>
  %6 = nn.cast %5 {to = f16} : (tensor<?xf16>) -> tensor<?xf16>
  return %1, %3, %6 : tensor<?xi1>, tensor<?xi32>, tensor<?xf16>
}

// -----

// f16 and bf16 hold different values, and neither all of the 64-bit integers.
// CHECK-LABEL: func.func @keeps_lossy_casts
// CHECK-COUNT-6: nn.cast
func.func @keeps_lossy_casts(%h: tensor<?xf16>, %i: tensor<?xi64>, %f: tensor<?xf32>) -> (tensor<?xf16>, tensor<?xi64>, tensor<?xf32>) {
  %0 = nn.cast %h {to = bf16} : (tensor<?xf16>) -> tensor<?xbf16>
  %1 = nn.cast %0 {to = f16} : (tensor<?xbf16>) -> tensor<?xf16>
  %2 = nn.cast %i {to = f64} : (tensor<?xi64>) -> tensor<?xf64>
  %3 = nn.cast %2 {to = i64} : (tensor<?xf64>) -> tensor<?xi64>
  %4 = nn.cast %f {to = i1} : (tensor<?xf32>) -> tensor<?xi1>
  %5 = nn.cast %4 {to = f32} : (tensor<?xi1>) -> tensor<?xf32>
  return %1, %3, %5 : tensor<?xf16>, tensor<?xi64>, tensor<?xf32>
}

// -----

// CHECK-LABEL: func.func @drops_ops_without_effect
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32>)
// CHECK-NEXT: return %[[X]]
func.func @drops_ops_without_effect(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %shape = nn.constant dense<[-1, 4]> : tensor<2xi64>
  %ones = nn.constant dense<1> : tensor<2xi64>
  %zero = nn.constant dense<0> : tensor<2xi64>
  %ends = nn.constant dense<[9223372036854775807, 4]> : tensor<2xi64>
  %0 = nn.clip %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = nn.reduce sum %0 axes [] : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = nn.reshape %1, %shape : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %3 = nn.flatten %2 {axis = 1 : i64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %4 = nn.transpose %3 perm [0, 1] : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %5 = nn.squeeze %4 axes [] : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %6 = nn.unsqueeze %5 axes [] : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %7 = nn.expand %6, %ones : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %8 = nn.tile %7, %ones : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %9 = nn.concat %8 {axis = 0 : i64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %10 = nn.split %9 {axis = 0 : i64, num_outputs = 1 : i64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %11 = nn.slice %10, %zero, %ends : (tensor<?x4xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x4xf32>
  return %11 : tensor<?x4xf32>
}

// -----

// Squares, a stretched extent, a shape with two unknown extents, a part of the rows: all of these change something.
// CHECK-LABEL: func.func @keeps_ops_with_effect
// CHECK: nn.reduce sum_square
// CHECK: nn.expand
// CHECK: nn.reshape
// CHECK: nn.slice
// CHECK: nn.slice
func.func @keeps_ops_with_effect(%x: tensor<?x?xf32>, %s: tensor<2xi64>) -> tensor<?x?xf32> {
  %zero = nn.constant dense<0> : tensor<1xi64>
  %many = nn.constant dense<2147483647> : tensor<1xi64>
  %all = nn.constant dense<9223372036854775807> : tensor<1xi64>
  %two = nn.constant dense<2> : tensor<1xi64>
  %0 = nn.reduce sum_square %x axes [] : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = nn.expand %0, %s : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %2 = nn.reshape %1, %s : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %3 = nn.slice %2, %zero, %many : (tensor<?x?xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  %4 = nn.slice %3, %zero, %all steps(%two : tensor<1xi64>) : (tensor<?x?xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  return %4 : tensor<?x?xf32>
}

// -----

// A folder never changes a type: users may rely on it.
// CHECK-LABEL: func.func @keeps_less_exact_type
// CHECK: nn.transpose
func.func @keeps_less_exact_type(%x: tensor<2x4xf32>) -> tensor<?x4xf32> {
  %0 = nn.transpose %x perm [0, 1] : (tensor<2x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func.func @drops_opposite_views
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32>, %[[Y:.*]]: tensor<?x1x4xf32>)
// CHECK-NEXT: return %[[X]], %[[Y]]
func.func @drops_opposite_views(%x: tensor<?x4xf32>, %y: tensor<?x1x4xf32>) -> (tensor<?x4xf32>, tensor<?x1x4xf32>) {
  %0 = nn.unsqueeze %x axes [1] : (tensor<?x4xf32>) -> tensor<?x1x4xf32>
  %1 = nn.squeeze %0 axes [1] : (tensor<?x1x4xf32>) -> tensor<?x4xf32>
  %2 = nn.squeeze %y axes [1] : (tensor<?x1x4xf32>) -> tensor<?x4xf32>
  %3 = nn.unsqueeze %2 axes [1] : (tensor<?x4xf32>) -> tensor<?x1x4xf32>
  return %1, %3 : tensor<?x4xf32>, tensor<?x1x4xf32>
}

// -----

// CHECK-LABEL: func.func @merges_views
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
// CHECK: %[[T:.*]] = nn.transpose %[[X]] perm [1, 2, 0]
// CHECK: %[[U:.*]] = nn.unsqueeze %[[X]] axes [0, 2, 4]
// CHECK: %[[R:.*]] = nn.reshape %[[X]], %{{.*}} : (tensor<2x3x4xf32>, tensor<1xi64>)
// CHECK: return %[[T]], %[[U]], %[[R]]
func.func @merges_views(%x: tensor<2x3x4xf32>) -> (tensor<3x4x2xf32>, tensor<1x2x1x3x1x4xf32>, tensor<24xf32>) {
  %matrix = nn.constant dense<[6, 4]> : tensor<2xi64>
  %vector = nn.constant dense<-1> : tensor<1xi64>
  %0 = nn.transpose %x perm [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = nn.transpose %0 perm [2, 0, 1] : (tensor<4x2x3xf32>) -> tensor<3x4x2xf32>
  %4 = nn.unsqueeze %x axes [1] : (tensor<2x3x4xf32>) -> tensor<2x1x3x4xf32>
  %5 = nn.unsqueeze %4 axes [0, 4] : (tensor<2x1x3x4xf32>) -> tensor<1x2x1x3x1x4xf32>
  %6 = nn.reshape %x, %matrix : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<6x4xf32>
  %7 = nn.reshape %6, %vector : (tensor<6x4xf32>, tensor<1xi64>) -> tensor<24xf32>
  return %1, %5, %7 : tensor<3x4x2xf32>, tensor<1x2x1x3x1x4xf32>, tensor<24xf32>
}

// -----

// The outer 0 copies an extent of the inner result; the unknown extent may be a 0.
// CHECK-LABEL: func.func @keeps_copying_reshapes
// CHECK-COUNT-4: nn.reshape
func.func @keeps_copying_reshapes(%x: tensor<2x?xf32>, %s: tensor<2xi64>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %swap = nn.constant dense<[-1, 2]> : tensor<2xi64>
  %copy = nn.constant dense<[0, -1]> : tensor<2xi64>
  %0 = nn.reshape %x, %swap : (tensor<2x?xf32>, tensor<2xi64>) -> tensor<?x2xf32>
  %1 = nn.reshape %0, %copy : (tensor<?x2xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %2 = nn.reshape %x, %s : (tensor<2x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %3 = nn.reshape %2, %s : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %1, %3 : tensor<?x?xf32>, tensor<?x?xf32>
}

// -----

// CHECK-LABEL: func.func @flattens_concats
// CHECK-SAME: (%[[A:.*]]: tensor<?x4xf32>, %[[B:.*]]: tensor<2x4xf32>
// CHECK-NEXT: %[[Y:.*]] = nn.concat %[[A]], %[[B]], %[[B]], %[[A]] {axis = 0 : i64}
// CHECK-NEXT: return %[[Y]]
func.func @flattens_concats(%a: tensor<?x4xf32>, %b: tensor<2x4xf32>, %empty: tensor<0x4xf32>) -> tensor<?x4xf32> {
  %0 = nn.concat %a, %b {axis = 0 : i64} : (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x4xf32>
  %1 = nn.concat %0, %empty, %b, %a {axis = 0 : i64} : (tensor<?x4xf32>, tensor<0x4xf32>, tensor<2x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func.func @keeps_concats_along_other_axes
// CHECK-COUNT-2: nn.concat
func.func @keeps_concats_along_other_axes(%a: tensor<2x4xf32>) -> tensor<4x8xf32> {
  %0 = nn.concat %a, %a {axis = 0 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %1 = nn.concat %0, %0 {axis = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @knows_static_shapes
// CHECK-DAG: %[[S:.*]] = nn.constant dense<[3, 4]> : tensor<2xi64>
// CHECK-DAG: %[[N:.*]] = nn.constant dense<24> : tensor<i64>
// CHECK: %[[D:.*]] = nn.shape
// CHECK: return %[[S]], %[[N]], %[[D]]
func.func @knows_static_shapes(%x: tensor<2x3x4xf32>, %y: tensor<?x3xf32>) -> (tensor<2xi64>, tensor<i64>, tensor<2xi64>) {
  %0 = nn.shape %x {end = 3 : i64, start = 1 : i64} : (tensor<2x3x4xf32>) -> tensor<2xi64>
  %1 = nn.size %x : (tensor<2x3x4xf32>) -> tensor<i64>
  %2 = nn.shape %y {end = 2 : i64, start = 0 : i64} : (tensor<?x3xf32>) -> tensor<2xi64>
  return %0, %1, %2 : tensor<2xi64>, tensor<i64>, tensor<2xi64>
}

// -----

// CHECK-LABEL: func.func @shares_equal_constants
// CHECK-NEXT: %[[C:.*]] = nn.constant #nn.external<"model.onnx", 0, 16> -> tensor<4xf32>
// CHECK-NEXT: return %[[C]], %[[C]]
func.func @shares_equal_constants() -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = nn.constant #nn.external<"model.onnx", 0, 16> -> tensor<4xf32>
  %1 = nn.constant #nn.external<"model.onnx", 0, 16> -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Heads that were split off and are stacked again in their order: the tensor itself, or a range of it.
// CHECK-LABEL: func.func @joined_pieces
// CHECK-SAME: (%[[X:.*]]: tensor<?x?x32xf32>)
// CHECK-DAG: %[[ALL:.*]] = nn.constant dense<[0, 0, 2, 16]> : tensor<4xi64>
// CHECK-DAG: %[[FEW:.*]] = nn.constant dense<[0, 0, 2, 8]> : tensor<4xi64>
// CHECK-DAG: %[[WHOLE:.*]] = nn.reshape %[[X]], %[[ALL]]
// CHECK-DAG: %[[RANGE:.*]] = nn.slice %[[X]]
// CHECK-DAG: %[[PART:.*]] = nn.reshape %[[RANGE]], %[[FEW]] : (tensor<?x?x16xf32>, tensor<4xi64>) -> tensor<?x?x2x8xf32>
// CHECK: return %[[WHOLE]], %[[PART]]
func.func @joined_pieces(%x: tensor<?x?x32xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x?x2x8xf32>) {
  %a:2 = nn.split %x {axis = 2 : i64, num_outputs = 2 : i64} : (tensor<?x?x32xf32>) -> (tensor<?x?x16xf32>, tensor<?x?x16xf32>)
  %a0 = nn.unsqueeze %a#0 axes [2] : (tensor<?x?x16xf32>) -> tensor<?x?x1x16xf32>
  %a1 = nn.unsqueeze %a#1 axes [2] : (tensor<?x?x16xf32>) -> tensor<?x?x1x16xf32>
  %whole = nn.concat %a0, %a1 {axis = 2 : i64} : (tensor<?x?x1x16xf32>, tensor<?x?x1x16xf32>) -> tensor<?x?x2x16xf32>
  %b:4 = nn.split %x {axis = 2 : i64, num_outputs = 4 : i64} : (tensor<?x?x32xf32>) -> (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?x8xf32>)
  %b1 = nn.unsqueeze %b#1 axes [2] : (tensor<?x?x8xf32>) -> tensor<?x?x1x8xf32>
  %b2 = nn.unsqueeze %b#2 axes [2] : (tensor<?x?x8xf32>) -> tensor<?x?x1x8xf32>
  %part = nn.concat %b1, %b2 {axis = 2 : i64} : (tensor<?x?x1x8xf32>, tensor<?x?x1x8xf32>) -> tensor<?x?x2x8xf32>
  return %whole, %part : tensor<?x?x2x16xf32>, tensor<?x?x2x8xf32>
}

// -----

// In another order they stay pieces.
// CHECK-LABEL: func.func @swapped_pieces
// CHECK: nn.split
// CHECK: nn.concat
func.func @swapped_pieces(%x: tensor<?x?x32xf32>) -> tensor<?x?x2x16xf32> {
  %a:2 = nn.split %x {axis = 2 : i64, num_outputs = 2 : i64} : (tensor<?x?x32xf32>) -> (tensor<?x?x16xf32>, tensor<?x?x16xf32>)
  %a0 = nn.unsqueeze %a#0 axes [2] : (tensor<?x?x16xf32>) -> tensor<?x?x1x16xf32>
  %a1 = nn.unsqueeze %a#1 axes [2] : (tensor<?x?x16xf32>) -> tensor<?x?x1x16xf32>
  %whole = nn.concat %a1, %a0 {axis = 2 : i64} : (tensor<?x?x1x16xf32>, tensor<?x?x1x16xf32>) -> tensor<?x?x2x16xf32>
  return %whole : tensor<?x?x2x16xf32>
}

// -----

// A known place is a view, the last one too; a place out of range is left for others to report.
// CHECK-LABEL: func.func @gathers_a_known_place
// CHECK-SAME: (%[[X:.*]]: tensor<?x?x8xf32>, %[[Y:.*]]: tensor<2x8xf32>)
// CHECK-DAG: %[[FIRST:.*]] = nn.slice %[[X]]
// CHECK-DAG: %[[A:.*]] = nn.squeeze %{{.*}} axes [1] {nn.outputs = ["first"]} : (tensor<?x?x8xf32>) -> tensor<?x8xf32>
// CHECK-DAG: %[[B:.*]] = nn.squeeze %{{.*}} axes [1] : (tensor<?x?x8xf32>) -> tensor<?x8xf32>
// CHECK-DAG: %[[C:.*]] = nn.gather %[[Y]]
// CHECK: return %[[A]], %[[B]], %[[C]]
func.func @gathers_a_known_place(%x: tensor<?x?x8xf32>, %y: tensor<2x8xf32>)
    -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>) {
  %zero = nn.constant dense<0> : tensor<i64>
  %last = nn.constant dense<-1> : tensor<i64>
  %two = nn.constant dense<2> : tensor<i64>
  %a = nn.gather %x, %zero {axis = 1 : i64, nn.outputs = ["first"]} : (tensor<?x?x8xf32>, tensor<i64>) -> tensor<?x8xf32>
  %b = nn.gather %x, %last {axis = 1 : i64} : (tensor<?x?x8xf32>, tensor<i64>) -> tensor<?x8xf32>
  %c = nn.gather %y, %two {axis = 0 : i64} : (tensor<2x8xf32>, tensor<i64>) -> tensor<8xf32>
  return %a, %b, %c : tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>
}
