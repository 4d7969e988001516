// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn-raise-norms: normalisations in the spellings of exporters.
// RUN: heddle-opt --split-input-file --nn-raise-norms %s | FileCheck %s

// The exporter's spelling for opsets before 17.
// CHECK: module attributes {nn.raised = {layer_norm = 1 : i64}}
// CHECK-LABEL: func.func @layer_norm
// CHECK-NEXT: %[[Y:.*]] = nn.layer_norm %arg0, %arg1, %arg2 {axis = 2 : i64, epsilon = 9.99999974E-6 : f32} : (tensor<?x?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @layer_norm(%x: tensor<?x?x8xf32>, %gamma: tensor<8xf32>, %beta: tensor<8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %q = nn.binary div %d, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %scaled = nn.binary mul %q, %gamma : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary add %scaled, %beta : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Each operand on its other side; a square as a product; the difference computed twice.
// CHECK-LABEL: func.func @reciprocal_and_products_the_other_way_round
// CHECK-NEXT: %[[Y:.*]] = nn.layer_norm %arg0, %arg1, %arg2 {axis = 2 : i64, epsilon = 9.99999974E-6 : f32} : (tensor<?x?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @reciprocal_and_products_the_other_way_round(%x: tensor<?x?x8xf32>, %gamma: tensor<8xf32>, %beta: tensor<8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %sq = nn.binary mul %d, %d : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %eps, %var : (tensor<f32>, tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %inv = nn.unary reciprocal %root : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %mean2 = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d2 = nn.binary sub %x, %mean2 : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %q = nn.binary mul %inv, %d2 : (tensor<?x?x1xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %scaled = nn.binary mul %gamma, %q : (tensor<8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary add %beta, %scaled : (tensor<8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// The scale may come before the quotient.
// CHECK-LABEL: func.func @negative_power_and_scale_before_the_root
// CHECK-NEXT: %[[Y:.*]] = nn.layer_norm %arg0, %arg1, %arg2 {axis = 2 : i64, epsilon = 9.99999974E-6 : f32} : (tensor<?x?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @negative_power_and_scale_before_the_root(%x: tensor<?x?x8xf32>, %gamma: tensor<8xf32>, %beta: tensor<8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %mh = nn.constant dense<-5.0e-01> : tensor<f32>
  %inv = nn.binary pow %sum, %mh : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %early = nn.binary mul %d, %gamma : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  %q = nn.binary mul %early, %inv : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary add %q, %beta : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Or with the root, before that meets the difference.
// CHECK-LABEL: func.func @one_over_the_root_times_the_scale
// CHECK-NEXT: %[[Y:.*]] = nn.layer_norm %arg0, %arg1, %arg2 {axis = 2 : i64, epsilon = 9.99999974E-6 : f32} : (tensor<?x?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @one_over_the_root_times_the_scale(%x: tensor<?x?x8xf32>, %gamma: tensor<8xf32>, %beta: tensor<8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %inv = nn.binary div %one, %root : (tensor<f32>, tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %g = nn.binary mul %inv, %gamma : (tensor<?x?x1xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  %q = nn.binary mul %d, %g : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary add %q, %beta : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// TensorFlow never computes the scaled difference.
// CHECK-LABEL: func.func @shifted_by_the_scaled_mean
// CHECK-NEXT: %[[Y:.*]] = nn.layer_norm %arg0, %arg1, %arg2 {axis = 2 : i64, epsilon = 9.99999974E-6 : f32} : (tensor<?x?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @shifted_by_the_scaled_mean(%x: tensor<?x?x8xf32>, %gamma: tensor<8xf32>, %beta: tensor<8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %inv = nn.unary reciprocal %root : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %g = nn.binary mul %inv, %gamma : (tensor<?x?x1xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  %xg = nn.binary mul %x, %g : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %mg = nn.binary mul %mean, %g : (tensor<?x?x1xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %shift = nn.binary sub %beta, %mg : (tensor<8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary add %xg, %shift : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Sums divided by the number of elements, or multiplied by its inverse, and axes that are put back.
// CHECK-LABEL: func.func @sums_over_a_known_number
// CHECK-NEXT: %[[Y:.*]] = nn.layer_norm %arg0, %arg1, %arg2 {axis = 2 : i64, epsilon = 9.99999974E-6 : f32} : (tensor<?x?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @sums_over_a_known_number(%x: tensor<?x?x8xf32>, %gamma: tensor<8xf32>, %beta: tensor<8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %eight = nn.constant dense<8.0> : tensor<f32>
  %eighth = nn.constant dense<1.25e-01> : tensor<f32>
  %total = nn.reduce sum %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %mean = nn.binary div %total, %eight : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %squares = nn.reduce sum_square %d axes [2] : (tensor<?x?x8xf32>) -> tensor<?x?xf32>
  %flat = nn.binary mul %squares, %eighth : (tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
  %var = nn.unsqueeze %flat axes [2] : (tensor<?x?xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %q = nn.binary div %d, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %scaled = nn.binary mul %q, %gamma : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary add %scaled, %beta : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Who else reads mean or deviation still does; the scale is then left outside.
// CHECK-LABEL: func.func @statistics_that_others_read
// CHECK: %[[MEAN:.*]] = nn.reduce mean %arg0
// CHECK: %[[ROOT:.*]] = nn.unary sqrt
// CHECK: %[[ONE:.*]] = nn.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[Q:.*]] = nn.layer_norm %arg0, %[[ONE]] {axis = 2 : i64
// CHECK: %[[Y:.*]] = nn.binary mul %[[Q]], %arg1
// CHECK: return %[[Y]], %[[Q]], %[[MEAN]], %[[ROOT]]
func.func @statistics_that_others_read(%x: tensor<?x?x8xf32>, %gamma: tensor<8xf32>) -> (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?x1xf32>, tensor<?x?x1xf32>) {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %q = nn.binary div %d, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %q, %gamma : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  return %y, %q, %mean, %root : tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?x1xf32>, tensor<?x?x1xf32>
}

// -----

// Over all axes from one on.
// CHECK-LABEL: func.func @several_axes
// CHECK-NEXT: nn.layer_norm %arg0, %arg1 {axis = 1 : i64
// CHECK-NEXT: return
func.func @several_axes(%x: tensor<?x4x8xf32>, %gamma: tensor<4x8xf32>) -> tensor<?x4x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %mean = nn.reduce mean %x axes [1, 2] {keepdims} : (tensor<?x4x8xf32>) -> tensor<?x1x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x4x8xf32>, tensor<?x1x1xf32>) -> tensor<?x4x8xf32>
  %sq = nn.binary pow %d, %two : (tensor<?x4x8xf32>, tensor<f32>) -> tensor<?x4x8xf32>
  %var = nn.reduce mean %sq axes [1, 2] {keepdims} : (tensor<?x4x8xf32>) -> tensor<?x1x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x1x1xf32>, tensor<f32>) -> tensor<?x1x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x1x1xf32>) -> tensor<?x1x1xf32>
  %q = nn.binary div %d, %root : (tensor<?x4x8xf32>, tensor<?x1x1xf32>) -> tensor<?x4x8xf32>
  %y = nn.binary mul %q, %gamma : (tensor<?x4x8xf32>, tensor<4x8xf32>) -> tensor<?x4x8xf32>
  return %y : tensor<?x4x8xf32>
}

// -----

// Without a mean it is an RMS norm.
// CHECK-LABEL: func.func @rms_norm
// CHECK-NEXT: %[[Y:.*]] = nn.rms_norm %arg0, %arg1 {axis = 2 : i64, epsilon = 9.99999974E-6 : f32} : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @rms_norm(%x: tensor<?x?x8xf32>, %gamma: tensor<8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %sq = nn.binary mul %x, %x : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %inv = nn.unary reciprocal %root : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %q = nn.binary mul %x, %inv : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %gamma, %q : (tensor<8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// The mean along another axis is no part of a layer norm, but what is left of it may be normalised.
// CHECK-LABEL: func.func @rms_norm_of_what_is_centred_elsewhere
// CHECK: %[[D:.*]] = nn.binary sub
// CHECK-NEXT: nn.rms_norm %[[D]], %arg1
// CHECK-NEXT: return
func.func @rms_norm_of_what_is_centred_elsewhere(%x: tensor<?x?x8xf32>, %gamma: tensor<8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %other = nn.reduce mean %x axes [1] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x1x8xf32>
  %d = nn.binary sub %x, %other : (tensor<?x?x8xf32>, tensor<?x1x8xf32>) -> tensor<?x?x8xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %q = nn.binary div %d, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %q, %gamma : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// As ONNX defines it and Flax computes it, with 0 as its least.
// CHECK-LABEL: func.func @variance_as_a_difference
// CHECK-NEXT: %[[Y:.*]] = nn.layer_norm %arg0, %arg1, %arg2 {axis = 2 : i64, epsilon = 9.99999974E-6 : f32} : (tensor<?x?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @variance_as_a_difference(%x: tensor<?x?x8xf32>, %gamma: tensor<8xf32>, %beta: tensor<8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %zero = nn.constant dense<0.0> : tensor<f32>
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %xx = nn.binary mul %x, %x : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %squares = nn.reduce mean %xx axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %mm = nn.binary pow %mean, %two : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %diff = nn.binary sub %squares, %mm : (tensor<?x?x1xf32>, tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %var = nn.binary max %zero, %diff : (tensor<f32>, tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %q = nn.binary div %d, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %scaled = nn.binary mul %q, %gamma : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary add %scaled, %beta : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Statistics in f16 become statistics in f32: only roundings go.
// CHECK-LABEL: func.func @all_in_f16
// CHECK-NEXT: nn.rms_norm %arg0, %arg1 {axis = 2
// CHECK-NEXT: return
func.func @all_in_f16(%x: tensor<?x?x8xf16>, %gamma: tensor<8xf16>) -> tensor<?x?x8xf16> {
  %eps = nn.constant dense<1.000170e-05> : tensor<f16>
  %sq = nn.binary mul %x, %x : (tensor<?x?x8xf16>, tensor<?x?x8xf16>) -> tensor<?x?x8xf16>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf16>) -> tensor<?x?x1xf16>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf16>, tensor<f16>) -> tensor<?x?x1xf16>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf16>) -> tensor<?x?x1xf16>
  %q = nn.binary div %x, %root : (tensor<?x?x8xf16>, tensor<?x?x1xf16>) -> tensor<?x?x8xf16>
  %y = nn.binary mul %q, %gamma : (tensor<?x?x8xf16>, tensor<8xf16>) -> tensor<?x?x8xf16>
  return %y : tensor<?x?x8xf16>
}

// -----

// Of f32 rows, but the quotient is in f64 too: so is the norm.
// CHECK-LABEL: func.func @all_in_f64
// CHECK: %[[X:.*]] = nn.cast %arg0 {to = f64}
// CHECK-NEXT: %[[Y:.*]] = nn.rms_norm %[[X]], %{{.*}} {axis = 2
// CHECK-NEXT: nn.cast %[[Y]] {to = f32}
func.func @all_in_f64(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %wide = nn.cast %x {to = f64} : (tensor<?x?x8xf32>) -> tensor<?x?x8xf64>
  %eps = nn.constant dense<9.765625e-04> : tensor<f64>
  %sq = nn.binary mul %wide, %wide : (tensor<?x?x8xf64>, tensor<?x?x8xf64>) -> tensor<?x?x8xf64>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf64>) -> tensor<?x?x1xf64>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf64>, tensor<f64>) -> tensor<?x?x1xf64>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf64>) -> tensor<?x?x1xf64>
  %q = nn.binary div %wide, %root : (tensor<?x?x8xf64>, tensor<?x?x1xf64>) -> tensor<?x?x8xf64>
  %y = nn.cast %q {to = f32} : (tensor<?x?x8xf64>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Gemma scales by one more than its weight.
// CHECK-LABEL: func.func @gemmas_scale
// CHECK: %[[MORE:.*]] = nn.binary add %arg1
// CHECK-NEXT: %[[Y:.*]] = nn.rms_norm %arg0, %[[MORE]] {axis = 2
// CHECK-NEXT: return %[[Y]]
func.func @gemmas_scale(%x: tensor<?x?x8xf32>, %gamma: tensor<8xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %sq = nn.binary mul %x, %x : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %more = nn.binary add %gamma, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %q = nn.binary div %x, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %q, %more : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Llama in f16: rounded to f16 before the scale, which is what nn.rms_norm does.
// CHECK-LABEL: func.func @conversions_to_f32_and_back
// CHECK-NEXT: nn.rms_norm %arg0, %arg1 {axis = 2 : i64, epsilon = 9.99999974E-6 : f32} : (tensor<?x?x8xf16>, tensor<8xf16>) -> tensor<?x?x8xf16>
// CHECK-NEXT: return
func.func @conversions_to_f32_and_back(%h: tensor<?x?x8xf16>, %gamma: tensor<8xf16>) -> tensor<?x?x8xf16> {
  %x = nn.cast %h {to = f32} : (tensor<?x?x8xf16>) -> tensor<?x?x8xf32>
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %sq = nn.binary mul %x, %x : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %q = nn.binary div %x, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %q16 = nn.cast %q {to = f16} : (tensor<?x?x8xf32>) -> tensor<?x?x8xf16>
  %y = nn.binary mul %gamma, %q16 : (tensor<8xf16>, tensor<?x?x8xf16>) -> tensor<?x?x8xf16>
  return %y : tensor<?x?x8xf16>
}

// -----

// T5 squares in f32 and multiplies in f16.
// CHECK-LABEL: func.func @t5s_conversions
// CHECK-NEXT: nn.rms_norm %arg0, %arg1 {axis = 2
// CHECK-NEXT: return
func.func @t5s_conversions(%h: tensor<?x?x8xf16>, %gamma: tensor<8xf16>) -> tensor<?x?x8xf16> {
  %x = nn.cast %h {to = f32} : (tensor<?x?x8xf16>) -> tensor<?x?x8xf32>
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %sq = nn.binary mul %x, %x : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %inv = nn.unary reciprocal %root : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %inv16 = nn.cast %inv {to = f16} : (tensor<?x?x1xf32>) -> tensor<?x?x1xf16>
  %q = nn.binary mul %h, %inv16 : (tensor<?x?x8xf16>, tensor<?x?x1xf16>) -> tensor<?x?x8xf16>
  %y = nn.binary mul %q, %gamma : (tensor<?x?x8xf16>, tensor<8xf16>) -> tensor<?x?x8xf16>
  return %y : tensor<?x?x8xf16>
}

// -----

// Scaled before the way back, all of it stays in f32.
// CHECK-LABEL: func.func @scaled_in_f32
// CHECK-NEXT: %[[X:.*]] = nn.cast %arg0 {to = f32}
// CHECK-NEXT: %[[Y:.*]] = nn.rms_norm %[[X]], %arg1
// CHECK-NEXT: nn.cast %[[Y]] {to = f16}
func.func @scaled_in_f32(%h: tensor<?x?x8xf16>, %gamma: tensor<8xf32>) -> tensor<?x?x8xf16> {
  %x = nn.cast %h {to = f32} : (tensor<?x?x8xf16>) -> tensor<?x?x8xf32>
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %sq = nn.binary mul %x, %x : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %q = nn.binary div %x, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %scaled = nn.binary mul %q, %gamma : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  %y = nn.cast %scaled {to = f16} : (tensor<?x?x8xf32>) -> tensor<?x?x8xf16>
  return %y : tensor<?x?x8xf16>
}

// -----

// A residual is no bias, nor is a factor of each row a scale.
// CHECK-LABEL: func.func @bias_of_another_row_stays_outside
// CHECK: %[[Q:.*]] = nn.layer_norm %arg0, %{{.*}} {axis
// CHECK-NEXT: %[[GATED:.*]] = nn.binary mul %[[Q]], %arg2
// CHECK-NEXT: nn.binary add %[[GATED]], %arg1
func.func @bias_of_another_row_stays_outside(%x: tensor<?x?x8xf32>, %residual: tensor<?x?x8xf32>, %gate: tensor<?x?x1xf32>) -> tensor<?x?x8xf32> {
  %eps = nn.constant dense<9.99999974E-6> : tensor<f32>
  %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %sq = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %var = nn.reduce mean %sq axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
  %sum = nn.binary add %var, %eps : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %q = nn.binary div %d, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %gated = nn.binary mul %q, %gate : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary add %gated, %residual : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}
