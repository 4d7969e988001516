// RUN: heddle-opt %s --nn-outline-kernels --split-input-file | FileCheck %s

// Slices are parallel loops, tuples run in order; the data is a whole tensor, with its extent of 1 too.
// CHECK-DAG: #[[BOUNDS:.*]] = affine_map<()[s0] -> (8, s0)>
// CHECK-DAG: #[[DATA:.*]] = affine_map<(d0, d1)[s0] -> (0, 0, d0)>
// CHECK: rt.dispatch {{.*}} {error_sites = {{\[\[}}"", "", "index"]]
// CHECK: kernel.scatter sizes(%{{.*}}) bounds(#[[BOUNDS]]) ins({{.*}} : tensor<1x9x8xf32>,
// CHECK-SAME: indexing_maps = [#[[DATA]],
// CHECK-SAME: num_parallel = 1 : i64, scattered_dims = array<i64: 0, 1>, site = 0 : i64
// CHECK: kernel.yield %true, %{{.*}}, %{{.*}}, %{{.*}} : i1, i64, i64, f32
// CHECK: combine
// CHECK: arith.maximumf
func.func @main(%x: tensor<1x9x8xf32> {nn.name = "x", nn.dims = [1, 9, 8]}, %i: tensor<?x2xi64> {nn.name = "i", nn.dims = ["n", 2]},
                %u: tensor<?x8xf32> {nn.name = "u", nn.dims = ["n", 8]}) -> (tensor<1x9x8xf32> {nn.name = "y", nn.dims = [1, 9, 8]}) {
  %y = nn.scatter_nd max %x, %i, %u : (tensor<1x9x8xf32>, tensor<?x2xi64>, tensor<?x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}

// -----

// Where indices are as wide as the data each update exists and is walked by strides.
// CHECK: kernel.scatter
// CHECK-NOT: kernel.gather
// CHECK: kernel.yield %true
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["n", 8]}, %i: tensor<?x2xi32> {nn.name = "i", nn.dims = ["n", 2]},
                %u: tensor<?x2xf32> {nn.name = "u", nn.dims = ["n", 2]}) -> (tensor<?x8xf32> {nn.name = "y", nn.dims = ["n", 8]}) {
  %y = nn.scatter_elements none %x, %i, %u {axis = 1 : i64} : (tensor<?x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// Where they aren't, the rest of the data has none.
// CHECK: kernel.scatter
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult
// CHECK: %[[EXISTS:.*]] = arith.andi %true, %[[INSIDE]]
// CHECK: kernel.gather
// CHECK: kernel.yield %[[EXISTS]]
func.func @main(%x: tensor<5x8xf32> {nn.name = "x", nn.dims = [5, 8]}, %i: tensor<3x2xi64> {nn.name = "i", nn.dims = [3, 2]},
                %u: tensor<3x2xf32> {nn.name = "u", nn.dims = [3, 2]}) -> (tensor<5x8xf32> {nn.name = "y", nn.dims = [5, 8]}) {
  %y = nn.scatter_elements add %x, %i, %u {axis = 1 : i64} : (tensor<5x8xf32>, tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<5x8xf32>
  return %y : tensor<5x8xf32>
}

// -----

// A NaN comes before everything else.
// CHECK: kernel.top_k
// CHECK: precedes
// CHECK: arith.cmpf olt
// CHECK: arith.cmpf uno
// CHECK: arith.cmpf uno
// CHECK: arith.cmpi ugt
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["n", 8]})
    -> (tensor<?x3xf32> {nn.name = "v", nn.dims = ["n", 3]}, tensor<?x3xi64> {nn.name = "i", nn.dims = ["n", 3]}) {
  %k = nn.constant dense<3> : tensor<i64>
  %v, %i = nn.top_k %x, %k {axis = 1 : i64} : (tensor<?x8xf32>, tensor<i64>) -> (tensor<?x3xf32>, tensor<?x3xi64>)
  return %v, %i : tensor<?x3xf32>, tensor<?x3xi64>
}
