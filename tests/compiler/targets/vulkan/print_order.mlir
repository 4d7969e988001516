// Scans, scatters and rankings as shaders: everything that has an order.
//
// RUN: heddle-opt %s --vulkan-select-lowering-config --vulkan-print-shaders -o /dev/null | FileCheck %s

// One term after the other; an exclusive scan writes before it adds.
// CHECK-LABEL: // @scan, form single
// CHECK-NOT: uint error;
// CHECK: for (int s0 = 0; s0 < 8; s0 += 1) {
// CHECK: next0 = sum0 +
// CHECK-NEXT: b3_float[{{.*}}] = sum0;
// CHECK-NEXT: sum0 = next0;
kernel.func @scan(%x: tensor<?x8xf32> {kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?x8xf32> {kernel.dims = array<i64: 0>}) {
  %y = kernel.scan sizes(%n) bounds(affine_map<()[s0] -> (s0, 8)>) ins(%x : tensor<?x8xf32>)
      attributes {indexing_maps = [affine_map<(d0, d1)[s0] -> (d0, d1)>, affine_map<(d0, d1)[s0] -> (d0, d1)>],
                  input_count = 1 : i64, combiner = #kernel.combiner<sum>, exclusive} body {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } finish {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } : tensor<?x8xf32>
  kernel.return %y : tensor<?x8xf32>
}

// An invocation copies a column, then makes its updates in order; a place outside fails and changes nothing.
// CHECK-LABEL: // @rows_of_ids, form single
// CHECK: int at0 = origin0 + place0 * 8;
// CHECK-NEXT: b3_float[push.o3 + uint(at0)] = b1_float[push.o0 + uint(at0)];
// CHECK: for (int round0 = 0; round0 < push.s0; round0 += 8) {
// CHECK: bool inside0 = uint(position0) < uint(100);
// CHECK-NEXT: if (!inside0) {
// CHECK-NEXT: fail(1, 0, {{v[0-9]+}}, 100);
// CHECK: if (true && inside0) {
// CHECK: int rounds = 0;
kernel.func @rows_of_ids(%x: tensor<100x8xf32>, %ids: tensor<?xi64> {kernel.dims = array<i64: 0>},
                         %rows: tensor<?x8xf32> {kernel.dims = array<i64: 0>}, %n: index) -> tensor<100x8xf32> {
  %y = kernel.scatter sizes(%n) bounds(affine_map<()[s0] -> (8, s0)>)
      ins(%x, %ids, %rows : tensor<100x8xf32>, tensor<?xi64>, tensor<?x8xf32>)
      attributes {indexing_maps = [affine_map<(j, i)[s0] -> (0, j)>, affine_map<(j, i)[s0] -> (i)>,
                                   affine_map<(j, i)[s0] -> (i, j)>, affine_map<(j, i)[s0] -> (0, j)>],
                  num_parallel = 1 : i64, scattered_dims = array<i64: 0>, site = 0 : i64} body {
  ^bb0(%id: i64, %e: f32):
    %exists = arith.constant true
    kernel.yield %exists, %id, %e : i1, i64, f32
  } combine {
  ^bb0(%old: f32, %update: f32):
    kernel.yield %update : f32
  } : tensor<100x8xf32>
  kernel.return %y : tensor<100x8xf32>
}

// Without a parallel loop lanes share out the places and look at all updates: none sees what another writes.
// CHECK-LABEL: // @elements, form shared
// CHECK-NOT: barrier
// CHECK: int end0 = min(100, begin0 + share0);
// CHECK: && begin0 <= number0 && number0 < end0) {
// CHECK: precise float old0 = b3_float[
kernel.func @elements(%x: tensor<100xf32>, %ids: tensor<?xi64> {kernel.dims = array<i64: 0>},
                      %u: tensor<?xf32> {kernel.dims = array<i64: 0>}, %n: index) -> tensor<100xf32> {
  %y = kernel.scatter sizes(%n) bounds(affine_map<()[s0] -> (s0)>)
      ins(%x, %ids, %u : tensor<100xf32>, tensor<?xi64>, tensor<?xf32>)
      attributes {indexing_maps = [affine_map<(i)[s0] -> (0)>, affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>,
                                   affine_map<(i)[s0] -> (0)>],
                  num_parallel = 0 : i64, scattered_dims = array<i64: 0>, site = 0 : i64} body {
  ^bb0(%id: i64, %e: f32):
    %exists = arith.constant true
    kernel.yield %exists, %id, %e : i1, i64, f32
  } combine {
  ^bb0(%old: f32, %update: f32):
    %r = arith.addf %old, %update : f32
    kernel.yield %r : f32
  } : tensor<100xf32>
  kernel.return %y : tensor<100xf32>
}

// Each rank is the first of what comes after the one before; of equal elements the lower index counts.
// CHECK-LABEL: // @top, form shared
// CHECK: for (int rank0 = 0; rank0 < 4; rank0 += 1) {
// CHECK: [[FORTH:v[0-9]+]] = last0 > [[E:v[0-9]+]];
// CHECK-NEXT: [[BACK:v[0-9]+]] = [[E]] > last0;
// CHECK-NEXT: bool before0 = [[FORTH]] || (![[BACK]] && index0 < e0);
// CHECK: for (int o = int(gl_WorkGroupSize.x) / 2; o > 0; o /= 2) {
// CHECK: partial[64 + {{.*}} (lane0 ^ o)]
// CHECK: if (exists0 && lane0 == 0) {
// Rows of any length: a last loop tells whether the driver has cut one, and what it is of no compiler knows.
// CHECK: int rounds = 0;
// CHECK-NEXT: for (; rounds < 2 + int(push.first_x >> 31); ++rounds) {
// CHECK-NEXT: }
// CHECK-NEXT: if (rounds < 2) {
// CHECK-NEXT: fail(3, 0, 0, 0);
kernel.func @top(%x: tensor<8x?xf32> {kernel.dims = array<i64: 0>}, %n: index) -> (tensor<8x4xf32>, tensor<8x4xi64>) {
  %v, %i = kernel.top_k sizes(%n) bounds(affine_map<()[s0] -> (8, s0, 4)>) ins(%x : tensor<8x?xf32>)
      attributes {indexing_maps = [affine_map<(p, i, r)[s0] -> (p, i)>, affine_map<(p, i, r)[s0] -> (p, r)>,
                                   affine_map<(p, i, r)[s0] -> (p, r)>]} body {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } precedes {
  ^bb0(%a: f32, %b: f32):
    %first = arith.cmpf ogt, %a, %b : f32
    kernel.yield %first : i1
  } : tensor<8x4xf32>, tensor<8x4xi64>
  kernel.return %v, %i : tensor<8x4xf32>, tensor<8x4xi64>
}
