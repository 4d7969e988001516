// Products of bytes: four k at once where a CPU can, pairs of k where they are safe, words else. Rows are read in place
// unless a step would read past them.
//
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:cascadelake --cpu-convert-kernel-to-vector --canonicalize --cse | FileCheck %s --check-prefix=DOTS
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:x86-64-v3 --cpu-convert-kernel-to-vector --canonicalize --cse | FileCheck %s --check-prefix=AVX2
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:skylake-avx512 --cpu-convert-kernel-to-vector --canonicalize --cse | FileCheck %s --check-prefix=WIDE

#x = affine_map<(m, n, k)[s0] -> (m, k)>
#packed = affine_map<(m, n, k)[s0] -> (0, 0, 0, 0)>
#y = affine_map<(m, n, k)[s0] -> (m, n)>

// DOTS-DAG: #[[NONE:.*]] = affine_map<()[s0] -> (0)>
// 96 rows of 33 bytes in 12 words.
// DOTS-DAG: #[[COPIED:.*]] = affine_map<()[s0] -> (4608)>
// Words of 16 bits, even and odd k apart, each half with a vector to spare: 96 rows of 2 * 32 words of 32 bits.
// AVX2-DAG: #[[WORDS:.*]] = affine_map<()[s0] -> (24576)>

// DOTS-LABEL: func.func @safe
// DOTS-SAME: cpu.scratch = #[[NONE]]
// DOTS-DAG: %[[STEPS:.*]] = arith.constant 8 : index
// DOTS-DAG: %[[FLIP:.*]] = arith.constant dense<-2139062144> : vector<16xi32>
// DOTS: %{{.*}}:24 = scf.for %{{.*}} to %[[STEPS]]
// DOTS-COUNT-3: vector.load %{{.*}} : memref<?xi8>, vector<64xi8>
// DOTS: %[[BYTES:.*]] = vector.load %{{.*}} : memref<?xi8>, vector<4xi8>
// DOTS: %[[WORD:.*]] = vector.bitcast %[[BYTES]] : vector<4xi8> to vector<1xi32>
// DOTS: vector.broadcast %{{.*}} : i32 to vector<16xi32>
// DOTS: %[[ROW:.*]] = arith.xori %{{.*}}, %[[FLIP]]
// DOTS: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%{{.*}}, %[[ROW]], %{{.*}})
//
// AVX2-LABEL: func.func @safe
// AVX2: %[[SUMS:.*]]:8 = scf.for {{.*}}vector<8xi32>
// AVX2: %[[PAIRS:.*]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"(%[[ROW:.*]], %[[COLUMNS:.*]]) : (vector<32xi8>, vector<32xi8>) -> vector<16xi16>
// AVX2: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%[[PAIRS]], %{{.*}}) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
// AVX2: vector.shuffle %[[SUMS]]#0, %[[SUMS]]#1 [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
//
// WIDE-LABEL: func.func @safe
// WIDE: llvm.call_intrinsic "llvm.x86.avx512.pmaddubs.w.512"
// WIDE: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"
kernel.func @safe(%x: tensor<?x32xi8> {kernel.dims = array<i64: 0>}, %w: tensor<3x8x16x4xi8>, %m: index)
    -> (tensor<?x48xi32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 48, 32)>)
      ins(%x, %w : tensor<?x32xi8>, tensor<3x8x16x4xi8>)
      attributes {indexing_maps = [#x, #packed, #y], packed_rhs = 48 : i64, pair_safe, signed_lhs} epilogue {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  } : tensor<?x48xi32>
  kernel.return %r : tensor<?x48xi32>
}

// DOTS-LABEL: func.func @any
// DOTS-SAME: cpu.scratch = #[[COPIED]]
// DOTS: vector.load %{{.*}} : memref<?xi8>, vector<16xi8>
// DOTS: vector.bitcast %{{.*}} : vector<16xi8> to vector<4xf32>
// DOTS: memref.load %{{.*}} : memref<?xf32>
// DOTS-NOT: arith.xori
// DOTS: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
//
// AVX2-LABEL: func.func @any
// AVX2-SAME: cpu.scratch = #[[WORDS]]
// AVX2-DAG: %[[EIGHT:.*]] = arith.constant dense<8> : vector<16xi16>
// AVX2: arith.andi %{{.*}} : vector<8xi16>
// AVX2: arith.shrui %{{.*}} : vector<8xi16>
// Even k, then the same bytes for odd ones.
// AVX2: scf.for {{.*}}vector<8xi32>
// AVX2: %[[HIGH:.*]] = arith.shli %{{.*}}, %[[EIGHT]]
// AVX2: %[[EVEN:.*]] = arith.shrsi %[[HIGH]], %[[EIGHT]]
// AVX2: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%{{.*}}, %[[EVEN]])
// AVX2: llvm.inline_asm "", "=r,0"
// AVX2: %[[ODD:.*]] = arith.shrsi %{{.*}}, %[[EIGHT]]
// AVX2: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%{{.*}}, %[[ODD]])
//
// WIDE-LABEL: func.func @any
// WIDE-NOT: pmaddubs
// WIDE: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"
kernel.func @any(%x: tensor<?x33xi8> {kernel.dims = array<i64: 0>}, %w: tensor<3x9x16x4xi8>, %m: index)
    -> (tensor<?x48xi32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 48, 33)>)
      ins(%x, %w : tensor<?x33xi8>, tensor<3x9x16x4xi8>)
      attributes {indexing_maps = [#x, #packed, #y], packed_rhs = 48 : i64} epilogue {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  } : tensor<?x48xi32>
  kernel.return %r : tensor<?x48xi32>
}
