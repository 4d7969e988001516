// Rows and reductions as shaders: who merges the lanes' sums, where statistics are made something of, bytes as words.
//
// RUN: heddle-opt %s --vulkan-select-lowering-config --vulkan-print-shaders -o /dev/null | FileCheck %s

// Both forms merge lanes by halves; what statistics alone decide stands before the loop.
// CHECK-LABEL: // @softmax, form subgroup
// CHECK: #extension GL_KHR_shader_subgroup_shuffle : require
// CHECK: shared uint partial[128];
// CHECK: float sum_of_float32(int first, int step, int count) {
// CHECK: v[k] = v[k] + v[k + n];
// CHECK: bool full = gl_SubgroupSize >= 4u && gl_NumSubgroups * gl_SubgroupSize == gl_WorkGroupSize.x;
// CHECK: for (int [[J:j[0-9]+]] = lane0; [[J]] < 384; [[J]] += int(gl_WorkGroupSize.x)) {
// CHECK: if (gl_SubgroupSize < gl_WorkGroupSize.x) {
// CHECK: subgroupShuffleXor(
// CHECK: if (exists0) {
// CHECK-NEXT: [[SCALE:v[0-9]+]] = 1.00000000e+00 / stat1;
// CHECK-NEXT: for (int
// CHECK: * [[SCALE]];
// CHECK-LABEL: // @softmax, form shared
// CHECK-NOT: subgroup
// CHECK: partial[0 + int(gl_LocalInvocationID.y) * int(gl_WorkGroupSize.x) + lane0] = floatBitsToUint(stat0);
// CHECK-NEXT: barrier();
kernel.func @softmax(%x: tensor<?x384xf32> {kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?x384xf32> {kernel.dims = array<i64: 0>}) {
  %p = kernel.rowwise sizes(%n) bounds(affine_map<()[s0] -> (s0, 384)>) ins(%x : tensor<?x384xf32>)
      attributes {indexing_maps = [affine_map<(d0, d1)[s0] -> (d0, d1)>, affine_map<(d0, d1)[s0] -> (d0, d1)>],
                  combiners = [#kernel.combiner<maximum>, #kernel.combiner<sum>]} regions {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  }, {
  ^bb0(%e: f32, %max: f32):
    %d = arith.subf %e, %max : f32
    kernel.yield %d : f32
  }, {
  ^bb0(%e: f32, %max: f32, %sum: f32):
    %one = arith.constant 1.0 : f32
    %scale = arith.divf %one, %sum : f32
    %r = arith.mulf %e, %scale : f32
    kernel.yield %r : f32
  } : tensor<?x384xf32>
  kernel.return %p : tensor<?x384xf32>
}

// Two short rows share a workgroup. An invocation has four neighbours, and writes their codes as a word where it can.
// CHECK-LABEL: // @codes, form shared
// CHECK: for (int [[J:j[0-9]+]] = lane0 * 4; [[J]] < 24; [[J]] += int(gl_WorkGroupSize.x) * 4) {
// CHECK: bool whole0 = (start0 & 3) == 0 && {{j[0-9]+}} + 4 <= 24;
// CHECK: words0[0] |= (uint({{v[0-9]+}}) & 255u) << (place0 * 8);
// CHECK-NEXT: if (!whole0) {
// CHECK: store_part(
// CHECK: if (whole0) {
// CHECK-NEXT: b3_uint[push.o1 + uint(start0 / 4 + 0)] = words0[0];
// CHECK: if (lane0 == 0) {
// CHECK: b3_float[push.o2 + uint(row0)] = stat0;
kernel.func @codes(%x: tensor<?x24xf32> {kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?x24xi8> {kernel.dims = array<i64: 0>}, tensor<?xf32> {kernel.dims = array<i64: 0>}) {
  %c:2 = kernel.rowwise sizes(%n) bounds(affine_map<()[s0] -> (s0, 24)>) ins(%x : tensor<?x24xf32>)
      attributes {indexing_maps = [affine_map<(i, j)[s0] -> (i, j)>, affine_map<(i, j)[s0] -> (i, j)>,
                                   affine_map<(i, j)[s0] -> (i)>],
                  combiners = [#kernel.combiner<maximum>]} regions {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  }, {
  ^bb0(%e: f32, %max: f32):
    %i = arith.fptosi %e : f32 to i8
    kernel.yield %i, %max : i8, f32
  } : tensor<?x24xi8>, tensor<?xf32>
  kernel.return %c#0, %c#1 : tensor<?x24xi8>, tensor<?xf32>
}

// Rows of a few elements have an invocation each and share nothing.
// CHECK-LABEL: // @short, form single
// CHECK-NOT: barrier
// CHECK: for (int [[J:j[0-9]+]] = 0; [[J]] < 3; [[J]] += 1) {
kernel.func @short(%x: tensor<?x3xf32> {kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?x3xf32> {kernel.dims = array<i64: 0>}) {
  %p = kernel.rowwise sizes(%n) bounds(affine_map<()[s0] -> (s0, 3)>) ins(%x : tensor<?x3xf32>)
      attributes {indexing_maps = [affine_map<(d0, d1)[s0] -> (d0, d1)>, affine_map<(d0, d1)[s0] -> (d0, d1)>],
                  combiners = [#kernel.combiner<sum>]} regions {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  }, {
  ^bb0(%e: f32, %sum: f32):
    %r = arith.subf %e, %sum : f32
    kernel.yield %r : f32
  } : tensor<?x3xf32>
  kernel.return %p : tensor<?x3xf32>
}


// Neighbouring results read neighbouring elements: no lanes, whatever the length. What may be long goes by eight
// elements a round, in order.
// CHECK-LABEL: // @columns, form single
// CHECK: for (int [[ROUND:round[0-9]+]] = 0; [[ROUND]] < push.s0; [[ROUND]] += 8) {
// CHECK-NEXT: {{\[\[}}unroll]] for (int [[U:u[0-9]+]] = 0; [[U]] < 8; ++[[U]]) {
// CHECK-NEXT: int [[R:r[0-9]+]] = [[ROUND]] + [[U]];
// CHECK-NEXT: if ([[R]] < push.s0) {
// CHECK: sum0 = sum0 +
kernel.func @columns(%x: tensor<?x64xf32> {kernel.dims = array<i64: 0>}, %n: index) -> tensor<64xf32> {
  %y = kernel.reduce sizes(%n) bounds(affine_map<()[s0] -> (s0, 64)>) ins(%x : tensor<?x64xf32>)
      attributes {indexing_maps = [affine_map<(i, j)[s0] -> (i, j)>, affine_map<(i, j)[s0] -> (j)>],
                  reduction_loops = array<i64: 0>, input_count = 1 : i64, combiners = [#kernel.combiner<sum>]} body {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } finish {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } : tensor<64xf32>
  kernel.return %y : tensor<64xf32>
}

// Lanes go along both reduced loops as one; 64-bit integers are ints, whose neutral element is the smallest.
// CHECK-LABEL: // @rows, form subgroup
// CHECK: int sum0 = int(0x80000000u);
// CHECK: for (int [[ROUND:round[0-9]+]] = lane0; [[ROUND]] < (push.s1 * push.s0); [[ROUND]] += (8 * int(gl_WorkGroupSize.x))) {
// CHECK: int [[R:r[0-9]+]] = [[ROUND]] + ({{u[0-9]+}} * int(gl_WorkGroupSize.x));
// CHECK-NEXT: if ([[R]] < (push.s1 * push.s0)) {
// CHECK-NEXT: int [[Q:q[0-9]+]] = [[R]] / push.s1;
// CHECK: sum0 = max(sum0,
// CHECK: if (exists0 && lane0 == 0) {
kernel.func @rows(%x: tensor<?x8x?xi64> {kernel.dims = array<i64: 0, 1>}, %n: index, %s: index) -> tensor<8xi64> {
  %y = kernel.reduce sizes(%n, %s) bounds(affine_map<()[s0, s1] -> (s0, 8, s1)>) ins(%x : tensor<?x8x?xi64>)
      attributes {indexing_maps = [affine_map<(i, j, k)[s0, s1] -> (i, j, k)>, affine_map<(i, j, k)[s0, s1] -> (j)>],
                  reduction_loops = array<i64: 0, 2>, input_count = 1 : i64,
                  combiners = [#kernel.combiner<maximum>]} body {
  ^bb0(%e: i64):
    kernel.yield %e : i64
  } finish {
  ^bb0(%max: i64):
    kernel.yield %max : i64
  } : tensor<8xi64>
  kernel.return %y : tensor<8xi64>
}
