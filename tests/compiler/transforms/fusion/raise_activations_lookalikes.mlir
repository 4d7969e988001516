// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn-raise-activations: a slightly different function stays what it is.
// RUN: heddle-opt --split-input-file --nn-raise-activations %s | FileCheck %s

// Close to quick_gelu's 1.702, and another function.
// CHECK-LABEL: func.func @factor_of_1_70
// CHECK-NOT: gelu
// CHECK-NOT: silu
// CHECK: return
func.func @factor_of_1_70(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %k = nn.constant dense<1.700000e+00> : tensor<f32>
  %z = nn.binary mul %x, %k : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %g = nn.unary sigmoid %z : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %x, %g : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Two numbers in f16 too.
// CHECK-LABEL: func.func @factor_of_1_70_in_f16
// CHECK-NOT: gelu
// CHECK-NOT: silu
// CHECK: return
func.func @factor_of_1_70_in_f16(%x: tensor<?x?x8xf16>) -> tensor<?x?x8xf16> {
  %k = nn.constant dense<1.700000e+00> : tensor<f16>
  %z = nn.binary mul %x, %k : (tensor<?x?x8xf16>, tensor<f16>) -> tensor<?x?x8xf16>
  %g = nn.unary sigmoid %z : (tensor<?x?x8xf16>) -> tensor<?x?x8xf16>
  %y = nn.binary mul %x, %g : (tensor<?x?x8xf16>, tensor<?x?x8xf16>) -> tensor<?x?x8xf16>
  return %y : tensor<?x?x8xf16>
}

// -----

// A rounded factor of the cube.
// CHECK-LABEL: func.func @cubic_factor_of_0_04
// CHECK-NOT: gelu
// CHECK-NOT: silu
// CHECK: return
func.func @cubic_factor_of_0_04(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %c = nn.constant dense<4.000000e-02> : tensor<f32>
  %k = nn.constant dense<0.797884583> : tensor<f32>
  %three = nn.constant dense<3.0> : tensor<f32>
  %p = nn.binary pow %x, %three : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %cp = nn.binary mul %p, %c : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %i = nn.binary add %x, %cp : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %z = nn.binary mul %i, %k : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %g = nn.unary tanh %z : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<5.0e-01> : tensor<f32>
  %sum = nn.binary add %g, %one : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %product = nn.binary mul %x, %sum : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %product, %half : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// erf of x itself.
// CHECK-LABEL: func.func @root_of_two_missing
// CHECK-NOT: gelu
// CHECK-NOT: silu
// CHECK: return
func.func @root_of_two_missing(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %g = nn.unary erf %x : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<5.0e-01> : tensor<f32>
  %sum = nn.binary add %g, %one : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %product = nn.binary mul %x, %sum : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %product, %half : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// 1.4142 is not the root of two in f32.
// CHECK-LABEL: func.func @rounded_root_of_two
// CHECK-NOT: gelu
// CHECK-NOT: silu
// CHECK: return
func.func @rounded_root_of_two(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %root = nn.constant dense<1.414200e+00> : tensor<f32>
  %z = nn.binary div %x, %root : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %g = nn.unary erf %z : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<5.0e-01> : tensor<f32>
  %sum = nn.binary add %g, %one : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %product = nn.binary mul %x, %sum : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %product, %half : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Twice a GELU.
// CHECK-LABEL: func.func @half_missing
// CHECK-NOT: gelu
// CHECK-NOT: silu
// CHECK: return
func.func @half_missing(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %root = nn.constant dense<1.41421354> : tensor<f32>
  %z = nn.binary div %x, %root : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %erf = nn.unary erf %z : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %sum = nn.binary add %erf, %one : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %x, %sum : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// x (erf - 1) / 2.
// CHECK-LABEL: func.func @difference_for_the_sum
// CHECK-NOT: gelu
// CHECK-NOT: silu
// CHECK: return
func.func @difference_for_the_sum(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %root = nn.constant dense<1.41421354> : tensor<f32>
  %z = nn.binary div %x, %root : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %erf = nn.unary erf %z : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<5.0e-01> : tensor<f32>
  %sum = nn.binary sub %erf, %one : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %product = nn.binary mul %x, %sum : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %product, %half : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// An even polynomial.
// CHECK-LABEL: func.func @square_for_the_cube
// CHECK-NOT: gelu
// CHECK-NOT: silu
// CHECK: return
func.func @square_for_the_cube(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %c = nn.constant dense<4.471500e-02> : tensor<f32>
  %k = nn.constant dense<0.797884583> : tensor<f32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %p = nn.binary pow %x, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %cp = nn.binary mul %p, %c : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %i = nn.binary add %x, %cp : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %z = nn.binary mul %i, %k : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %g = nn.unary tanh %z : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<5.0e-01> : tensor<f32>
  %sum = nn.binary add %g, %one : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %product = nn.binary mul %x, %sum : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %product, %half : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// The gate of another tensor, as in a gated unit.
// CHECK-LABEL: func.func @another_factor
// CHECK-NOT: gelu
// CHECK-NOT: silu
// CHECK: return
func.func @another_factor(%x: tensor<?x?x8xf32>, %w: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %g = nn.unary sigmoid %x : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %w, %g : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// x / (1 + exp(x)).
// CHECK-LABEL: func.func @exp_without_its_sign
// CHECK-NOT: gelu
// CHECK-NOT: silu
// CHECK: return
func.func @exp_without_its_sign(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %one = nn.constant dense<1.0> : tensor<f32>
  %e = nn.unary exp %x : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %s = nn.binary add %e, %one : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %y = nn.binary div %x, %s : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// The result has more elements than x.
// CHECK-LABEL: func.func @constant_that_broadcasts
// CHECK-NOT: gelu
// CHECK-NOT: silu
// CHECK: return
func.func @constant_that_broadcasts(%x: tensor<1x3x8xf32>) -> tensor<4x3x8xf32> {
  %k = nn.constant dense<1.000000e+00> : tensor<4x1x1xf32>
  %b = nn.binary mul %x, %k : (tensor<1x3x8xf32>, tensor<4x1x1xf32>) -> tensor<4x3x8xf32>
  %g = nn.unary sigmoid %x : (tensor<1x3x8xf32>) -> tensor<1x3x8xf32>
  %y = nn.binary mul %b, %g : (tensor<4x3x8xf32>, tensor<1x3x8xf32>) -> tensor<4x3x8xf32>
  return %y : tensor<4x3x8xf32>
}
