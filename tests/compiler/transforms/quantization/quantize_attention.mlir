// attn-quantize-attention: where queries and keys may be codes, and where that is worth it;
// values stay float without ranges.
// RUN: heddle-opt --attn-quantize-attention %s | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: heddle-opt --attn-quantize-attention="selective" %s | FileCheck %s --check-prefixes=CHECK,SOME
// RUN: heddle-opt --attn-quantize-attention="exclude=*layer.0* lossy=/enc/layer.1/qk" %s | FileCheck %s --check-prefix=NAMED
// RUN: heddle-opt --attn-quantize-attention="unless=because" %s | FileCheck %s --check-prefix=UNLESS

// ALL: nn.quantization = [{kind = "attention", nodes = ["/enc/layer.0/qk", "/enc/layer.0/softmax"]},
// ALL-SAME: {kind = "attention", nodes = ["/enc/layer.1/qk"]},
// ALL-SAME: {kind = "attention", nodes = []},
// ALL-SAME: {kind = "attention", nodes = [], reason = "its weights are results of the model"},
// ALL-SAME: {kind = "attention", nodes = [], reason = "its head size isn't a constant of at most 1024"},
// ALL-SAME: {kind = "attention", nodes = [], reason = "its queries and keys aren't f32"},
// ALL-SAME: {kind = "attention values", nodes = ["/enc/layer.0/qk", "/enc/layer.0/softmax"], reason = "what its values reach takes calibration data"},
// ALL-SAME: {kind = "attention values", nodes = [], reason = "its weights are results of the model"},
// ALL-SAME: {kind = "attention values", nodes = [], reason = "its heads and their size aren't constants"},
// ALL-SAME: {kind = "attention values", nodes = [], reason = "its values aren't f32"}]
// SOME: nn.quantization = [{kind = "attention", nodes = ["/enc/layer.0/qk", "/enc/layer.0/softmax"]},
// SOME-SAME: {kind = "attention", nodes = ["/enc/layer.1/qk"], reason = "its queries may be fewer than its keys"},
// SOME-SAME: {kind = "attention", nodes = [], reason = "its head size is below 32"},
// NAMED: nn.quantization = [{kind = "attention", nodes = ["/enc/layer.0/qk", "/enc/layer.0/softmax"], reason = "excluded"},
// NAMED-SAME: {kind = "attention", nodes = ["/enc/layer.1/qk"], reason = "it would lose too much"},
// NAMED-SAME: {kind = "attention", nodes = []},
// UNLESS: {kind = "attention", nodes = ["/enc/layer.1/qk"], reason = "because"},
// UNLESS-NOT: qk_int8
#layer = loc(fused[fused<#nn.onnx_op<"MatMul", "", 17>>["/enc/layer.0/qk"], fused<#nn.onnx_op<"Softmax", "", 17>>["/enc/layer.0/softmax"]])
#other = loc(fused<#nn.onnx_op<"MatMul", "", 17>>["/enc/layer.1/qk"])
func.func @main(%x: tensor<?x?x4x32xf32> {nn.name = "x", nn.dims = ["b", "s", 4, 32]},
                %past: tensor<?x?x4x32xf32> {nn.name = "p", nn.dims = ["b", "t", 4, 32]},
                %small: tensor<?x?x4x16xf32> {nn.name = "y", nn.dims = ["b", "s", 4, 16]},
                %any: tensor<?x?x4x?xf32> {nn.name = "z", nn.dims = ["b", "s", 4, "d"]},
                %half: tensor<?x?x4x32xf16> {nn.name = "h", nn.dims = ["b", "s", 4, 32]})
    -> (tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32>, tensor<?x?x4x16xf32>, tensor<?x4x?xf32>, tensor<?x?x4x?xf32>,
        tensor<?x?x4x32xf16>) {
  // CHECK: attn.sdpa {{.*}}qk_int8
  %a = attn.sdpa %x, %x, %x {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
     : tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32> -> tensor<?x?x4x32xf32> loc(#layer)
  // ALL: attn.sdpa {{.*}}qk_int8
  // SOME-NOT: qk_int8
  %b = attn.sdpa %x, %past, %past {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
     : tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32> -> tensor<?x?x4x32xf32> loc(#other)
  // ALL: attn.sdpa {{.*}}qk_int8
  // ALL-NOT: qk_int8
  %c = attn.sdpa %small, %small, %small {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.25 : f32}
     : tensor<?x?x4x16xf32>, tensor<?x?x4x16xf32>, tensor<?x?x4x16xf32> -> tensor<?x?x4x16xf32>
  %d, %lse = attn.sdpa %x, %x, %x {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.25 : f32}
     : tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32> -> tensor<?x?x4x32xf32> lse tensor<?x4x?xf32>
  %e = attn.sdpa %any, %any, %any {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.25 : f32}
     : tensor<?x?x4x?xf32>, tensor<?x?x4x?xf32>, tensor<?x?x4x?xf32> -> tensor<?x?x4x?xf32>
  %f = attn.sdpa %half, %half, %half {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.25 : f32}
     : tensor<?x?x4x32xf16>, tensor<?x?x4x32xf16>, tensor<?x?x4x32xf16> -> tensor<?x?x4x32xf16>
  return %a, %b, %c, %lse, %e, %f : tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32>, tensor<?x?x4x16xf32>,
      tensor<?x4x?xf32>, tensor<?x?x4x?xf32>, tensor<?x?x4x32xf16>
}
