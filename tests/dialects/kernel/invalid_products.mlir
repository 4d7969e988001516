// RUN: heddle-opt %s --split-input-file --verify-diagnostics

kernel.func @parts_without_size(%q: tensor<2x8xf32>, %k: tensor<500x8xf32>, %v: tensor<500x4xf32>) -> tensor<2x2x6xf32> {
  // expected-error @+1 {{expects part_size to be at least 1 where there are parts}}
  %s = kernel.attention bounds(affine_map<() -> (1, 1, 1, 2, 500, 8, 4)>)
      ins(%q, %k, %v : tensor<2x8xf32>, tensor<500x8xf32>, tensor<500x4xf32>)
      attributes {indexing_maps = [affine_map<(b, g, r, m, n, d, e) -> (m, d)>, affine_map<(b, g, r, m, n, d, e) -> (n, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, e)>, affine_map<(b, g, r, m, n, d, e) -> (n, m, e)>],
                  scale = 0.125 : f32, fully_masked = "zero", gives_parts} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<2x2x6xf32>
  kernel.return %s : tensor<2x2x6xf32>
}

// -----

kernel.func @parts_of_nothing(%q: tensor<2x8xf32>, %k: tensor<500x8xf32>, %v: tensor<500x4xf32>) -> tensor<2x2x6xf32> {
  // expected-error @+1 {{expects part_size to be at least 1 where there are parts}}
  %s = kernel.attention bounds(affine_map<() -> (1, 1, 1, 2, 500, 8, 4)>)
      ins(%q, %k, %v : tensor<2x8xf32>, tensor<500x8xf32>, tensor<500x4xf32>)
      attributes {indexing_maps = [affine_map<(b, g, r, m, n, d, e) -> (m, d)>, affine_map<(b, g, r, m, n, d, e) -> (n, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, e)>, affine_map<(b, g, r, m, n, d, e) -> (n, m, e)>],
                  scale = 0.125 : f32, fully_masked = "zero", part_size = 0 : i64, gives_parts} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<2x2x6xf32>
  kernel.return %s : tensor<2x2x6xf32>
}

// -----

kernel.func @rows_before_parts(%q: tensor<2x8xf32>, %k: tensor<500x8xf32>, %v: tensor<500x4xf32>) -> tensor<2x2x6xf32> {
  // expected-error @+1 {{expects states of f32 whose first dimension counts parts}}
  %s = kernel.attention bounds(affine_map<() -> (1, 1, 1, 2, 500, 8, 4)>)
      ins(%q, %k, %v : tensor<2x8xf32>, tensor<500x8xf32>, tensor<500x4xf32>)
      attributes {indexing_maps = [affine_map<(b, g, r, m, n, d, e) -> (m, d)>, affine_map<(b, g, r, m, n, d, e) -> (n, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, e)>, affine_map<(b, g, r, m, n, d, e) -> (m, n, e)>],
                  scale = 0.125 : f32, fully_masked = "zero", part_size = 256 : i64, gives_parts} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<2x2x6xf32>
  kernel.return %s : tensor<2x2x6xf32>
}

// -----

kernel.func @probability_of_another_type(%q: tensor<2x3x8xf32>, %k: tensor<500x3x8xf32>, %v: tensor<500x3x4xf32>) -> tensor<2x3x4xf32> {
  // expected-error @+1 {{expects region 'probability' to take ('f32'), got ('f64')}}
  %s = kernel.attention bounds(affine_map<() -> (1, 3, 1, 2, 500, 8, 4)>)
      ins(%q, %k, %v : tensor<2x3x8xf32>, tensor<500x3x8xf32>, tensor<500x3x4xf32>)
      attributes {indexing_maps = [affine_map<(b, g, r, m, n, d, e) -> (m, g, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, g, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, g, e)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (m, g, e)>],
                  scale = 0.125 : f32, fully_masked = "zero"} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } probability {
  ^bb0(%p: f64):
    kernel.yield %p : f64
  } : tensor<2x3x4xf32>
  kernel.return %s : tensor<2x3x4xf32>
}

// -----

kernel.func @parts_before_the_sum(%q: tensor<2x3x8xf32>, %k: tensor<500x3x8xf32>, %v: tensor<500x3x4xf32>) -> tensor<2x3x2x6xf32> {
  // expected-error @+1 {{expects no parts with a probability region, which needs the sum of all keys first}}
  %s = kernel.attention bounds(affine_map<() -> (1, 3, 1, 2, 500, 8, 4)>)
      ins(%q, %k, %v : tensor<2x3x8xf32>, tensor<500x3x8xf32>, tensor<500x3x4xf32>)
      attributes {indexing_maps = [affine_map<(b, g, r, m, n, d, e) -> (m, g, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, g, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, g, e)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, g, m, e)>],
                  scale = 0.125 : f32, fully_masked = "zero", part_size = 256 : i64, gives_parts} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } probability {
  ^bb0(%p: f32):
    kernel.yield %p : f32
  } : tensor<2x3x2x6xf32>
  kernel.return %s : tensor<2x3x2x6xf32>
}

// -----

kernel.func @pairs(%x: tensor<4x6xf32>, %w: tensor<1x6x16xbf16>) -> tensor<4x16xf32> {
  // expected-error @+1 {{expects a packed rhs of bf16 to have the shape panels x k / 2 x columns x 2, got 'tensor<1x6x16xbf16>'}}
  %y = kernel.contract bounds(affine_map<() -> (4, 16, 6)>) ins(%x, %w : tensor<4x6xf32>, tensor<1x6x16xbf16>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0)>,
                                   affine_map<(m, n, k) -> (m, n)>], packed_rhs = 16 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<4x16xf32>
  kernel.return %y : tensor<4x16xf32>
}

// -----

kernel.func @bytes_in_pairs(%x: tensor<4x6xi8>, %w: tensor<1x3x16x2xi8>) -> tensor<4x16xi32> {
  // expected-error @+1 {{expects a packed rhs of i8 to have the shape panels x k / 4 x columns x 4, got 'tensor<1x3x16x2xi8>'}}
  %y = kernel.contract bounds(affine_map<() -> (4, 16, 6)>)
      ins(%x, %w : tensor<4x6xi8>, tensor<1x3x16x2xi8>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0, 0)>,
                                   affine_map<(m, n, k) -> (m, n)>], packed_rhs = 16 : i64} epilogue {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  } : tensor<4x16xi32>
  kernel.return %y : tensor<4x16xi32>
}

// -----

kernel.func @bytes_summed_in_floats(%x: tensor<4x6xi8>, %w: tensor<1x2x16x4xi8>) -> tensor<4x16xf32> {
  // expected-error @+1 {{expects region 'epilogue' to take ('i32'), got ('f32')}}
  %y = kernel.contract bounds(affine_map<() -> (4, 16, 6)>)
      ins(%x, %w : tensor<4x6xi8>, tensor<1x2x16x4xi8>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0, 0)>,
                                   affine_map<(m, n, k) -> (m, n)>], packed_rhs = 16 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<4x16xf32>
  kernel.return %y : tensor<4x16xf32>
}

// -----

kernel.func @signed_floats(%x: tensor<4x6xf32>, %w: tensor<1x6x16xi8>) -> tensor<4x16xf32> {
  // expected-error @+1 {{expects signed_lhs and pair_safe with an lhs and a packed rhs of i8 only, got 'tensor<4x6xf32>' and 'tensor<1x6x16xi8>'}}
  %y = kernel.contract bounds(affine_map<() -> (4, 16, 6)>)
      ins(%x, %w : tensor<4x6xf32>, tensor<1x6x16xi8>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0)>,
                                   affine_map<(m, n, k) -> (m, n)>], packed_rhs = 16 : i64, signed_lhs} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<4x16xf32>
  kernel.return %y : tensor<4x16xf32>
}

// -----

kernel.func @safe_pairs_of_floats(%x: tensor<4x6xf32>, %w: tensor<1x6x16xi8>) -> tensor<4x16xf32> {
  // expected-error @+1 {{expects signed_lhs and pair_safe with an lhs and a packed rhs of i8 only, got 'tensor<4x6xf32>' and 'tensor<1x6x16xi8>'}}
  %y = kernel.contract bounds(affine_map<() -> (4, 16, 6)>)
      ins(%x, %w : tensor<4x6xf32>, tensor<1x6x16xi8>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0)>,
                                   affine_map<(m, n, k) -> (m, n)>], packed_rhs = 16 : i64, pair_safe} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<4x16xf32>
  kernel.return %y : tensor<4x16xf32>
}

// -----

kernel.func @grouped_bytes_of_weights(%x: tensor<4x6xf32>, %w: tensor<1x2x16x4xi8>) -> tensor<4x16xf32> {
  // expected-error @+1 {{expects a packed rhs of static shape panels x k x columns, got 'tensor<1x2x16x4xi8>'}}
  %y = kernel.contract bounds(affine_map<() -> (4, 16, 6)>)
      ins(%x, %w : tensor<4x6xf32>, tensor<1x2x16x4xi8>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0, 0)>,
                                   affine_map<(m, n, k) -> (m, n)>], packed_rhs = 16 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<4x16xf32>
  kernel.return %y : tensor<4x16xf32>
}

// -----

kernel.func @blocks_of_bytes(%x: tensor<4x6xi8>, %w: tensor<1x2x16x4xi8>) -> tensor<4x16xi32> {
  // expected-error @+1 {{expects block_size with a packed rhs of i8 and an lhs of floats only, got 'tensor<1x2x16x4xi8>' and 'tensor<4x6xi8>'}}
  %y = kernel.contract bounds(affine_map<() -> (4, 16, 6)>)
      ins(%x, %w : tensor<4x6xi8>, tensor<1x2x16x4xi8>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0, 0)>,
                                   affine_map<(m, n, k) -> (m, n)>], packed_rhs = 16 : i64, block_size = 2 : i64} epilogue {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  } : tensor<4x16xi32>
  kernel.return %y : tensor<4x16xi32>
}

// -----

kernel.func @odd_blocks(%x: tensor<4x6xf32>, %w: tensor<1x3x16xi8>, %s: tensor<1x2x16xf32>) -> tensor<4x16xf32> {
  // expected-error @+1 {{expects block_size to be even and at least 2, got 3}}
  %y = kernel.contract bounds(affine_map<() -> (4, 16, 6)>)
      ins(%x, %w, %s : tensor<4x6xf32>, tensor<1x3x16xi8>, tensor<1x2x16xf32>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0)>, affine_map<(m, n, k) -> (0, 0, 0)>,
                                   affine_map<(m, n, k) -> (m, n)>], packed_rhs = 16 : i64, block_size = 3 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<4x16xf32>
  kernel.return %y : tensor<4x16xf32>
}

// -----

kernel.func @blocks_of_grouped_bytes(%x: tensor<4x6xf32>, %w: tensor<1x2x16x4xi8>, %s: tensor<1x2x16xf32>) -> tensor<4x16xf32> {
  // expected-error @+1 {{expects a packed rhs of blocks of bytes to have the shape panels x k x columns x 1, got 'tensor<1x2x16x4xi8>'}}
  %y = kernel.contract bounds(affine_map<() -> (4, 16, 6)>)
      ins(%x, %w, %s : tensor<4x6xf32>, tensor<1x2x16x4xi8>, tensor<1x2x16xf32>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0, 0)>, affine_map<(m, n, k) -> (0, 0, 0)>,
                                   affine_map<(m, n, k) -> (m, n)>], packed_rhs = 16 : i64, block_size = 3 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<4x16xf32>
  kernel.return %y : tensor<4x16xf32>
}

// -----

kernel.func @empty_blocks(%x: tensor<4x6xf32>, %w: tensor<1x6x16x1xi8>, %s: tensor<1x2x16xf32>) -> tensor<4x16xf32> {
  // expected-error @+1 {{expects block_size to be at least 1, got 0}}
  %y = kernel.contract bounds(affine_map<() -> (4, 16, 6)>)
      ins(%x, %w, %s : tensor<4x6xf32>, tensor<1x6x16x1xi8>, tensor<1x2x16xf32>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0, 0)>, affine_map<(m, n, k) -> (0, 0, 0)>,
                                   affine_map<(m, n, k) -> (m, n)>], packed_rhs = 16 : i64, block_size = 0 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<4x16xf32>
  kernel.return %y : tensor<4x16xf32>
}

// -----

kernel.func @blocks_without_scales(%x: tensor<4x6xf32>, %w: tensor<1x3x16xi8>) -> tensor<4x16xf32> {
  // expected-error @+1 {{expects the scales of blocks, of f32, as third input}}
  %y = kernel.contract bounds(affine_map<() -> (4, 16, 6)>)
      ins(%x, %w : tensor<4x6xf32>, tensor<1x3x16xi8>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0)>,
                                   affine_map<(m, n, k) -> (m, n)>], packed_rhs = 16 : i64, block_size = 2 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<4x16xf32>
  kernel.return %y : tensor<4x16xf32>
}

// -----

kernel.func @scales_of_unknown_shape(%x: tensor<4x6xf32>, %w: tensor<1x3x16xi8>, %s: tensor<1x3x?xf32> {kernel.dims = array<i64: 0>}, %c: index) -> tensor<4x16xf32> {
  // expected-error @+1 {{expects scales of static shape panels x blocks x columns, got 'tensor<1x3x?xf32>'}}
  %y = kernel.contract bounds(affine_map<() -> (4, 16, 6)>)
      ins(%x, %w, %s : tensor<4x6xf32>, tensor<1x3x16xi8>, tensor<1x3x?xf32>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0)>, affine_map<(m, n, k) -> (0, 0, 0)>,
                                   affine_map<(m, n, k) -> (m, n)>], packed_rhs = 16 : i64, block_size = 2 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<4x16xf32>
  kernel.return %y : tensor<4x16xf32>
}

// -----

kernel.func @codes_of_many_products(%q: tensor<2x1025xf32>, %k: tensor<5x1025xf32>, %v: tensor<5x4xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{expects a constant head size of at most 1024 with qk_int8}}
  %o = kernel.attention bounds(affine_map<() -> (1, 1, 1, 2, 5, 1025, 4)>)
      ins(%q, %k, %v : tensor<2x1025xf32>, tensor<5x1025xf32>, tensor<5x4xf32>)
      attributes {indexing_maps = [affine_map<(b, g, r, m, n, d, e) -> (m, d)>, affine_map<(b, g, r, m, n, d, e) -> (n, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, e)>, affine_map<(b, g, r, m, n, d, e) -> (m, e)>],
                  scale = 0.125 : f32, fully_masked = "zero", qk_int8} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<2x4xf32>
  kernel.return %o : tensor<2x4xf32>
}

// -----

kernel.func @codes_of_bytes(%q: tensor<2x8xi8>, %k: tensor<5x8xi8>, %v: tensor<5x4xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{expects query and key of f32 with qk_int8, got 'i8' and 'i8'}}
  %o = kernel.attention bounds(affine_map<() -> (1, 1, 1, 2, 5, 8, 4)>)
      ins(%q, %k, %v : tensor<2x8xi8>, tensor<5x8xi8>, tensor<5x4xf32>)
      attributes {indexing_maps = [affine_map<(b, g, r, m, n, d, e) -> (m, d)>, affine_map<(b, g, r, m, n, d, e) -> (n, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, e)>, affine_map<(b, g, r, m, n, d, e) -> (m, e)>],
                  scale = 0.125 : f32, fully_masked = "zero", qk_int8} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<2x4xf32>
  kernel.return %o : tensor<2x4xf32>
}

// -----

kernel.func @value_codes_of_large_blocks(%q: tensor<2x8xf32>, %k: tensor<5x8xf32>, %v: tensor<5x4xf32>, %s: tensor<4xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{expects pv_int8_block from 1 to 1024, got 1025}}
  %o = kernel.attention bounds(affine_map<() -> (1, 1, 1, 2, 5, 8, 4)>)
      ins(%q, %k, %v, %s : tensor<2x8xf32>, tensor<5x8xf32>, tensor<5x4xf32>, tensor<4xf32>)
      attributes {indexing_maps = [affine_map<(b, g, r, m, n, d, e) -> (m, d)>, affine_map<(b, g, r, m, n, d, e) -> (n, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, e)>, affine_map<(b, g, r, m, n, d, e) -> (e)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (m, e)>],
                  scale = 0.125 : f32, fully_masked = "zero", pv_int8_block = 1025 : i64} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<2x4xf32>
  kernel.return %o : tensor<2x4xf32>
}

// -----

kernel.func @value_codes_of_other_parts(%q: tensor<2x8xf32>, %k: tensor<5x8xf32>, %v: tensor<5x4xf32>, %s: tensor<4xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{expects parts of pv_int8_block keys, got 128 and 256}}
  %o = kernel.attention bounds(affine_map<() -> (1, 1, 1, 2, 5, 8, 4)>)
      ins(%q, %k, %v, %s : tensor<2x8xf32>, tensor<5x8xf32>, tensor<5x4xf32>, tensor<4xf32>)
      attributes {indexing_maps = [affine_map<(b, g, r, m, n, d, e) -> (m, d)>, affine_map<(b, g, r, m, n, d, e) -> (n, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, e)>, affine_map<(b, g, r, m, n, d, e) -> (e)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (m, e)>],
                  scale = 0.125 : f32, fully_masked = "zero", pv_int8_block = 256 : i64, part_size = 128 : i64} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<2x4xf32>
  kernel.return %o : tensor<2x4xf32>
}

// -----

kernel.func @value_codes_of_halves(%q: tensor<2x8xf32>, %k: tensor<5x8xf32>, %v: tensor<5x4xf32>, %s: tensor<4xf16>) -> tensor<2x4xf32> {
  // expected-error @+1 {{expects values and their scales of f32 with pv_int8_block, got 'f32' and 'f16'}}
  %o = kernel.attention bounds(affine_map<() -> (1, 1, 1, 2, 5, 8, 4)>)
      ins(%q, %k, %v, %s : tensor<2x8xf32>, tensor<5x8xf32>, tensor<5x4xf32>, tensor<4xf16>)
      attributes {indexing_maps = [affine_map<(b, g, r, m, n, d, e) -> (m, d)>, affine_map<(b, g, r, m, n, d, e) -> (n, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, e)>, affine_map<(b, g, r, m, n, d, e) -> (e)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (m, e)>],
                  scale = 0.125 : f32, fully_masked = "zero", pv_int8_block = 256 : i64} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<2x4xf32>
  kernel.return %o : tensor<2x4xf32>
}

// -----

kernel.func @value_codes_by_keys(%q: tensor<2x8xf32>, %k: tensor<5x8xf32>, %v: tensor<5x4xf32>, %s: tensor<5x4xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{expects a scale for each key head and column of the value, got affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d6)>}}
  %o = kernel.attention bounds(affine_map<() -> (1, 1, 1, 2, 5, 8, 4)>)
      ins(%q, %k, %v, %s : tensor<2x8xf32>, tensor<5x8xf32>, tensor<5x4xf32>, tensor<5x4xf32>)
      attributes {indexing_maps = [affine_map<(b, g, r, m, n, d, e) -> (m, d)>, affine_map<(b, g, r, m, n, d, e) -> (n, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, e)>, affine_map<(b, g, r, m, n, d, e) -> (n, e)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (m, e)>],
                  scale = 0.125 : f32, fully_masked = "zero", pv_int8_block = 256 : i64} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<2x4xf32>
  kernel.return %o : tensor<2x4xf32>
}
