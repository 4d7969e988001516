// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// The faults of attn.sdpa with codes of 8 bits; invalid_sdpa.mlir has the others.

func.func @codes_of_f16(%q: tensor<?x?x4x64xf16>) {
  // expected-error @below {{expects query and key of f32 with qk_int8, got 'f16' and 'f16'}}
  %o = attn.sdpa %q, %q, %q {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, qk_int8}
       : tensor<?x?x4x64xf16>, tensor<?x?x4x64xf16>, tensor<?x?x4x64xf16> -> tensor<?x?x4x64xf16>
  return
}

// -----

func.func @codes_of_many_products(%q: tensor<?x?x4x2048xf32>) {
  // expected-error @below {{expects a static head size of at most 1024 with qk_int8, got sizes [2048]}}
  %o = attn.sdpa %q, %q, %q {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, qk_int8}
       : tensor<?x?x4x2048xf32>, tensor<?x?x4x2048xf32>, tensor<?x?x4x2048xf32> -> tensor<?x?x4x2048xf32>
  return
}

// -----

func.func @value_codes_without_scales(%q: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects a value_scale with pv_int8_block}}
  %o = attn.sdpa %q, %q, %q {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, pv_int8_block = 256 : i64}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @value_codes_of_large_blocks(%q: tensor<?x?x4x64xf32>, %s: tensor<1x1x4x64xf32>) {
  // expected-error @below {{expects pv_int8_block from 1 to 1024, got 2048}}
  %o = attn.sdpa %q, %q, %q value_scale(%s : tensor<1x1x4x64xf32>) {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, pv_int8_block = 2048 : i64}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @value_codes_of_f16(%q: tensor<?x?x4x64xf16>, %s: tensor<1x1x4x64xf32>) {
  // expected-error @below {{expects a value of f32 with pv_int8_block, got 'f16'}}
  %o = attn.sdpa %q, %q, %q value_scale(%s : tensor<1x1x4x64xf32>) {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, pv_int8_block = 256 : i64}
       : tensor<?x?x4x64xf16>, tensor<?x?x4x64xf16>, tensor<?x?x4x64xf16> -> tensor<?x?x4x64xf16>
  return
}

// -----

func.func @value_codes_by_keys(%q: tensor<?x8x4x64xf32>, %s: tensor<1x8x4x64xf32>) {
  // expected-error @below {{expects a value_scale of extent 1 along batch and keys with pv_int8_block, got [1, 8, 4, 64]}}
  %o = attn.sdpa %q, %q, %q value_scale(%s : tensor<1x8x4x64xf32>) {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, pv_int8_block = 256 : i64}
       : tensor<?x8x4x64xf32>, tensor<?x8x4x64xf32>, tensor<?x8x4x64xf32> -> tensor<?x8x4x64xf32>
  return
}

// -----

func.func @value_codes_beside_steps(%q: tensor<?x?x4x64xf32>, %s: tensor<1x1x4x64xf32>) {
  // expected-error @below {{expects neither lse nor probabilities nor what changes them with pv_int8_block}}
  %o = attn.sdpa %q, %q, %q value_scale(%s : tensor<1x1x4x64xf32>) {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, pv_int8_block = 256 : i64, probability_scale = 0.01 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @scales_of_floats(%q: tensor<?x?x4x64xf32>, %s: tensor<1x1x4x64xf32>) {
  // expected-error @below {{expects value_scale exactly where value holds integers}}
  %o = attn.sdpa %q, %q, %q value_scale(%s : tensor<1x1x4x64xf32>) {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, qk_int8}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}
