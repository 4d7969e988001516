// RUN: heddle-opt %s --nn-outline-kernels --split-input-file | FileCheck %s

// Images, and groups with enough output channels, are batches of one contraction over stored patches.
// CHECK-DAG: #[[BOUNDS:.*]] = affine_map<()[s0, s1] -> (s1, 2, 8, 16, 6)>
// CHECK-DAG: #[[LHS:.*]] = affine_map<(d0, d1, d2, d3, d4)[s0, s1] -> (d0 * 8 + d2, d1 * 6 + d4)>
// CHECK-DAG: #[[RHS:.*]] = affine_map<(d0, d1, d2, d3, d4)[s0, s1] -> (d1 * 16 + d3, d4)>
// CHECK-DAG: #[[RESULT:.*]] = affine_map<(d0, d1, d2, d3, d4)[s0, s1] -> (d0, d1 * 16 + d3, d2)>
// CHECK: rt.dispatch @f32_map
// CHECK: rt.dispatch @f32_contract
// CHECK: kernel.contract sizes(%{{.*}}) bounds(#[[BOUNDS]]) {{.*}} {indexing_maps = [#[[LHS]], #[[RHS]], #[[RESULT]]]
func.func @main(%x: tensor<?x4x10xf32> {nn.name = "x", nn.dims = ["b", 4, 10]})
    -> (tensor<?x32x8xf32> {nn.name = "y", nn.dims = ["b", 32, 8]}) {
  %w = nn.constant dense<1.0> : tensor<32x2x3xf32>
  %y = nn.conv %x, %w {dilations = array<i64: 1>, group = 2 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>}
     : (tensor<?x4x10xf32>, tensor<32x2x3xf32>) -> tensor<?x32x8xf32>
  return %y : tensor<?x32x8xf32>
}

// -----

// A depthwise one is a sum over the kernel's offsets, read in place; a bias finishes it.
// CHECK: #[[BOUNDS:.*]] = affine_map<()[s0] -> (s0, 4, 1, 8, 1, 3)>
// CHECK-NOT: kernel.contract
// CHECK: kernel.reduce sizes(%{{.*}}) bounds(#[[BOUNDS]])
// CHECK-SAME: reduction_loops = array<i64: 4, 5>
// CHECK: arith.mulf
// CHECK: finish
// CHECK: ^bb0(%[[SUM:.*]]: f32, %[[BIAS:.*]]: f32):
// CHECK: arith.addf %[[SUM]], %[[BIAS]]
func.func @main(%x: tensor<?x4x10xf32> {nn.name = "x", nn.dims = ["b", 4, 10]}, %c: tensor<4xf32> {nn.name = "c", nn.dims = [4]})
    -> (tensor<?x4x8xf32> {nn.name = "y", nn.dims = ["b", 4, 8]}) {
  %w = nn.constant dense<[[[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0]]]> : tensor<4x1x3xf32>
  %y = nn.conv %x, %w, %c {dilations = array<i64: 1>, group = 4 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>}
     : (tensor<?x4x10xf32>, tensor<4x1x3xf32>, tensor<4xf32>) -> tensor<?x4x8xf32>
  return %y : tensor<?x4x8xf32>
}

// -----

// Half floats are multiplied as f32 and rounded once.
// CHECK-COUNT-2: rt.dispatch @f32_map
// CHECK: rt.dispatch @f16_contract
// CHECK: kernel.func @f16_contract
// CHECK: kernel.contract {{.*}} ins(%{{.*}} : tensor<?x8xf32>, tensor<8x4xf32>)
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @main(%x: tensor<?x8xf16> {nn.name = "x", nn.dims = ["r", 8]}, %w: tensor<8x4xf16> {nn.name = "w", nn.dims = [8, 4]})
    -> (tensor<?x4xf16> {nn.name = "y", nn.dims = ["r", 4]}) {
  %y = nn.matmul %x, %w : (tensor<?x8xf16>, tensor<8x4xf16>) -> tensor<?x4xf16>
  return %y : tensor<?x4xf16>
}

// -----

// Integers wrap in their own type.
// CHECK: kernel.func @i64_reduce
// CHECK: kernel.reduce
// CHECK: arith.muli %{{.*}} : i64
func.func @main(%x: tensor<?x8xi64> {nn.name = "x", nn.dims = ["r", 8]}, %w: tensor<8x4xi64> {nn.name = "w", nn.dims = [8, 4]})
    -> (tensor<?x4xi64> {nn.name = "y", nn.dims = ["r", 4]}) {
  %y = nn.matmul %x, %w : (tensor<?x8xi64>, tensor<8x4xi64>) -> tensor<?x4xi64>
  return %y : tensor<?x4xi64>
}

// -----

// Quantised ones are widened before their zero points go.
// CHECK: kernel.func @i32_reduce
// CHECK: kernel.reduce
// CHECK: %[[A:.*]] = arith.extui %{{.*}} : i8 to i32
// CHECK: %[[Z:.*]] = arith.extui %{{.*}} : i8 to i32
// CHECK: %[[L:.*]] = arith.subi %[[A]], %[[Z]] : i32
// CHECK: %[[R:.*]] = arith.extsi %{{.*}} : i8 to i32
// CHECK: arith.muli %[[L]], %[[R]] : i32
func.func @main(%x: tensor<?x8xui8> {nn.name = "x", nn.dims = ["r", 8]}, %w: tensor<8x4xi8> {nn.name = "w", nn.dims = [8, 4]},
                %z: tensor<ui8> {nn.name = "z", nn.dims = []}) -> (tensor<?x4xi32> {nn.name = "y", nn.dims = ["r", 4]}) {
  %y = nn.matmul_integer %x, %w lhs_zero_point(%z : tensor<ui8>) : (tensor<?x8xui8>, tensor<8x4xi8>) -> tensor<?x4xi32>
  return %y : tensor<?x4xi32>
}

// -----

// Unsigned numbers are compared as signed ones of the same order.
// CHECK: kernel.func @i8_reduce
// CHECK: %[[SIGN:.*]] = arith.constant -128 : i8
// CHECK: arith.xori %{{.*}}, %[[SIGN]] : i8
// CHECK: finish
// CHECK: arith.xori
func.func @main(%x: tensor<?x8xui8> {nn.name = "x", nn.dims = ["r", 8]}) -> (tensor<?xui8> {nn.name = "y", nn.dims = ["r"]}) {
  %y = nn.reduce max %x axes [1] : (tensor<?x8xui8>) -> tensor<?xui8>
  return %y : tensor<?xui8>
}

// -----

// A search finds the value first, then the first place that has it.
// CHECK: kernel.rowwise
// CHECK-SAME: combiners = [#kernel.combiner<maximum>, #kernel.combiner<minimum>]
// CHECK: %[[FOUND:.*]] = arith.cmpf oeq
// CHECK: %[[NAN:.*]] = arith.cmpf uno
// CHECK: arith.ori %[[FOUND]], %[[NAN]]
// CHECK: kernel.index 1
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["r", 8]}) -> (tensor<?x1xi64> {nn.name = "y", nn.dims = ["r", 1]}) {
  %y = nn.arg_reduce max %x {axis = 1 : i64, keepdims} : (tensor<?x8xf32>) -> tensor<?x1xi64>
  return %y : tensor<?x1xi64>
}
