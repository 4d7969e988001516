// nn-quantize-weights with `compare`: both forms, an input that selects, results that compare.
// RUN: heddle-opt --nn-quantize-weights="compare" %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x64xf32>
// CHECK-SAME: %[[SELECTION:[a-z0-9]+]]: tensor<2xi1> {nn.dims = [2], nn.name = "heddle.selection"}
// CHECK-SAME: tensor<f32> {nn.dims = [], nn.name = "heddle.error.0"}
// CHECK-SAME: tensor<f32> {nn.dims = [], nn.name = "heddle.signal.0"}
// CHECK-SAME: tensor<64xf32> {nn.dims = [64], nn.name = "heddle.channels.0"}
// CHECK-SAME: tensor<f32> {nn.dims = [], nn.name = "heddle.error.1"}
// CHECK: %[[PLAIN:.*]] = nn.matmul %[[X]]
// CHECK: %[[INTEGER:.*]] = nn.matmul_integer
// CHECK: %[[CODED:.*]] = nn.binary mul %{{.*}}, %{{.*}} : (tensor<?x32xf32>, tensor<32xf32>)
// CHECK: %[[D:.*]] = nn.binary sub %[[CODED]], %[[PLAIN]]
// CHECK: %[[ERROR:.*]] = nn.reduce sum_square %[[D]] axes [0, 1] : (tensor<?x32xf32>) -> tensor<f32>
// CHECK: %[[SIGNAL:.*]] = nn.reduce sum_square %[[PLAIN]] axes [0, 1]
// CHECK: %[[SIZE:.*]] = nn.unary abs %[[X]]
// CHECK: %[[CHANNELS:.*]] = nn.reduce max %[[SIZE]] axes [0] : (tensor<?x64xf32>) -> tensor<64xf32>
// CHECK: %[[FLAG:.*]] = nn.slice %[[SELECTION]]
// CHECK: %[[Y:.*]] = nn.where %[[FLAG]], %[[CODED]], %[[PLAIN]]
// What comes behind goes on from what was selected.
// CHECK: nn.matmul %[[Y]],
// CHECK: return %{{.*}}, %[[ERROR]], %[[SIGNAL]], %[[CHANNELS]], %{{.*}}, %{{.*}}, %{{.*}} :
func.func @main(%x: tensor<?x64xf32> {nn.name = "x", nn.dims = ["rows", 64]})
    -> (tensor<?x64xf32> {nn.name = "z", nn.dims = ["rows", 64]}) {
  %w = nn.constant #nn.external<"w", 0, 8192> -> tensor<64x32xf32>
  %v = nn.constant #nn.external<"w", 8192, 8192> -> tensor<32x64xf32>
  %y = nn.matmul %x, %w : (tensor<?x64xf32>, tensor<64x32xf32>) -> tensor<?x32xf32>
  %z = nn.matmul %y, %v : (tensor<?x32xf32>, tensor<32x64xf32>) -> tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}
