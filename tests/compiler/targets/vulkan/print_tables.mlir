// Tables that may be bound by rows: whose elements a dispatch computes, and which tables aren't of that form.
//
// RUN: heddle-opt %s --vulkan-select-lowering-config --vulkan-print-shaders -o /dev/null | FileCheck %s

// A map leaves out elements of other rows; ids outside the table are everybody's. The scales are bound whole.
// CHECK-LABEL: // @embed
// CHECK: uint first_x, first_y, first_z;
// CHECK-NEXT: uint first_row, row_count;
// CHECK: int row0 = [[ID:v[0-9]+]] < 0 ? [[ID]] + 4000 : [[ID]];
// CHECK-NEXT: bool held0 = uint(row0) >= uint(4000) || uint(row0) - push.first_row < push.row_count;
// CHECK-NEXT: if (!held0) continue;
// CHECK: if (inside0 && uint(position0) - push.first_row < push.row_count) {
// CHECK: if (inside1) {
kernel.func @embed(%ids: tensor<?xi64> {kernel.dims = array<i64: 0>}, %table: tensor<4000x40xf32> {kernel.constant},
                   %scales: tensor<4000xf32> {kernel.constant}, %n: index)
    -> (tensor<?x40xf32> {kernel.dims = array<i64: 0>}) {
  %y = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0, 40)>) ins(%ids : tensor<?xi64>)
      attributes {indexing_maps = [affine_map<(i, j)[s0] -> (i)>, affine_map<(i, j)[s0] -> (i, j)>]} {
  ^bb0(%id: i64):
    %j = kernel.index 1
    %e = kernel.gather %table[%id, %j] {site = 0 : i64} : tensor<4000x40xf32>, i64, index -> f32
    %s = kernel.gather %scales[%id] {site = 1 : i64} : tensor<4000xf32>, i64 -> f32
    %r = arith.mulf %e, %s : f32
    kernel.yield %r : f32
  } : tensor<?x40xf32>
  kernel.return %y : tensor<?x40xf32>
}

// A workgroup of one row leaves before the first barrier, others compute what they don't write.
// CHECK-LABEL: // @row, form subgroup
// CHECK: bool held0 =
// CHECK-NEXT: if (gl_WorkGroupSize.y == 1u && !held0) return;
// CHECK-NEXT: bool exists1 = exists0 && held0;
// CHECK: if (exists1) {
kernel.func @row(%ids: tensor<?xi64> {kernel.dims = array<i64: 0>}, %table: tensor<4000x384xf32> {kernel.constant},
                 %n: index) -> (tensor<?x384xf32> {kernel.dims = array<i64: 0>}) {
  %y = kernel.rowwise sizes(%n) bounds(affine_map<()[s0] -> (s0, 384)>) ins(%ids : tensor<?xi64>)
      attributes {indexing_maps = [affine_map<(i, j)[s0] -> (i)>, affine_map<(i, j)[s0] -> (i, j)>],
                  combiners = [#kernel.combiner<sum>]} regions {
  ^bb0(%id: i64):
    %j = kernel.index 1
    %e = kernel.gather %table[%id, %j] {site = 0 : i64} : tensor<4000x384xf32>, i64, index -> f32
    kernel.yield %e : f32
  }, {
  ^bb0(%id: i64, %sum: f32):
    %j = kernel.index 1
    %e = kernel.gather %table[%id, %j] {site = 1 : i64} : tensor<4000x384xf32>, i64, index -> f32
    %r = arith.divf %e, %sum : f32
    kernel.yield %r : f32
  } : tensor<?x384xf32>
  kernel.return %y : tensor<?x384xf32>
}

// Another row for each element of a row, two rows for one element, a table that is no constant: needed whole.
// CHECK-LABEL: // @changing
// CHECK-NOT: first_row
kernel.func @changing(%ids: tensor<?x384xi64> {kernel.dims = array<i64: 0>},
                      %table: tensor<4000xf32> {kernel.constant}, %n: index)
    -> (tensor<?x384xf32> {kernel.dims = array<i64: 0>}) {
  %y = kernel.rowwise sizes(%n) bounds(affine_map<()[s0] -> (s0, 384)>) ins(%ids : tensor<?x384xi64>)
      attributes {indexing_maps = [affine_map<(i, j)[s0] -> (i, j)>, affine_map<(i, j)[s0] -> (i, j)>],
                  combiners = [#kernel.combiner<sum>]} regions {
  ^bb0(%id: i64):
    %e = kernel.gather %table[%id] {site = 0 : i64} : tensor<4000xf32>, i64 -> f32
    kernel.yield %e : f32
  }, {
  ^bb0(%id: i64, %sum: f32):
    kernel.yield %sum : f32
  } : tensor<?x384xf32>
  kernel.return %y : tensor<?x384xf32>
}

// CHECK-LABEL: // @pair
// CHECK-NOT: first_row
kernel.func @pair(%ids: tensor<?xi64> {kernel.dims = array<i64: 0>}, %table: tensor<4000xf32> {kernel.constant},
                  %n: index) -> (tensor<?xf32> {kernel.dims = array<i64: 0>}) {
  %y = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0)>) ins(%ids : tensor<?xi64>)
      attributes {indexing_maps = [affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>]} {
  ^bb0(%id: i64):
    %one = arith.constant 1 : i64
    %next = arith.addi %id, %one : i64
    %a = kernel.gather %table[%id] {site = 0 : i64} : tensor<4000xf32>, i64 -> f32
    %b = kernel.gather %table[%next] {site = 1 : i64} : tensor<4000xf32>, i64 -> f32
    %r = arith.addf %a, %b : f32
    kernel.yield %r : f32
  } : tensor<?xf32>
  kernel.return %y : tensor<?xf32>
}

// CHECK-LABEL: // @given
// CHECK-NOT: first_row
kernel.func @given(%ids: tensor<?xi64> {kernel.dims = array<i64: 0>}, %table: tensor<4000xf32>, %n: index)
    -> (tensor<?xf32> {kernel.dims = array<i64: 0>}) {
  %y = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0)>) ins(%ids : tensor<?xi64>)
      attributes {indexing_maps = [affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>]} {
  ^bb0(%id: i64):
    %a = kernel.gather %table[%id] {site = 0 : i64} : tensor<4000xf32>, i64 -> f32
    kernel.yield %a : f32
  } : tensor<?xf32>
  kernel.return %y : tensor<?xf32>
}
