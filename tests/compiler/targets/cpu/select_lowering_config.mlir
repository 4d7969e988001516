// Tiles come from the target's table alone, so both tables are tested on any machine.
//
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:x86-64-v3 | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:x86-64-v4 | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:znver3 | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:znver4 | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:x86-64-v3 | FileCheck %s --check-prefix=BYTES256
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:skylake-avx512 | FileCheck %s --check-prefix=BYTES512
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:cascadelake | FileCheck %s --check-prefix=VNNI

#x = affine_map<(m, n, k)[s0] -> (m, k)>
#packed = affine_map<(m, n, k)[s0] -> (0, 0, 0)>
#y = affine_map<(m, n, k)[s0] -> (m, n)>

// CHECK-LABEL: kernel.func @takes_three_panels_where_they_divide_the_columns
// AVX2-SAME: branch_masks = 1 : i64, column_vectors = 1 : i64, few_row_vectors = 4 : i64, few_rows = 2 : i64
// AVX2-SAME: prefetch_rows = 1 : i64, row_tile = 6 : i64, rows_per_item = 252 : i64, split_row_tail = 1 : i64
// AVX512-SAME: branch_masks = 0 : i64, column_vectors = 3 : i64, few_row_vectors = 0 : i64, few_rows = 0 : i64
// AVX512-SAME: prefetch_rows = 11 : i64, row_tile = 8 : i64, rows_per_item = 128 : i64, split_row_tail = 1 : i64
kernel.func @takes_three_panels_where_they_divide_the_columns(
    %x: tensor<?x64xf32> {kernel.dims = array<i64: 0>}, %w: tensor<24x64x16xf32>, %m: index)
    -> (tensor<?x384xf32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 384, 64)>)
      ins(%x, %w : tensor<?x64xf32>, tensor<24x64x16xf32>)
      attributes {indexing_maps = [#x, #packed, #y], packed_rhs = 384 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x384xf32>
  kernel.return %r : tensor<?x384xf32>
}

// With few panels threads share rows instead.
// CHECK-LABEL: kernel.func @takes_four_panels_else
// AVX2-SAME: column_vectors = 1 : i64
// AVX2-SAME: rows_per_item = 60 : i64
// AVX512-SAME: column_vectors = 4 : i64
// AVX512-SAME: row_tile = 4 : i64, rows_per_item = 64 : i64
kernel.func @takes_four_panels_else(
    %x: tensor<?x64xf32> {kernel.dims = array<i64: 0>}, %w: tensor<4x64x16xf32>, %m: index)
    -> (tensor<?x64xf32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 64, 64)>)
      ins(%x, %w : tensor<?x64xf32>, tensor<4x64x16xf32>)
      attributes {indexing_maps = [#x, #packed, #y], packed_rhs = 64 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x64xf32>
  kernel.return %r : tensor<?x64xf32>
}

// Four panels of this depth would fill the L2 cache.
// CHECK-LABEL: kernel.func @takes_two_panels_where_they_are_deep
// AVX512-SAME: column_vectors = 2 : i64
// AVX512-SAME: row_tile = 8 : i64
kernel.func @takes_two_panels_where_they_are_deep(
    %x: tensor<?x4096xf32> {kernel.dims = array<i64: 0>}, %w: tensor<4x4096x16xf32>, %m: index)
    -> (tensor<?x64xf32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 64, 4096)>)
      ins(%x, %w : tensor<?x4096xf32>, tensor<4x4096x16xf32>)
      attributes {indexing_maps = [#x, #packed, #y], packed_rhs = 64 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x64xf32>
  kernel.return %r : tensor<?x64xf32>
}

// CHECK-LABEL: kernel.func @takes_two_panels_for_columns_known_at_run_time
// AVX2-SAME: column_vectors = 1 : i64
// AVX512-SAME: column_vectors = 2 : i64
// AVX512-SAME: row_tile = 8 : i64
kernel.func @takes_two_panels_for_columns_known_at_run_time(
    %q: tensor<?x32xf32> {kernel.dims = array<i64: 0>}, %k: tensor<?x32xf32> {kernel.dims = array<i64: 0>}, %m: index)
    -> (tensor<?x?xf32> {kernel.dims = array<i64: 0, 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, s0, 32)>)
      ins(%q, %k : tensor<?x32xf32>, tensor<?x32xf32>)
      attributes {indexing_maps = [#x, affine_map<(m, n, k)[s0] -> (n, k)>, #y]} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x?xf32>
  kernel.return %r : tensor<?x?xf32>
}

// CHECK-LABEL: kernel.func @streams_elements
// CHECK-SAME: #kernel.lowering_config<{elements_per_item = 4096 : i64, grain_work = 16384 : i64}>
kernel.func @streams_elements(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = kernel.map bounds(affine_map<() -> (64)>) ins(%x : tensor<64xf32>)
      attributes {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } : tensor<64xf32>
  kernel.return %r : tensor<64xf32>
}

// CHECK-LABEL: kernel.func @sums_in_four_chains
// CHECK-SAME: #kernel.lowering_config<{accumulators = 4 : i64, grain_work = 16384 : i64, vectors_per_item = 4 : i64}>
kernel.func @sums_in_four_chains(%x: tensor<8x64xf32>) -> tensor<8xf32> {
  %r = kernel.reduce bounds(affine_map<() -> (8, 64)>) ins(%x : tensor<8x64xf32>)
      attributes {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                  reduction_loops = array<i64: 1>, input_count = 1 : i64, combiners = [#kernel.combiner<sum>]} body {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } finish {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<8xf32>
  kernel.return %r : tensor<8xf32>
}

// CHECK-LABEL: kernel.func @attends
// AVX2-SAME: block_kv = 256 : i64, block_q = 48 : i64, column_vectors = 1 : i64
// AVX2-SAME: row_tile = 6 : i64, split_row_tail = 1 : i64
// AVX512-SAME: block_kv = 256 : i64, block_q = 48 : i64, column_vectors = 2 : i64
// AVX512-SAME: row_tile = 8 : i64, split_row_tail = 1 : i64
kernel.func @attends(%q: tensor<4x16xf32>, %k: tensor<40x16xf32>, %v: tensor<40x16xf32>) -> tensor<4x16xf32> {
  %o = kernel.attention bounds(affine_map<() -> (1, 1, 1, 4, 40, 16, 16)>)
      ins(%q, %k, %v : tensor<4x16xf32>, tensor<40x16xf32>, tensor<40x16xf32>)
      attributes {indexing_maps = [affine_map<(b, g, r, m, n, d, e) -> (m, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, e)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (m, e)>],
                  scale = 0.25 : f32, fully_masked = "literal"} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<4x16xf32>
  kernel.return %o : tensor<4x16xf32>
}

#groups = affine_map<(m, n, k)[s0] -> (0, 0, 0, 0)>

// Items of words copy their rows, for several groups of panels.
// BYTES256-LABEL: kernel.func @multiplies_bytes
// BYTES256-SAME: few_rows = 0 : i64, grain_work = 524288 : i64, groups_per_item = 8 : i64, multiplier = "vpmaddwd"
// BYTES256-SAME: prefetch_rows = 1 : i64, row_tile = 6 : i64, rows_per_item = 42 : i64
// BYTES256-SAME: vector_bits = 256 : i64
// BYTES512-LABEL: kernel.func @multiplies_bytes
// BYTES512-SAME: column_vectors = 2 : i64
// BYTES512-SAME: groups_per_item = 6 : i64, multiplier = "vpmaddwd"
// BYTES512-SAME: row_tile = 8 : i64, rows_per_item = 48 : i64
// BYTES512-SAME: vector_bits = 512 : i64
// VNNI-LABEL: kernel.func @multiplies_bytes
// VNNI-SAME: column_vectors = 3 : i64
// VNNI-NOT: groups_per_item
// VNNI-SAME: multiplier = "vpdpbusd"
// VNNI-SAME: row_tile = 8 : i64, rows_per_item = 256 : i64
// VNNI-SAME: vector_bits = 512 : i64
kernel.func @multiplies_bytes(
    %x: tensor<?x3072xi8> {kernel.dims = array<i64: 0>}, %w: tensor<48x768x16x4xi8>, %m: index)
    -> (tensor<?x768xi32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 768, 3072)>)
      ins(%x, %w : tensor<?x3072xi8>, tensor<48x768x16x4xi8>)
      attributes {indexing_maps = [#x, #groups, #y], packed_rhs = 768 : i64} epilogue {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  } : tensor<?x768xi32>
  kernel.return %r : tensor<?x768xi32>
}

// BYTES256-LABEL: kernel.func @multiplies_safe_pairs
// BYTES256-SAME: multiplier = "vpmaddubsw"
// BYTES256-SAME: row_tile = 4 : i64, rows_per_item = 256 : i64
// BYTES512-LABEL: kernel.func @multiplies_safe_pairs
// BYTES512-SAME: column_vectors = 3 : i64
// BYTES512-SAME: multiplier = "vpmaddubsw"
// BYTES512-SAME: row_tile = 8 : i64
// VNNI-LABEL: kernel.func @multiplies_safe_pairs
// VNNI-SAME: multiplier = "vpdpbusd"
kernel.func @multiplies_safe_pairs(
    %x: tensor<?x3072xi8> {kernel.dims = array<i64: 0>}, %w: tensor<48x768x16x4xi8>, %m: index)
    -> (tensor<?x768xi32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 768, 3072)>)
      ins(%x, %w : tensor<?x3072xi8>, tensor<48x768x16x4xi8>)
      attributes {indexing_maps = [#x, #groups, #y], packed_rhs = 768 : i64, pair_safe} epilogue {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  } : tensor<?x768xi32>
  kernel.return %r : tensor<?x768xi32>
}

// BYTES256-LABEL: kernel.func @widens_bytes
// BYTES256-SAME: column_vectors = 1 : i64, few_row_vectors = 4 : i64, few_rows = 2 : i64
// BYTES256-SAME: prefetch_few_rows = 1 : i64
// BYTES256-SAME: row_tile = 6 : i64
// VNNI-LABEL: kernel.func @widens_bytes
// VNNI-SAME: column_vectors = 3 : i64, few_row_vectors = 4 : i64, few_rows = 4 : i64
// VNNI-SAME: prefetch_few_rows = 1 : i64
// VNNI-SAME: row_tile = 8 : i64
kernel.func @widens_bytes(
    %x: tensor<?x768xf32> {kernel.dims = array<i64: 0>}, %w: tensor<48x768x16xi8>, %m: index)
    -> (tensor<?x768xf32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 768, 768)>)
      ins(%x, %w : tensor<?x768xf32>, tensor<48x768x16xi8>)
      attributes {indexing_maps = [#x, #packed, #y], packed_rhs = 768 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x768xf32>
  kernel.return %r : tensor<?x768xf32>
}

// Sums of a block beside those of all blocks before it.
// BYTES256-LABEL: kernel.func @widens_half_bytes
// BYTES256-SAME: column_vectors = 1 : i64, few_row_vectors = 4 : i64, few_rows = 2 : i64
// BYTES256-SAME: row_tile = 4 : i64
// BYTES256-SAME: vector_bits = 256 : i64
// VNNI-LABEL: kernel.func @widens_half_bytes
// VNNI-SAME: column_vectors = 2 : i64, few_row_vectors = 6 : i64, few_rows = 4 : i64
// VNNI-SAME: row_tile = 8 : i64
// VNNI-SAME: vector_bits = 512 : i64
kernel.func @widens_half_bytes(
    %x: tensor<?x768xf32> {kernel.dims = array<i64: 0>}, %w: tensor<48x384x16xi8>, %s: tensor<48x24x16xf32>, %m: index)
    -> (tensor<?x768xf32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 768, 768)>)
      ins(%x, %w, %s : tensor<?x768xf32>, tensor<48x384x16xi8>, tensor<48x24x16xf32>)
      attributes {indexing_maps = [#x, #packed, #packed, #y], packed_rhs = 768 : i64, block_size = 32 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x768xf32>
  kernel.return %r : tensor<?x768xf32>
}
