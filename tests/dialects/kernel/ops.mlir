// RUN: heddle-opt %s | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

// Every root prints as it was read, also by way of the generic form.

// CHECK-LABEL: kernel.func @map(
kernel.func @map(%x: tensor<?x384xf32> {kernel.dims = array<i64: 0>}, %rows: index)
    -> (tensor<?x384xf32> {kernel.dims = array<i64: 0>}) {
  // CHECK: kernel.map sizes(%{{.*}}) bounds(#{{.*}}) ins(%{{.*}} : tensor<?x384xf32>)
  %y = kernel.map sizes(%rows) bounds(affine_map<()[s0] -> (s0, 384)>) ins(%x : tensor<?x384xf32>)
      attributes {indexing_maps = [affine_map<(d0, d1)[s0] -> (d0, d1)>, affine_map<(d0, d1)[s0] -> (d0, d1)>]} {
  ^bb0(%e: f32):
    %two = arith.constant 2.0 : f32
    %r = arith.mulf %e, %two : f32
    kernel.yield %r : f32
  } : tensor<?x384xf32>
  kernel.return %y : tensor<?x384xf32>
}

// CHECK-LABEL: kernel.func @gather(
kernel.func @gather(%ids: tensor<?xi64> {kernel.dims = array<i64: 0>}, %table: tensor<10x4xf32>, %n: index)
    -> (tensor<?x4xf32> {kernel.dims = array<i64: 0>}) {
  %y = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0, 4)>) ins(%ids : tensor<?xi64>)
      attributes {indexing_maps = [affine_map<(d0, d1)[s0] -> (d0)>, affine_map<(d0, d1)[s0] -> (d0, d1)>]} {
  ^bb0(%id: i64):
    // CHECK: %[[COLUMN:.*]] = kernel.index 1
    %column = kernel.index 1
    // CHECK: kernel.gather %{{.*}}[%{{.*}}, %[[COLUMN]]] {site = 0 : i64} : tensor<10x4xf32>, i64, index -> f32
    %e = kernel.gather %table[%id, %column] {site = 0 : i64} : tensor<10x4xf32>, i64, index -> f32
    kernel.yield %e : f32
  } : tensor<?x4xf32>
  kernel.return %y : tensor<?x4xf32>
}

// CHECK-LABEL: kernel.func @reduce(
kernel.func @reduce(%x: tensor<8x4xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: kernel.reduce bounds(#{{.*}}) ins(%{{.*}}, %{{.*}} : tensor<8x4xf32>, tensor<4xf32>)
  // CHECK-SAME: combiners = [#kernel.combiner<sum>]
  %y = kernel.reduce bounds(affine_map<() -> (8, 4)>) ins(%x, %c : tensor<8x4xf32>, tensor<4xf32>)
      attributes {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>,
                                   affine_map<(d0, d1) -> (d1)>],
                  reduction_loops = array<i64: 0>, input_count = 1 : i64, combiners = [#kernel.combiner<sum>]} body {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } finish {
  ^bb0(%sum: f32, %capture: f32):
    %r = arith.divf %sum, %capture : f32
    kernel.yield %r : f32
  } : tensor<4xf32>
  kernel.return %y : tensor<4xf32>
}

// CHECK-LABEL: kernel.func @rowwise(
kernel.func @rowwise(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK: kernel.rowwise
  %y = kernel.rowwise bounds(affine_map<() -> (8, 4)>) ins(%x : tensor<8x4xf32>)
      attributes {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
                  combiners = [#kernel.combiner<maximum>]} regions {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  }, {
  ^bb0(%e: f32, %max: f32):
    %r = arith.subf %e, %max : f32
    kernel.yield %r : f32
  } : tensor<8x4xf32>
  kernel.return %y : tensor<8x4xf32>
}

// CHECK-LABEL: kernel.func @scan(
kernel.func @scan(%x: tensor<8x4xi64>) -> tensor<8x4xi64> {
  // CHECK: kernel.scan bounds(#{{.*}}) ins(%{{.*}} : tensor<8x4xi64>)
  // CHECK-SAME: combiner = #kernel.combiner<sum>, exclusive
  %y = kernel.scan bounds(affine_map<() -> (8, 4)>) ins(%x : tensor<8x4xi64>)
      attributes {indexing_maps = [affine_map<(p, s) -> (p, s)>, affine_map<(p, s) -> (p, s)>], input_count = 1 : i64,
                  combiner = #kernel.combiner<sum>, exclusive} body {
  ^bb0(%e: i64):
    kernel.yield %e : i64
  } finish {
  ^bb0(%sum: i64):
    kernel.yield %sum : i64
  } : tensor<8x4xi64>
  kernel.return %y : tensor<8x4xi64>
}

// CHECK-LABEL: kernel.func @scatter(
kernel.func @scatter(%x: tensor<8x4xf32>, %ids: tensor<3xi64>, %u: tensor<3x4xf32>) -> tensor<8x4xf32> {
  // CHECK: kernel.scatter bounds(#{{.*}}) ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<8x4xf32>, tensor<3xi64>, tensor<3x4xf32>)
  // CHECK-SAME: num_parallel = 1 : i64, scattered_dims = array<i64: 0>, site = 0 : i64
  %y = kernel.scatter bounds(affine_map<() -> (4, 3)>) ins(%x, %ids, %u : tensor<8x4xf32>, tensor<3xi64>, tensor<3x4xf32>)
      attributes {indexing_maps = [affine_map<(j, i) -> (0, j)>, affine_map<(j, i) -> (i)>, affine_map<(j, i) -> (i, j)>,
                                   affine_map<(j, i) -> (0, j)>],
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

// CHECK-LABEL: kernel.func @top_k(
kernel.func @top_k(%x: tensor<8x9xf32>) -> (tensor<8x4xf32>, tensor<8x4xi64>) {
  // CHECK: kernel.top_k bounds(#{{.*}}) ins(%{{.*}} : tensor<8x9xf32>)
  // CHECK: precedes
  %v, %i = kernel.top_k bounds(affine_map<() -> (8, 9, 4)>) ins(%x : tensor<8x9xf32>)
      attributes {indexing_maps = [affine_map<(p, i, r) -> (p, i)>, affine_map<(p, i, r) -> (p, r)>,
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

// CHECK-LABEL: kernel.func @contract(
// CHECK-SAME: attributes {kernel.config = #kernel.lowering_config<{row_tile = 8 : i64}>}
kernel.func @contract(%x: tensor<?x8xf32> {kernel.dims = array<i64: 0>}, %w: tensor<2x8x16xf32>, %rows: index)
    -> (tensor<?x20xf32> {kernel.dims = array<i64: 0>})
    attributes {kernel.config = #kernel.lowering_config<{row_tile = 8 : i64}>} {
  // CHECK: kernel.contract sizes(%{{.*}}) {{.*}}packed_rhs = 20 : i64
  %y = kernel.contract sizes(%rows) bounds(affine_map<()[s0] -> (s0, 20, 8)>)
      ins(%x, %w : tensor<?x8xf32>, tensor<2x8x16xf32>)
      attributes {indexing_maps = [affine_map<(m, n, k)[s0] -> (m, k)>, affine_map<(m, n, k)[s0] -> (0, 0, 0)>,
                                   affine_map<(m, n, k)[s0] -> (m, n)>], packed_rhs = 20 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x20xf32>
  kernel.return %y : tensor<?x20xf32>
}

// CHECK-LABEL: kernel.func @contract_of_bytes(
kernel.func @contract_of_bytes(%x: tensor<4x10xi8>, %w: tensor<2x3x16x4xi8>) -> tensor<4x20xi32> {
  // CHECK: kernel.contract {{.*}}packed_rhs = 20 : i64, pair_safe, signed_lhs
  %y = kernel.contract bounds(affine_map<() -> (4, 20, 10)>) ins(%x, %w : tensor<4x10xi8>, tensor<2x3x16x4xi8>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0, 0)>,
                                   affine_map<(m, n, k) -> (m, n)>],
                  packed_rhs = 20 : i64, pair_safe, signed_lhs} epilogue {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  } : tensor<4x20xi32>
  kernel.return %y : tensor<4x20xi32>
}

// CHECK-LABEL: kernel.func @contract_by_bytes(
kernel.func @contract_by_bytes(%x: tensor<4x10xf32>, %w: tensor<2x10x16xi8>, %t: tensor<20xf32>) -> tensor<4x20xf32> {
  // CHECK: kernel.contract {{.*}}tensor<4x10xf32>, tensor<2x10x16xi8>, tensor<20xf32>
  %y = kernel.contract bounds(affine_map<() -> (4, 20, 10)>)
      ins(%x, %w, %t : tensor<4x10xf32>, tensor<2x10x16xi8>, tensor<20xf32>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0)>,
                                   affine_map<(m, n, k) -> (n)>, affine_map<(m, n, k) -> (m, n)>],
                  packed_rhs = 20 : i64} epilogue {
  ^bb0(%acc: f32, %scale: f32):
    %r = arith.mulf %acc, %scale : f32
    kernel.yield %r : f32
  } : tensor<4x20xf32>
  kernel.return %y : tensor<4x20xf32>
}

// CHECK-LABEL: kernel.func @contract_by_half_bytes(
kernel.func @contract_by_half_bytes(%x: tensor<4x10xf32>, %w: tensor<2x5x16xi8>, %s: tensor<2x2x16xf32>)
    -> tensor<4x20xf32> {
  // CHECK: kernel.contract {{.*}}block_size = 8 : i64
  %y = kernel.contract bounds(affine_map<() -> (4, 20, 10)>)
      ins(%x, %w, %s : tensor<4x10xf32>, tensor<2x5x16xi8>, tensor<2x2x16xf32>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0)>,
                                   affine_map<(m, n, k) -> (0, 0, 0)>, affine_map<(m, n, k) -> (m, n)>],
                  packed_rhs = 20 : i64, block_size = 8 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<4x20xf32>
  kernel.return %y : tensor<4x20xf32>
}

// CHECK-LABEL: kernel.func @contract_by_blocks_of_bytes(
kernel.func @contract_by_blocks_of_bytes(%x: tensor<4x10xf32>, %w: tensor<2x10x16x1xi8>, %s: tensor<2x4x16xf32>)
    -> tensor<4x20xf32> {
  // CHECK: kernel.contract {{.*}}block_size = 3 : i64
  %y = kernel.contract bounds(affine_map<() -> (4, 20, 10)>)
      ins(%x, %w, %s : tensor<4x10xf32>, tensor<2x10x16x1xi8>, tensor<2x4x16xf32>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0, 0)>,
                                   affine_map<(m, n, k) -> (0, 0, 0)>, affine_map<(m, n, k) -> (m, n)>],
                  packed_rhs = 20 : i64, block_size = 3 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<4x20xf32>
  kernel.return %y : tensor<4x20xf32>
}

// CHECK-LABEL: kernel.func @attention(
kernel.func @attention(%q: tensor<2x6x3x8xf32>, %k: tensor<2x5x1x8xf32>, %v: tensor<2x5x1x4xf32>)
    -> tensor<2x6x3x4xf32> {
  // CHECK: kernel.attention
  // CHECK: kernel.index 4
  %o = kernel.attention bounds(affine_map<() -> (2, 1, 3, 6, 5, 8, 4)>)
      ins(%q, %k, %v : tensor<2x6x3x8xf32>, tensor<2x5x1x8xf32>, tensor<2x5x1x4xf32>)
      attributes {indexing_maps = [affine_map<(b, g, r, m, n, d, e) -> (b, m, g * 3 + r, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (b, n, g, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (b, n, g, e)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (b, m, g * 3 + r, e)>],
                  scale = 0.125 : f32, fully_masked = "zero"} score {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } mask {
    %m = kernel.index 3
    %n = kernel.index 4
    %seen = arith.cmpi ule, %n, %m : index
    kernel.yield %seen : i1
  } : tensor<2x6x3x4xf32>
  kernel.return %o : tensor<2x6x3x4xf32>
}

// The state of each row for each part of 256 keys, and attention that merges them.
// CHECK-LABEL: kernel.func @parts(
// CHECK: kernel.attention {{.*}}gives_parts{{.*}}part_size = 256 : i64
kernel.func @parts(%q: tensor<2x3x8xf32>, %k: tensor<500x3x8xf32>, %v: tensor<500x3x4xf32>) -> tensor<2x3x2x6xf32> {
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
  } : tensor<2x3x2x6xf32>
  kernel.return %s : tensor<2x3x2x6xf32>
}

// CHECK-LABEL: kernel.func @merged(
// CHECK: kernel.attention {{.*}}part_size = 256 : i64{{.*}}takes_parts
kernel.func @merged(%q: tensor<2x3x8xf32>, %k: tensor<500x3x8xf32>, %v: tensor<500x3x4xf32>, %s: tensor<2x3x2x6xf32>)
    -> tensor<2x3x4xf32> {
  %o = kernel.attention bounds(affine_map<() -> (1, 3, 1, 2, 500, 8, 4)>)
      ins(%q, %k, %v, %s : tensor<2x3x8xf32>, tensor<500x3x8xf32>, tensor<500x3x4xf32>, tensor<2x3x2x6xf32>)
      attributes {indexing_maps = [affine_map<(b, g, r, m, n, d, e) -> (m, g, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, g, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, g, e)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, g, m, e)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (m, g, e)>],
                  scale = 0.125 : f32, fully_masked = "zero", part_size = 256 : i64, takes_parts} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<2x3x4xf32>
  kernel.return %o : tensor<2x3x4xf32>
}

// What happens to probabilities before they meet values.
// CHECK-LABEL: kernel.func @weighted(
// CHECK: } mask {
// CHECK: } probability {
// CHECK-NEXT: ^bb0(%[[P:.*]]: f32):
// CHECK-NEXT: kernel.yield %[[P]] : f32
kernel.func @weighted(%q: tensor<2x3x8xf32>, %k: tensor<500x3x8xf32>, %v: tensor<500x3x4xf32>) -> tensor<2x3x4xf32> {
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
  ^bb0(%p: f32):
    kernel.yield %p : f32
  } : tensor<2x3x4xf32>
  kernel.return %s : tensor<2x3x4xf32>
}
