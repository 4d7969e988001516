// Contractions as shaders: how the factors of each form are read and multiplied, in tiles of registers and through
// shared memory.
//
// RUN: heddle-opt %s --vulkan-select-lowering-config --vulkan-print-shaders -o /dev/null | FileCheck %s

#x = affine_map<(m, n, k)[s0] -> (m, k)>
#packed = affine_map<(m, n, k)[s0] -> (0, 0, 0)>
#groups = affine_map<(m, n, k)[s0] -> (0, 0, 0, 0)>
#column = affine_map<(m, n, k)[s0] -> (n)>
#y = affine_map<(m, n, k)[s0] -> (m, n)>

// Whole vectors of four k, one sum after the other by fma, and an epilogue whose text stands once.
// CHECK-LABEL: // @floats, form tile
// CHECK: layout(constant_id = 3) const int ROWS
// CHECK: layout(constant_id = 4) const int COLUMNS4
// CHECK: int first_row = int(gl_WorkGroupID.y + push.first_y) * ROWS;
// CHECK: precise vec4 sum[ROWS][COLUMNS4];
// CHECK: for (int step0 = 0; step0 < 8; step0 += 1) {
// CHECK: b1_vec4[uint(int(push.o0) >> 2) +
// CHECK: fma(vec4(x[{{.*}}].x), y0[
// CHECK: fma(vec4(x[{{.*}}].w), y3[
// CHECK: vec4 finished[ROWS * COLUMNS4];
// CHECK: precise float [[ACC:acc[0-9]+]] = finished[
// CHECK: precise float [[BIAS:v[0-9]+]] = b2_float[
// CHECK: [[ACC]] + [[BIAS]]
// CHECK-LABEL: // @floats, form shared
// CHECK: shared vec4 shared_rows[STEPS * ROWS * ROW_LANES];
// CHECK: shared vec4 shared_items[STEPS * 4 * COLUMNS4 * LANES];
// CHECK: barrier();
// CHECK: fma(vec4(x[{{.*}}].x), y0[
// CHECK: barrier();
kernel.func @floats(%x: tensor<?x32xf32> {kernel.dims = array<i64: 0>}, %w: tensor<2x32x16xf32> {kernel.constant},
                    %bias: tensor<20xf32>, %m: index) -> (tensor<?x20xf32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 20, 32)>)
      ins(%x, %w, %bias : tensor<?x32xf32>, tensor<2x32x16xf32>, tensor<20xf32>)
      attributes {indexing_maps = [#x, #packed, #column, #y], packed_rhs = 20 : i64} epilogue {
  ^bb0(%acc: f32, %b: f32):
    %s = arith.addf %acc, %b : f32
    kernel.yield %s : f32
  } : tensor<?x20xf32>
  kernel.return %r : tensor<?x20xf32>
}

// An odd k: one k at a time.
// CHECK-LABEL: // @odd, form tile
// CHECK: float x[ROWS];
// CHECK: = b1_float[push.o0 +
// CHECK: fma(vec4(x[{{[a-z0-9]+}}]), y0[
kernel.func @odd(%x: tensor<?x33xf32> {kernel.dims = array<i64: 0>}, %w: tensor<2x33x16xf32> {kernel.constant}, %m: index)
    -> (tensor<?x20xf32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 20, 33)>)
      ins(%x, %w : tensor<?x33xf32>, tensor<2x33x16xf32>)
      attributes {indexing_maps = [#x, #packed, #y], packed_rhs = 20 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x20xf32>
  kernel.return %r : tensor<?x20xf32>
}

// The instruction for signed bytes needs the sum of each column; shifts and products need nothing. Words pass through
// shared memory.
// CHECK-LABEL: // @bytes, form tile_dots
// CHECK: GL_EXT_spirv_intrinsics
// CHECK: id = 4450)
// CHECK: ^ 0x80808080u
// CHECK: column_sum[{{.*}}] += ivec4(dot_bytes({{.*}}, 0x01010101u, 0)
// CHECK: += 128 * column_sum[
// CHECK-LABEL: // @bytes, form shared_dots
// CHECK: shared uint shared_rows[
// CHECK: shared uvec4 shared_items[STEPS * 1 *
// CHECK-LABEL: // @bytes, form tile
// CHECK: & 255u);
// CHECK: Codes(ivec4({{.*}} << 24) >> 24,
// CHECK: .x * {{.*}}.k0 +
// CHECK-LABEL: // @bytes, form shared
kernel.func @bytes(%x: tensor<?x16xi8> {kernel.dims = array<i64: 0>}, %w: tensor<1x4x16x4xi8> {kernel.constant}, %m: index)
    -> (tensor<?x16xi32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 16, 16)>)
      ins(%x, %w : tensor<?x16xi8>, tensor<1x4x16x4xi8>)
      attributes {indexing_maps = [#x, #groups, #y], packed_rhs = 16 : i64} epilogue {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  } : tensor<?x16xi32>
  kernel.return %r : tensor<?x16xi32>
}

// Pairs of bf16, by shifts alone; the left side is rounded as the weights were.
// CHECK-LABEL: // @pairs, form tile
// CHECK: round_factor(b1_vec4[
// CHECK: mat2x4(uintBitsToFloat({{.*}} << 16), uintBitsToFloat({{.*}} & 0xffff0000u))
kernel.func @pairs(%x: tensor<?x16xf32> {kernel.dims = array<i64: 0>}, %w: tensor<1x8x16x2xbf16> {kernel.constant}, %m: index)
    -> (tensor<?x16xf32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 16, 16)>)
      ins(%x, %w : tensor<?x16xf32>, tensor<1x8x16x2xbf16>)
      attributes {indexing_maps = [#x, #groups, #y], packed_rhs = 16 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x16xf32>
  kernel.return %r : tensor<?x16xf32>
}

// Half bytes with a scale for each block: eight steps of four k, then the scale.
// CHECK-LABEL: // @halves, form tile
// CHECK: for (int begin0 = 0; begin0 < steps0; begin0 += 8) {
// CHECK: precise vec4 part[ROWS][COLUMNS4];
// CHECK: >> uvec4(0, 8, 16, 24)) & 15u) - 8)
// CHECK: fma(scales0, part[
kernel.func @halves(%x: tensor<?x64xf32> {kernel.dims = array<i64: 0>}, %w: tensor<1x32x16xi8> {kernel.constant},
                    %t: tensor<1x2x16xf32> {kernel.constant}, %m: index) -> (tensor<?x16xf32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 16, 64)>)
      ins(%x, %w, %t : tensor<?x64xf32>, tensor<1x32x16xi8>, tensor<1x2x16xf32>)
      attributes {indexing_maps = [#x, #packed, #packed, #y], packed_rhs = 16 : i64, block_size = 32 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x16xf32>
  kernel.return %r : tensor<?x16xf32>
}

// Two activations along whose rows k runs: vectors of both, the right side's turned in registers. Batches are the third
// axis.
// CHECK-LABEL: // @scores, form tile
// CHECK: int z0 = int(gl_WorkGroupID.z + push.first_z);
// CHECK: for (int step0 = 0; step0 < 5; step0 += 1) {
// CHECK: = b1_vec4[
// CHECK: transpose(mat4(b2_vec4[
// CHECK: fma(vec4(x[{{.*}}].w), y0[{{.*}}][3],
kernel.func @scores(%q: tensor<?x?x20xf32> {kernel.dims = array<i64: 0, 1>}, %k: tensor<?x?x20xf32> {kernel.dims = array<i64: 0, 1>},
                    %b: index, %l: index) -> (tensor<?x?x?xf32> {kernel.dims = array<i64: 0, 1, 1>}) {
  %r = kernel.contract sizes(%b, %l) bounds(affine_map<()[s0, s1] -> (s0, s1, s1, 20)>)
      ins(%q, %k : tensor<?x?x20xf32>, tensor<?x?x20xf32>)
      attributes {indexing_maps = [affine_map<(b, m, n, k)[s0, s1] -> (b, m, k)>,
                                   affine_map<(b, m, n, k)[s0, s1] -> (b, n, k)>,
                                   affine_map<(b, m, n, k)[s0, s1] -> (b, m, n)>]} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x?x?xf32>
  kernel.return %r : tensor<?x?x?xf32>
}
