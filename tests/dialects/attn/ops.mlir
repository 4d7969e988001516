// RUN: heddle-opt %s | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

// Every op, with every optional operand, attribute, region and result, prints as it was read, also by way of the generic
// form.

// CHECK-DAG: #[[BNSD:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
// CHECK-DAG: #[[TRANSPOSED:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>
// CHECK-DAG: #[[SHARED:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d3, d4)>

// CHECK-LABEL: func.func @plain(
// CHECK: %{{.*}} = attn.sdpa %{{.*}}, %{{.*}}, %{{.*}} {kv_num_heads = 4 : i64, q_num_heads = 4 : i64, scale = 1.250000e-01 : f32} : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x32xf32> -> tensor<?x?x4x32xf32>
func.func @plain(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x32xf32>) -> tensor<?x?x4x32xf32> {
  %o = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32} : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x32xf32> -> tensor<?x?x4x32xf32>
  return %o : tensor<?x?x4x32xf32>
}

// One key head for all, keys transposed, no batch on values.
// CHECK-LABEL: func.func @layouts(
// CHECK: attn.sdpa
// CHECK-SAME: key_map = #[[TRANSPOSED]]
// CHECK-SAME: output_map = #[[BNSD]]
// CHECK-SAME: query_map = #[[BNSD]]
// CHECK-SAME: value_map = #[[SHARED]]
func.func @layouts(%q: tensor<?x8x?x64xf16>, %k: tensor<?x64x?xf16>, %v: tensor<?x64xf16>) -> tensor<?x8x?x64xf16> {
  %o = attn.sdpa %q, %k, %v {
    q_num_heads = 8 : i64, kv_num_heads = 1 : i64, scale = 1.0 : f32,
    query_map = affine_map<(b, n, q, kv, d) -> (b, n, q, d)>,
    key_map = affine_map<(b, n, q, kv, d) -> (b, d, kv)>,
    value_map = affine_map<(b, n, q, kv, d) -> (kv, d)>,
    output_map = affine_map<(b, n, q, kv, d) -> (b, n, q, d)>
  } : tensor<?x8x?x64xf16>, tensor<?x64x?xf16>, tensor<?x64xf16> -> tensor<?x8x?x64xf16>
  return %o : tensor<?x8x?x64xf16>
}

// CHECK-LABEL: func.func @everything(
// CHECK: attn.sdpa %{{.*}}, %{{.*}}, %{{.*}} scale(%{{.*}} : tensor<f32>) q_offset(%{{.*}} : tensor<?xi64>) kv_len(%{{.*}} : tensor<?xi64>) score_captures(%{{.*}}, %{{.*}} : tensor<12xf32>, tensor<?x1x?x?xf32>) mask_captures(%{{.*}} : tensor<?x?xi64>) score {
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: f32, %{{.*}}: f32):
// CHECK: attn.yield %{{.*}} : f32
// CHECK: } mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: i64):
// CHECK: attn.yield %{{.*}} : i1
// CHECK: } {fully_masked = #attn<fully_masked nan>
// CHECK-SAME: -> tensor<?x?x12x64xf32> lse tensor<?x12x?xf32> probabilities tensor<?x12x?x?xf32>
func.func @everything(%q: tensor<?x?x12x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>, %scale: tensor<f32>, %offset: tensor<?xi64>, %length: tensor<?xi64>, %slopes: tensor<12xf32>, %bias: tensor<?x1x?x?xf32>, %pad: tensor<?x?xi64>) -> (tensor<?x?x12x64xf32>, tensor<?x12x?xf32>, tensor<?x12x?x?xf32>) {
  %zero = arith.constant 0 : i64
  %o, %lse, %p = attn.sdpa %q, %k, %v scale(%scale : tensor<f32>) q_offset(%offset : tensor<?xi64>) kv_len(%length : tensor<?xi64>)
      score_captures(%slopes, %bias : tensor<12xf32>, tensor<?x1x?x?xf32>) mask_captures(%pad : tensor<?x?xi64>) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %slope: f32, %add: f32):
    %distance = arith.subi %i, %j : index
    %steps = arith.index_cast %distance : index to i64
    %far = arith.sitofp %steps : i64 to f32
    %fall = arith.mulf %slope, %far : f32
    %biased = arith.addf %s, %add : f32
    %result = arith.subf %biased, %fall : f32
    attn.yield %result : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %keep: i64):
    %is = arith.cmpi ne, %keep, %zero : i64
    attn.yield %is : i1
  } {q_num_heads = 12 : i64, kv_num_heads = 4 : i64, fully_masked = #attn<fully_masked nan>,
     normalizer = #attn<normalizer softmax>,
     score_capture_maps = [affine_map<(b, n, q, kv) -> (n)>, affine_map<(b, n, q, kv) -> (b, 0, q, kv)>],
     mask_capture_maps = [affine_map<(b, n, q, kv) -> (b, kv)>]}
     : tensor<?x?x12x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x12x64xf32> lse tensor<?x12x?xf32> probabilities tensor<?x12x?x?xf32>
  return %o, %lse, %p : tensor<?x?x12x64xf32>, tensor<?x12x?xf32>, tensor<?x12x?x?xf32>
}

// CHECK-LABEL: func.func @gated(
// CHECK: attn.sdpa %{{.*}}, %{{.*}}, %{{.*}} probability_captures(%{{.*}} : tensor<4xf32>) probability {
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: f32):
// CHECK: attn.yield %{{.*}} : f32
// CHECK: } {kv_num_heads = 4 : i64, probability_capture_maps = [#{{.*}}]
func.func @gated(%q: tensor<?x?x4x64xf32>, %gate: tensor<4xf32>) -> tensor<?x?x4x64xf32> {
  %o = attn.sdpa %q, %q, %q probability_captures(%gate : tensor<4xf32>) probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index, %g: f32):
    %weight = arith.mulf %p, %g : f32
    attn.yield %weight : f32
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32,
     probability_capture_maps = [affine_map<(b, n, q, kv) -> (n)>]}
     : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return %o : tensor<?x?x4x64xf32>
}

// CHECK-LABEL: func.func @quantized(
// CHECK: attn.sdpa %{{.*}}, %{{.*}}, %{{.*}} query_scale(%{{.*}} : tensor<?x?x4x1xf32>) query_zero_point(%{{.*}} : tensor<?x?x4x1xui8>) key_scale(%{{.*}} : tensor<f32>) key_zero_point(%{{.*}} : tensor<i8>) value_scale(%{{.*}} : tensor<1x1x4x64xf32>) value_zero_point(%{{.*}} : tensor<i8>)
// CHECK-SAME: probability_scale = 0.00787401571 : f32
func.func @quantized(%q: tensor<?x?x4x64xui8>, %k: tensor<?x?x4x64xi8>, %v: tensor<?x?x4x64xi8>, %qs: tensor<?x?x4x1xf32>, %qz: tensor<?x?x4x1xui8>, %s: tensor<f32>, %z: tensor<i8>, %vs: tensor<1x1x4x64xf32>) -> tensor<?x?x4x64xf32> {
  %o = attn.sdpa %q, %k, %v query_scale(%qs : tensor<?x?x4x1xf32>) query_zero_point(%qz : tensor<?x?x4x1xui8>) key_scale(%s : tensor<f32>) key_zero_point(%z : tensor<i8>) value_scale(%vs : tensor<1x1x4x64xf32>) value_zero_point(%z : tensor<i8>) {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, probability_scale = 0.00787401571 : f32} : tensor<?x?x4x64xui8>, tensor<?x?x4x64xi8>, tensor<?x?x4x64xi8> -> tensor<?x?x4x64xf32>
  return %o : tensor<?x?x4x64xf32>
}

// CHECK-LABEL: func.func @lse_alone(
// CHECK: -> tensor<2x8x4x64xf64> lse tensor<2x4x8xf64>{{$}}
func.func @lse_alone(%q: tensor<2x8x4x64xf64>) -> tensor<2x4x8xf64> {
  %o, %lse = attn.sdpa %q, %q, %q {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32} : tensor<2x8x4x64xf64>, tensor<2x8x4x64xf64>, tensor<2x8x4x64xf64> -> tensor<2x8x4x64xf64> lse tensor<2x4x8xf64>
  return %lse : tensor<2x4x8xf64>
}

// CHECK-LABEL: func.func @in_two_parts(
// CHECK: attn.online_sdpa %{{.*}}, %{{.*}}, %{{.*}} kv_offset(%{{.*}} : tensor<i64>) kv_len(%{{.*}} : tensor<1xi64>) outs(%{{.*}}, %{{.*}}, %{{.*}}) mask {
// CHECK: attn.yield
// CHECK: } {{.*}} : tensor<1x64x4x64xf32>, tensor<1x?x4x64xf32>, tensor<1x?x4x64xf32> -> tensor<1x64x4x64xf32>, tensor<1x4x64xf32>
// CHECK: attn.merge_partials(%{{.*}}, %{{.*}}, %{{.*}}), (%{{.*}}, %{{.*}}, %{{.*}}) : tensor<1x64x4x64xf32>, tensor<1x4x64xf32>
// CHECK: attn.finalize_partials %{{.*}}, %{{.*}}, %{{.*}} {fully_masked = #attn<fully_masked zero>} : tensor<1x64x4x64xf32>, tensor<1x4x64xf32> -> tensor<1x64x4x64xf16> lse tensor<1x4x64xf32>
func.func @in_two_parts(%q: tensor<1x64x4x64xf32>, %k: tensor<1x?x4x64xf32>, %v: tensor<1x?x4x64xf32>, %at: tensor<i64>, %length: tensor<1xi64>, %acc0: tensor<1x64x4x64xf32>, %max0: tensor<1x4x64xf32>, %sum0: tensor<1x4x64xf32>) -> tensor<1x64x4x64xf16> {
  %acc, %max, %sum = attn.online_sdpa %q, %k, %v kv_offset(%at : tensor<i64>) kv_len(%length : tensor<1xi64>) outs(%acc0, %max0, %sum0) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi ule, %j, %i : index
    attn.yield %keep : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, fully_masked = #attn<fully_masked zero>} : tensor<1x64x4x64xf32>, tensor<1x?x4x64xf32>, tensor<1x?x4x64xf32> -> tensor<1x64x4x64xf32>, tensor<1x4x64xf32>
  %acc1, %max1, %sum1 = attn.merge_partials(%acc, %max, %sum), (%acc0, %max0, %sum0) : tensor<1x64x4x64xf32>, tensor<1x4x64xf32>
  %o, %lse = attn.finalize_partials %acc1, %max1, %sum1 {fully_masked = #attn<fully_masked zero>} : tensor<1x64x4x64xf32>, tensor<1x4x64xf32> -> tensor<1x64x4x64xf16> lse tensor<1x4x64xf32>
  return %o : tensor<1x64x4x64xf16>
}

// CHECK-LABEL: func.func @state_in_bnsd(
// CHECK: attn.merge_partials({{.*}} {output_map = #[[BNSD]]}
// CHECK: attn.finalize_partials {{.*}} {output_map = #[[BNSD]]} : tensor<1x4x?x64xf32>, tensor<1x4x?xf32> -> tensor<1x4x?x64xf32>
func.func @state_in_bnsd(%acc: tensor<1x4x?x64xf32>, %max: tensor<1x4x?xf32>, %sum: tensor<1x4x?xf32>) -> tensor<1x4x?x64xf32> {
  %0, %1, %2 = attn.merge_partials(%acc, %max, %sum), (%acc, %max, %sum) {output_map = affine_map<(b, n, q, kv, d) -> (b, n, q, d)>} : tensor<1x4x?x64xf32>, tensor<1x4x?xf32>
  %o = attn.finalize_partials %0, %1, %2 {output_map = affine_map<(b, n, q, kv, d) -> (b, n, q, d)>} : tensor<1x4x?x64xf32>, tensor<1x4x?xf32> -> tensor<1x4x?x64xf32>
  return %o : tensor<1x4x?x64xf32>
}

// CHECK-LABEL: func.func @surroundings(
// CHECK: attn.qkv_projection %{{.*}}, %{{.*}}, %{{.*}} {head_size = 4 : i64, kv_num_heads = 3 : i64, q_num_heads = 6 : i64, v_head_size = 8 : i64}
// CHECK: attn.qkv_projection %{{.*}}, %{{.*}} {head_size
// CHECK: attn.rope bsnd %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {interleaved, rotary_embedding_dim = 2 : i64} : tensor<?x7x6x4xf32>, tensor<2048x1xf32>, tensor<?x7xi64>
// CHECK: attn.rope bnsd %{{.*}}, %{{.*}}, %{{.*}} {rotary_embedding_dim = 4 : i64} : tensor<?x4x7x4xf32>, tensor<1x7x2xf32>
// CHECK: attn.kv_cache_update linear %{{.*}}, %{{.*}}, %{{.*}} {axis = 2 : i64} : tensor<?x4x64x4xf32>, tensor<?x4x7x4xf32>, tensor<?xi64>
// CHECK: attn.kv_cache_update circular %{{.*}}, %{{.*}} {axis = 2 : i64} : tensor<?x4x64x4xf32>, tensor<?x4x7x4xf32>
func.func @surroundings(%x: tensor<?x7x8xf32>, %w: tensor<8x60xf32>, %b: tensor<60xf32>, %cos: tensor<2048x1xf32>, %ids: tensor<?x7xi64>, %t: tensor<?x4x7x4xf32>, %angles: tensor<1x7x2xf32>, %cache: tensor<?x4x64x4xf32>, %at: tensor<?xi64>) {
  %0:3 = attn.qkv_projection %x, %w, %b {q_num_heads = 6 : i64, kv_num_heads = 3 : i64, head_size = 4 : i64, v_head_size = 8 : i64} : (tensor<?x7x8xf32>, tensor<8x60xf32>, tensor<60xf32>) -> (tensor<?x7x6x4xf32>, tensor<?x7x3x4xf32>, tensor<?x7x3x8xf32>)
  %1:3 = attn.qkv_projection %x, %w {q_num_heads = 6 : i64, kv_num_heads = 3 : i64, head_size = 4 : i64, v_head_size = 8 : i64} : (tensor<?x7x8xf32>, tensor<8x60xf32>) -> (tensor<?x7x6x4xf32>, tensor<?x7x3x4xf32>, tensor<?x7x3x8xf32>)
  %2 = attn.rope bsnd %0#0, %cos, %cos, %ids {interleaved, rotary_embedding_dim = 2 : i64} : tensor<?x7x6x4xf32>, tensor<2048x1xf32>, tensor<?x7xi64>
  %3 = attn.rope bnsd %t, %angles, %angles {rotary_embedding_dim = 4 : i64} : tensor<?x4x7x4xf32>, tensor<1x7x2xf32>
  %4 = attn.kv_cache_update linear %cache, %t, %at {axis = 2 : i64} : tensor<?x4x64x4xf32>, tensor<?x4x7x4xf32>, tensor<?xi64>
  %5 = attn.kv_cache_update circular %cache, %t {axis = 2 : i64} : tensor<?x4x64x4xf32>, tensor<?x4x7x4xf32>
  return
}
