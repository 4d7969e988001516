// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// Each fault of reductions is reported in the words of its op.

func.func @reduce_1(%x: tensor<2x3x4xf32>) {
  // expected-error @below {{expects axes in ascending order within [0, 3), got [3]}}
  %0 = nn.reduce sum %x axes [3] : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @reduce_2(%x: tensor<2x3x4xf32>) {
  // expected-error @below {{expects axes in ascending order within [0, 3), got [1, 1]}}
  %0 = nn.reduce sum %x axes [1, 1] : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @reduce_3(%x: tensor<2xi1>) {
  // expected-error @below {{expects a number operand for kind 'sum', got 'i1'}}
  %0 = nn.reduce sum %x axes [0] : (tensor<2xi1>) -> tensor<i1>
  return
}

// -----

func.func @reduce_4(%x: tensor<2xi64>) {
  // expected-error @below {{expects a float operand for kind 'l2', got 'i64'}}
  %0 = nn.reduce l2 %x axes [0] : (tensor<2xi64>) -> tensor<i64>
  return
}

// -----

func.func @arg_reduce_1(%x: tensor<2x3xf32>) {
  // expected-error @below {{expects axis within [0, 2), got 2}}
  %0 = nn.arg_reduce max %x {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2xi64>
  return
}

// -----

func.func @arg_reduce_2(%x: tensor<2x0xf32>) {
  // expected-error @below {{expects at least one element along axis 1}}
  %0 = nn.arg_reduce max %x {axis = 1 : i64} : (tensor<2x0xf32>) -> tensor<2xi64>
  return
}

// -----

func.func @cumsum_1(%x: tensor<2x3xf32>) {
  // expected-error @below {{expects axis within [0, 2), got -1}}
  %0 = nn.cumsum %x {axis = -1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @softmax_1(%x: tensor<2x3xf32>) {
  // expected-error @below {{expects axis within [0, 2), got 2}}
  %0 = nn.softmax %x {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @log_softmax_1(%x: tensor<f32>) {
  // expected-error @below {{expects axis within [0, 0), got 0}}
  %0 = nn.log_softmax %x {axis = 0 : i64} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @layer_norm_1(%x: tensor<?x384xf32>, %w: tensor<768xf32>) {
  // expected-error @below {{expects scale of shape [768] to broadcast onto input of shape [?, 384]}}
  %0 = nn.layer_norm %x, %w {axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<?x384xf32>, tensor<768xf32>) -> tensor<?x384xf32>
  return
}

// -----

func.func @layer_norm_2(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %b: tensor<2x2x4xf32>) {
  // expected-error @below {{expects bias of shape [2, 2, 4] to broadcast onto input of shape [?, 4]}}
  %0 = nn.layer_norm %x, %w, %b {axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<?x4xf32>, tensor<4xf32>, tensor<2x2x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @layer_norm_3(%x: tensor<?x4xf32>, %w: tensor<4xf16>) {
  // expected-error @below {{expects operands of one element type, got 'f32' and 'f16'}}
  %0 = nn.layer_norm %x, %w {axis = 1 : i64, epsilon = 1.0e-5 : f32} : (tensor<?x4xf32>, tensor<4xf16>) -> tensor<?x4xf32>
  return
}

// -----

func.func @layer_norm_4(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{expects a finite epsilon of at least 0}}
  %0 = nn.layer_norm %x, %w {axis = 1 : i64, epsilon = -1.0 : f32} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @rms_norm_1(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{expects axis within [0, 2), got 2}}
  %0 = nn.rms_norm %x, %w {axis = 2 : i64, epsilon = 1.0e-5 : f32} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}
