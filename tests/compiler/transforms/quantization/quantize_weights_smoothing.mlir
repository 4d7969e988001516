// nn-quantize-weights: channels' ranges from calibration.
// RUN: heddle-opt --split-input-file --nn-quantize-weights %s | FileCheck %s

// max |w| of the rows is 4 for the first 32, 1 for the others; the ranges are the other way round. The factors are
// sqrt(1 / 4) and sqrt(4 / 1), around their geometric mean of 1. The float activation stays what it is for others.
// CHECK: module
// CHECK-NOT: nn.channel_ranges
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x64xf32>
// CHECK: %[[W:.*]] = nn.concat
// CHECK: %[[INVERSE:.*]] = nn.constant dense<[2.000000e+00, {{.*}}, 5.000000e-01]> : tensor<64xf32>
// CHECK: %[[SMOOTH:.*]] = nn.binary mul %[[X]], %[[INVERSE]]
// CHECK: nn.quantize_rows %[[SMOOTH]]
// CHECK: %[[FACTOR:.*]] = nn.constant dense<{{\[\[}}5.000000e-01], {{.*}}, [2.000000e+00]]> : tensor<64x1xf32>
// CHECK: %[[SCALED:.*]] = nn.binary mul %[[W]], %[[FACTOR]] : (tensor<64x16xf32>, tensor<64x1xf32>)
// CHECK: nn.quantize_weight %[[SCALED]]
// CHECK: nn.binary add %[[X]], %[[X]]
module attributes {nn.channel_ranges = {y = array<f32: 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0>}} {
  func.func @main(%x: tensor<?x64xf32>) -> (tensor<?x16xf32>, tensor<?x64xf32>) {
    %upper = nn.constant dense<-4.0> : tensor<16x32xf32>
    %lower = nn.constant dense<1.0> : tensor<32x16xf32>
    %turned = nn.transpose %upper perm [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
    %w = nn.concat %turned, %lower {axis = 0 : i64} : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
    %y = nn.matmul %x, %w : (tensor<?x64xf32>, tensor<64x16xf32>) -> tensor<?x16xf32> loc(fused<#nn.onnx_op<"MatMul", "", 17>>["y"])
    %s = nn.binary add %x, %x : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
    return %y, %s : tensor<?x16xf32>, tensor<?x64xf32>
  }
}

// -----

// A product that reads the same activation without ranges of its own forbids it.
// CHECK-LABEL: func.func @unknown_neighbour
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x32xf32>
// CHECK: nn.quantize_rows %[[X]]
module attributes {nn.channel_ranges = {y = array<f32: 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0>}} {
  func.func @unknown_neighbour(%x: tensor<?x32xf32>) -> (tensor<?x16xf32>, tensor<?x16xf32>) {
    %w = nn.constant dense<1.0> : tensor<32x16xf32>
    %y = nn.matmul %x, %w : (tensor<?x32xf32>, tensor<32x16xf32>) -> tensor<?x16xf32> loc(fused<#nn.onnx_op<"MatMul", "", 17>>["y"])
    %z = nn.matmul %x, %w : (tensor<?x32xf32>, tensor<32x16xf32>) -> tensor<?x16xf32> loc(fused<#nn.onnx_op<"MatMul", "", 17>>["z"])
    return %y, %z : tensor<?x16xf32>, tensor<?x16xf32>
  }
}

// -----

// The copy is named after what it was made of.
// CHECK-LABEL: func.func @named
// CHECK: nn.binary mul %{{.*}} {nn.outputs = ["relu_1 smoothed"]}
module attributes {nn.channel_ranges = {y = array<f32: 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0>}} {
  func.func @named(%x: tensor<?x32xf32>) -> tensor<?x16xf32> {
    %w = nn.constant dense<1.0> : tensor<32x16xf32>
    %r = nn.unary relu %x {nn.outputs = ["relu_1"]} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %y = nn.matmul %r, %w : (tensor<?x32xf32>, tensor<32x16xf32>) -> tensor<?x16xf32> loc(fused<#nn.onnx_op<"MatMul", "", 17>>["y"])
    return %y : tensor<?x16xf32>
  }
}
