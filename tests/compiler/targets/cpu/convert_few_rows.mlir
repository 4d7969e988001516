// One or two rows on AVX2: an item takes four panels, so the grid asks for the rows, and tiles have up to 6 vectors.
//
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:x86-64-v3 --cpu-convert-kernel-to-vector --canonicalize --cse --split-input-file | FileCheck %s

// Panels lie 12 apart: four streams. Other numbers of rows take one panel after the other and fetch the next one.
// CHECK-DAG: #[[GRID:.*]] = affine_map<()[s0] -> ({{.*}}s0 floordiv 3) ceildiv 281474976710656{{.*}})>
// CHECK-LABEL: func.func @takes_four_panels_for_few_rows
// CHECK-SAME: cpu.grid = #[[GRID]]
// CHECK-DAG: %[[STREAM:.*]] = arith.constant 12 : index
// CHECK: scf.if
// CHECK: scf.index_switch
// CHECK: case 1
// CHECK:   arith.addi %{{.*}}, %[[STREAM]]
// CHECK:   %{{.*}}:4 = scf.for
// CHECK-NOT: memref.prefetch
// CHECK: case 2
// CHECK:   %{{.*}}:4 = scf.for
// CHECK-NOT: memref.prefetch
// CHECK:   %{{.*}}:4 = scf.for
// CHECK-NOT: memref.prefetch
// CHECK: scf.for %{{.*}} step %c6
// CHECK: %{{.*}}:6 = scf.for
// CHECK: memref.prefetch %{{.*}}, read, locality<3>, data
// CHECK-COUNT-6: math.fma
#x = affine_map<(m, n, k)[s0] -> (m, k)>
#packed = affine_map<(m, n, k)[s0] -> (0, 0, 0)>
#y = affine_map<(m, n, k)[s0] -> (m, n)>
kernel.func @takes_four_panels_for_few_rows(
    %x: tensor<?x32xf32> {kernel.dims = array<i64: 0>}, %w: tensor<48x32x16xf32>, %m: index)
    -> (tensor<?x768xf32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 768, 32)>)
      ins(%x, %w : tensor<?x32xf32>, tensor<48x32x16xf32>)
      attributes {indexing_maps = [#x, #packed, #y], packed_rhs = 768 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x768xf32>
  kernel.return %r : tensor<?x768xf32>
}

// -----

// Nothing is asked where the rows are known; five panels are a group of three and one of two.
// CHECK-DAG: #[[GRID:.*]] = affine_map<() -> (2)>
// CHECK-LABEL: func.func @knows_its_rows
// CHECK-SAME: cpu.grid = #[[GRID]]
// CHECK-NOT: scf.if
// CHECK: case 3
// CHECK: %{{.*}}:3 = scf.for
// CHECK: case 2
// CHECK: %{{.*}}:2 = scf.for
// CHECK-NOT: scf.if
kernel.func @knows_its_rows(%x: tensor<1x32xf32>, %w: tensor<5x32x16xf32>) -> tensor<1x80xf32> {
  %r = kernel.contract bounds(affine_map<() -> (1, 80, 32)>) ins(%x, %w : tensor<1x32xf32>, tensor<5x32x16xf32>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0)>,
                                   affine_map<(m, n, k) -> (m, n)>], packed_rhs = 80 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<1x80xf32>
  kernel.return %r : tensor<1x80xf32>
}
