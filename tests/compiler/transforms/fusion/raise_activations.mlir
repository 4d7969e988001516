// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn-raise-activations: activations in the spellings of exporters.
// RUN: heddle-opt --split-input-file --nn-raise-activations %s | FileCheck %s

// The exporter's spelling.
// CHECK: module attributes {nn.raised = {gelu_erf = 1 : i64}}
// CHECK-LABEL: func.func @gelu_erf
// CHECK-NEXT: %[[Y:.*]] = nn.unary gelu_erf %arg0
// CHECK-NEXT: return %[[Y]]
func.func @gelu_erf(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %root = nn.constant dense<1.41421354> : tensor<f32>
  %z = nn.binary div %x, %root : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %erf = nn.unary erf %z : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<5.0e-01> : tensor<f32>
  %sum = nn.binary add %erf, %one : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %product = nn.binary mul %x, %sum : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %product, %half : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// The half first, the root as a factor, the sum the other way round.
// CHECK-LABEL: func.func @gelu_erf_in_another_order
// CHECK-NEXT: %[[Y:.*]] = nn.unary gelu_erf %arg0
// CHECK-NEXT: return %[[Y]]
func.func @gelu_erf_in_another_order(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %half = nn.constant dense<5.0e-01> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %r = nn.constant dense<0.707106769> : tensor<f32>
  %h = nn.binary mul %half, %x : (tensor<f32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %z = nn.binary mul %r, %x : (tensor<f32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %erf = nn.unary erf %z : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %sum = nn.binary add %one, %erf : (tensor<f32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %sum, %h : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// The half in the sum, which is multiplied out.
// CHECK-LABEL: func.func @gelu_erf_multiplied_out
// CHECK-NEXT: %[[Y:.*]] = nn.unary gelu_erf %arg0
// CHECK-NEXT: return %[[Y]]
func.func @gelu_erf_multiplied_out(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %root = nn.constant dense<1.41421354> : tensor<f32>
  %z = nn.binary div %x, %root : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %erf = nn.unary erf %z : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %half = nn.constant dense<5.0e-01> : tensor<f32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %h = nn.binary div %x, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %he = nn.binary mul %h, %erf : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary add %h, %he : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// The exporter's spelling, with a power.
// CHECK-LABEL: func.func @gelu_tanh
// CHECK-NEXT: %[[Y:.*]] = nn.unary gelu_tanh %arg0
// CHECK-NEXT: return %[[Y]]
func.func @gelu_tanh(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %c = nn.constant dense<4.471500e-02> : tensor<f32>
  %k = nn.constant dense<0.797884583> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<5.0e-01> : tensor<f32>
  %three = nn.constant dense<3.0> : tensor<f32>
  %p = nn.binary pow %x, %three : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %cp = nn.binary mul %p, %c : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %i = nn.binary add %x, %cp : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %z = nn.binary mul %i, %k : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %t = nn.unary tanh %z : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %s = nn.binary add %t, %one : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %h = nn.binary mul %x, %half : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %h, %s : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// With the factors of FastGelu, products for the power.
// CHECK-LABEL: func.func @gelu_tanh_factored
// CHECK-NEXT: %[[Y:.*]] = nn.unary gelu_tanh %arg0
// CHECK-NEXT: return %[[Y]]
func.func @gelu_tanh_factored(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %c = nn.constant dense<0.0356774069> : tensor<f32>
  %k = nn.constant dense<0.797884583> : tensor<f32>
  %half = nn.constant dense<5.0e-01> : tensor<f32>
  %sq = nn.binary mul %x, %x : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %csq = nn.binary mul %c, %sq : (tensor<f32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %i = nn.binary add %csq, %k : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %z = nn.binary mul %x, %i : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %t = nn.unary tanh %z : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %ht = nn.binary mul %t, %half : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %s = nn.binary add %half, %ht : (tensor<f32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %x, %s : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Half of one plus tanh(z) is sigmoid(2 z).
// CHECK-LABEL: func.func @gelu_tanh_as_a_sigmoid
// CHECK-NEXT: %[[Y:.*]] = nn.unary gelu_tanh %arg0
// CHECK-NEXT: return %[[Y]]
func.func @gelu_tanh_as_a_sigmoid(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %c = nn.constant dense<0.0713548139> : tensor<f32>
  %k = nn.constant dense<1.59576917> : tensor<f32>
  %three = nn.constant dense<3.0> : tensor<f32>
  %p = nn.binary pow %x, %three : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %cp = nn.binary mul %p, %c : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %kx = nn.binary mul %x, %k : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %z = nn.binary add %kx, %cp : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %g = nn.unary sigmoid %z : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %x, %g : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// A sigmoid of 1.702 x.
// CHECK-LABEL: func.func @quick_gelu
// CHECK-NEXT: %[[Y:.*]] = nn.unary quick_gelu %arg0
// CHECK-NEXT: return %[[Y]]
func.func @quick_gelu(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %k = nn.constant dense<1.702000e+00> : tensor<f32>
  %z = nn.binary mul %x, %k : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %g = nn.unary sigmoid %z : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %x, %g : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// A sigmoid of x itself, in either order.
// CHECK-LABEL: func.func @silu
// CHECK-NEXT: %[[Y:.*]] = nn.unary silu %arg0
// CHECK-NEXT: return %[[Y]]
func.func @silu(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %g = nn.unary sigmoid %x : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %g, %x : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// With exp in place of sigmoid.
// CHECK-LABEL: func.func @silu_as_a_quotient
// CHECK-NEXT: %[[Y:.*]] = nn.unary silu %arg0
// CHECK-NEXT: return %[[Y]]
func.func @silu_as_a_quotient(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %one = nn.constant dense<1.0> : tensor<f32>
  %n = nn.unary neg %x : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %e = nn.unary exp %n : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %s = nn.binary add %one, %e : (tensor<f32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary div %x, %s : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// One over one plus exp.
// CHECK-LABEL: func.func @sigmoid
// CHECK-NEXT: %[[Y:.*]] = nn.unary sigmoid %arg0
// CHECK-NEXT: return %[[Y]]
func.func @sigmoid(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %one = nn.constant dense<1.0> : tensor<f32>
  %n = nn.unary neg %x : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %e = nn.unary exp %n : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %s = nn.binary add %e, %one : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
  %y = nn.unary reciprocal %s : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// The input may itself be made of products.
// CHECK-LABEL: func.func @input_is_a_product
// CHECK-NEXT: %[[P:.*]] = nn.binary mul %arg0, %arg1
// CHECK-NEXT: nn.unary silu %[[P]]
func.func @input_is_a_product(%x: tensor<?x?x8xf32>, %z: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %p = nn.binary mul %x, %z : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %g = nn.unary sigmoid %p : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %p, %g : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// -----

// Who else reads the gate still does.
// CHECK-LABEL: func.func @gate_that_others_read
// CHECK-NEXT: %[[G:.*]] = nn.unary sigmoid %arg0
// CHECK-NEXT: %[[Y:.*]] = nn.unary silu %arg0
// CHECK-NEXT: return %[[Y]], %[[G]]
func.func @gate_that_others_read(%x: tensor<?x?x8xf32>) -> (tensor<?x?x8xf32>, tensor<?x?x8xf32>) {
  %g = nn.unary sigmoid %x : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %y = nn.binary mul %g, %x : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y, %g : tensor<?x?x8xf32>, tensor<?x?x8xf32>
}

// -----

// In f16 the constants are farther from the true ones.
// CHECK-LABEL: func.func @constants_of_f16
// CHECK-NEXT: %[[Y:.*]] = nn.unary quick_gelu %arg0
// CHECK-NEXT: return %[[Y]]
func.func @constants_of_f16(%x: tensor<?x?x8xf16>) -> tensor<?x?x8xf16> {
  %k = nn.constant dense<1.702000e+00> : tensor<f16>
  %z = nn.binary mul %x, %k : (tensor<?x?x8xf16>, tensor<f16>) -> tensor<?x?x8xf16>
  %g = nn.unary sigmoid %z : (tensor<?x?x8xf16>) -> tensor<?x?x8xf16>
  %y = nn.binary mul %x, %g : (tensor<?x?x8xf16>, tensor<?x?x8xf16>) -> tensor<?x?x8xf16>
  return %y : tensor<?x?x8xf16>
}
