// RUN: heddle-opt %s --nn-outline-kernels --split-input-file | FileCheck %s

// Grouped causal attention with a padding mask: query heads split into group and member, regions cloned, the mask read
// through its map.
// CHECK-DAG: affine_map<()[s0, s1] -> (s0, 4, 3, s1, s1, 64, 64)>
// CHECK-DAG: affine_map<(d0, d1, d2, d3, d4, d5, d6)[s0, s1] -> (d0, d3, d1 * 3 + d2, d5)>
// CHECK-DAG: affine_map<(d0, d1, d2, d3, d4, d5, d6)[s0, s1] -> (d0, d4, d1, d5)>
// CHECK: rt.dispatch @f32_attention
// CHECK-NOT: rt.dispatch
// CHECK: kernel.attention {{.*}}fully_masked = "zero"{{.*}}scale = 1.250000e-01 : f32} score {
// CHECK: kernel.yield
// CHECK: } mask {
// CHECK: ^bb0(%[[KEEP:.*]]: i1):
// CHECK-DAG: %[[ROW:.*]] = kernel.index 3
// CHECK-DAG: %[[KEY:.*]] = kernel.index 4
// CHECK: %[[SEEN:.*]] = arith.cmpi ule, %[[KEY]], %[[ROW]] : index
// CHECK: arith.andi %[[SEEN]], %[[KEEP]] : i1
func.func @main(%q: tensor<?x?x12x64xf32> {nn.name = "q", nn.dims = ["b", "s", 12, 64]},
                %k: tensor<?x?x4x64xf32> {nn.name = "k", nn.dims = ["b", "s", 4, 64]},
                %v: tensor<?x?x4x64xf32> {nn.name = "v", nn.dims = ["b", "s", 4, 64]},
                %pad: tensor<?x?xi1> {nn.name = "p", nn.dims = ["b", "s"]})
    -> (tensor<?x?x12x64xf32> {nn.name = "o", nn.dims = ["b", "s", 12, 64]}) {
  %o = attn.sdpa %q, %k, %v mask_captures(%pad : tensor<?x?xi1>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %keep: i1):
    %seen = arith.cmpi ule, %j, %i : index
    %both = arith.andi %seen, %keep : i1
    attn.yield %both : i1
  } {q_num_heads = 12 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32,
     fully_masked = #attn<fully_masked zero>, mask_capture_maps = [affine_map<(b, n, q, kv) -> (b, kv)>]}
     : tensor<?x?x12x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x12x64xf32>
  return %o : tensor<?x?x12x64xf32>
}

// -----

// Queries and keys of different lengths: where there are few rows for many keys, one kernel computes the states of parts
// of 256 keys and another merges them; else there are no parts and the second does it all.
// CHECK: %[[SIZES:.*]]:12 = rt.shape_func
// CHECK: %[[FEW:.*]] = rt.shape_arith less %{{.*}}, %{{.*}}
// CHECK: %[[PARTS:.*]] = rt.shape_select
// CHECK: %[[STATES:.*]] = rt.buffer %[[SIZES]]#0
// CHECK: rt.dispatch @[[GIVES:.*]] ins(%[[Q:.*]], %[[K:.*]], %[[V:.*]], %[[PAD:.*]]) outs(%[[STATES]])
// CHECK: rt.dispatch @[[TAKES:.*]] ins(%[[Q]], %[[K]], %[[V]], %[[STATES]], %[[PAD]])
// CHECK: kernel.func @[[GIVES]](
// CHECK-SAME: -> (tensor<?x?x12x?x66xf32>
// CHECK: kernel.attention {{.*}}gives_parts{{.*}}part_size = 256 : i64
// CHECK: kernel.func @[[TAKES]](
// CHECK: kernel.attention {{.*}}part_size = 256 : i64, {{.*}}takes_parts
func.func @main(%q: tensor<?x?x12x64xf32> {nn.name = "q", nn.dims = ["b", "s", 12, 64]},
                %k: tensor<?x?x4x64xf32> {nn.name = "k", nn.dims = ["b", "t", 4, 64]},
                %v: tensor<?x?x4x64xf32> {nn.name = "v", nn.dims = ["b", "t", 4, 64]},
                %pad: tensor<?x?xi1> {nn.name = "p", nn.dims = ["b", "t"]})
    -> (tensor<?x?x12x64xf32> {nn.name = "o", nn.dims = ["b", "s", 12, 64]}) {
  %o = attn.sdpa %q, %k, %v mask_captures(%pad : tensor<?x?xi1>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %keep: i1):
    %seen = arith.cmpi ule, %j, %i : index
    %both = arith.andi %seen, %keep : i1
    attn.yield %both : i1
  } {q_num_heads = 12 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32,
     fully_masked = #attn<fully_masked zero>, mask_capture_maps = [affine_map<(b, n, q, kv) -> (b, kv)>]}
     : tensor<?x?x12x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x12x64xf32>
  return %o : tensor<?x?x12x64xf32>
}

// -----

// 17 rows are enough work to share out, and 256 keys one part.
// CHECK-COUNT-2: rt.dispatch
// CHECK-NOT: rt.dispatch
// CHECK-NOT: gives_parts
func.func @main(%q: tensor<1x17x1x64xf32> {nn.name = "q", nn.dims = [1, 17, 1, 64]},
                %k: tensor<1x900x1x64xf32> {nn.name = "k", nn.dims = [1, 900, 1, 64]},
                %few: tensor<1x2x1x64xf32> {nn.name = "f", nn.dims = [1, 2, 1, 64]},
                %short: tensor<1x256x1x64xf32> {nn.name = "s", nn.dims = [1, 256, 1, 64]})
    -> (tensor<1x17x1x64xf32> {nn.name = "o", nn.dims = [1, 17, 1, 64]},
        tensor<1x2x1x64xf32> {nn.name = "p", nn.dims = [1, 2, 1, 64]}) {
  %o = attn.sdpa %q, %k, %k {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 0.125 : f32}
     : tensor<1x17x1x64xf32>, tensor<1x900x1x64xf32>, tensor<1x900x1x64xf32> -> tensor<1x17x1x64xf32>
  %p = attn.sdpa %few, %short, %short {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 0.125 : f32}
     : tensor<1x2x1x64xf32>, tensor<1x256x1x64xf32>, tensor<1x256x1x64xf32> -> tensor<1x2x1x64xf32>
  return %o, %p : tensor<1x17x1x64xf32>, tensor<1x2x1x64xf32>
}

// -----

// A mask looked up by position is stored before attention, which would look it up for each head and row.
// CHECK: rt.dispatch @i1_map
// CHECK: rt.dispatch @f32_attention
// CHECK-NOT: rt.dispatch
// CHECK: kernel.attention
// CHECK-NOT: kernel.gather
// CHECK: kernel.return
func.func @main(%q: tensor<?x?x1x64xf32> {nn.name = "q", nn.dims = ["b", "s", 1, 64]},
                %places: tensor<?x?xi64> {nn.name = "p", nn.dims = ["b", "s"]},
                %table: tensor<?xi1> {nn.name = "t", nn.dims = ["t"]})
    -> (tensor<?x?x1x64xf32> {nn.name = "o", nn.dims = ["b", "s", 1, 64]}) {
  %keep = nn.gather %table, %places {axis = 0 : i64} : (tensor<?xi1>, tensor<?x?xi64>) -> tensor<?x?xi1>
  %o = attn.sdpa %q, %q, %q mask_captures(%keep : tensor<?x?xi1>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %kept: i1):
    attn.yield %kept : i1
  } {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 0.125 : f32,
     mask_capture_maps = [affine_map<(b, n, q, kv) -> (b, kv)>]}
     : tensor<?x?x1x64xf32>, tensor<?x?x1x64xf32>, tensor<?x?x1x64xf32> -> tensor<?x?x1x64xf32>
  return %o : tensor<?x?x1x64xf32>
}

// -----

// A region on probabilities comes along with what it captures. It needs the sum of all keys, so there are no parts.
// CHECK: rt.dispatch @f32_attention
// CHECK-NOT: rt.dispatch
// CHECK-NOT: part_size
// CHECK: } mask {
// CHECK: } probability {
// CHECK-NEXT: ^bb0(%[[P:.*]]: f32, %[[GATE:.*]]: f32):
// CHECK: %[[WEIGHT:.*]] = arith.mulf %[[P]], %[[GATE]] : f32
// CHECK-NEXT: kernel.yield %[[WEIGHT]] : f32
func.func @main(%q: tensor<1x1x4x64xf32> {nn.name = "q", nn.dims = [1, 1, 4, 64]},
                %k: tensor<1x900x4x64xf32> {nn.name = "k", nn.dims = [1, 900, 4, 64]},
                %gate: tensor<4xf32> {nn.name = "g", nn.dims = [4]})
    -> (tensor<1x1x4x64xf32> {nn.name = "o", nn.dims = [1, 1, 4, 64]}) {
  %o = attn.sdpa %q, %k, %k probability_captures(%gate : tensor<4xf32>) probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index, %g: f32):
    %weight = arith.mulf %p, %g : f32
    attn.yield %weight : f32
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32,
     probability_capture_maps = [affine_map<(b, n, q, kv) -> (n)>]}
     : tensor<1x1x4x64xf32>, tensor<1x900x4x64xf32>, tensor<1x900x4x64xf32> -> tensor<1x1x4x64xf32>
  return %o : tensor<1x1x4x64xf32>
}

// -----

// Attention walks its operands in any order: keys that are computed behind a transpose stay as they were before it.
// CHECK: rt.dispatch @f32_map{{.*}}permutation = array<i64: 0, 3, 1, 2>
// CHECK: rt.dispatch @f32_attention
// CHECK: kernel.map {{.*}}indexing_maps = [#[[MAP:map[0-9]*]], #[[MAP]]]
func.func @main(%q: tensor<?x12x?x64xf32> {nn.name = "q", nn.dims = ["b", 12, "s", 64]},
                %k: tensor<?x?x12x64xf32> {nn.name = "k", nn.dims = ["b", "s", 12, 64]},
                %v: tensor<?x12x?x64xf32> {nn.name = "v", nn.dims = ["b", 12, "s", 64]})
    -> (tensor<?x12x?x64xf32> {nn.name = "o", nn.dims = ["b", 12, "s", 64]}) {
  %half = nn.constant dense<0.5> : tensor<f32>
  %t = nn.transpose %k perm [0, 2, 3, 1] : (tensor<?x?x12x64xf32>) -> tensor<?x12x64x?xf32>
  %m = nn.binary mul %t, %half : (tensor<?x12x64x?xf32>, tensor<f32>) -> tensor<?x12x64x?xf32>
  %o = attn.sdpa %q, %m, %v {q_num_heads = 12 : i64, kv_num_heads = 12 : i64, scale = 0.125 : f32,
     query_map = affine_map<(b, n, q, kv, d) -> (b, n, q, d)>, key_map = affine_map<(b, n, q, kv, d) -> (b, n, d, kv)>,
     value_map = affine_map<(b, n, q, kv, d) -> (b, n, kv, d)>, output_map = affine_map<(b, n, q, kv, d) -> (b, n, q, d)>}
     : tensor<?x12x?x64xf32>, tensor<?x12x64x?xf32>, tensor<?x12x?x64xf32> -> tensor<?x12x?x64xf32>
  return %o : tensor<?x12x?x64xf32>
}

// -----

// Codes of queries and keys are the kernel's to make.
// CHECK: rt.dispatch @f32_attention
// CHECK-NOT: rt.dispatch
// CHECK: kernel.attention {{.*}}qk_int8
func.func @main(%q: tensor<?x?x12x64xf32> {nn.name = "q", nn.dims = ["b", "s", 12, 64]})
    -> (tensor<?x?x12x64xf32> {nn.name = "o", nn.dims = ["b", "s", 12, 64]}) {
  %o = attn.sdpa %q, %q, %q {q_num_heads = 12 : i64, kv_num_heads = 12 : i64, scale = 0.125 : f32, qk_int8}
     : tensor<?x?x12x64xf32>, tensor<?x?x12x64xf32>, tensor<?x?x12x64xf32> -> tensor<?x?x12x64xf32>
  return %o : tensor<?x?x12x64xf32>
}

// -----

// So are those of values: their scales, one a head and channel here, become an input.
// CHECK: rt.dispatch @f32_attention
// CHECK-NOT: rt.dispatch
// CHECK: kernel.attention {{.*}} ins(%arg0, %arg0, %arg0, %arg1 : {{.*}}, tensor<12x64xf32>)
// CHECK-SAME: pv_int8_block = 256 : i64
func.func @main(%q: tensor<?x?x12x64xf32> {nn.name = "q", nn.dims = ["b", "s", 12, 64]})
    -> (tensor<?x?x12x64xf32> {nn.name = "o", nn.dims = ["b", "s", 12, 64]}) {
  %scale = nn.constant dense<1.0e-02> : tensor<1x1x12x64xf32>
  %o = attn.sdpa %q, %q, %q value_scale(%scale : tensor<1x1x12x64xf32>)
     {q_num_heads = 12 : i64, kv_num_heads = 12 : i64, scale = 0.125 : f32, pv_int8_block = 256 : i64}
     : tensor<?x?x12x64xf32>, tensor<?x?x12x64xf32>, tensor<?x?x12x64xf32> -> tensor<?x?x12x64xf32>
  return %o : tensor<?x?x12x64xf32>
}
