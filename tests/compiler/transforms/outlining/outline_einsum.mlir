// RUN: heddle-opt %s --nn-outline-kernels --split-input-file | FileCheck %s

// Letters in both operands and the result are batches, the one in both alone is the depth.
// CHECK-DAG: #[[BOUNDS:.*]] = affine_map<()[s0, s1, s2] -> (s0, 4, s1, s2, 12)>
// CHECK-DAG: #[[LHS:.*]] = affine_map<(d0, d1, d2, d3, d4)[s0, s1, s2] -> (d0, d2, d1, d4)>
// CHECK-DAG: #[[RHS:.*]] = affine_map<(d0, d1, d2, d3, d4)[s0, s1, s2] -> (d0, d3, d1, d4)>
// CHECK: kernel.contract {{.*}} bounds(#[[BOUNDS]]) {{.*}} {indexing_maps = [#[[LHS]], #[[RHS]],
func.func @main(%q: tensor<?x?x4x12xf32> {nn.name = "q", nn.dims = ["b", "s", 4, 12]},
                %k: tensor<?x?x4x12xf32> {nn.name = "k", nn.dims = ["b", "t", 4, 12]})
    -> (tensor<?x4x?x?xf32> {nn.name = "y", nn.dims = ["b", 4, "s", "t"]}) {
  %y = nn.einsum "bqhd,bkhd->bhqk" %q, %k : (tensor<?x?x4x12xf32>, tensor<?x?x4x12xf32>) -> tensor<?x4x?x?xf32>
  return %y : tensor<?x4x?x?xf32>
}

// -----

// A diagonal is read by a repeated loop; letters that don't reach the result are reduced.
// CHECK: affine_map<(d0, d1)[s0] -> (d0, d1, d1)>
// CHECK: kernel.reduce
// CHECK-SAME: reduction_loops = array<i64: 1>
func.func @main(%x: tensor<?x4x4xf32> {nn.name = "x", nn.dims = ["b", 4, 4]}) -> (tensor<?xf32> {nn.name = "y", nn.dims = ["b"]}) {
  %y = nn.einsum "bii->b" %x : (tensor<?x4x4xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// Three factors are one sum as well, in f32 where they are smaller floats.
// CHECK: kernel.reduce
// CHECK: arith.mulf
// CHECK: arith.mulf
// CHECK: finish
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @main(%a: tensor<4xf16> {nn.name = "a", nn.dims = [4]}, %b: tensor<4x5xf16> {nn.name = "b", nn.dims = [4, 5]},
                %c: tensor<5xf16> {nn.name = "c", nn.dims = [5]}) -> (tensor<f16> {nn.name = "y", nn.dims = []}) {
  %y = nn.einsum "i,ij,j->" %a, %b, %c : (tensor<4xf16>, tensor<4x5xf16>, tensor<5xf16>) -> tensor<f16>
  return %y : tensor<f16>
}
