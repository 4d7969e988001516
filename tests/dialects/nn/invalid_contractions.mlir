// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// Each fault of contractions is reported in the words of its op.

func.func @matmul_1(%a: tensor<?x384xf32>, %b: tensor<768x4xf32>) {
  // expected-error @below {{expects equal inner dimensions, got 384 and 768}}
  %0 = nn.matmul %a, %b : (tensor<?x384xf32>, tensor<768x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @matmul_2(%a: tensor<f32>, %b: tensor<4xf32>) {
  // expected-error @below {{expects operands of rank 1 or more}}
  %0 = nn.matmul %a, %b : (tensor<f32>, tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @matmul_3(%a: tensor<2x1x4xf32>, %b: tensor<3x4x1xf32>) {
  // expected-error @below {{expects operands that broadcast, got dimensions 2 and 3 at axis 0 of shapes [2] and [3]}}
  %0 = nn.matmul %a, %b : (tensor<2x1x4xf32>, tensor<3x4x1xf32>) -> tensor<3x1x1xf32>
  return
}

// -----

func.func @gemm_1(%a: tensor<2x4xf32>, %b: tensor<5x4xf32>) {
  // expected-error @below {{expects equal inner dimensions, got 4 and 5}}
  %0 = nn.gemm %a, %b : (tensor<2x4xf32>, tensor<5x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @gemm_2(%a: tensor<2x4xf32>, %b: tensor<1x4x4xf32>) {
  // expected-error @below {{expects matrices, got ranks 2 and 3}}
  %0 = nn.gemm %a, %b : (tensor<2x4xf32>, tensor<1x4x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @gemm_3(%a: tensor<?x4xf32>, %b: tensor<4x2xf32>, %c: tensor<3xf32>) {
  // expected-error @below {{expects C of shape [3] to broadcast onto [?, 2]}}
  %0 = nn.gemm %a, %b, %c : (tensor<?x4xf32>, tensor<4x2xf32>, tensor<3xf32>) -> tensor<?x2xf32>
  return
}

// -----

func.func @einsum_1(%a: tensor<2x3x4xf32>) {
  // expected-error @below {{expects 3 letters for input 0 of rank 3, got 2}}
  %0 = nn.einsum "ab->ab" %a : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @einsum_2(%a: tensor<2x12xf32>, %b: tensor<16x2xf32>) {
  // expected-error @below {{expects one extent for letter 'd', got 12 and 16}}
  %0 = nn.einsum "ad,db->ab" %a, %b : (tensor<2x12xf32>, tensor<16x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @einsum_3(%a: tensor<2xf32>) {
  // expected-error @below {{expects '->' and the result's letters in the equation}}
  %0 = nn.einsum "a" %a : (tensor<2xf32>) -> tensor<f32>
  return
}

// -----

func.func @einsum_4(%a: tensor<2xf32>) {
  // expected-error @below {{expects letters, '...', ',' and '->' in the equation, got '1'}}
  %0 = nn.einsum "1->" %a : (tensor<2xf32>) -> tensor<f32>
  return
}

// -----

func.func @einsum_5(%a: tensor<2xf32>) {
  // expected-error @below {{expects distinct letters in the result, got 'a' twice}}
  %0 = nn.einsum "a->aa" %a : (tensor<2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @einsum_6(%a: tensor<2xf32>) {
  // expected-error @below {{expects letter 'b' of the result in an input}}
  %0 = nn.einsum "a->b" %a : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @einsum_7(%a: tensor<2xf32>) {
  // expected-error @below {{expects one ellipsis a term at most}}
  %0 = nn.einsum "......->" %a : (tensor<2xf32>) -> tensor<f32>
  return
}

// -----

func.func @einsum_8(%a: tensor<2x2xf32>, %b: tensor<3x2xf32>) {
  // expected-error @below {{expects dimensions under '...' that broadcast, got [2] and [3]}}
  %0 = nn.einsum "...a,...a->..." %a, %b : (tensor<2x2xf32>, tensor<3x2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @einsum_9(%a: tensor<2xf32>) {
  // expected-error @below {{expects 2 inputs, got 1}}
  %0 = nn.einsum "a,a->a" %a : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @conv_1(%x: tensor<1x6x9xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @below {{expects 2 group(s) of 2 input channels, got 6 channels}}
  %0 = nn.conv %x, %w {dilations = array<i64: 1>, group = 2 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<1x6x9xf32>, tensor<6x2x3xf32>) -> tensor<1x6x7xf32>
  return
}

// -----

func.func @conv_2(%x: tensor<1x4x9xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @below {{expects at least 1 group, got 0}}
  %0 = nn.conv %x, %w {dilations = array<i64: 1>, group = 0 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<1x4x9xf32>, tensor<6x2x3xf32>) -> tensor<1x6x7xf32>
  return
}

// -----

func.func @conv_3(%x: tensor<1x4x9xf32>, %w: tensor<5x2x3xf32>) {
  // expected-error @below {{expects output channels in 2 equal groups, got 5}}
  %0 = nn.conv %x, %w {dilations = array<i64: 1>, group = 2 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<1x4x9xf32>, tensor<5x2x3xf32>) -> tensor<1x5x7xf32>
  return
}

// -----

func.func @conv_4(%x: tensor<1x4x9xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @below {{expects input and weight of equal rank of at least 3, got 3 and 4}}
  %0 = nn.conv %x, %w {dilations = array<i64: 1>, group = 2 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<1x4x9xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x7xf32>
  return
}

// -----

func.func @conv_5(%x: tensor<1x4x9xf32>, %w: tensor<6x2x3xf32>, %b: tensor<5xf32>) {
  // expected-error @below {{expects a bias of shape [6], got [5]}}
  %0 = nn.conv %x, %w, %b {dilations = array<i64: 1>, group = 2 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<1x4x9xf32>, tensor<6x2x3xf32>, tensor<5xf32>) -> tensor<1x6x7xf32>
  return
}

// -----

func.func @conv_6(%x: tensor<1x4x9xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @below {{expects 1 strides of at least 1}}
  %0 = nn.conv %x, %w {dilations = array<i64: 1>, group = 2 : i64, pads = array<i64: 0, 0>, strides = array<i64: 0>} : (tensor<1x4x9xf32>, tensor<6x2x3xf32>) -> tensor<1x6x7xf32>
  return
}

// -----

func.func @conv_7(%x: tensor<1x4x9xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @below {{expects 1 dilations of at least 1}}
  %0 = nn.conv %x, %w {dilations = array<i64: 1, 1>, group = 2 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<1x4x9xf32>, tensor<6x2x3xf32>) -> tensor<1x6x7xf32>
  return
}

// -----

func.func @conv_8(%x: tensor<1x4x9xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @below {{expects 2 pads of at least 0}}
  %0 = nn.conv %x, %w {dilations = array<i64: 1>, group = 2 : i64, pads = array<i64: 0, -1>, strides = array<i64: 1>} : (tensor<1x4x9xf32>, tensor<6x2x3xf32>) -> tensor<1x6x7xf32>
  return
}

// -----

func.func @conv_9(%x: tensor<1x4x9xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @below {{expects a kernel that fits the padded input, got extent 11 in 9 at spatial dimension 0}}
  %0 = nn.conv %x, %w {dilations = array<i64: 5>, group = 2 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<1x4x9xf32>, tensor<6x2x3xf32>) -> tensor<1x6x7xf32>
  return
}
