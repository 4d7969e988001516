// The variants of a map: one form, which every device runs.
//
// RUN: heddle-opt %s --vulkan-select-lowering-config | FileCheck %s

// CHECK: kernel.func @scale
// CHECK-SAME: kernel.config = #kernel.lowering_config<{variants = [{
// CHECK-SAME: features = [], form = "plain"
// CHECK-SAME: tile = array<i64: 256, 1, 1>, workgroup = array<i64: 64, 1, 1>}]}>
kernel.func @scale(%x: tensor<?x8xf32> {kernel.dims = array<i64: 0>}, %w: tensor<8xf32> {kernel.constant}, %n: index)
    -> (tensor<?x8xf32> {kernel.dims = array<i64: 0>}) {
  %y = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0, 8)>) ins(%x, %w : tensor<?x8xf32>, tensor<8xf32>)
      attributes {indexing_maps = [affine_map<(i, j)[s0] -> (i, j)>, affine_map<(i, j)[s0] -> (j)>,
                                   affine_map<(i, j)[s0] -> (i, j)>]} {
  ^bb0(%e: f32, %f: f32):
    %r = arith.mulf %e, %f : f32
    kernel.yield %r : f32
  } : tensor<?x8xf32>
  kernel.return %y : tensor<?x8xf32>
}
