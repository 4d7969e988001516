// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn-raise-norms: what isn't one of nn's norms stays what it is.
// RUN: heddle-opt --split-input-file --nn-raise-norms %s | FileCheck %s

// Mean along the last axis, variance along the one before.
// CHECK-LABEL: func.func @variance_along_another_axis
// CHECK-NOT: _norm
// CHECK: return
func.func @variance_along_another_axis(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [1] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x1x8xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x1x8xf32>, tensor<f32>) -> tensor<?x1x8xf32>
  %root = nn.unary sqrt %sum : (tensor<?x1x8xf32>) -> tensor<?x1x8xf32>
  %y = nn.binary div %d, %root : (tensor<?x?x8xf32>, tensor<?x1x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Normalised over channels that come first, as ConvNeXt does.
// CHECK-LABEL: func.func @along_an_axis_that_isnt_last
// CHECK-NOT: _norm
// CHECK: return
func.func @along_an_axis_that_isnt_last(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %mean = nn.reduce mean %x axes [1] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x1x8xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x1x8xf32>) -> tensor<?x?x8xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [1] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x1x8xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x1x8xf32>, tensor<f32>) -> tensor<?x1x8xf32>
  %root = nn.unary sqrt %sum : (tensor<?x1x8xf32>) -> tensor<?x1x8xf32>
  %y = nn.binary div %d, %root : (tensor<?x?x8xf32>, tensor<?x1x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Added to the deviation, the number weighs another way.
// CHECK-LABEL: func.func @epsilon_outside_of_the_root
// CHECK-NOT: _norm
// CHECK: return
func.func @epsilon_outside_of_the_root(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %var : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %root, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %y = nn.binary div %d, %sum : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// One number for each row.
// CHECK-LABEL: func.func @epsilon_of_each_row
// CHECK-NOT: _norm
// CHECK: return
func.func @epsilon_of_each_row(%x: tensor<?x?x8xf32>, %eps: tensor<?x?x1xf32>) -> tensor<?x?x8xf32> {
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %y = nn.binary div %d, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// A number that isn't known.
// CHECK-LABEL: func.func @epsilon_known_at_run_time
// CHECK-NOT: _norm
// CHECK: return
func.func @epsilon_known_at_run_time(%x: tensor<?x?x8xf32>, %eps: tensor<f32>) -> tensor<?x?x8xf32> {
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %y = nn.binary div %d, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// No op has one.
// CHECK-LABEL: func.func @negative_epsilon
// CHECK-NOT: _norm
// CHECK: return
func.func @negative_epsilon(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<-9.99999974E-6> : tensor<f32>
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %y = nn.binary div %d, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Divided by one less than the number of elements.
// CHECK-LABEL: func.func @unbiased_variance
// CHECK-NOT: _norm
// CHECK: return
func.func @unbiased_variance(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %seven = nn.constant dense<7.0> : tensor<f32>
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %total = nn.reduce sum %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %var = nn.binary div %total, %seven : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %y = nn.binary div %d, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Perhaps these rows have 8 elements, perhaps not.
// CHECK-LABEL: func.func @sum_over_an_unknown_number
// CHECK-NOT: _norm
// CHECK: return
func.func @sum_over_an_unknown_number(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %eight = nn.constant dense<8.0> : tensor<f32>
  %sq = nn.binary mul %x, %x : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %total = nn.reduce sum %sq axes [1] {keepdims} : (tensor<?x?xf32>) -> tensor<?x1xf32>
  %var = nn.binary div %total, %eight : (tensor<?x1xf32>, tensor<f32>) -> tensor<?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x1xf32>, tensor<f32>) -> tensor<?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %y = nn.binary div %x, %root : (tensor<?x?xf32>, tensor<?x1xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

// The numerator keeps its mean.
// CHECK-LABEL: func.func @mean_only_in_the_variance
// CHECK-NOT: _norm
// CHECK: return
func.func @mean_only_in_the_variance(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %y = nn.binary div %x, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Not the variance of one tensor.
// CHECK-LABEL: func.func @difference_to_another_mean
// CHECK-NOT: _norm
// CHECK: return
func.func @difference_to_another_mean(%x: tensor<?x?x8xf32>, %z: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %mean = nn.reduce mean %z axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %xx = nn.binary mul %x, %x : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %squares = nn.reduce mean %xx axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %mm = nn.binary pow %mean, %two : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %var = nn.binary sub %squares, %mm : (tensor<?x?x1xf32>, tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %y = nn.binary div %d, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// A variance that may not be less than a number.
// CHECK-LABEL: func.func @least_variance
// CHECK-NOT: _norm
// CHECK: return
func.func @least_variance(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %least = nn.constant dense<1.0e-3> : tensor<f32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %v = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %var = nn.binary max %v, %least : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %var : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %y = nn.binary div %d, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// What is divided is another tensor.
// CHECK-LABEL: func.func @another_numerator
// CHECK-NOT: _norm
// CHECK: return
func.func @another_numerator(%x: tensor<?x?x8xf32>, %z: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %sq = nn.binary mul %x, %x : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %y = nn.binary div %z, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Multiplied by the deviation, not divided.
// CHECK-LABEL: func.func @deviation_in_the_numerator
// CHECK-NOT: _norm
// CHECK: return
func.func @deviation_in_the_numerator(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %y = nn.binary mul %d, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// By the variance, then.
// CHECK-LABEL: func.func @divided_twice
// CHECK: nn.layer_norm
// CHECK: nn.binary div
// CHECK: return
func.func @divided_twice(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %q = nn.binary div %d, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary div %q, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Not the mean of squares.
// CHECK-LABEL: func.func @cubes
// CHECK-NOT: _norm
// CHECK: return
func.func @cubes(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %two = nn.constant dense<3.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %y = nn.binary div %d, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Not a square root.
// CHECK-LABEL: func.func @cube_root
// CHECK-NOT: _norm
// CHECK: return
func.func @cube_root(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %third = nn.constant dense<3.33333343E-1> : tensor<f32>
  %root = nn.binary pow %sum, %third : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %y = nn.binary div %d, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Without the reduced axis the mean of row i meets column i.
// CHECK-LABEL: func.func @rows_broadcast_as_columns
// CHECK-NOT: _norm
// CHECK: return
func.func @rows_broadcast_as_columns(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %sq = nn.binary mul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %var = nn.reduce mean %sq axes [1] : (tensor<8x8xf32>) -> tensor<8xf32>
  %sum = nn.binary add %var, %eps : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %root = nn.unary sqrt %sum : (tensor<8xf32>) -> tensor<8xf32>
  %y = nn.binary div %x, %root : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// The same, spelled with an axis.
// CHECK-LABEL: func.func @axis_put_back_in_another_place
// CHECK-NOT: _norm
// CHECK: return
func.func @axis_put_back_in_another_place(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %sq = nn.binary mul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %flat = nn.reduce mean %sq axes [1] : (tensor<8x8xf32>) -> tensor<8xf32>
  %var = nn.unsqueeze %flat axes [0] : (tensor<8xf32>) -> tensor<1x8xf32>
  %sum = nn.binary add %var, %eps : (tensor<1x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  %root = nn.unary sqrt %sum : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %y = nn.binary div %x, %root : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// Squares of what f16 leaves of the input.
// CHECK-LABEL: func.func @values_dropped_by_a_conversion
// CHECK-NOT: _norm
// CHECK: return
func.func @values_dropped_by_a_conversion(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %h = nn.cast %x {to = f16} : (tensor<?x?x8xf32>) -> tensor<?x?x8xf16>
  %sq = nn.binary mul %h, %h : (tensor<?x?x8xf16>, tensor<?x?x8xf16>) -> tensor<?x?x8xf16>
  %eps = nn.constant dense<1.0e-3> : tensor<f16>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf16>) -> tensor<?x?x1xf16>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf16>, tensor<f16>) -> tensor<?x?x1xf16>
  %r16 = nn.unary sqrt %sum : (tensor<?x?x1xf16>) -> tensor<?x?x1xf16>
  %root = nn.cast %r16 {to = f32} : (tensor<?x?x1xf16>) -> tensor<?x?x1xf32>
  %y = nn.binary div %x, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Statistics of f32 rows, taken in f64, would become less exact.
// CHECK-LABEL: func.func @statistics_in_f64
// CHECK-NOT: _norm
// CHECK: return
func.func @statistics_in_f64(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %wide = nn.cast %x {to = f64} : (tensor<?x?x8xf32>) -> tensor<?x?x8xf64>
  %eps = nn.constant dense<9.765625e-04> : tensor<f64>
  %sq = nn.binary mul %wide, %wide : (tensor<?x?x8xf64>, tensor<?x?x8xf64>) -> tensor<?x?x8xf64>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf64>) -> tensor<?x?x1xf64>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf64>, tensor<f64>) -> tensor<?x?x1xf64>
  %r64 = nn.unary sqrt %sum : (tensor<?x?x1xf64>) -> tensor<?x?x1xf64>
  %root = nn.cast %r64 {to = f32} : (tensor<?x?x1xf64>) -> tensor<?x?x1xf32>
  %y = nn.binary div %x, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// In f64 another epsilon would be seen.
// CHECK-LABEL: func.func @epsilon_that_f32_cant_hold
// CHECK-NOT: _norm
// CHECK: return
func.func @epsilon_that_f32_cant_hold(%x: tensor<?x8xf64>) -> tensor<?x8xf64> {
  %eps = nn.constant dense<1.0e-5> : tensor<f64>
  %sq = nn.binary mul %x, %x : (tensor<?x8xf64>, tensor<?x8xf64>) -> tensor<?x8xf64>
  %var = nn.reduce mean %sq axes [1] {keepdims} : (tensor<?x8xf64>) -> tensor<?x1xf64>
  %sum = nn.binary add %var, %eps : (tensor<?x1xf64>, tensor<f64>) -> tensor<?x1xf64>
  %root = nn.unary sqrt %sum : (tensor<?x1xf64>) -> tensor<?x1xf64>
  %y = nn.binary div %x, %root : (tensor<?x8xf64>, tensor<?x1xf64>) -> tensor<?x8xf64>
  return %y : tensor<?x8xf64>
}
