// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// Each fault of quantization is reported in the words of its op.

func.func @quantize_linear_1(%x: tensor<?x384xf32>, %s: tensor<383xf32>) {
  // expected-error @below {{expects a scale of shape [384], got [383]}}
  %0 = nn.quantize_linear %x, %s {axis = 1 : i64, block_size = 0 : i64, to = ui8} : (tensor<?x384xf32>, tensor<383xf32>) -> tensor<?x384xui8>
  return
}

// -----

func.func @quantize_linear_2(%x: tensor<9xf32>, %s: tensor<2xf32>) {
  // expected-error @below {{expects a scale of shape [3], got [2]}}
  %0 = nn.quantize_linear %x, %s {axis = 0 : i64, block_size = 4 : i64, to = ui8} : (tensor<9xf32>, tensor<2xf32>) -> tensor<9xui8>
  return
}

// -----

func.func @quantize_linear_3(%x: tensor<?xf32>, %s: tensor<f32>, %z: tensor<i8>) {
  // expected-error @below {{expects a zero point of type 'ui8', got 'i8'}}
  %0 = nn.quantize_linear %x, %s, %z {axis = 0 : i64, block_size = 0 : i64, to = ui8} : (tensor<?xf32>, tensor<f32>, tensor<i8>) -> tensor<?xui8>
  return
}

// -----

func.func @quantize_linear_4(%x: tensor<?xf32>, %s: tensor<f32>, %z: tensor<1xui8>) {
  // expected-error @below {{expects a zero point of the scale's shape [], got [1]}}
  %0 = nn.quantize_linear %x, %s, %z {axis = 0 : i64, block_size = 0 : i64, to = ui8} : (tensor<?xf32>, tensor<f32>, tensor<1xui8>) -> tensor<?xui8>
  return
}

// -----

func.func @quantize_linear_5(%x: tensor<?xf32>, %s: tensor<f32>) {
  // expected-error @below {{expects an integer type to quantise to, got 'f32'}}
  %0 = nn.quantize_linear %x, %s {axis = 0 : i64, block_size = 0 : i64, to = f32} : (tensor<?xf32>, tensor<f32>) -> tensor<?xi8>
  return
}

// -----

func.func @quantize_linear_6(%x: tensor<?xf32>, %s: tensor<f32>) {
  // expected-error @below {{expects a block size of at least 0, got -1}}
  %0 = nn.quantize_linear %x, %s {axis = 0 : i64, block_size = -1 : i64, to = i8} : (tensor<?xf32>, tensor<f32>) -> tensor<?xi8>
  return
}

// -----

func.func @dequantize_linear_1(%x: tensor<4xi8>, %s: tensor<4xf32>) {
  // expected-error @below {{expects axis within [0, 1), got 1}}
  %0 = nn.dequantize_linear %x, %s {axis = 1 : i64, block_size = 0 : i64} : (tensor<4xi8>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @matmul_integer_1(%a: tensor<?x384xui8>, %b: tensor<384x4xi8>, %z: tensor<i8>) {
  // expected-error @below {{expects a left zero point of type 'ui8', got 'i8'}}
  %0 = nn.matmul_integer %a, %b lhs_zero_point(%z : tensor<i8>) : (tensor<?x384xui8>, tensor<384x4xi8>) -> tensor<?x4xi32>
  return
}

// -----

func.func @matmul_integer_2(%a: tensor<?x384xui8>, %b: tensor<384x1536xi8>, %z: tensor<384xi8>) {
  // expected-error @below {{expects a right zero point of shape [] or [1536], got [384]}}
  %0 = nn.matmul_integer %a, %b rhs_zero_point(%z : tensor<384xi8>) : (tensor<?x384xui8>, tensor<384x1536xi8>) -> tensor<?x1536xi32>
  return
}

// -----

func.func @matmul_integer_3(%a: tensor<?x384xui8>, %b: tensor<383x4xi8>) {
  // expected-error @below {{expects equal inner dimensions, got 384 and 383}}
  %0 = nn.matmul_integer %a, %b : (tensor<?x384xui8>, tensor<383x4xi8>) -> tensor<?x4xi32>
  return
}

// -----

func.func @quantize_rows_1(%x: tensor<f32>) {
  // expected-error @below {{expects rows, got a scalar}}
  %0, %1, %2 = nn.quantize_rows %x : (tensor<f32>) -> (tensor<ui8>, tensor<f32>, tensor<ui8>)
  return
}

// -----

func.func @quantize_weight_1(%w: tensor<8x4xf32>) {
  // expected-error @below {{expects axis 0 or 1, got 2}}
  %0, %1 = nn.quantize_weight %w {axis = 2 : i64, block_size = 0 : i64, to = i8} : (tensor<8x4xf32>) -> (tensor<8x4xi8>, tensor<4xf32>)
  return
}

// -----

func.func @quantize_weight_2(%w: tensor<8x4xf32>) {
  // expected-error @below {{expects codes of i8 without blocks to be pair-safe}}
  %0, %1 = nn.quantize_weight %w {axis = 1 : i64, block_size = 2 : i64, pair_safe, to = i8} : (tensor<8x4xf32>) -> (tensor<8x4xi8>, tensor<4x4xf32>)
  return
}

// -----

func.func @quantize_weight_3(%w: tensor<8x4xf32>) {
  // expected-error @below {{expects blocks of one element or more, got -1}}
  %0, %1 = nn.quantize_weight %w {axis = 1 : i64, block_size = -1 : i64, to = i4} : (tensor<8x4xf32>) -> (tensor<8x4xi4>, tensor<4x4xf32>)
  return
}

// -----

func.func @matmul_integer_rows(%a: tensor<2x3x8xui8>, %b: tensor<8x4xi8>, %z: tensor<2x4x1xui8>) {
  // expected-error @below {{expects a left zero point of shape [] or [3], got [2, 4, 1]}}
  %0 = nn.matmul_integer %a, %b lhs_zero_point(%z : tensor<2x4x1xui8>) : (tensor<2x3x8xui8>, tensor<8x4xi8>) -> tensor<2x3x4xi32>
  return
}
