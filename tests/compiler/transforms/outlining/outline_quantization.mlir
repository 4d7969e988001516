// RUN: heddle-opt %s --nn-outline-kernels --split-input-file | FileCheck %s

// Half to even, zero point, saturation by a checked cast; blocks share a scale.
// CHECK: kernel.map
// CHECK: %[[BLOCK:.*]] = arith.divui
// CHECK: kernel.gather
// CHECK: %[[Q:.*]] = arith.divf
// CHECK: math.roundeven %[[Q]]
// CHECK: arith.fptosi
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["r", 8]}, %s: tensor<?x2xf32> {nn.name = "s", nn.dims = ["r", 2]})
    -> (tensor<?x8xi8> {nn.name = "y", nn.dims = ["r", 8]}) {
  %y = nn.quantize_linear %x, %s {axis = 1 : i64, block_size = 4 : i64, to = i8} : (tensor<?x8xf32>, tensor<?x2xf32>) -> tensor<?x8xi8>
  return %y : tensor<?x8xi8>
}

// -----

// Integers are subtracted before anything is rounded.
// CHECK: kernel.map
// CHECK: %[[X:.*]] = arith.extui %{{.*}} : i8 to i32
// CHECK: %[[Z:.*]] = arith.extui %{{.*}} : i8 to i32
// CHECK: %[[D:.*]] = arith.subi %[[X]], %[[Z]]
// CHECK: arith.sitofp %[[D]] : i32 to f32
// CHECK: arith.mulf
func.func @main(%x: tensor<?x8xui8> {nn.name = "x", nn.dims = ["r", 8]}, %s: tensor<f32> {nn.name = "s", nn.dims = []},
                %z: tensor<ui8> {nn.name = "z", nn.dims = []}) -> (tensor<?x8xf32> {nn.name = "y", nn.dims = ["r", 8]}) {
  %y = nn.dequantize_linear %x, %s, %z {axis = 1 : i64, block_size = 0 : i64} : (tensor<?x8xui8>, tensor<f32>, tensor<ui8>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// The range of the whole tensor is one kernel with two results, the codes are a second one.
// CHECK: rt.dispatch @f32i8_reduce
// CHECK: rt.dispatch @i8_map
// CHECK: kernel.reduce
// CHECK-SAME: combiners = [#kernel.combiner<minimum>, #kernel.combiner<maximum>]
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["r", 8]})
    -> (tensor<?x8xui8> {nn.name = "y", nn.dims = ["r", 8]}, tensor<f32> {nn.name = "s", nn.dims = []},
        tensor<ui8> {nn.name = "z", nn.dims = []}) {
  %y, %s, %z = nn.dynamic_quantize_linear %x : (tensor<?x8xf32>) -> (tensor<?x8xui8>, tensor<f32>, tensor<ui8>)
  return %y, %s, %z : tensor<?x8xui8>, tensor<f32>, tensor<ui8>
}
