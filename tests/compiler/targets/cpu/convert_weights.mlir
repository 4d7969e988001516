// Floats by narrow weights, which are widened as they are read: bytes by two conversions, half bytes by a table of
// sixteen numbers or by shifts. Sums of a block take its scale at the block's end.
//
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:x86-64-v4 --cpu-convert-kernel-to-vector --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:x86-64-v3 --cpu-convert-kernel-to-vector --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,AVX2

#x = affine_map<(m, n, k)[s0] -> (m, k)>
#packed = affine_map<(m, n, k)[s0] -> (0, 0, 0)>
#groups = affine_map<(m, n, k)[s0] -> (0, 0, 0, 0)>
#y = affine_map<(m, n, k)[s0] -> (m, n)>

// CHECK-DAG: #[[NONE:.*]] = affine_map<()[s0] -> (0)>

// CHECK-LABEL: func.func @bytes
// CHECK-SAME: cpu.scratch = #[[NONE]]
// CHECK: memref.prefetch %{{.*}} : memref<?xi8>
// CHECK: %[[CODES:.*]] = vector.load %{{.*}} : memref<?xi8>, vector<16xi8>
// CHECK: %[[WORDS:.*]] = arith.extsi %[[CODES]] : vector<16xi8> to vector<16xi32>
// CHECK: %[[NUMBERS:.*]] = arith.sitofp %[[WORDS]] : vector<16xi32> to vector<16xf32>
// CHECK: math.fma %{{.*}}, %[[NUMBERS]], %{{.*}} : vector<16xf32>
kernel.func @bytes(%x: tensor<?x33xf32> {kernel.dims = array<i64: 0>}, %w: tensor<1x33x16xi8>, %m: index)
    -> (tensor<?x16xf32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 16, 33)>)
      ins(%x, %w : tensor<?x33xf32>, tensor<1x33x16xi8>)
      attributes {indexing_maps = [#x, #packed, #y], packed_rhs = 16 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x16xf32>
  kernel.return %r : tensor<?x16xf32>
}

// CHECK-LABEL: func.func @half_bytes
// CHECK-SAME: cpu.scratch = #[[NONE]]
// CHECK-DAG: %[[BLOCK:.*]] = arith.constant 8 : index
// CHECK-DAG: %[[STEPS:.*]] = arith.constant 32 : index
// WIDE-DAG: %[[TABLE:.*]] = arith.constant dense<[-8.000000e+00, -7.000000e+00, {{.*}}, 7.000000e+00]> : vector<16xf32>
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[STEPS]] step %[[BLOCK]]
// CHECK: %[[SUMS:.*]] = scf.for
// CHECK: vector.load %{{.*}} : memref<?xi8>, vector<16xi8>
// WIDE: %[[PAIRS:.*]] = arith.extui
// WIDE: llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"(%[[TABLE]], %[[PAIRS]])
// WIDE: %[[ODD:.*]] = arith.shrui %[[PAIRS]]
// WIDE: llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"(%[[TABLE]], %[[ODD]])
// AVX2: arith.xori %{{.*}} : vector<16xi8>
// AVX2: %[[PAIRS:.*]] = arith.extsi
// AVX2: %[[HIGH:.*]] = arith.shli %[[PAIRS]]
// AVX2: arith.shrsi %[[HIGH]]
// AVX2: arith.shrsi %[[PAIRS]]
// CHECK: %[[SCALES:.*]] = vector.load %{{.*}} : memref<?xf32>, vector<16xf32>
// CHECK: math.fma %[[SCALES]], %[[SUMS]], %{{.*}} : vector<16xf32>
kernel.func @half_bytes(%x: tensor<?x64xf32> {kernel.dims = array<i64: 0>}, %w: tensor<1x32x16xi8>,
                        %s: tensor<1x4x16xf32>, %m: index)
    -> (tensor<?x16xf32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 16, 64)>)
      ins(%x, %w, %s : tensor<?x64xf32>, tensor<1x32x16xi8>, tensor<1x4x16xf32>)
      attributes {indexing_maps = [#x, #packed, #packed, #y], packed_rhs = 16 : i64, block_size = 16 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x16xf32>
  kernel.return %r : tensor<?x16xf32>
}

// CHECK-LABEL: func.func @blocks_of_bytes
// CHECK-SAME: cpu.scratch = #[[NONE]]
// CHECK-DAG: %[[BLOCK:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[STEPS:.*]] = arith.constant 64 : index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[STEPS]] step %[[BLOCK]]
// CHECK: %[[SUMS:.*]] = scf.for
// CHECK: %[[CODES:.*]] = vector.load %{{.*}} : memref<?xi8>, vector<16xi8>
// CHECK: %[[WORDS:.*]] = arith.extsi %[[CODES]] : vector<16xi8> to vector<16xi32>
// CHECK: %[[NUMBERS:.*]] = arith.sitofp %[[WORDS]] : vector<16xi32> to vector<16xf32>
// CHECK: math.fma %{{.*}}, %[[NUMBERS]], %{{.*}} : vector<16xf32>
// CHECK: %[[SCALES:.*]] = vector.load %{{.*}} : memref<?xf32>, vector<16xf32>
// CHECK: math.fma %[[SCALES]], %[[SUMS]], %{{.*}} : vector<16xf32>
kernel.func @blocks_of_bytes(%x: tensor<?x64xf32> {kernel.dims = array<i64: 0>}, %w: tensor<1x64x16x1xi8>,
                             %s: tensor<1x22x16xf32>, %m: index)
    -> (tensor<?x16xf32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 16, 64)>)
      ins(%x, %w, %s : tensor<?x64xf32>, tensor<1x64x16x1xi8>, tensor<1x22x16xf32>)
      attributes {indexing_maps = [#x, #groups, #packed, #y], packed_rhs = 16 : i64, block_size = 3 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x16xf32>
  kernel.return %r : tensor<?x16xf32>
}
