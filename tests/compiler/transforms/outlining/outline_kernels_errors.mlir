// RUN: heddle-opt %s --nn-outline-kernels --split-input-file --verify-diagnostics

// All ops without a kernel are reported, and nothing is changed.
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["r", 8]}, %s: tensor<f32> {nn.name = "s", nn.dims = []})
    -> (tensor<?x8xi4> {nn.name = "y", nn.dims = ["r", 8]}, tensor<?x8xui4> {nn.name = "z", nn.dims = ["r", 8]}) {
  // expected-error @+1 {{expects elements of a byte or more, or constant matrices of 4 bits that are dequantised; the CPU target has no kernel for it}}
  %y = nn.quantize_linear %x, %s {axis = 1 : i64, block_size = 0 : i64, to = i4} : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xi4>
  // expected-error @+1 {{expects elements of a byte or more, or constant matrices of 4 bits that are dequantised; the CPU target has no kernel for it}}
  %z = nn.quantize_linear %x, %s {axis = 1 : i64, block_size = 0 : i64, to = ui4} : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xui4>
  return %y, %z : tensor<?x8xi4>, tensor<?x8xui4>
}

// -----

// Known extents alone say that no memory holds it; strides would overflow.
func.func @main(%x: tensor<2147483647x?x9223372036854775807xf32> {nn.name = "x", nn.dims = [2147483647, "n", 9223372036854775807]})
    -> (tensor<2147483647x?x9223372036854775807xf32> {nn.name = "y", nn.dims = [2147483647, "n", 9223372036854775807]}) {
  // expected-error @+1 {{expects tensors of at most 2^47 bytes; the CPU target has no kernel for it}}
  %y = nn.unary relu %x : (tensor<2147483647x?x9223372036854775807xf32>) -> tensor<2147483647x?x9223372036854775807xf32>
  return %y : tensor<2147483647x?x9223372036854775807xf32>
}

// -----

func.func @main(%x: tensor<8x4xf32> {nn.name = "x", nn.dims = [8, 4]}) -> (tensor<8x4xi8> {nn.name = "y", nn.dims = [8, 4]}) {
  // expected-error @+1 {{expects a constant weight; the CPU target has no kernel for it}}
  %y, %s = nn.quantize_weight %x {axis = 1 : i64, block_size = 0 : i64, to = i8} : (tensor<8x4xf32>) -> (tensor<8x4xi8>, tensor<4xf32>)
  return %y : tensor<8x4xi8>
}
