// RUN: heddle-opt %s --cpu-convert-kernel-to-vector --split-input-file --verify-diagnostics

// expected-error @+1 {{expects kernel.config; run cpu-select-lowering-config first}}
kernel.func @without_config(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = kernel.map bounds(affine_map<() -> (64)>) ins(%x : tensor<64xf32>)
      attributes {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } : tensor<64xf32>
  kernel.return %r : tensor<64xf32>
}

// -----

#config = #kernel.lowering_config<{elements_per_item = 4096 : i64, grain_work = 16384 : i64}>
kernel.func @without_expansion(%x: tensor<64xf32>) -> tensor<64xf32> attributes {kernel.config = #config} {
  %r = kernel.map bounds(affine_map<() -> (64)>) ins(%x : tensor<64xf32>)
      attributes {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%e: f32):
    // expected-error @+1 {{has no expansion on this target}}
    %c = math.cbrt %e : f32
    kernel.yield %c : f32
  } : tensor<64xf32>
  kernel.return %r : tensor<64xf32>
}

// -----

#config = #kernel.lowering_config<{elements_per_item = 4096 : i64, grain_work = 16384 : i64}>
kernel.func @narrow_math(%x: tensor<64xf16>) -> tensor<64xf16> attributes {kernel.config = #config} {
  %r = kernel.map bounds(affine_map<() -> (64)>) ins(%x : tensor<64xf16>)
      attributes {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%e: f16):
    // expected-error @+1 {{has no form on this target for elements of type 'f16'}}
    %c = math.exp %e : f16
    kernel.yield %c : f16
  } : tensor<64xf16>
  kernel.return %r : tensor<64xf16>
}

// -----

#config = #kernel.lowering_config<{elements_per_item = 4096 : i64, grain_work = 16384 : i64}>
kernel.func @control_flow(%x: tensor<64xf32>) -> tensor<64xf32> attributes {kernel.config = #config} {
  %r = kernel.map bounds(affine_map<() -> (64)>) ins(%x : tensor<64xf32>)
      attributes {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%e: f32):
    // expected-error @+1 {{has no form in a CPU kernel's scalar region}}
    %c = tensor.from_elements %e : tensor<1xf32>
    kernel.yield %e : f32
  } : tensor<64xf32>
  kernel.return %r : tensor<64xf32>
}

// -----

#config = #kernel.lowering_config<{elements_per_item = 4096 : i64, grain_work = 16384 : i64}>
kernel.func @value_from_outside(%x: tensor<64xf32>) -> tensor<64xf32> attributes {kernel.config = #config} {
  %one = arith.constant 1.0 : f32
  %r = kernel.map bounds(affine_map<() -> (64)>) ins(%x : tensor<64xf32>)
      attributes {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%e: f32):
    // expected-error @+1 {{expects operands from its region or the kernel's size arguments}}
    %c = arith.addf %e, %one : f32
    kernel.yield %c : f32
  } : tensor<64xf32>
  kernel.return %r : tensor<64xf32>
}

// -----

#config = #kernel.lowering_config<{elements_per_item = 4096 : i64, grain_work = 16384 : i64}>
kernel.func @computed_size(%x: tensor<64xf32>) -> tensor<64xf32> attributes {kernel.config = #config} {
  %n = arith.constant 64 : index
  // expected-error @+1 {{expects its sizes to be arguments of the kernel.func}}
  %r = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0)>) ins(%x : tensor<64xf32>)
      attributes {indexing_maps = [affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>]} {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } : tensor<64xf32>
  kernel.return %r : tensor<64xf32>
}

// -----

#contract = #kernel.lowering_config<{row_tile = 6 : i64, column_vectors = 1 : i64, rows_per_item = 252 : i64}>
kernel.func @double_factors(%x: tensor<8x8xf64>, %w: tensor<8x8xf64>) -> tensor<8x8xf32>
    attributes {kernel.config = #contract} {
  // expected-error @+1 {{expects f32 factors on this target, got 'f64'}}
  %r = kernel.contract bounds(affine_map<() -> (8, 8, 8)>) ins(%x, %w : tensor<8x8xf64>, tensor<8x8xf64>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                   affine_map<(m, n, k) -> (m, n)>]} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<8x8xf32>
  kernel.return %r : tensor<8x8xf32>
}

// -----

#contract = #kernel.lowering_config<{row_tile = 8 : i64, column_vectors = 1 : i64, rows_per_item = 250 : i64}>
// expected-error @+1 {{expects rows_per_item to be a multiple of row_tile, got 250 and 8}}
kernel.func @uneven_items(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32>
    attributes {kernel.config = #contract} {
  %r = kernel.contract bounds(affine_map<() -> (8, 8, 8)>) ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                   affine_map<(m, n, k) -> (m, n)>]} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<8x8xf32>
  kernel.return %r : tensor<8x8xf32>
}

// -----

#q = affine_map<(b, g, r, m, n, d, e) -> (m, d)>
#k = affine_map<(b, g, r, m, n, d, e) -> (n, d)>
#v = affine_map<(b, g, r, m, n, d, e) -> (n, e)>
#o = affine_map<(b, g, r, m, n, d, e) -> (m, e)>
#attention = #kernel.lowering_config<{block_kv = 256 : i64, block_q = 128 : i64, column_vectors = 4 : i64, grain_work = 131072 : i64, row_tile = 4 : i64, split_row_tail = 0 : i64}>
kernel.func @half_values(%q: tensor<8x16xf32>, %k: tensor<8x16xf32>, %v: tensor<8x16xf16>) -> tensor<8x16xf32>
    attributes {kernel.config = #attention} {
  // expected-error @+1 {{expects f32 query, key, value, scale and results on this target, got 'f16'}}
  %r = kernel.attention bounds(affine_map<() -> (1, 1, 1, 8, 8, 16, 16)>)
      ins(%q, %k, %v : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf16>)
      attributes {indexing_maps = [#q, #k, #v, #o], scale = 1.0 : f32, fully_masked = "literal"} score {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<8x16xf32>
  kernel.return %r : tensor<8x16xf32>
}

// -----

#q = affine_map<(b, g, r, m, n, d, e) -> (m, d)>
#k = affine_map<(b, g, r, m, n, d, e) -> (n, d)>
#v = affine_map<(b, g, r, m, n, d, e) -> (n, e)>
#o = affine_map<(b, g, r, m, n, d, e) -> (m, e)>
#l = affine_map<(b, g, r, m, n, d, e) -> (b)>
#attention = #kernel.lowering_config<{block_kv = 256 : i64, block_q = 128 : i64, column_vectors = 4 : i64, grain_work = 131072 : i64, row_tile = 4 : i64, split_row_tail = 0 : i64}>
kernel.func @narrow_lengths(%q: tensor<8x16xf32>, %k: tensor<8x16xf32>, %v: tensor<8x16xf32>, %l: tensor<1xi32>)
    -> tensor<8x16xf32> attributes {kernel.config = #attention} {
  // expected-error @+1 {{expects i64 lengths, got 'i32'}}
  %r = kernel.attention bounds(affine_map<() -> (1, 1, 1, 8, 8, 16, 16)>)
      ins(%q, %k, %v, %l : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<1xi32>)
      attributes {indexing_maps = [#q, #k, #v, #l, #o], scale = 1.0 : f32, fully_masked = "literal", has_kv_len} score {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<8x16xf32>
  kernel.return %r : tensor<8x16xf32>
}

// -----

#q = affine_map<(b, g, r, m, n, d, e) -> (m, d)>
#k = affine_map<(b, g, r, m, n, d, e) -> (n, d)>
#v = affine_map<(b, g, r, m, n, d, e) -> (n, e)>
#s = affine_map<(b, g, r, m, n, d, e) -> (n, m, e)>
#attention = #kernel.lowering_config<{block_kv = 256 : i64, block_q = 128 : i64, column_vectors = 4 : i64, grain_work = 131072 : i64, row_tile = 4 : i64, split_row_tail = 0 : i64}>
// expected-error @+1 {{expects block_kv to be the attention's part_size 512, got 256}}
kernel.func @parts_of_another_size(%q: tensor<8x16xf32>, %k: tensor<900x16xf32>, %v: tensor<900x16xf32>)
    -> tensor<2x8x18xf32> attributes {kernel.config = #attention} {
  %r = kernel.attention bounds(affine_map<() -> (1, 1, 1, 8, 900, 16, 16)>)
      ins(%q, %k, %v : tensor<8x16xf32>, tensor<900x16xf32>, tensor<900x16xf32>)
      attributes {indexing_maps = [#q, #k, #v, #s], scale = 1.0 : f32, fully_masked = "literal", part_size = 512 : i64,
                  gives_parts} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<2x8x18xf32>
  kernel.return %r : tensor<2x8x18xf32>
}

// -----

#config = #kernel.lowering_config<{row_tile = 4 : i64, column_vectors = 1 : i64, rows_per_item = 4 : i64}>
// expected-error @+1 {{expects a multiplier of bytes in its config, got ''}}
kernel.func @bytes_without_multiplier(%x: tensor<4x8xi8>, %w: tensor<1x2x16x4xi8>) -> tensor<4x16xi32>
    attributes {kernel.config = #config} {
  %r = kernel.contract bounds(affine_map<() -> (4, 16, 8)>) ins(%x, %w : tensor<4x8xi8>, tensor<1x2x16x4xi8>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0, 0)>,
                                   affine_map<(m, n, k) -> (m, n)>], packed_rhs = 16 : i64} epilogue {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  } : tensor<4x16xi32>
  kernel.return %r : tensor<4x16xi32>
}

// -----

#config = #kernel.lowering_config<{multiplier = "vpdpbusd", vector_bits = 256 : i64, row_tile = 4 : i64, column_vectors = 1 : i64, rows_per_item = 4 : i64}>
// expected-error @+1 {{expects vector_bits of 512 or, but for vpdpbusd, 256 in its config, got 256}}
kernel.func @dots_of_half_vectors(%x: tensor<4x8xi8>, %w: tensor<1x2x16x4xi8>) -> tensor<4x16xi32>
    attributes {kernel.config = #config} {
  %r = kernel.contract bounds(affine_map<() -> (4, 16, 8)>) ins(%x, %w : tensor<4x8xi8>, tensor<1x2x16x4xi8>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0, 0)>,
                                   affine_map<(m, n, k) -> (m, n)>], packed_rhs = 16 : i64} epilogue {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  } : tensor<4x16xi32>
  kernel.return %r : tensor<4x16xi32>
}

// -----

#config = #kernel.lowering_config<{elements_per_item = 4096 : i64, grain_work = 16384 : i64, buckets = [
  {most_rows = 4 : i64, config = {elements_per_item = 64 : i64, grain_work = 16384 : i64}}]}>
// expected-error @+1 {{expects no buckets in its config: its root has no rows}}
kernel.func @buckets_without_rows(%x: tensor<64xf32>) -> tensor<64xf32> attributes {kernel.config = #config} {
  %r = kernel.map bounds(affine_map<() -> (64)>) ins(%x : tensor<64xf32>)
      attributes {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } : tensor<64xf32>
  kernel.return %r : tensor<64xf32>
}

// -----

#config = #kernel.lowering_config<{elements_per_item = 4096 : i64, grain_work = 16384 : i64, buckets = [
  {most_rows = 4 : i64, config = {}}, {most_rows = 4 : i64, config = {}}]}>
// expected-error @+1 {{expects each bucket of its config to have most_rows, ascending from 1, and config, got {config = {}, most_rows = 4 : i64}}}
kernel.func @buckets_in_disorder(%x: tensor<64xf32>) -> tensor<64xf32> attributes {kernel.config = #config} {
  %r = kernel.map bounds(affine_map<() -> (64)>) ins(%x : tensor<64xf32>)
      attributes {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } : tensor<64xf32>
  kernel.return %r : tensor<64xf32>
}
