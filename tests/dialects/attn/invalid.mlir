// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// Each fault of the other ops is reported in their words.

func.func @online_state(%q: tensor<1x8x4x64xf32>, %k: tensor<1x?x4x64xf32>, %acc: tensor<1x8x4x64xf32>, %max: tensor<1x8x4xf32>) {
  // expected-error @below {{expects maximum and sum of shape (b, n, q) = [1, 4, 8], got [1, 8, 4]}}
  %0, %1, %2 = attn.online_sdpa %q, %k, %k outs(%acc, %max, %max) {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 1.0 : f32}
       : tensor<1x8x4x64xf32>, tensor<1x?x4x64xf32>, tensor<1x?x4x64xf32> -> tensor<1x8x4x64xf32>, tensor<1x8x4xf32>
  return
}

// -----

func.func @online_rows(%q: tensor<1x8x4x64xf32>, %k: tensor<1x?x4x64xf32>, %acc: tensor<1x9x4x64xf32>, %max: tensor<1x4x8xf32>) {
  // expected-error @below {{expects query and output of equal sequence length, got 8 and 9}}
  %0, %1, %2 = attn.online_sdpa %q, %k, %k outs(%acc, %max, %max) {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 1.0 : f32}
       : tensor<1x8x4x64xf32>, tensor<1x?x4x64xf32>, tensor<1x?x4x64xf32> -> tensor<1x9x4x64xf32>, tensor<1x4x8xf32>
  return
}

// -----

func.func @online_accumulator(%q: tensor<1x8x4x64xf32>, %k: tensor<1x?x4x64xf32>, %acc: tensor<1x8x4x64xf64>, %max: tensor<1x4x8xf32>) {
  // expected-error @below {{expects accumulator of type 'f32', got 'f64'}}
  %0, %1, %2 = attn.online_sdpa %q, %k, %k outs(%acc, %max, %max) {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 1.0 : f32}
       : tensor<1x8x4x64xf32>, tensor<1x?x4x64xf32>, tensor<1x?x4x64xf32> -> tensor<1x8x4x64xf64>, tensor<1x4x8xf32>
  return
}

// -----

func.func @online_sum(%q: tensor<1x8x4x64xf32>, %k: tensor<1x?x4x64xf32>, %acc: tensor<1x8x4x64xf32>, %max: tensor<1x4x8xf64>) {
  // expected-error @below {{expects maximum and sum of type 'f32', got 'f64'}}
  %0, %1, %2 = attn.online_sdpa %q, %k, %k outs(%acc, %max, %max) {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 1.0 : f32}
       : tensor<1x8x4x64xf32>, tensor<1x?x4x64xf32>, tensor<1x?x4x64xf32> -> tensor<1x8x4x64xf32>, tensor<1x4x8xf64>
  return
}

// -----

func.func @online_results(%q: tensor<1x8x4x64xf32>, %k: tensor<1x?x4x64xf32>, %max: tensor<1x4x8xf32>, %sum: tensor<1x4x8xf32>) {
  // expected-error @below {{expects results of the types of accumulator, maximum and sum}}
  %0, %1, %2 = "attn.online_sdpa"(%q, %k, %k, %q, %max, %sum) ({}, {}) {kv_num_heads = 4 : i64, q_num_heads = 4 : i64, scale = 1.0 : f32,
       operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1>}
       : (tensor<1x8x4x64xf32>, tensor<1x?x4x64xf32>, tensor<1x?x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x64xf32>, tensor<1x4x8xf32>, tensor<1x4x?xf32>)
  return
}

// -----

func.func @merge_state(%acc: tensor<1x8x4x64xf32>, %max: tensor<1x8x4xf32>) {
  // expected-error @below {{expects maximum and sum of shape (b, n, q) = [1, 4, 8], got [1, 8, 4]}}
  %0, %1, %2 = attn.merge_partials(%acc, %max, %max), (%acc, %max, %max) : tensor<1x8x4x64xf32>, tensor<1x8x4xf32>
  return
}

// -----

func.func @merge_type(%acc: tensor<1x8x4x64xf32>, %max: tensor<1x4x8xf64>) {
  // expected-error @below {{expects maximum and sum of type 'f32', got 'f64'}}
  %0, %1, %2 = attn.merge_partials(%acc, %max, %max), (%acc, %max, %max) : tensor<1x8x4x64xf32>, tensor<1x4x8xf64>
  return
}

// -----

func.func @finalize_shape(%acc: tensor<1x8x4x64xf32>, %max: tensor<1x4x8xf32>) {
  // expected-error @below {{expects an output of shape [1, 8, 4, 64], got [1, 4, 8, 64]}}
  %0 = attn.finalize_partials %acc, %max, %max : tensor<1x8x4x64xf32>, tensor<1x4x8xf32> -> tensor<1x4x8x64xf32>
  return
}

// -----

func.func @finalize_lse(%acc: tensor<1x8x4x64xf32>, %max: tensor<1x4x8xf32>) {
  // expected-error @below {{expects lse of shape (b, n, q) = [1, 4, 8], got [1, 8, 4]}}
  %0, %1 = attn.finalize_partials %acc, %max, %max : tensor<1x8x4x64xf32>, tensor<1x4x8xf32> -> tensor<1x8x4x64xf32> lse tensor<1x8x4xf32>
  return
}

// -----

func.func @yield_place(%x: i1) {
  // expected-error @below {{expects parent op to be one of 'attn.sdpa, attn.online_sdpa'}}
  attn.yield %x : i1
  return
}

// -----

func.func @projection_weight(%x: tensor<?x7x384xf32>, %w: tensor<384x1024xf32>) {
  // expected-error @below {{expects a weight of shape [384, 1152], got [384, 1024]}}
  %0:3 = attn.qkv_projection %x, %w {q_num_heads = 12 : i64, kv_num_heads = 12 : i64, head_size = 32 : i64, v_head_size = 32 : i64}
       : (tensor<?x7x384xf32>, tensor<384x1024xf32>) -> (tensor<?x7x12x32xf32>, tensor<?x7x12x32xf32>, tensor<?x7x12x32xf32>)
  return
}

// -----

func.func @projection_bias(%x: tensor<?x7x384xf32>, %w: tensor<384x1152xf32>, %b: tensor<1024xf32>) {
  // expected-error @below {{expects a bias of shape [1152], got [1024]}}
  %0:3 = attn.qkv_projection %x, %w, %b {q_num_heads = 12 : i64, kv_num_heads = 12 : i64, head_size = 32 : i64, v_head_size = 32 : i64}
       : (tensor<?x7x384xf32>, tensor<384x1152xf32>, tensor<1024xf32>) -> (tensor<?x7x12x32xf32>, tensor<?x7x12x32xf32>, tensor<?x7x12x32xf32>)
  return
}

// -----

func.func @projection_input(%x: tensor<7x384xf32>, %w: tensor<384x1152xf32>) {
  // expected-error @below {{expects an input of shape (B, S, D), got [7, 384]}}
  %0:3 = attn.qkv_projection %x, %w {q_num_heads = 12 : i64, kv_num_heads = 12 : i64, head_size = 32 : i64, v_head_size = 32 : i64}
       : (tensor<7x384xf32>, tensor<384x1152xf32>) -> (tensor<?x7x12x32xf32>, tensor<?x7x12x32xf32>, tensor<?x7x12x32xf32>)
  return
}

// -----

func.func @projection_heads(%x: tensor<?x7x384xf32>, %w: tensor<384x1152xf32>) {
  // expected-error @below {{expects head counts and sizes within [1, 2^30]}}
  %0:3 = attn.qkv_projection %x, %w {q_num_heads = 0 : i64, kv_num_heads = 12 : i64, head_size = 32 : i64, v_head_size = 32 : i64}
       : (tensor<?x7x384xf32>, tensor<384x1152xf32>) -> (tensor<?x7x12x32xf32>, tensor<?x7x12x32xf32>, tensor<?x7x12x32xf32>)
  return
}

// -----

func.func @projection_types(%x: tensor<?x7x384xf32>, %w: tensor<384x1152xf16>) {
  // expected-error @below {{expects operands of one element type, got 'f32' and 'f16'}}
  %0:3 = attn.qkv_projection %x, %w {q_num_heads = 12 : i64, kv_num_heads = 12 : i64, head_size = 32 : i64, v_head_size = 32 : i64}
       : (tensor<?x7x384xf32>, tensor<384x1152xf16>) -> (tensor<?x7x12x32xf32>, tensor<?x7x12x32xf32>, tensor<?x7x12x32xf32>)
  return
}

// -----

func.func @rope_width(%x: tensor<?x?x12x64xf32>, %c: tensor<2048x16xf32>, %i: tensor<?x?xi64>) {
  // expected-error @below {{expects an even rotary_embedding_dim within [2, 64], got 65}}
  %0 = attn.rope bsnd %x, %c, %c, %i {rotary_embedding_dim = 65 : i64} : tensor<?x?x12x64xf32>, tensor<2048x16xf32>, tensor<?x?xi64>
  return
}

// -----

func.func @rope_wide(%x: tensor<?x?x12x64xf32>, %c: tensor<2048x16xf32>, %i: tensor<?x?xi64>) {
  // expected-error @below {{expects an even rotary_embedding_dim within [2, 64], got 66}}
  %0 = attn.rope bsnd %x, %c, %c, %i {rotary_embedding_dim = 66 : i64} : tensor<?x?x12x64xf32>, tensor<2048x16xf32>, tensor<?x?xi64>
  return
}

// -----

func.func @rope_cache(%x: tensor<?x?x12x64xf32>, %c: tensor<2048x32xf32>, %i: tensor<?x?xi64>) {
  // expected-error @below {{expects cos and sin of shape [?, 16], got [2048, 32]}}
  %0 = attn.rope bsnd %x, %c, %c, %i {rotary_embedding_dim = 32 : i64} : tensor<?x?x12x64xf32>, tensor<2048x32xf32>, tensor<?x?xi64>
  return
}

// -----

func.func @rope_positions(%x: tensor<2x?x12x64xf32>, %c: tensor<2048x16xf32>, %i: tensor<3x?xi64>) {
  // expected-error @below {{expects position_ids of shape [2, ?], got [3, ?]}}
  %0 = attn.rope bsnd %x, %c, %c, %i {rotary_embedding_dim = 32 : i64} : tensor<2x?x12x64xf32>, tensor<2048x16xf32>, tensor<3x?xi64>
  return
}

// -----

func.func @rope_no_positions(%x: tensor<?x?x12x64xf32>, %c: tensor<2048x16xf32>) {
  // expected-error @below {{expects cos and sin of shape [?, ?, 16] without position_ids, got [2048, 16]}}
  %0 = attn.rope bsnd %x, %c, %c {rotary_embedding_dim = 32 : i64} : tensor<?x?x12x64xf32>, tensor<2048x16xf32>
  return
}

// -----

func.func @rope_rank(%x: tensor<?x?x768xf32>, %c: tensor<2048x16xf32>, %i: tensor<?x?xi64>) {
  // expected-error @below {{expects an input of rank 4, got 3}}
  %0 = attn.rope bsnd %x, %c, %c, %i {rotary_embedding_dim = 32 : i64} : tensor<?x?x768xf32>, tensor<2048x16xf32>, tensor<?x?xi64>
  return
}

// -----

func.func @rope_type(%x: tensor<?x?x12x64xf32>, %c: tensor<2048x16xf16>, %i: tensor<?x?xi64>) {
  // expected-error @below {{expects cos and sin of type 'f32', got 'f16'}}
  %0 = attn.rope bsnd %x, %c, %c, %i {rotary_embedding_dim = 32 : i64} : tensor<?x?x12x64xf32>, tensor<2048x16xf16>, tensor<?x?xi64>
  return
}

// -----

func.func @cache_axis(%c: tensor<2x4x64x8xf32>, %u: tensor<2x4x3x8xf32>) {
  // expected-error @below {{expects axis within [1, 4), got 0}}
  %0 = attn.kv_cache_update linear %c, %u {axis = 0 : i64} : tensor<2x4x64x8xf32>, tensor<2x4x3x8xf32>
  return
}

// -----

func.func @cache_shape(%c: tensor<2x4x64x8xf32>, %u: tensor<2x5x3x8xf32>) {
  // expected-error @below {{expects an update of shape [2, 4, ?, 8], got [2, 5, 3, 8]}}
  %0 = attn.kv_cache_update linear %c, %u {axis = 2 : i64} : tensor<2x4x64x8xf32>, tensor<2x5x3x8xf32>
  return
}

// -----

func.func @cache_type(%c: tensor<2x4x64x8xf32>, %u: tensor<2x4x3x8xf16>) {
  // expected-error @below {{expects an update of type 'f32', got 'f16'}}
  %0 = attn.kv_cache_update linear %c, %u {axis = 2 : i64} : tensor<2x4x64x8xf32>, tensor<2x4x3x8xf16>
  return
}

// -----

func.func @cache_rows(%c: tensor<2x4x64x8xf32>, %u: tensor<2x4x65x8xf32>) {
  // expected-error @below {{expects at most 64 new rows, got 65}}
  %0 = attn.kv_cache_update linear %c, %u {axis = 2 : i64} : tensor<2x4x64x8xf32>, tensor<2x4x65x8xf32>
  return
}

// -----

func.func @cache_indices(%c: tensor<2x4x64x8xf32>, %u: tensor<2x4x3x8xf32>, %at: tensor<3xi64>) {
  // expected-error @below {{expects write_indices of shape [2], got [3]}}
  %0 = attn.kv_cache_update linear %c, %u, %at {axis = 2 : i64} : tensor<2x4x64x8xf32>, tensor<2x4x3x8xf32>, tensor<3xi64>
  return
}
