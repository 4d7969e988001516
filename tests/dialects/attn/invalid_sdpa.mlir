// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// Each fault of attn.sdpa is reported in its words.

func.func @batch(%q: tensor<2x?x4x64xf32>, %k: tensor<3x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects query and key of equal batch size, got 2 and 3}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<2x?x4x64xf32>, tensor<3x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @keys(%q: tensor<?x?x4x64xf32>, %k: tensor<?x128x4x64xf32>, %v: tensor<?x96x4x64xf32>) {
  // expected-error @below {{expects key and value of equal sequence length, got 128 and 96}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x128x4x64xf32>, tensor<?x96x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @rows(%q: tensor<?x8x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects query and output of equal sequence length, got 8 and 9}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x8x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x9x4x64xf32>
  return
}

// -----

func.func @head_size(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x32xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects query and key of equal head size, got 64 and 32}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x32xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @value_size(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x32xf32>) {
  // expected-error @below {{expects value and output of equal head size, got 32 and 64}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x32xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @heads(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects q_num_heads to be a multiple of kv_num_heads, got 12 and 5}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 12 : i64, kv_num_heads = 5 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @no_heads(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects q_num_heads to be a multiple of kv_num_heads, got 4 and 0}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 0 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @query_heads(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects 8 heads in query, got 4}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 8 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @key_heads(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects 2 heads in key, got 4}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 2 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @no_scale(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects exactly one of the attribute scale and the operand scale}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @two_scales(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>, %s: tensor<f32>) {
  // expected-error @below {{expects exactly one of the attribute scale and the operand scale}}
  %o = attn.sdpa %q, %k, %v scale(%s : tensor<f32>) {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @float_types(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf16>) {
  // expected-error @below {{expects query, key and value of one float type, got 'f32' and 'f16'}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf16> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @map_form(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects query_map to be a projected permutation of (b, n, q, kv, d)}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, query_map = affine_map<(b, n, q, kv, d) -> (b, q + 1, n, d)>}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @map_results(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects key_map to have 4 results, one a dimension, got 3}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, key_map = affine_map<(b, n, q, kv, d) -> (b, kv, d)>}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @map_foreign(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects query_map without kv}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, query_map = affine_map<(b, n, q, kv, d) -> (b, kv, n, d)>}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @map_missing(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4xf32>) {
  // expected-error @below {{expects value_map with kv and d}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, value_map = affine_map<(b, n, q, kv, d) -> (b, kv, n)>}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @map_foreign_key(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects key_map without q}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, key_map = affine_map<(b, n, q, kv, d) -> (b, q, n, d)>}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @map_output(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects output_map with b and n}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, output_map = affine_map<(b, n, q, kv, d) -> (b, q, d)>}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x64xf32>
  return
}

// -----

func.func @offset(%q: tensor<2x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>, %x: tensor<3xi64>) {
  // expected-error @below {{expects q_offset of shape [] or [2], got [3]}}
  %o = attn.sdpa %q, %k, %v q_offset(%x : tensor<3xi64>) {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<2x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @length(%q: tensor<2x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>, %x: tensor<i64>) {
  // expected-error @below {{expects kv_len of shape [2], got []}}
  %o = attn.sdpa %q, %k, %v kv_len(%x : tensor<i64>) {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<2x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @lse(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects lse of shape (b, n, q) = [?, 4, ?], got [?, 8, ?]}}
  %o, %l = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32> lse tensor<?x8x?xf32>
  return
}

// -----

func.func @lse_type(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects lse of type 'f32', got 'f64'}}
  %o, %l = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32> lse tensor<?x4x?xf64>
  return
}

// -----

func.func @probabilities(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects probabilities of shape (b, n, q, kv) = [?, 4, ?, ?], got [?, 4, ?]}}
  %o, %p = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32> probabilities tensor<?x4x?xf32>
  return
}

// -----

func.func @no_query_scale(%q: tensor<?x?x4x64xui8>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects query_scale exactly where query holds integers}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xui8>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @needless_scale(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>, %s: tensor<f32>) {
  // expected-error @below {{expects key_scale exactly where key holds integers}}
  %o = attn.sdpa %q, %k, %v key_scale(%s : tensor<f32>) {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @needless_zero(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>, %z: tensor<i8>) {
  // expected-error @below {{expects no value_zero_point where value holds floats}}
  %o = attn.sdpa %q, %k, %v value_zero_point(%z : tensor<i8>) {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @zero_type(%q: tensor<?x?x4x64xui8>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>, %s: tensor<f32>, %z: tensor<i8>) {
  // expected-error @below {{expects query_zero_point of type 'ui8', got 'i8'}}
  %o = attn.sdpa %q, %k, %v query_scale(%s : tensor<f32>) query_zero_point(%z : tensor<i8>) {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xui8>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @scale_shape(%q: tensor<?x?x4x64xui8>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{expects query_scale to be a scalar or to broadcast onto query of shape [?, ?, 4, 64], got [4]}}
  %o = attn.sdpa %q, %k, %v query_scale(%s : tensor<4xf32>) {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xui8>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @probability_scale(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects a probability_scale above 0}}
  %o = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, probability_scale = 0.0 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @map_count(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>, %m: tensor<?xi1>) {
  // expected-error @below {{expects one map a mask capture, got 0 for 1}}
  %o = attn.sdpa %q, %k, %v mask_captures(%m : tensor<?xi1>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %k0: i1):
    attn.yield %k0 : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @capture_without_region(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>, %m: tensor<?xi1>) {
  // expected-error @below {{expects no mask captures without a mask region}}
  %o = attn.sdpa %q, %k, %v mask_captures(%m : tensor<?xi1>) {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, mask_capture_maps = [affine_map<(b, n, q, kv) -> (b)>]}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @capture_dims(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>, %m: tensor<?xi1>) {
  // expected-error @below {{expects maps over (b, n, q, kv) for mask captures}}
  %o = attn.sdpa %q, %k, %v mask_captures(%m : tensor<?xi1>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %k0: i1):
    attn.yield %k0 : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, mask_capture_maps = [affine_map<(b) -> (b)>]}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @capture_rank(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>, %m: tensor<?xi1>) {
  // expected-error @below {{expects the map of mask capture 0 to have 1 results, got 2}}
  %o = attn.sdpa %q, %k, %v mask_captures(%m : tensor<?xi1>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %k0: i1):
    attn.yield %k0 : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, mask_capture_maps = [affine_map<(b, n, q, kv) -> (b, kv)>]}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @capture_extent(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>, %m: tensor<3xi1>) {
  // expected-error @below {{expects the map of mask capture 0 to stay within its shape [3] at axis 0}}
  %o = attn.sdpa %q, %k, %v mask_captures(%m : tensor<3xi1>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %k0: i1):
    attn.yield %k0 : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, mask_capture_maps = [affine_map<(b, n, q, kv) -> (n)>]}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @capture_constant(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>, %m: tensor<3xi1>) {
  // expected-error @below {{expects the map of mask capture 0 to stay within its shape [3] at axis 0}}
  %o = attn.sdpa %q, %k, %v mask_captures(%m : tensor<3xi1>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %k0: i1):
    attn.yield %k0 : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, mask_capture_maps = [affine_map<(b, n, q, kv) -> (3)>]}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @capture_negative(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>, %m: tensor<3xi1>) {
  // expected-error @below {{expects the map of mask capture 0 to stay within its shape [3] at axis 0}}
  %o = attn.sdpa %q, %k, %v mask_captures(%m : tensor<3xi1>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %k0: i1):
    attn.yield %k0 : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, mask_capture_maps = [affine_map<(b, n, q, kv) -> (-1)>]}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @region_arguments(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects mask region arguments ('index', 'index', 'index', 'index'), got ('index', 'index', 'index', 'index', 'i1')}}
  %o = attn.sdpa %q, %k, %v mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %k0: i1):
    attn.yield %k0 : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @score_arguments(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects score region arguments ('f32', 'index', 'index', 'index', 'index'), got ('f64', 'index', 'index', 'index', 'index')}}
  %o = attn.sdpa %q, %k, %v score {
  ^bb0(%s: f64, %b: index, %h: index, %i: index, %j: index):
    attn.yield %s : f64
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @mask_yield(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects the mask region to yield 'i1', got 'index'}}
  %o = attn.sdpa %q, %k, %v mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    attn.yield %j : index
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @no_yield(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects the mask region to end with attn.yield}}
  %o = attn.sdpa %q, %k, %v mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c = arith.cmpi ule, %j, %i : index
    kernel.yield %c : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @foreign_op(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  %o = attn.sdpa %q, %k, %v mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    // expected-error @below {{expects only arith and math ops in the mask region}}
    %c = nn.constant dense<1> : tensor<i64>
    %d = arith.cmpi ule, %j, %i : index
    attn.yield %d : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @foreign_type(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  %o = attn.sdpa %q, %k, %v mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    // expected-error @below {{expects scalars in the mask region, got 'vector<2xi1>'}}
    %c = arith.constant dense<true> : vector<2xi1>
    %d = arith.cmpi ule, %j, %i : index
    attn.yield %d : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @foreign_value(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>, %outer: index) {
  %o = attn.sdpa %q, %k, %v mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    // expected-error @below {{expects the mask region to use captures and constants only}}
    %d = arith.cmpi ule, %j, %outer : index
    attn.yield %d : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @probability_without_itself(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects probability region arguments ('f32', 'index', 'index', 'index', 'index'), got ('index', 'index', 'index', 'index')}}
  %o = attn.sdpa %q, %k, %v probability {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c = arith.constant 1.0 : f32
    attn.yield %c : f32
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @probability_of_another_type(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects the probability region to yield 'f32', got 'i1'}}
  %o = attn.sdpa %q, %k, %v probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %c = arith.constant true
    attn.yield %c : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @probability_rounded_twice(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>) {
  // expected-error @below {{expects no probability_scale beside a probability region}}
  %o = attn.sdpa %q, %k, %v probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %p : f32
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32, probability_scale = 0.01 : f32}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}

// -----

func.func @probability_captures_without_region(%q: tensor<?x?x4x64xf32>, %gate: tensor<4xf32>) {
  // expected-error @below {{expects no probability captures without a probability region}}
  %o = attn.sdpa %q, %q, %q probability_captures(%gate : tensor<4xf32>)
       {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32,
        probability_capture_maps = [affine_map<(b, n, q, kv) -> (n)>]}
       : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
  return
}
