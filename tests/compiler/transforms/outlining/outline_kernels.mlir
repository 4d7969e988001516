// RUN: heddle-opt %s --nn-outline-kernels --split-input-file | FileCheck %s

// The example of Passes.td: one map, written straight into the output.
// CHECK: rt.func @main attributes {inputs = [{dims = ["rows", 384], name = "x", type = f32}]
// CHECK: rt.shape_func
// CHECK: %[[X:.*]] = rt.input 0
// CHECK: %[[Y:.*]] = rt.output 0
// CHECK: rt.dispatch @[[KERNEL:f32_map_[0-9a-f]+]] ins(%[[X]]) outs(%[[Y]])
// CHECK-NOT: rt.copy
// CHECK: kernel.func @[[KERNEL]](%{{.*}}: tensor<?x384xf32> {kernel.dims = array<i64: 0>}, %{{.*}}: index)
// CHECK: arith.addf
func.func @main(%x: tensor<?x384xf32> {nn.name = "x", nn.dims = ["rows", 384]})
    -> (tensor<?x384xf32> {nn.name = "y", nn.dims = ["rows", 384]}) {
  %b = nn.constant dense<1.0> : tensor<384xf32>
  %y = nn.binary add %x, %b : (tensor<?x384xf32>, tensor<384xf32>) -> tensor<?x384xf32>
  return %y : tensor<?x384xf32>
}

// -----

// Bias, activation and residual join the product; rows of all batches are one loop; the weight is packed.
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{kind = "pack", panel = 16 : i64}]{{.*}}} : tensor<2x8x16xf32>
// CHECK: rt.dispatch @f32_contract
// CHECK-NOT: rt.dispatch
// CHECK: kernel.contract {{.*}} bounds(#{{.*}}) ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<2x8x16xf32>, tensor<20xf32>, tensor<?x20xf32>)
// CHECK-SAME: packed_rhs = 20 : i64
// CHECK: math.erf
func.func @main(%x: tensor<?x?x8xf32> {nn.name = "x", nn.dims = ["b", "s", 8]},
                %r: tensor<?x?x20xf32> {nn.name = "r", nn.dims = ["b", "s", 20]})
    -> (tensor<?x?x20xf32> {nn.name = "y", nn.dims = ["b", "s", 20]}) {
  %w = nn.constant dense<0.5> : tensor<8x20xf32>
  %c = nn.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0,
                          17.0, 18.0, 19.0]> : tensor<20xf32>
  %m = nn.matmul %x, %w : (tensor<?x?x8xf32>, tensor<8x20xf32>) -> tensor<?x?x20xf32>
  %a = nn.binary add %m, %c : (tensor<?x?x20xf32>, tensor<20xf32>) -> tensor<?x?x20xf32>
  %g = nn.unary gelu_erf %a : (tensor<?x?x20xf32>) -> tensor<?x?x20xf32>
  %y = nn.binary add %g, %r : (tensor<?x?x20xf32>, tensor<?x?x20xf32>) -> tensor<?x?x20xf32>
  return %y : tensor<?x?x20xf32>
}

// -----

// Head split and merge move nothing: the product reads heads by its maps and stores its result merged.
// CHECK: affine_map<(d0, d1, d2, d3, d4)[s0, s1] -> (d0, d2, d1 * 4 + d4)>
// CHECK: rt.dispatch @f32_contract
// CHECK-NOT: rt.dispatch
func.func @main(%q: tensor<?x?x8xf32> {nn.name = "q", nn.dims = ["b", "s", 8]},
                %k: tensor<?x?x8xf32> {nn.name = "k", nn.dims = ["b", "s", 8]})
    -> (tensor<?x?x?xf32> {nn.name = "y", nn.dims = ["b", "s", "t"]}) {
  %shape = nn.constant dense<[0, 0, 2, 4]> : tensor<4xi64>
  %qs = nn.reshape %q, %shape : (tensor<?x?x8xf32>, tensor<4xi64>) -> tensor<?x?x2x4xf32>
  %qh = nn.transpose %qs perm [0, 2, 1, 3] : (tensor<?x?x2x4xf32>) -> tensor<?x2x?x4xf32>
  %ks = nn.reshape %k, %shape : (tensor<?x?x8xf32>, tensor<4xi64>) -> tensor<?x?x2x4xf32>
  %kh = nn.transpose %ks perm [0, 2, 3, 1] : (tensor<?x?x2x4xf32>) -> tensor<?x2x4x?xf32>
  %s = nn.matmul %qh, %kh : (tensor<?x2x?x4xf32>, tensor<?x2x4x?xf32>) -> tensor<?x2x?x?xf32>
  %t = nn.transpose %s perm [0, 2, 1, 3] : (tensor<?x2x?x?xf32>) -> tensor<?x?x2x?xf32>
  %merge = nn.constant dense<[0, 0, -1]> : tensor<3xi64>
  %y = nn.reshape %t, %merge : (tensor<?x?x2x?xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  return %y : tensor<?x?x?xf32>
}

// -----

// Equal kernels are one function, dispatched twice.
// CHECK: rt.dispatch @[[SOFTMAX:f32_rowwise_[0-9a-f]+]]
// CHECK: rt.dispatch @[[SOFTMAX]]
// CHECK: kernel.func @[[SOFTMAX]]
// CHECK-NOT: kernel.func
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["r", 8]})
    -> (tensor<?x8xf32> {nn.name = "y", nn.dims = ["r", 8]}) {
  %p = nn.softmax %x {axis = 1 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %y = nn.softmax %p {axis = 1 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// A checked index from data, and which node it belongs to; an input handed through is copied.
// CHECK: rt.dispatch {{.*}}error_sites = {{\[\[}}"node_Gather_1", "Gather", "index"]]{{.*}}nodes = ["node_Gather_1"], paths = ["embeddings/words"]
// CHECK: rt.copy
// CHECK: kernel.gather %{{.*}}[%{{.*}}, %{{.*}}] {site = 0 : i64} : tensor<10x4xf32>, i64, index -> f32
func.func @main(%ids: tensor<?xi64> {nn.name = "ids", nn.dims = ["n"]})
    -> (tensor<?x4xf32> {nn.name = "y", nn.dims = ["n", 4]}, tensor<?xi64> {nn.name = "z", nn.dims = ["n"]}) {
  %table = nn.constant dense<"0x0000803F000000000000003F000000000000803F000000000000003F000000000000803F000000000000003F000000000000803F000000000000003F000000000000803F000000000000003F000000000000803F000000000000003F000000000000803F000000000000003F000000000000803F000000000000003F000000000000803F000000000000003F000000000000803F000000000000003F00000000"> : tensor<10x4xf32>
  %y = nn.gather %table, %ids {axis = 0 : i64} : (tensor<10x4xf32>, tensor<?xi64>) -> tensor<?x4xf32> loc(fused<#nn.onnx_op<"Gather", "", 17, "embeddings/words">>["node_Gather_1"])
  return %y, %ids : tensor<?x4xf32>, tensor<?xi64>
}
