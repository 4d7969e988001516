// attn-quantize-attention: keys without a bias lose what calibration found them to be about.
// RUN: heddle-opt --attn-quantize-attention %s | FileCheck %s
// RUN: heddle-opt --attn-quantize-attention="unless=because" %s | FileCheck %s --check-prefix=FLOAT
// RUN: heddle-opt --attn-quantize-attention="compare ranges" %s | FileCheck %s --check-prefix=RANGES

// CHECK-NOT: nn.key_offsets
// In front of the cut to heads, where it joins the projection; for keys that come in heads, by head and channel.
// CHECK: %[[OFFSETS:.*]] = nn.constant dense<{{.*}}7.500000e+00, 5.000000e-01, {{.*}} : tensor<64xf32>
// CHECK: %[[SHIFTED:.*]] = nn.binary sub %arg0, %[[OFFSETS]]
// CHECK: %[[K:.*]] = nn.reshape %[[SHIFTED]],
// CHECK: attn.sdpa %arg1, %[[K]], %arg1 {{.*}}qk_int8
// CHECK: %[[HEADS:.*]] = nn.constant dense<{{.*}} : tensor<1x1x2x32xf32>
// CHECK: %[[L:.*]] = nn.binary sub %arg1, %[[HEADS]]
// CHECK: attn.sdpa %arg1, %[[L]], %arg1 {{.*}}qk_int8
// As many as there are channels, or none.
// CHECK: attn.sdpa %arg1, %arg1, %arg1 {{.*}}qk_int8
// FLOAT-NOT: nn.binary sub
// Keys whose offsets aren't known are measured.
// RANGES: nn.name = "heddle.offset.2"
// RANGES-SAME: nn.name = "heddle.reach.2"
// RANGES: nn.reduce mean %arg1 axes [0, 1]
#l0 = loc(fused<#nn.onnx_op<"MatMul", "", 17>>["/layer.0/qk"])
#l1 = loc(fused<#nn.onnx_op<"MatMul", "", 17>>["/layer.1/qk"])
#l2 = loc(fused<#nn.onnx_op<"MatMul", "", 17>>["/layer.2/qk"])
#offsets = array<f32: 7.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5>
module attributes {nn.key_offsets = {"/layer.0/qk" = #offsets, "/layer.1/qk" = #offsets, "/layer.2/qk" = array<f32: 1.0>}} {
func.func @main(%x: tensor<?x?x64xf32> {nn.name = "x", nn.dims = ["b", "s", 64]},
                %q: tensor<?x?x2x32xf32> {nn.name = "q", nn.dims = ["b", "s", 2, 32]})
    -> (tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>) {
  %heads = nn.constant dense<[0, 0, 2, 32]> : tensor<4xi64>
  %k = nn.reshape %x, %heads : (tensor<?x?x64xf32>, tensor<4xi64>) -> tensor<?x?x2x32xf32>
  %a = attn.sdpa %q, %k, %q {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.125 : f32}
     : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32> loc(#l0)
  %b = attn.sdpa %q, %q, %q {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.125 : f32}
     : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32> loc(#l1)
  %c = attn.sdpa %q, %q, %q {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.125 : f32}
     : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32> loc(#l2)
  return %a, %b, %c : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>
}
}
