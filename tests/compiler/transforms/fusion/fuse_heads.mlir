// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn-fuse-heads: one idea a case. The first one is the pass's documented example.
// RUN: heddle-opt --split-input-file --attn-fuse-heads %s | FileCheck %s

#rows = affine_map<(b, n, q, kv, d) -> (b, q, d)>
#keys = affine_map<(b, n, q, kv, d) -> (b, kv, d)>
#heads = affine_map<(b, n, q, kv, d) -> (n, b, q, d)>

// Two queries that read one key and value: a group of two.
// CHECK-DAG: #[[Q:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>
// CHECK-DAG: #[[K:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>
// CHECK-LABEL: func.func @shared_key
// CHECK-SAME: (%[[Q0:.*]]: tensor<?x?x16xf32>, %[[Q1:.*]]: tensor<?x?x16xf32>, %[[KEY:.*]]: tensor<?x?x16xf32>, %[[VALUE:.*]]: tensor<?x?x16xf32>)
// CHECK-DAG: %[[U0:.*]] = nn.unsqueeze %[[Q0]] axes [2]
// CHECK-DAG: %[[U1:.*]] = nn.unsqueeze %[[Q1]] axes [2]
// CHECK: %[[QUERY:.*]] = nn.concat %[[U0]], %[[U1]] {axis = 2 : i64}
// CHECK: %[[Y:.*]] = attn.sdpa %[[QUERY]], %[[KEY]], %[[VALUE]] {key_map = #[[K]], kv_num_heads = 1 : i64, output_map = #[[Q]], q_num_heads = 2 : i64, query_map = #[[Q]], scale = 2.500000e-01 : f32, value_map = #[[K]]}
// CHECK-SAME: -> tensor<?x?x2x16xf32>
// CHECK: nn.reshape %[[Y]], %{{.*}} -> tensor<?x?x32xf32>
// CHECK-NOT: attn.sdpa
func.func @shared_key(%q0: tensor<?x?x16xf32>, %q1: tensor<?x?x16xf32>, %k: tensor<?x?x16xf32>,
                      %v: tensor<?x?x16xf32>) -> tensor<?x?x32xf32> {
  %h0 = attn.sdpa %q0, %k, %v {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 0.25 : f32, query_map = #rows,
    key_map = #keys, value_map = #keys, output_map = #heads}
    : tensor<?x?x16xf32>, tensor<?x?x16xf32>, tensor<?x?x16xf32> -> tensor<1x?x?x16xf32>
  %h1 = attn.sdpa %q1, %k, %v {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 0.25 : f32, query_map = #rows,
    key_map = #keys, value_map = #keys, output_map = #heads}
    : tensor<?x?x16xf32>, tensor<?x?x16xf32>, tensor<?x?x16xf32> -> tensor<1x?x?x16xf32>
  %y0 = nn.squeeze %h0 axes [0] : (tensor<1x?x?x16xf32>) -> tensor<?x?x16xf32>
  %y1 = nn.squeeze %h1 axes [0] : (tensor<1x?x?x16xf32>) -> tensor<?x?x16xf32>
  %y = nn.concat %y0, %y1 {axis = 2 : i64} : (tensor<?x?x16xf32>, tensor<?x?x16xf32>) -> tensor<?x?x32xf32>
  return %y : tensor<?x?x32xf32>
}

// -----

#rows = affine_map<(b, n, q, kv, d) -> (b, q, d)>
#keys = affine_map<(b, n, q, kv, d) -> (b, kv, d)>
#heads = affine_map<(b, n, q, kv, d) -> (n, b, q, d)>

// Each head reads its own place of a bias: the map gets the head.
// CHECK-DAG: #[[BIAS:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>
// CHECK-LABEL: func.func @bias_of_each_head
// CHECK: attn.sdpa %{{.*}} score_captures(%{{.*}} : tensor<2x?x?xf32>)
// CHECK: q_num_heads = 2 : i64
// CHECK-SAME: score_capture_maps = [#[[BIAS]]]
// CHECK-NOT: attn.sdpa
func.func @bias_of_each_head(%q0: tensor<?x?x16xf32>, %q1: tensor<?x?x16xf32>, %k: tensor<?x?x16xf32>,
                             %v: tensor<?x?x16xf32>, %bias: tensor<2x?x?xf32>) -> tensor<?x?x32xf32> {
  %h0 = attn.sdpa %q0, %k, %v score_captures(%bias : tensor<2x?x?xf32>) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: f32):
    %r = arith.addf %s, %x : f32
    attn.yield %r : f32
  } {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 0.25 : f32, query_map = #rows, key_map = #keys,
     value_map = #keys, output_map = #heads, score_capture_maps = [affine_map<(b, n, q, kv) -> (0, q, kv)>]}
    : tensor<?x?x16xf32>, tensor<?x?x16xf32>, tensor<?x?x16xf32> -> tensor<1x?x?x16xf32>
  %h1 = attn.sdpa %q1, %k, %v score_captures(%bias : tensor<2x?x?xf32>) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: f32):
    %r = arith.addf %s, %x : f32
    attn.yield %r : f32
  } {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 0.25 : f32, query_map = #rows, key_map = #keys,
     value_map = #keys, output_map = #heads, score_capture_maps = [affine_map<(b, n, q, kv) -> (1, q, kv)>]}
    : tensor<?x?x16xf32>, tensor<?x?x16xf32>, tensor<?x?x16xf32> -> tensor<1x?x?x16xf32>
  %y0 = nn.squeeze %h0 axes [0] : (tensor<1x?x?x16xf32>) -> tensor<?x?x16xf32>
  %y1 = nn.squeeze %h1 axes [0] : (tensor<1x?x?x16xf32>) -> tensor<?x?x16xf32>
  %y = nn.concat %y0, %y1 {axis = 2 : i64} : (tensor<?x?x16xf32>, tensor<?x?x16xf32>) -> tensor<?x?x32xf32>
  return %y : tensor<?x?x32xf32>
}

// -----

#rows = affine_map<(b, n, q, kv, d) -> (b, q, d)>
#keys = affine_map<(b, n, q, kv, d) -> (b, kv, d)>
#heads = affine_map<(b, n, q, kv, d) -> (n, b, q, d)>

// Another scale: these aren't heads of one attention.
// CHECK-LABEL: func.func @different_scales
// CHECK-COUNT-2: attn.sdpa
// CHECK: nn.concat
func.func @different_scales(%q0: tensor<?x?x16xf32>, %q1: tensor<?x?x16xf32>, %k: tensor<?x?x16xf32>,
                            %v: tensor<?x?x16xf32>) -> tensor<?x?x32xf32> {
  %h0 = attn.sdpa %q0, %k, %v {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 0.25 : f32, query_map = #rows,
    key_map = #keys, value_map = #keys, output_map = #heads}
    : tensor<?x?x16xf32>, tensor<?x?x16xf32>, tensor<?x?x16xf32> -> tensor<1x?x?x16xf32>
  %h1 = attn.sdpa %q1, %k, %v {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 0.5 : f32, query_map = #rows,
    key_map = #keys, value_map = #keys, output_map = #heads}
    : tensor<?x?x16xf32>, tensor<?x?x16xf32>, tensor<?x?x16xf32> -> tensor<1x?x?x16xf32>
  %y0 = nn.squeeze %h0 axes [0] : (tensor<1x?x?x16xf32>) -> tensor<?x?x16xf32>
  %y1 = nn.squeeze %h1 axes [0] : (tensor<1x?x?x16xf32>) -> tensor<?x?x16xf32>
  %y = nn.concat %y0, %y1 {axis = 2 : i64} : (tensor<?x?x16xf32>, tensor<?x?x16xf32>) -> tensor<?x?x32xf32>
  return %y : tensor<?x?x32xf32>
}

// -----

#rows = affine_map<(b, n, q, kv, d) -> (b, q, d)>
#keys = affine_map<(b, n, q, kv, d) -> (b, kv, d)>
#heads = affine_map<(b, n, q, kv, d) -> (n, b, q, d)>

// What quantises probabilities belongs to each head.
// CHECK-LABEL: func.func @rounded_probabilities
// CHECK-COUNT-2: attn.sdpa
// CHECK: nn.concat
func.func @rounded_probabilities(%q0: tensor<?x?x16xf32>, %q1: tensor<?x?x16xf32>, %k: tensor<?x?x16xf32>,
                                 %v: tensor<?x?x16xf32>) -> tensor<?x?x32xf32> {
  %h0 = attn.sdpa %q0, %k, %v probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %steps = math.roundeven %p : f32
    attn.yield %steps : f32
  } {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 0.25 : f32, query_map = #rows,
    key_map = #keys, value_map = #keys, output_map = #heads}
    : tensor<?x?x16xf32>, tensor<?x?x16xf32>, tensor<?x?x16xf32> -> tensor<1x?x?x16xf32>
  %h1 = attn.sdpa %q1, %k, %v probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %steps = math.roundeven %p : f32
    attn.yield %steps : f32
  } {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 0.25 : f32, query_map = #rows,
    key_map = #keys, value_map = #keys, output_map = #heads}
    : tensor<?x?x16xf32>, tensor<?x?x16xf32>, tensor<?x?x16xf32> -> tensor<1x?x?x16xf32>
  %y0 = nn.squeeze %h0 axes [0] : (tensor<1x?x?x16xf32>) -> tensor<?x?x16xf32>
  %y1 = nn.squeeze %h1 axes [0] : (tensor<1x?x?x16xf32>) -> tensor<?x?x16xf32>
  %y = nn.concat %y0, %y1 {axis = 2 : i64} : (tensor<?x?x16xf32>, tensor<?x?x16xf32>) -> tensor<?x?x32xf32>
  return %y : tensor<?x?x32xf32>
}
