// attn-quantize-attention: an entry point for one length decides as the general one, although its shapes would allow more.
// RUN: heddle-opt --attn-quantize-attention="selective" %s | FileCheck %s

// CHECK: nn.quantization = [{kind = "attention", nodes = ["/cross"], reason = "its queries may be fewer than its keys"},
// CHECK-SAME: {kind = "attention", nodes = ["/self"]}, {kind = "attention values", nodes = ["/cross"], reason =
// CHECK-LABEL: func.func @main(
// CHECK-COUNT-1: qk_int8
// CHECK-LABEL: func.func @main_8(
// CHECK-NOT: qk_int8
// CHECK: attn.sdpa %arg0, %arg0, %arg0 {{.*}}qk_int8
// CHECK-NOT: qk_int8
#cross = loc(fused<#nn.onnx_op<"MatMul", "", 17>>["/cross"])
#self = loc(fused<#nn.onnx_op<"MatMul", "", 17>>["/self"])
func.func @main(%x: tensor<1x?x4x32xf32> {nn.name = "x", nn.dims = [1, "s", 4, 32]},
                %y: tensor<1x?x4x32xf32> {nn.name = "y", nn.dims = [1, "t", 4, 32]})
    -> (tensor<1x?x4x32xf32>, tensor<1x?x4x32xf32>) {
  %a = attn.sdpa %x, %y, %y {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
     : tensor<1x?x4x32xf32>, tensor<1x?x4x32xf32>, tensor<1x?x4x32xf32> -> tensor<1x?x4x32xf32> loc(#cross)
  %b = attn.sdpa %x, %x, %x {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
     : tensor<1x?x4x32xf32>, tensor<1x?x4x32xf32>, tensor<1x?x4x32xf32> -> tensor<1x?x4x32xf32> loc(#self)
  return %a, %b : tensor<1x?x4x32xf32>, tensor<1x?x4x32xf32>
}
func.func @main_8(%x: tensor<1x8x4x32xf32> {nn.name = "x", nn.dims = [1, 8, 4, 32]},
                  %y: tensor<1x8x4x32xf32> {nn.name = "y", nn.dims = [1, 8, 4, 32]})
    -> (tensor<1x8x4x32xf32>, tensor<1x8x4x32xf32>) attributes {nn.specializes = @main} {
  %a = attn.sdpa %x, %y, %y {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
     : tensor<1x8x4x32xf32>, tensor<1x8x4x32xf32>, tensor<1x8x4x32xf32> -> tensor<1x8x4x32xf32> loc(#cross)
  %b = attn.sdpa %x, %x, %x {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
     : tensor<1x8x4x32xf32>, tensor<1x8x4x32xf32>, tensor<1x8x4x32xf32> -> tensor<1x8x4x32xf32> loc(#self)
  return %a, %b : tensor<1x8x4x32xf32>, tensor<1x8x4x32xf32>
}
