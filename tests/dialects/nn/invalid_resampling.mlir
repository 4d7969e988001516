// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @axis_outside(%x: tensor<1x2x8xf32>, %s: tensor<1xi64>) {
  // expected-error @+1 {{expects axes in ascending order within [0, 3), got [3]}}
  %0 = nn.resize nearest %x, %s {axes = array<i64: 3>, coordinates = #nn<resize_coordinates asymmetric>, rounding = #nn<resize_rounding floor>} : (tensor<1x2x8xf32>, tensor<1xi64>) -> tensor<1x2x?xf32>
  return
}

// -----

func.func @too_few_sizes(%x: tensor<1x2x8xf32>, %s: tensor<1xi64>) {
  // expected-error @+1 {{expects 2 sizes, got [1]}}
  %0 = nn.resize nearest %x, %s {axes = array<i64: 1, 2>, coordinates = #nn<resize_coordinates asymmetric>, rounding = #nn<resize_rounding floor>} : (tensor<1x2x8xf32>, tensor<1xi64>) -> tensor<1x2x?xf32>
  return
}

// -----

func.func @integers_between(%x: tensor<1x2x8xi64>, %s: tensor<1xi64>) {
  // expected-error @+1 {{expects floats to interpolate, got 'i64'}}
  %0 = nn.resize linear %x, %s {axes = array<i64: 2>, coordinates = #nn<resize_coordinates asymmetric>, rounding = #nn<resize_rounding floor>} : (tensor<1x2x8xi64>, tensor<1xi64>) -> tensor<1x2x?xi64>
  return
}

// -----

func.func @negative_scale(%x: tensor<1x2x8xf32>, %s: tensor<1xi64>) {
  // expected-error @+1 {{expects 1 positive scales, got 1}}
  %0 = nn.resize nearest %x, %s {axes = array<i64: 2>, coordinates = #nn<resize_coordinates asymmetric>, rounding = #nn<resize_rounding floor>, scales = array<f32: -1.0>} : (tensor<1x2x8xf32>, tensor<1xi64>) -> tensor<1x2x?xf32>
  return
}

// -----

func.func @rank_2(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{expects an input of rank 3 or more, got 2}}
  %0 = nn.pool average %x {kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2x7xf32>
  return
}

// -----

func.func @no_kernel(%x: tensor<1x2x8xf32>) {
  // expected-error @+1 {{expects 1 kernel extents of at least 1}}
  %0 = nn.pool average %x {kernel = array<i64: 0>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x8xf32>) -> tensor<1x2x7xf32>
  return
}

// -----

func.func @no_stride(%x: tensor<1x2x8xf32>) {
  // expected-error @+1 {{expects 1 strides of at least 1}}
  %0 = nn.pool average %x {kernel = array<i64: 2>, strides = array<i64: 0>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x8xf32>) -> tensor<1x2x7xf32>
  return
}

// -----

func.func @no_dilation(%x: tensor<1x2x8xf32>) {
  // expected-error @+1 {{expects 1 dilations of at least 1}}
  %0 = nn.pool average %x {kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 0>} : (tensor<1x2x8xf32>) -> tensor<1x2x7xf32>
  return
}

// -----

func.func @negative_pad(%x: tensor<1x2x8xf32>) {
  // expected-error @+1 {{expects 2 pads of at least 0}}
  %0 = nn.pool average %x {kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: -1, 0>, dilations = array<i64: 1>} : (tensor<1x2x8xf32>) -> tensor<1x2x7xf32>
  return
}

// -----

func.func @p_0(%x: tensor<1x2x8xf32>) {
  // expected-error @+1 {{expects a p of at least 1, got 0}}
  %0 = nn.pool lp %x {kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, p = 0 : i64} : (tensor<1x2x8xf32>) -> tensor<1x2x7xf32>
  return
}

// -----

func.func @mean_of_integers(%x: tensor<1x2x8xi8>) {
  // expected-error @+1 {{expects floats for a mean or a root, got 'i8'}}
  %0 = nn.pool average %x {kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x8xi8>) -> tensor<1x2x7xi8>
  return
}

// -----

func.func @too_large(%x: tensor<1x2x8xf32>) {
  // expected-error @+1 {{expects a kernel that fits the padded input, got extent 9 in 8 at spatial dimension 0}}
  %0 = nn.pool average %x {kernel = array<i64: 9>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x8xf32>) -> tensor<1x2x7xf32>
  return
}

// -----

func.func @other_channels(%x: tensor<1x2x8xf32>, %w: tensor<5x3x4xf32>) {
  // expected-error @+1 {{expects a weight of 2 input channels, got 5}}
  %0 = nn.conv_transpose %x, %w {dilations = array<i64: 1>, group = 1 : i64, output_padding = array<i64: 0>, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<1x2x8xf32>, tensor<5x3x4xf32>) -> tensor<1x3x?xf32>
  return
}

// -----

func.func @negative_output_padding(%x: tensor<1x2x8xf32>, %w: tensor<2x3x4xf32>) {
  // expected-error @+1 {{expects 1 output paddings of at least 0}}
  %0 = nn.conv_transpose %x, %w {dilations = array<i64: 1>, group = 1 : i64, output_padding = array<i64: -1>, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<1x2x8xf32>, tensor<2x3x4xf32>) -> tensor<1x3x?xf32>
  return
}

// -----

func.func @nothing_left(%x: tensor<1x2x8xf32>, %w: tensor<2x3x4xf32>) {
  // expected-error @+1 {{expects a result of at least one element, got 0 at spatial dimension 0}}
  %0 = nn.conv_transpose %x, %w {dilations = array<i64: 1>, group = 1 : i64, output_padding = array<i64: 0>, pads = array<i64: 6, 5>, strides = array<i64: 1>} : (tensor<1x2x8xf32>, tensor<2x3x4xf32>) -> tensor<1x3x?xf32>
  return
}
