// RUN: heddle-opt %s --nn-outline-kernels | FileCheck %s

// Weights beside each other, one of them stored N x K: one packed constant of two sources, and a bias of two sources.
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{axis = 1 : i64, kind = "concat", recipe = [{kind = "transpose", permutation = array<i64: 1, 0>}], source = #nn.external<"w", 4096, 2048>, source_type = tensor<16x32xf32>}, {kind = "pack", panel = 16 : i64}], source = #nn.external<"w", 0, 4096>, source_type = tensor<32x32xf32>} : tensor<3x32x16xf32>
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{axis = 0 : i64, kind = "concat", recipe = [], source = dense<2.000000e+00> : tensor<16xf32>, source_type = tensor<16xf32>}], source = dense<1.000000e+00> : tensor<32xf32>, source_type = tensor<32xf32>} : tensor<48xf32>
// CHECK: rt.dispatch @f32_contract
// CHECK-NOT: rt.dispatch
func.func @main(%x: tensor<?x32xf32> {nn.name = "x", nn.dims = ["rows", 32]})
    -> (tensor<?x48xf32> {nn.name = "y", nn.dims = ["rows", 48]}) {
  %w1 = nn.constant #nn.external<"w", 0, 4096> -> tensor<32x32xf32>
  %w2 = nn.constant #nn.external<"w", 4096, 2048> -> tensor<16x32xf32>
  %b1 = nn.constant dense<1.0> : tensor<32xf32>
  %b2 = nn.constant dense<2.0> : tensor<16xf32>
  %w2t = nn.transpose %w2 perm [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
  %w = nn.concat %w1, %w2t {axis = 1 : i64} : (tensor<32x32xf32>, tensor<32x16xf32>) -> tensor<32x48xf32>
  %b = nn.concat %b1, %b2 {axis = 0 : i64} : (tensor<32xf32>, tensor<16xf32>) -> tensor<48xf32>
  %p = nn.matmul %x, %w : (tensor<?x32xf32>, tensor<32x48xf32>) -> tensor<?x48xf32>
  %y = nn.binary add %p, %b : (tensor<?x48xf32>, tensor<48xf32>) -> tensor<?x48xf32>
  return %y : tensor<?x48xf32>
}
