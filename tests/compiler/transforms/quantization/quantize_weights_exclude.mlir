// nn-quantize-weights: patterns of nodes that stay float, and several entry points.
// RUN: heddle-opt --nn-quantize-weights="exclude=*/layer.0/*" %s | FileCheck %s
// RUN: heddle-opt --nn-quantize-weights="exclude=/enc/layer.0/[q]" %s | FileCheck %s
// A pattern that is too long to lie within its string, and a name that is no pattern.
// RUN: heddle-opt --nn-quantize-weights="exclude=/enc/layer.0/a_node_of_a_long_name*" %s | FileCheck %s
// RUN: heddle-opt '--nn-quantize-weights=exclude=/enc/layer.0/k\' %s | FileCheck %s

// A product that stands for several nodes stays float if one of them matches. The report has each node once, whatever
// entry points there are.
// CHECK: nn.quantization = [
// CHECK-SAME: {kind = "product", nodes = ["/enc/layer.0/[q]", "/enc/layer.0/k\\", "/enc/layer.0/a_node_of_a_long_name"], reason = "excluded"}
// CHECK-SAME: {kind = "product", nodes = ["/enc/layer.1/q"]}]
// CHECK-LABEL: func.func @main(
// CHECK: nn.matmul %
// CHECK: nn.matmul_integer
// CHECK-LABEL: func.func @main_8(
// CHECK: nn.matmul %
// CHECK: nn.matmul_integer
#merged = loc(fused[fused<#nn.onnx_op<"MatMul", "", 17>>["/enc/layer.0/[q]"], fused<#nn.onnx_op<"MatMul", "", 17>>["/enc/layer.0/k\\"], fused<#nn.onnx_op<"MatMul", "", 17>>["/enc/layer.0/a_node_of_a_long_name"]])
#single = loc(fused<#nn.onnx_op<"MatMul", "", 17>>["/enc/layer.1/q"])
func.func @main(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %w = nn.constant #nn.external<"w", 0, 16384> -> tensor<64x64xf32>
  %y = nn.matmul %x, %w : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32> loc(#merged)
  %z = nn.matmul %y, %w : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32> loc(#single)
  return %z : tensor<?x64xf32>
}
func.func @main_8(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {nn.specializes = @main} {
  %w = nn.constant #nn.external<"w", 0, 16384> -> tensor<64x64xf32>
  %y = nn.matmul %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32> loc(#merged)
  %z = nn.matmul %y, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32> loc(#single)
  return %z : tensor<8x64xf32>
}
