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
