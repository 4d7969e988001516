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
