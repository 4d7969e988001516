// RUN: heddle-opt %s --nn-outline-kernels=bf16-weights=true | FileCheck %s

// Odd extents are padded: 33 rows are 17 pairs. What isn't a constant stays f32.
// CHECK: rt.constant @{{.*}} {recipe = [{kind = "pack", pairs_of = bf16, panel = 16 : i64}]
// CHECK-SAME: source_type = tensor<33x20xf32>} : tensor<2x17x16x2xbf16>
// CHECK: kernel.contract {{.*}}tensor<2x17x16x2xbf16>) attributes {{.*}}packed_rhs = 20 : i64
// CHECK: kernel.contract
// CHECK-NOT: bf16
func.func @main(%x: tensor<?x33xf32> {nn.name = "x", nn.dims = ["rows", 33]})
    -> (tensor<?x?xf32> {nn.name = "y", nn.dims = ["rows", "rows"]}) {
  %w = nn.constant dense<0.5> : tensor<33x20xf32>
  %h = nn.matmul %x, %w : (tensor<?x33xf32>, tensor<33x20xf32>) -> tensor<?x20xf32>
  %t = nn.transpose %h perm [1, 0] : (tensor<?x20xf32>) -> tensor<20x?xf32>
  %y = nn.matmul %h, %t : (tensor<?x20xf32>, tensor<20x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
