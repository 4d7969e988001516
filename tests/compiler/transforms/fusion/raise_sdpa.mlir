// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn-raise-sdpa: one idea a case. The first one is the pass's documented example.
// RUN: heddle-opt --split-input-file --attn-raise-sdpa %s | FileCheck %s

// CHECK: attn.report = [{heads = 4 : i64, kv_heads = 4 : i64, mask = "tensor"
// CHECK-LABEL: func.func @selects_a_finite_fill
// CHECK-SAME: (%[[Q:.*]]: tensor<?x4x?x12xf32> {{.*}}, %[[K:.*]]: tensor<?x4x?x12xf32> {{.*}}, %[[V:.*]]: tensor<?x4x?x12xf32> {{.*}}, %[[KEEP:.*]]: tensor<?x1x1x?xi1>
func.func @selects_a_finite_fill(%q: tensor<?x4x?x12xf32> {nn.name = "q", nn.dims = ["b", 4, "s", 12]},
    %k: tensor<?x4x?x12xf32> {nn.name = "k", nn.dims = ["b", 4, "t", 12]},
    %v: tensor<?x4x?x12xf32> {nn.name = "v", nn.dims = ["b", 4, "t", 12]},
    %keep: tensor<?x1x1x?xi1> {nn.name = "m", nn.dims = ["b", 1, 1, "t"]}) -> tensor<?x4x?x12xf32> {
  %scale = nn.constant dense<0.25> : tensor<f32>
  %lowest = nn.constant dense<-1.0e9> : tensor<f32>
  %kt = nn.transpose %k perm [0, 1, 3, 2] : (tensor<?x4x?x12xf32>) -> tensor<?x4x12x?xf32>
  %qk = nn.matmul %q, %kt : (tensor<?x4x?x12xf32>, tensor<?x4x12x?xf32>) -> tensor<?x4x?x?xf32>
  %scaled = nn.binary mul %qk, %scale : (tensor<?x4x?x?xf32>, tensor<f32>) -> tensor<?x4x?x?xf32>
  %masked = nn.where %keep, %scaled, %lowest : (tensor<?x1x1x?xi1>, tensor<?x4x?x?xf32>, tensor<f32>) -> tensor<?x4x?x?xf32>
  %p = nn.softmax %masked {axis = 3 : i64} : (tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32>
  // CHECK: attn.sdpa %[[Q]], %[[K]], %[[V]] score_captures(%[[KEEP]] : tensor<?x1x1x?xi1>) mask_captures(%[[KEEP]] : tensor<?x1x1x?xi1>) score {
  // CHECK: ^bb0(%[[S:.*]]: f32, {{.*}}: index, {{.*}}: index, {{.*}}: index, {{.*}}: index, %[[KEPT:.*]]: i1):
  // CHECK: %[[FILL:.*]] = arith.constant -1.000000e+09 : f32
  // CHECK: %[[MASKED:.*]] = arith.select %[[KEPT]], %[[S]], %[[FILL]] : f32
  // CHECK: attn.yield %[[MASKED]] : f32
  // CHECK: } mask {
  // CHECK: ^bb0({{.*}}: index, {{.*}}: index, {{.*}}: index, {{.*}}: index, %[[KEPT:.*]]: i1):
  // CHECK: attn.yield %[[KEPT]] : i1
  // CHECK: kv_num_heads = 4 : i64, mask_capture_maps = [#{{[a-z0-9]+}}]
  // CHECK-SAME: q_num_heads = 4 : i64
  // CHECK-SAME: scale = 2.500000e-01 : f32
  // CHECK-NOT: nn.softmax
  %y = nn.matmul %p, %v : (tensor<?x4x?x?xf32>, tensor<?x4x?x12xf32>) -> tensor<?x4x?x12xf32>
  return %y : tensor<?x4x?x12xf32>
}

// -----

// Heads split and merged by reshape and transpose: no transpose is left, everything is BSND.
// CHECK-DAG: #[[BSND_Q:map[0-9]*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>
// CHECK-DAG: #[[BSND_K:map[0-9]*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4)>
// CHECK-LABEL: func.func @leaves_no_transpose_around_split_heads
func.func @leaves_no_transpose_around_split_heads(%x: tensor<?x?x48xf32> {nn.name = "x", nn.dims = ["b", "s", 48]})
    -> tensor<?x?x48xf32> {
  %split = nn.constant dense<[0, 0, 4, 12]> : tensor<4xi64>
  %merge = nn.constant dense<[0, 0, 48]> : tensor<3xi64>
  %root = nn.constant dense<0.5> : tensor<f32>
  %s = nn.reshape %x, %split : (tensor<?x?x48xf32>, tensor<4xi64>) -> tensor<?x?x4x12xf32>
  %t = nn.transpose %s perm [0, 2, 1, 3] : (tensor<?x?x4x12xf32>) -> tensor<?x4x?x12xf32>
  %kt = nn.transpose %s perm [0, 2, 3, 1] : (tensor<?x?x4x12xf32>) -> tensor<?x4x12x?xf32>
  %q = nn.binary mul %t, %root : (tensor<?x4x?x12xf32>, tensor<f32>) -> tensor<?x4x?x12xf32>
  %k = nn.binary mul %kt, %root : (tensor<?x4x12x?xf32>, tensor<f32>) -> tensor<?x4x12x?xf32>
  %qk = nn.matmul %q, %k : (tensor<?x4x?x12xf32>, tensor<?x4x12x?xf32>) -> tensor<?x4x?x?xf32>
  %p = nn.softmax %qk {axis = 3 : i64} : (tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32>
  // CHECK-NOT: nn.transpose
  // CHECK: %[[S:.*]] = nn.reshape
  // CHECK-NEXT: %[[O:.*]] = attn.sdpa %[[S]], %[[S]], %[[S]] {
  // CHECK-SAME: key_map = #[[BSND_K]]
  // CHECK-SAME: output_map = #[[BSND_Q]]
  // CHECK-SAME: query_map = #[[BSND_Q]]
  // CHECK-SAME: scale = 2.500000e-01 : f32
  // CHECK-SAME: value_map = #[[BSND_K]]
  // CHECK-NEXT: nn.reshape %[[O]]
  %o = nn.matmul %p, %t : (tensor<?x4x?x?xf32>, tensor<?x4x?x12xf32>) -> tensor<?x4x?x12xf32>
  %ot = nn.transpose %o perm [0, 2, 1, 3] : (tensor<?x4x?x12xf32>) -> tensor<?x?x4x12xf32>
  %y = nn.reshape %ot, %merge : (tensor<?x?x4x12xf32>, tensor<3xi64>) -> tensor<?x?x48xf32>
  return %y : tensor<?x?x48xf32>
}

// -----

// Unsqueeze, Expand and Reshape repeat each key head for a group of query heads.
// CHECK-LABEL: func.func @reads_repeated_key_heads_once
// CHECK-SAME: (%[[Q:.*]]: tensor<2x4x5x8xf32>, %[[K:.*]]: tensor<2x2x7x8xf32>, %[[V:.*]]: tensor<2x2x7x8xf32>)
func.func @reads_repeated_key_heads_once(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x8xf32>)
    -> tensor<2x4x5x8xf32> {
  %shape = nn.constant dense<[2, 2, 2, 7, 8]> : tensor<5xi64>
  %heads = nn.constant dense<[2, 4, 7, 8]> : tensor<4xi64>
  %ku = nn.unsqueeze %k axes [2] : (tensor<2x2x7x8xf32>) -> tensor<2x2x1x7x8xf32>
  %ke = nn.expand %ku, %shape : (tensor<2x2x1x7x8xf32>, tensor<5xi64>) -> tensor<2x2x2x7x8xf32>
  %kr = nn.reshape %ke, %heads : (tensor<2x2x2x7x8xf32>, tensor<4xi64>) -> tensor<2x4x7x8xf32>
  %vu = nn.unsqueeze %v axes [2] : (tensor<2x2x7x8xf32>) -> tensor<2x2x1x7x8xf32>
  %ve = nn.expand %vu, %shape : (tensor<2x2x1x7x8xf32>, tensor<5xi64>) -> tensor<2x2x2x7x8xf32>
  %vr = nn.reshape %ve, %heads : (tensor<2x2x2x7x8xf32>, tensor<4xi64>) -> tensor<2x4x7x8xf32>
  %kt = nn.transpose %kr perm [0, 1, 3, 2] : (tensor<2x4x7x8xf32>) -> tensor<2x4x8x7xf32>
  %qk = nn.matmul %q, %kt : (tensor<2x4x5x8xf32>, tensor<2x4x8x7xf32>) -> tensor<2x4x5x7xf32>
  %p = nn.softmax %qk {axis = 3 : i64} : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  // CHECK-NOT: nn.expand
  // CHECK: attn.sdpa %[[Q]], %[[K]], %[[V]] {
  // CHECK-SAME: kv_num_heads = 2 : i64
  // CHECK-SAME: q_num_heads = 4 : i64
  %y = nn.matmul %p, %vr : (tensor<2x4x5x7xf32>, tensor<2x4x7x8xf32>) -> tensor<2x4x5x8xf32>
  return %y : tensor<2x4x5x8xf32>
}

// -----

// Gather by 0 0 1 1 repeats in turn.
// CHECK-LABEL: func.func @reads_gathered_key_heads_once
func.func @reads_gathered_key_heads_once(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x8xf32>)
    -> tensor<2x4x5x8xf32> {
  %heads = nn.constant dense<[0, 0, 1, 1]> : tensor<4xi64>
  %kr = nn.gather %k, %heads {axis = 1 : i64} : (tensor<2x2x7x8xf32>, tensor<4xi64>) -> tensor<2x4x7x8xf32>
  %vr = nn.gather %v, %heads {axis = 1 : i64} : (tensor<2x2x7x8xf32>, tensor<4xi64>) -> tensor<2x4x7x8xf32>
  %kt = nn.transpose %kr perm [0, 1, 3, 2] : (tensor<2x4x7x8xf32>) -> tensor<2x4x8x7xf32>
  %qk = nn.matmul %q, %kt : (tensor<2x4x5x8xf32>, tensor<2x4x8x7xf32>) -> tensor<2x4x5x7xf32>
  %p = nn.softmax %qk {axis = 3 : i64} : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  // CHECK-NOT: nn.gather
  // CHECK: attn.sdpa
  // CHECK-SAME: kv_num_heads = 2 : i64
  %y = nn.matmul %p, %vr : (tensor<2x4x5x7xf32>, tensor<2x4x7x8xf32>) -> tensor<2x4x5x8xf32>
  return %y : tensor<2x4x5x8xf32>
}

// -----

// Tile gives heads 0 1 0 1: not a repeat of each in turn, so it stays in front.
// CHECK-LABEL: func.func @leaves_tiled_heads_tiled
func.func @leaves_tiled_heads_tiled(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x4x7x8xf32>)
    -> tensor<2x4x5x8xf32> {
  %repeats = nn.constant dense<[1, 2, 1, 1]> : tensor<4xi64>
  // CHECK: %[[K:.*]] = nn.tile
  %kr = nn.tile %k, %repeats : (tensor<2x2x7x8xf32>, tensor<4xi64>) -> tensor<2x4x7x8xf32>
  %kt = nn.transpose %kr perm [0, 1, 3, 2] : (tensor<2x4x7x8xf32>) -> tensor<2x4x8x7xf32>
  %qk = nn.matmul %q, %kt : (tensor<2x4x5x8xf32>, tensor<2x4x8x7xf32>) -> tensor<2x4x5x7xf32>
  %p = nn.softmax %qk {axis = 3 : i64} : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  // CHECK: attn.sdpa %{{.*}}, %[[K]], %{{.*}} {
  // CHECK-SAME: kv_num_heads = 4 : i64
  %y = nn.matmul %p, %v : (tensor<2x4x5x7xf32>, tensor<2x4x7x8xf32>) -> tensor<2x4x5x8xf32>
  return %y : tensor<2x4x5x8xf32>
}

// -----

// Batches and heads folded into one axis, as batched products of rank 3 want them.
// CHECK-LABEL: func.func @unfolds_batches_and_heads
// CHECK-SAME: (%[[Q:.*]]: tensor<2x4x5x8xf32>, %[[K:.*]]: tensor<2x4x7x8xf32>, %[[V:.*]]: tensor<2x4x7x8xf32>)
func.func @unfolds_batches_and_heads(%q: tensor<2x4x5x8xf32>, %k: tensor<2x4x7x8xf32>, %v: tensor<2x4x7x8xf32>)
    -> tensor<2x4x5x8xf32> {
  %fq = nn.constant dense<[8, 5, 8]> : tensor<3xi64>
  %fk = nn.constant dense<[8, 7, 8]> : tensor<3xi64>
  %fo = nn.constant dense<[2, 4, 5, 8]> : tensor<4xi64>
  %q3 = nn.reshape %q, %fq : (tensor<2x4x5x8xf32>, tensor<3xi64>) -> tensor<8x5x8xf32>
  %k3 = nn.reshape %k, %fk : (tensor<2x4x7x8xf32>, tensor<3xi64>) -> tensor<8x7x8xf32>
  %v3 = nn.reshape %v, %fk : (tensor<2x4x7x8xf32>, tensor<3xi64>) -> tensor<8x7x8xf32>
  %kt = nn.transpose %k3 perm [0, 2, 1] : (tensor<8x7x8xf32>) -> tensor<8x8x7xf32>
  %qk = nn.matmul %q3, %kt : (tensor<8x5x8xf32>, tensor<8x8x7xf32>) -> tensor<8x5x7xf32>
  %p = nn.softmax %qk {axis = 2 : i64} : (tensor<8x5x7xf32>) -> tensor<8x5x7xf32>
  %o = nn.matmul %p, %v3 : (tensor<8x5x7xf32>, tensor<8x7x8xf32>) -> tensor<8x5x8xf32>
  // CHECK-NOT: nn.reshape
  // CHECK: %[[Y:.*]] = attn.sdpa %[[Q]], %[[K]], %[[V]] {
  // CHECK-SAME: q_num_heads = 4 : i64
  // CHECK: return %[[Y]]
  %y = nn.reshape %o, %fo : (tensor<8x5x8xf32>, tensor<4xi64>) -> tensor<2x4x5x8xf32>
  return %y : tensor<2x4x5x8xf32>
}

// -----

// Index letters instead of transposes.
// CHECK-LABEL: func.func @reads_equations
// CHECK: attn.sdpa %arg0, %arg1, %arg2 {
// CHECK-SAME: q_num_heads = 4 : i64
func.func @reads_equations(%q: tensor<2x5x4x8xf32>, %k: tensor<2x7x4x8xf32>, %v: tensor<2x7x4x6xf32>)
    -> tensor<2x5x4x6xf32> {
  %qk = nn.einsum "bqhd,bkhd->bhqk" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x7x4x8xf32>) -> tensor<2x4x5x7xf32>
  %p = nn.softmax %qk {axis = 3 : i64} : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %y = nn.einsum "bhqk,bkhd->bqhd" %p, %v : (tensor<2x4x5x7xf32>, tensor<2x7x4x6xf32>) -> tensor<2x5x4x6xf32>
  return %y : tensor<2x5x4x6xf32>
}

// -----

// No heads: one head, whose axis is made and taken away again.
// CHECK-LABEL: func.func @makes_one_head_of_none
// CHECK: %[[O:.*]] = attn.sdpa %arg0, %arg1, %arg2 {
// CHECK-SAME: kv_num_heads = 1 : i64
// CHECK-SAME: -> tensor<1x2x5x8xf32>
// CHECK: nn.squeeze %[[O]] axes [0]
func.func @makes_one_head_of_none(%q: tensor<2x5x8xf32>, %k: tensor<2x7x8xf32>, %v: tensor<2x7x8xf32>)
    -> tensor<2x5x8xf32> {
  %kt = nn.transpose %k perm [0, 2, 1] : (tensor<2x7x8xf32>) -> tensor<2x8x7xf32>
  %qk = nn.matmul %q, %kt : (tensor<2x5x8xf32>, tensor<2x8x7xf32>) -> tensor<2x5x7xf32>
  %p = nn.softmax %qk {axis = 2 : i64} : (tensor<2x5x7xf32>) -> tensor<2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<2x5x7xf32>, tensor<2x7x8xf32>) -> tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// -----

// Factors that only a run knows become the scale's operand.
// CHECK-LABEL: func.func @multiplies_run_time_factors
// CHECK: %[[C:.*]] = nn.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[F:.*]] = nn.binary mul %[[C]], %arg3
// CHECK: attn.sdpa %arg0, %arg1, %arg2 scale(%[[F]] : tensor<f32>)
func.func @multiplies_run_time_factors(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>,
                                       %f: tensor<f32>) -> tensor<1x2x5x8xf32> {
  %two = nn.constant dense<2.0> : tensor<f32>
  %qf = nn.binary mul %q, %f : (tensor<1x2x5x8xf32>, tensor<f32>) -> tensor<1x2x5x8xf32>
  %qk = nn.matmul %qf, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %s = nn.binary div %qk, %two : (tensor<1x2x5x7xf32>, tensor<f32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// What else happens to a score stays in its order: a function, a soft cap, a slope by head.
// CHECK-DAG: #[[HEAD:map[0-9]*]] = affine_map<(d0, d1, d2, d3) -> (d1, 0, 0)>
// CHECK-LABEL: func.func @clones_what_happens_to_scores
// CHECK: attn.sdpa %arg0, %arg1, %arg2 score_captures(%arg3 : tensor<2x1x1xf32>) score {
// CHECK: ^bb0(%[[S:.*]]: f32, {{.*}}: index, {{.*}}: index, {{.*}}: index, {{.*}}: index, %[[SLOPE:.*]]: f32):
// CHECK: %[[B:.*]] = math.sin %[[S]]
// CHECK: %[[D:.*]] = arith.divf %[[B]], %
// CHECK: %[[T:.*]] = math.tanh %[[D]]
// CHECK: %[[M:.*]] = arith.mulf %[[T]], %
// CHECK: %[[A:.*]] = arith.addf %[[M]], %[[SLOPE]]
// CHECK: attn.yield %[[A]]
// CHECK: score_capture_maps = [#[[HEAD]]]
func.func @clones_what_happens_to_scores(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>,
                                         %slope: tensor<2x1x1xf32>) -> tensor<1x2x5x8xf32> {
  %cap = nn.constant dense<30.0> : tensor<f32>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %bent = nn.unary sin %qk : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %s = nn.binary div %bent, %cap : (tensor<1x2x5x7xf32>, tensor<f32>) -> tensor<1x2x5x7xf32>
  %t = nn.unary tanh %s : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %m = nn.binary mul %t, %cap : (tensor<1x2x5x7xf32>, tensor<f32>) -> tensor<1x2x5x7xf32>
  %a = nn.binary add %m, %slope : (tensor<1x2x5x7xf32>, tensor<2x1x1xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %a {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// Probabilities that are an output are a result.
// CHECK-LABEL: func.func @gives_probabilities_that_others_read
// CHECK: %[[O:.*]], %[[P:.*]] = attn.sdpa %arg0, %arg1, %arg2 {
// CHECK-SAME: probabilities tensor<1x2x5x7xf32>
// CHECK: return %[[O]], %[[P]]
func.func @gives_probabilities_that_others_read(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>)
    -> (tensor<1x2x5x8xf32>, tensor<1x2x5x7xf32>) {
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %qk {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y, %p : tensor<1x2x5x8xf32>, tensor<1x2x5x7xf32>
}

// -----

// One product under two masks is an attention for each; who wants the shape of scores alone doesn't keep them alive.
// CHECK-LABEL: func.func @raises_each_mask_of_shared_scores
// CHECK-NOT: nn.matmul
// CHECK: attn.sdpa
// CHECK-NOT: nn.matmul
// CHECK: attn.sdpa
// CHECK-NOT: nn.matmul
// CHECK: return
func.func @raises_each_mask_of_shared_scores(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>,
    %m: tensor<7xi1>, %n: tensor<7xi1>) -> (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>) {
  %fill = nn.constant dense<-1.0e9> : tensor<f32>
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %shape = nn.shape %qk {start = 0 : i64, end = 4 : i64} : (tensor<1x2x5x7xf32>) -> tensor<4xi64>
  %wide = nn.expand %m, %shape : (tensor<7xi1>, tensor<4xi64>) -> tensor<1x2x5x7xi1>
  %a = nn.where %wide, %qk, %fill : (tensor<1x2x5x7xi1>, tensor<1x2x5x7xf32>, tensor<f32>) -> tensor<1x2x5x7xf32>
  %b = nn.where %n, %qk, %fill : (tensor<7xi1>, tensor<1x2x5x7xf32>, tensor<f32>) -> tensor<1x2x5x7xf32>
  %pa = nn.softmax %a {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %pb = nn.softmax %b {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %ya = nn.matmul %pa, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  %yb = nn.matmul %pb, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %ya, %yb : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>
}

// -----

// Attention that the model names is listed as well.
// CHECK: attn.report = [{heads = 4 : i64, kv_heads = 2 : i64, mask = "position", node = "attn.sdpa", position = "rotary"}]
// CHECK-LABEL: func.func @lists_imported_attention
func.func @lists_imported_attention(%q: tensor<?x?x4x8xf32>, %k: tensor<?x?x2x8xf32>, %v: tensor<?x?x2x8xf32>,
    %cos: tensor<?x1x8xf32>, %turned: tensor<?x?x4x8xf32>, %sin: tensor<?x1x8xf32>) -> tensor<?x?x4x8xf32> {
  %0 = nn.binary mul %q, %cos : (tensor<?x?x4x8xf32>, tensor<?x1x8xf32>) -> tensor<?x?x4x8xf32>
  %1 = nn.binary mul %turned, %sin : (tensor<?x?x4x8xf32>, tensor<?x1x8xf32>) -> tensor<?x?x4x8xf32>
  %2 = nn.binary add %0, %1 : (tensor<?x?x4x8xf32>, tensor<?x?x4x8xf32>) -> tensor<?x?x4x8xf32>
  %o = attn.sdpa %2, %k, %v mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %seen = arith.cmpi sle, %j, %i : index
    attn.yield %seen : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 2 : i64, scale = 0.5 : f32}
    : tensor<?x?x4x8xf32>, tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32> -> tensor<?x?x4x8xf32>
  return %o : tensor<?x?x4x8xf32>
}
