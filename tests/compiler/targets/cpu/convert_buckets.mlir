// A config for some rows: a body for each config that differs, and an entry that asks for the rows.
//
// RUN: heddle-opt %s --cpu-convert-kernel-to-vector --canonicalize --cse | FileCheck %s

// Rows of 16 a tile at most, 64 an item: 5 to 16 rows have their own tile, 1 to 4 have that of many.
// CHECK-DAG: #[[GRID:.*]] = affine_map<()[s0] -> ({{.*}}s0 floordiv 17) ceildiv 281474976710656{{.*}}s0 floordiv 5) ceildiv 281474976710656{{.*}})>
// CHECK-LABEL: func.func @switches_on_its_rows.bucket0
// CHECK-SAME: attributes {cpu.kernel = "bucket"}
// CHECK: scf.for %{{.*}} step %c6
// CHECK-LABEL: func.func @switches_on_its_rows.bucket1
// CHECK: scf.for %{{.*}} step %c4
// CHECK-NOT: bucket2
// CHECK-LABEL: func.func @switches_on_its_rows(
// CHECK-SAME: cpu.grid = #[[GRID]]
// CHECK-SAME: cpu.kernel,
// CHECK: %[[FEW:.*]] = arith.cmpi ule, %{{.*}}, %c4
// CHECK: scf.if %[[FEW]]
// CHECK:   func.call @switches_on_its_rows.bucket0
// CHECK: else
// CHECK:   %[[SOME:.*]] = arith.cmpi ule, %{{.*}}, %c16
// CHECK:   scf.if %[[SOME]]
// CHECK:     func.call @switches_on_its_rows.bucket1
// CHECK:   else
// CHECK:     func.call @switches_on_its_rows.bucket0
// CHECK: return
#many = #kernel.lowering_config<{branch_masks = 1 : i64, column_vectors = 1 : i64, few_row_vectors = 0 : i64,
  few_rows = 0 : i64, grain_work = 131072 : i64, prefetch_rows = 0 : i64, row_tile = 6 : i64,
  rows_per_item = 60 : i64, split_row_tail = 1 : i64, buckets = [
    {most_rows = 4 : i64, config = {branch_masks = 1 : i64, column_vectors = 1 : i64, few_row_vectors = 0 : i64,
      few_rows = 0 : i64, grain_work = 131072 : i64, prefetch_rows = 0 : i64, row_tile = 6 : i64,
      rows_per_item = 60 : i64, split_row_tail = 1 : i64}},
    {most_rows = 16 : i64, config = {branch_masks = 1 : i64, column_vectors = 2 : i64, few_row_vectors = 0 : i64,
      few_rows = 0 : i64, grain_work = 131072 : i64, prefetch_rows = 0 : i64, row_tile = 4 : i64,
      rows_per_item = 8 : i64, split_row_tail = 1 : i64}}]}>
#x = affine_map<(m, n, k)[s0] -> (m, k)>
#packed = affine_map<(m, n, k)[s0] -> (0, 0, 0)>
#y = affine_map<(m, n, k)[s0] -> (m, n)>
kernel.func @switches_on_its_rows(
    %x: tensor<?x32xf32> {kernel.dims = array<i64: 0>}, %w: tensor<48x32x16xf32>, %m: index)
    -> (tensor<?x768xf32> {kernel.dims = array<i64: 0>}) attributes {kernel.config = #many} {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 768, 32)>)
      ins(%x, %w : tensor<?x32xf32>, tensor<48x32x16xf32>)
      attributes {indexing_maps = [#x, #packed, #y], packed_rhs = 768 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x768xf32>
  kernel.return %r : tensor<?x768xf32>
}
