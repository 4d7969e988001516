// attn-quantize-attention: weights and values as codes, where ranges of values are known and weights are nobody else's.
// RUN: heddle-opt --attn-quantize-attention %s | FileCheck %s --check-prefixes=CHECK,BOTH
// RUN: heddle-opt --attn-quantize-attention="unless=because lossy-values=/layer.1/qk" %s | FileCheck %s --check-prefixes=CHECK,LOSSY
// RUN: heddle-opt --attn-quantize-attention="unless-values=because" %s | FileCheck %s --check-prefix=NONE
// RUN: heddle-opt --attn-quantize-attention="compare" %s | FileCheck %s --check-prefix=COMPARE

// CHECK-NOT: nn.value_ranges
// BOTH: {kind = "attention values", nodes = ["/layer.0/qk"]}, {kind = "attention values", nodes = ["/layer.1/qk"]},
// BOTH-SAME: {kind = "attention values", nodes = ["/layer.2/qk"], reason = "what its values reach takes calibration data"},
// BOTH-SAME: {kind = "attention values", nodes = ["/layer.3/qk"], reason = "its values aren't finite"},
// BOTH-SAME: {kind = "attention values", nodes = ["/layer.4/qk"], reason = "the model rounds its weights itself"}]
// LOSSY: {kind = "attention", nodes = ["/layer.0/qk"], reason = "because"}
// LOSSY: {kind = "attention values", nodes = ["/layer.0/qk"]},
// LOSSY-SAME: {kind = "attention values", nodes = ["/layer.1/qk"], reason = "it would lose too much"}
// NONE: {kind = "attention values", nodes = ["/layer.0/qk"], reason = "because"}
// NONE-NOT: pv_int8_block
// Scales are a 127th of the ranges, and 1 for values of 0.
// CHECK: %[[SCALES:.*]] = nn.constant dense<{{.*}}0.00999999977, {{.*}}1.000000e+00, {{.*}} : tensor<1x1x2x32xf32>
// BOTH: attn.sdpa {{.*}} value_scale(%[[SCALES]] : tensor<1x1x2x32xf32>) {{.*}}pv_int8_block = 256 : i64, q_num_heads = 2 : i64, qk_int8
// LOSSY: attn.sdpa {{.*}} value_scale(%[[SCALES]] : tensor<1x1x2x32xf32>) {{.*}}pv_int8_block = 256 : i64, q_num_heads = 2 : i64, scale
// Where the heads lie in front of the sequence their scales do.
// BOTH: attn.sdpa {{.*}} value_scale({{.*}} : tensor<1x2x1x32xf32>) {{.*}}pv_int8_block = 256 : i64
// CHECK-NOT: pv_int8_block

// All four forms of an attention, each product compared with floats.
// COMPARE: %[[PLAIN:.*]] = attn.sdpa %{{.*}}, %{{.*}}, %{{.*}} {kv_num_heads
// COMPARE-NEXT: %[[S:.*]] = attn.sdpa {{.*}}qk_int8
// COMPARE: nn.binary sub %[[S]], %[[PLAIN]]
// COMPARE: %[[FLOATS:.*]] = nn.where %{{.*}}, %[[S]], %[[PLAIN]]
// COMPARE: %[[V:.*]] = attn.sdpa {{.*}}pv_int8_block = 256 : i64, q_num_heads = 2 : i64, scale
// COMPARE: nn.binary sub %[[V]], %[[PLAIN]]
// COMPARE: %[[JOINT:.*]] = attn.sdpa {{.*}}pv_int8_block = 256 : i64, q_num_heads = 2 : i64, qk_int8
// COMPARE: %[[CODES:.*]] = nn.where %{{.*}}, %[[JOINT]], %[[V]]
// COMPARE: nn.where %{{.*}}, %[[CODES]], %[[FLOATS]]
#l0 = loc(fused<#nn.onnx_op<"MatMul", "", 17>>["/layer.0/qk"])
#l1 = loc(fused<#nn.onnx_op<"MatMul", "", 17>>["/layer.1/qk"])
#l2 = loc(fused<#nn.onnx_op<"MatMul", "", 17>>["/layer.2/qk"])
#l3 = loc(fused<#nn.onnx_op<"MatMul", "", 17>>["/layer.3/qk"])
#l4 = loc(fused<#nn.onnx_op<"MatMul", "", 17>>["/layer.4/qk"])
#ranges = array<f32: 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.54>
module attributes {nn.value_ranges = {"/layer.0/qk" = #ranges, "/layer.1/qk" = #ranges, "/layer.2/qk" = array<f32: 1.0>,
                                      "/layer.3/qk" = array<f32: 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 1.27, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0x7F800000>, "/layer.4/qk" = #ranges}} {
func.func @main(%x: tensor<?x?x2x32xf32> {nn.name = "x", nn.dims = ["b", "s", 2, 32]},
                %y: tensor<?x2x?x32xf32> {nn.name = "y", nn.dims = ["b", 2, "s", 32]})
    -> (tensor<?x?x2x32xf32>, tensor<?x2x?x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>) {
  %a = attn.sdpa %x, %x, %x {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.125 : f32}
     : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32> loc(#l0)
  %b = attn.sdpa %y, %y, %y {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.125 : f32,
     query_map = affine_map<(b, n, q, kv, d) -> (b, n, q, d)>, key_map = affine_map<(b, n, q, kv, d) -> (b, n, kv, d)>,
     value_map = affine_map<(b, n, q, kv, d) -> (b, n, kv, d)>, output_map = affine_map<(b, n, q, kv, d) -> (b, n, q, d)>}
     : tensor<?x2x?x32xf32>, tensor<?x2x?x32xf32>, tensor<?x2x?x32xf32> -> tensor<?x2x?x32xf32> loc(#l1)
  %c = attn.sdpa %x, %x, %x {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.125 : f32}
     : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32> loc(#l2)
  %d = attn.sdpa %x, %x, %x {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.125 : f32}
     : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32> loc(#l3)
  %e = attn.sdpa %x, %x, %x probability {
  ^bb0(%p: f32, %i0: index, %h: index, %i: index, %j: index):
    %square = arith.mulf %p, %p : f32
    attn.yield %square : f32
  } {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.125 : f32}
     : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32> loc(#l4)
  return %a, %b, %c, %d, %e : tensor<?x?x2x32xf32>, tensor<?x2x?x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>
}
}
