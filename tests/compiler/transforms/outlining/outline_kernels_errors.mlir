// RUN: heddle-opt %s --nn-outline-kernels --split-input-file --verify-diagnostics

// All ops without a kernel are reported, and nothing is changed.
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["r", 8]}, %s: tensor<f32> {nn.name = "s", nn.dims = []})
    -> (tensor<?x8xi4> {nn.name = "y", nn.dims = ["r", 8]}, tensor<?x8xui4> {nn.name = "z", nn.dims = ["r", 8]}) {
  // expected-error @+1 {{expects an operator that has a kernel; the CPU target has no kernel for it}}
  %y = nn.quantize_linear %x, %s {axis = 1 : i64, block_size = 0 : i64, to = i4} : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xi4>
  // expected-error @+1 {{expects an operator that has a kernel; the CPU target has no kernel for it}}
  %z = nn.quantize_linear %x, %s {axis = 1 : i64, block_size = 0 : i64, to = ui4} : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xui4>
  return %y, %z : tensor<?x8xi4>, tensor<?x8xui4>
}

// -----

func.func @main(%x: tensor<?x4x8x8xf32> {nn.name = "x", nn.dims = ["b", 4, 8, 8]})
    -> (tensor<?x2x8x8xf32> {nn.name = "y", nn.dims = ["b", 2, 8, 8]}) {
  %w = nn.constant dense<1.0> : tensor<2x2x3x3xf32>
  // expected-error @+1 {{expects a convolution without groups}}
  %y = nn.conv %x, %w {dilations = array<i64: 1, 1>, group = 2 : i64, pads = array<i64: 1, 1, 1, 1>,
                       strides = array<i64: 1, 1>} : (tensor<?x4x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<?x2x8x8xf32>
  return %y : tensor<?x2x8x8xf32>
}

// -----

func.func @main(%x: tensor<?x8xi64> {nn.name = "x", nn.dims = ["r", 8]}) -> (tensor<?x8xi64> {nn.name = "y", nn.dims = ["r", 8]}) {
  %w = nn.constant dense<1> : tensor<8x8xi64>
  // expected-error @+1 {{expects operands of element type f32}}
  %y = nn.matmul %x, %w : (tensor<?x8xi64>, tensor<8x8xi64>) -> tensor<?x8xi64>
  return %y : tensor<?x8xi64>
}
