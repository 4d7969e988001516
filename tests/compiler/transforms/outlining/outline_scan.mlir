// RUN: heddle-opt %s --nn-outline-kernels --split-input-file | FileCheck %s

// A running count with what follows it is one kernel, whose scan is the last loop.
// CHECK: kernel.func @i64_scan_
// CHECK: kernel.scan sizes(%{{.*}}) bounds({{.*}}) ins(%{{[^,]*}}, %{{.*}} : tensor<?x?xi64>, tensor<?x?xi64>)
// CHECK-SAME: combiner = #kernel.combiner<sum>
// CHECK-SAME: input_count = 1 : i64
// CHECK: finish
// CHECK: ^bb0(%[[SUM:.*]]: i64, %[[MASK:.*]]: i64):
// CHECK: arith.muli %[[SUM]], %[[MASK]]
func.func @main(%x: tensor<?x?xi64> {nn.name = "x", nn.dims = ["b", "s"]})
    -> (tensor<?x?xi64> {nn.name = "y", nn.dims = ["b", "s"]}) {
  %count = nn.cumsum %x {axis = 1 : i64} : (tensor<?x?xi64>) -> tensor<?x?xi64>
  %y = nn.binary mul %count, %x : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi64>
  return %y : tensor<?x?xi64>
}

// -----

// From the end the maps count down; the axis is the last loop wherever it stands. Half floats are summed in f32.
// CHECK: affine_map<(d0, d1)[s0] -> (-d1 + s0 - 1, d0)>
// CHECK: kernel.func @f16_scan_
// CHECK: kernel.scan
// CHECK-SAME: exclusive
// CHECK: arith.extf
// CHECK: finish
// CHECK: ^bb0(%{{.*}}: f32):
// CHECK: arith.truncf
func.func @main(%x: tensor<?x8xf16> {nn.name = "x", nn.dims = ["n", 8]}) -> (tensor<?x8xf16> {nn.name = "y", nn.dims = ["n", 8]}) {
  %y = nn.cumsum %x {axis = 0 : i64, exclusive, reverse} : (tensor<?x8xf16>) -> tensor<?x8xf16>
  return %y : tensor<?x8xf16>
}

// -----

// What is computed on the spot needs no input.
// CHECK: kernel.func @i64_scan_
// CHECK: kernel.scan sizes(%{{.*}}) bounds(#{{.*}}) attributes
// CHECK-SAME: input_count = 0 : i64
// CHECK: kernel.index 0
func.func @main(%x: tensor<?xf32> {nn.name = "x", nn.dims = ["n"]}) -> (tensor<?xi64> {nn.name = "y", nn.dims = ["n"]}) {
  %zero = nn.constant dense<0> : tensor<i64>
  %one = nn.constant dense<1> : tensor<i64>
  %n = nn.size %x : (tensor<?xf32>) -> tensor<i64>
  %r = nn.range %zero, %n, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %y = nn.cumsum %r {axis = 0 : i64} : (tensor<?xi64>) -> tensor<?xi64>
  return %y : tensor<?xi64>
}
