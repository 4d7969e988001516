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
