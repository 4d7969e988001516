// RUN: heddle-opt %s --split-input-file --verify-diagnostics

kernel.func @no_loop(%x: tensor<1xf32>) -> tensor<1xf32> {
  // expected-error @+1 {{expects at least one loop, the scan's}}
  %y = kernel.scan bounds(affine_map<() -> ()>) ins(%x : tensor<1xf32>)
      attributes {indexing_maps = [affine_map<() -> (0)>, affine_map<() -> (0)>], input_count = 1 : i64,
                  combiner = #kernel.combiner<sum>} body {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } finish {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } : tensor<1xf32>
  kernel.return %y : tensor<1xf32>
}

// -----

kernel.func @too_many_inputs(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{expects input_count from 0 to 1, got 2}}
  %y = kernel.scan bounds(affine_map<() -> (8)>) ins(%x : tensor<8xf32>)
      attributes {indexing_maps = [affine_map<(s) -> (s)>, affine_map<(s) -> (s)>], input_count = 2 : i64,
                  combiner = #kernel.combiner<sum>} body {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } finish {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } : tensor<8xf32>
  kernel.return %y : tensor<8xf32>
}

// -----

kernel.func @two_terms(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{expects region 'body' to yield one value, got 2}}
  %y = kernel.scan bounds(affine_map<() -> (8)>) ins(%x : tensor<8xf32>)
      attributes {indexing_maps = [affine_map<(s) -> (s)>, affine_map<(s) -> (s)>], input_count = 1 : i64,
                  combiner = #kernel.combiner<sum>} body {
  ^bb0(%e: f32):
    kernel.yield %e, %e : f32, f32
  } finish {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } : tensor<8xf32>
  kernel.return %y : tensor<8xf32>
}

// -----

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

kernel.func @walks_updates(%x: tensor<8x4xf32>, %ids: tensor<3xi64>, %u: tensor<3x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{expects the result not to depend on loop 1, got affine_map<(d0, d1) -> (0, d1)>}}
  %y = kernel.scatter bounds(affine_map<() -> (4, 3)>) ins(%x, %ids, %u : tensor<8x4xf32>, tensor<3xi64>, tensor<3x4xf32>)
      attributes {indexing_maps = [affine_map<(j, i) -> (0, j)>, affine_map<(j, i) -> (i)>, affine_map<(j, i) -> (i, j)>,
                                   affine_map<(j, i) -> (0, i)>],
                  num_parallel = 1 : i64, scattered_dims = array<i64: 0>, site = 0 : i64} body {
  ^bb0(%id: i64, %e: f32):
    %exists = arith.constant true
    kernel.yield %exists, %id, %e : i1, i64, f32
  } combine {
  ^bb0(%old: f32, %update: f32):
    kernel.yield %update : f32
  } : tensor<8x4xf32>
  kernel.return %y : tensor<8x4xf32>
}

// -----

kernel.func @many_parallel(%x: tensor<8x4xf32>, %ids: tensor<3xi64>, %u: tensor<3x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{expects num_parallel from 0 to 2, got 3}}
  %y = kernel.scatter bounds(affine_map<() -> (4, 3)>) ins(%x, %ids, %u : tensor<8x4xf32>, tensor<3xi64>, tensor<3x4xf32>)
      attributes {indexing_maps = [affine_map<(j, i) -> (0, j)>, affine_map<(j, i) -> (i)>, affine_map<(j, i) -> (i, j)>,
                                   affine_map<(j, i) -> (0, j)>],
                  num_parallel = 3 : i64, scattered_dims = array<i64: 0>, site = 0 : i64} body {
  ^bb0(%id: i64, %e: f32):
    %exists = arith.constant true
    kernel.yield %exists, %id, %e : i1, i64, f32
  } combine {
  ^bb0(%old: f32, %update: f32):
    kernel.yield %update : f32
  } : tensor<8x4xf32>
  kernel.return %y : tensor<8x4xf32>
}

// -----

kernel.func @indexed_twice(%x: tensor<8x4xf32>, %ids: tensor<3xi64>, %u: tensor<3x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{expects scattered dimensions of the result at which its map is 0, got 0}}
  %y = kernel.scatter bounds(affine_map<() -> (4, 3)>) ins(%x, %ids, %u : tensor<8x4xf32>, tensor<3xi64>, tensor<3x4xf32>)
      attributes {indexing_maps = [affine_map<(j, i) -> (0, j)>, affine_map<(j, i) -> (i)>, affine_map<(j, i) -> (i, j)>,
                                   affine_map<(j, i) -> (j, 0)>],
                  num_parallel = 1 : i64, scattered_dims = array<i64: 0>, site = 0 : i64} body {
  ^bb0(%id: i64, %e: f32):
    %exists = arith.constant true
    kernel.yield %exists, %id, %e : i1, i64, f32
  } combine {
  ^bb0(%old: f32, %update: f32):
    kernel.yield %update : f32
  } : tensor<8x4xf32>
  kernel.return %y : tensor<8x4xf32>
}

// -----

kernel.func @no_place(%x: tensor<8x4xf32>, %ids: tensor<3xi64>, %u: tensor<3x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{expects region 'body' to yield 3 values, got 2}}
  %y = kernel.scatter bounds(affine_map<() -> (4, 3)>) ins(%x, %ids, %u : tensor<8x4xf32>, tensor<3xi64>, tensor<3x4xf32>)
      attributes {indexing_maps = [affine_map<(j, i) -> (0, j)>, affine_map<(j, i) -> (i)>, affine_map<(j, i) -> (i, j)>,
                                   affine_map<(j, i) -> (0, j)>],
                  num_parallel = 1 : i64, scattered_dims = array<i64: 0>, site = 0 : i64} body {
  ^bb0(%id: i64, %e: f32):
    %exists = arith.constant true
    kernel.yield %exists, %e : i1, f32
  } combine {
  ^bb0(%old: f32, %update: f32):
    kernel.yield %update : f32
  } : tensor<8x4xf32>
  kernel.return %y : tensor<8x4xf32>
}

// -----

kernel.func @float_place(%x: tensor<8x4xf32>, %ids: tensor<3xi64>, %u: tensor<3x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{expects places of type index or integer, got 'f32'}}
  %y = kernel.scatter bounds(affine_map<() -> (4, 3)>) ins(%x, %ids, %u : tensor<8x4xf32>, tensor<3xi64>, tensor<3x4xf32>)
      attributes {indexing_maps = [affine_map<(j, i) -> (0, j)>, affine_map<(j, i) -> (i)>, affine_map<(j, i) -> (i, j)>,
                                   affine_map<(j, i) -> (0, j)>],
                  num_parallel = 1 : i64, scattered_dims = array<i64: 0>, site = 0 : i64} body {
  ^bb0(%id: i64, %e: f32):
    %exists = arith.constant true
    kernel.yield %exists, %e, %e : i1, f32, f32
  } combine {
  ^bb0(%old: f32, %update: f32):
    kernel.yield %update : f32
  } : tensor<8x4xf32>
  kernel.return %y : tensor<8x4xf32>
}

// -----

kernel.func @i32_places(%x: tensor<8x9xf32>) -> (tensor<8x4xf32>, tensor<8x4xi32>) {
  // expected-error @+1 {{expects indices of type i64}}
  %v, %i = kernel.top_k bounds(affine_map<() -> (8, 9, 4)>) ins(%x : tensor<8x9xf32>)
      attributes {indexing_maps = [affine_map<(p, i, r) -> (p, i)>, affine_map<(p, i, r) -> (p, r)>,
                                   affine_map<(p, i, r) -> (p, r)>]} body {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } precedes {
  ^bb0(%a: f32, %b: f32):
    %first = arith.cmpf ogt, %a, %b : f32
    kernel.yield %first : i1
  } : tensor<8x4xf32>, tensor<8x4xi32>
  kernel.return %v, %i : tensor<8x4xf32>, tensor<8x4xi32>
}

// -----

kernel.func @ranked_input(%x: tensor<8x9xf32>) -> (tensor<8x4xf32>, tensor<8x4xi64>) {
  // expected-error @+1 {{expects inputs not to depend on the rank}}
  %v, %i = kernel.top_k bounds(affine_map<() -> (8, 9, 4)>) ins(%x : tensor<8x9xf32>)
      attributes {indexing_maps = [affine_map<(p, i, r) -> (p, r)>, affine_map<(p, i, r) -> (p, r)>,
                                   affine_map<(p, i, r) -> (p, r)>]} body {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } precedes {
  ^bb0(%a: f32, %b: f32):
    %first = arith.cmpf ogt, %a, %b : f32
    kernel.yield %first : i1
  } : tensor<8x4xf32>, tensor<8x4xi64>
  kernel.return %v, %i : tensor<8x4xf32>, tensor<8x4xi64>
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

// -----

// expected-error @+1 {{expects kernel.constant without a value and on a tensor, got 3 : i64 on argument 0}}
kernel.func @constant_with_a_value(%x: tensor<4xf32> {kernel.constant = 3 : i64}) -> tensor<4xf32> {
  %y = kernel.map sizes() bounds(affine_map<() -> (4)>) ins(%x : tensor<4xf32>)
      attributes {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]} {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } : tensor<4xf32>
  kernel.return %y : tensor<4xf32>
}

// -----

// expected-error @+1 {{expects kernel.constant without a value and on a tensor, got unit on argument 1}}
kernel.func @constant_size(%x: tensor<4xf32>, %n: index {kernel.constant}) -> tensor<4xf32> {
  %y = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (4)>) ins(%x : tensor<4xf32>)
      attributes {indexing_maps = [affine_map<(d0)[s0] -> (d0)>, affine_map<(d0)[s0] -> (d0)>]} {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } : tensor<4xf32>
  kernel.return %y : tensor<4xf32>
}
