// RUN: heddle-opt %s --split-input-file --nn-outline-kernels | FileCheck %s

// Rows flattened for a gemm and parted again: activation and residual still end the product's kernel.
// CHECK: rt.dispatch @f32_contract
// CHECK-NOT: rt.dispatch
// CHECK: kernel.contract {{.*}}epilogue
// CHECK: arith.maximumf
// CHECK: arith.addf
func.func @main(%x: tensor<?x?x32xf32> {nn.name = "x", nn.dims = ["b", "s", 32]})
    -> (tensor<?x?x32xf32> {nn.name = "y", nn.dims = ["b", "s", 32]}) {
  %w = nn.constant #nn.external<"w", 0, 4096> -> tensor<32x32xf32>
  %rows = nn.constant dense<[-1, 32]> : tensor<2xi64>
  %zero = nn.constant dense<0.0> : tensor<f32>
  %shape = nn.shape %x {start = 0 : i64, end = 3 : i64} : (tensor<?x?x32xf32>) -> tensor<3xi64>
  %flat = nn.reshape %x, %rows : (tensor<?x?x32xf32>, tensor<2xi64>) -> tensor<?x32xf32>
  %p = nn.gemm %flat, %w : (tensor<?x32xf32>, tensor<32x32xf32>) -> tensor<?x32xf32>
  %back = nn.reshape %p, %shape : (tensor<?x32xf32>, tensor<3xi64>) -> tensor<?x?x32xf32>
  %r = nn.unary relu %back : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %y = nn.binary add %r, %x : (tensor<?x?x32xf32>, tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  return %y : tensor<?x?x32xf32>
}

// -----

// Half of a rotation: the halves change places and one its sign where they are read, in one kernel.
// CHECK: rt.dispatch @f32_map
// CHECK-NOT: rt.dispatch
// CHECK: kernel.map
// CHECK: arith.negf
// CHECK: arith.select
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["n", 8]}, %cos: tensor<?x8xf32> {nn.name = "c", nn.dims = ["n", 8]},
                %sin: tensor<?x8xf32> {nn.name = "s", nn.dims = ["n", 8]})
    -> (tensor<?x8xf32> {nn.name = "y", nn.dims = ["n", 8]}) {
  %halves:2 = nn.split %x {axis = 1 : i64, num_outputs = 2 : i64} : (tensor<?x8xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  %minus = nn.unary neg %halves#1 : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %turned = nn.concat %minus, %halves#0 {axis = 1 : i64} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
  %a = nn.binary mul %x, %cos : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %b = nn.binary mul %turned, %sin : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %y = nn.binary add %a, %b : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
