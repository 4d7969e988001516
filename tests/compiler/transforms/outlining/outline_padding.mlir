// RUN: heddle-opt %s --nn-outline-kernels --split-input-file | FileCheck %s

// Padding reads a clamped place and selects: one unsigned comparison a dimension, no read outside the data.
// CHECK: kernel.map
// CHECK: arith.cmpi ult
// CHECK: arith.minsi
// CHECK: kernel.gather %{{.*}}[%{{.*}}] : tensor<?xf32>, index -> f32
// CHECK: arith.select
func.func @main(%x: tensor<?xf32> {nn.name = "x", nn.dims = ["n"]}) -> (tensor<?xf32> {nn.name = "y", nn.dims = ["m"]}) {
  %pads = nn.constant dense<[2, 1]> : tensor<2xi64>
  %value = nn.constant dense<7.0> : tensor<f32>
  %y = nn.pad constant %x, %pads value(%value : tensor<f32>) : (tensor<?xf32>, tensor<2xi64>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// A padded convolution stores its patches, zero in the padding, then is a product.
// CHECK: rt.dispatch @f32_map
// CHECK: rt.dispatch @f32_contract
// CHECK: kernel.func @f32_map
// CHECK: kernel.gather
// CHECK: kernel.func @f32_contract
func.func @main(%x: tensor<?x3x8x8xf32> {nn.name = "x", nn.dims = ["b", 3, 8, 8]})
    -> (tensor<?x2x8x8xf32> {nn.name = "y", nn.dims = ["b", 2, 8, 8]}) {
  %w = nn.constant dense<1.0> : tensor<2x3x3x3xf32>
  %y = nn.conv %x, %w {dilations = array<i64: 1, 1>, group = 1 : i64, pads = array<i64: 1, 1, 1, 1>,
                       strides = array<i64: 1, 1>} : (tensor<?x3x8x8xf32>, tensor<2x3x3x3xf32>) -> tensor<?x2x8x8xf32>
  return %y : tensor<?x2x8x8xf32>
}

// -----

// Tiling a dimension of extent 1 is a broadcast; any other counts round the operand.
// CHECK: kernel.map
// CHECK: arith.remui
func.func @main(%x: tensor<1x4xf32> {nn.name = "x", nn.dims = [1, 4]}) -> (tensor<3x8xf32> {nn.name = "y", nn.dims = [3, 8]}) {
  %repeats = nn.constant dense<[3, 2]> : tensor<2xi64>
  %y = nn.tile %x, %repeats : (tensor<1x4xf32>, tensor<2xi64>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

// -----

// Mirrored padding goes forth and back: every place is one of the data's.
// CHECK: kernel.map
// CHECK: arith.remsi
// CHECK: arith.minsi
// CHECK: kernel.gather %{{.*}}[%{{.*}}] : tensor<4xf32>, index -> f32
// CHECK-NOT: arith.cmpi ult
func.func @main(%x: tensor<4xf32> {nn.name = "x", nn.dims = [4]}) -> (tensor<7xf32> {nn.name = "y", nn.dims = [7]}) {
  %pads = nn.constant dense<[2, 1]> : tensor<2xi64>
  %y = nn.pad reflect %x, %pads : (tensor<4xf32>, tensor<2xi64>) -> tensor<7xf32>
  return %y : tensor<7xf32>
}
