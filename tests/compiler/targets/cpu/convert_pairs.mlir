// Weights of bf16: rows are rounded to pairs in scratch, 16 elements of f32 to 8 words, and each step of the loop over k
// multiplies a pair.
//
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:znver4 --cpu-convert-kernel-to-vector --canonicalize --cse | FileCheck %s

// 64 rows of 33 elements, as 24 words each: one group of panels alone is shared out by rows.
// CHECK-DAG: #[[SCRATCH:.*]] = affine_map<()[s0] -> (6144)>
// CHECK-LABEL: func.func @multiplies_pairs
// CHECK-SAME: cpu.scratch = #[[SCRATCH]]
// CHECK-DAG: %[[STEPS:.*]] = arith.constant 17 : index
// CHECK: arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK: vector.bitcast %{{.*}} : vector<16xbf16> to vector<8xf32>
// CHECK: vector.store %{{.*}} : memref<?xf32>, vector<8xf32>
// The row's end is padded with zeros.
// CHECK: arith.select %{{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: %{{.*}}:24 = scf.for %{{.*}} to %[[STEPS]]
// CHECK-COUNT-3: vector.load %{{.*}} : memref<?xi16>, vector<32xi16>
// CHECK: memref.load %{{.*}} : memref<?xf32>
// CHECK: vector.bitcast %{{.*}} : vector<16xf32> to vector<32xbf16>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
#x = affine_map<(m, n, k)[s0] -> (m, k)>
#packed = affine_map<(m, n, k)[s0] -> (0, 0, 0, 0)>
#y = affine_map<(m, n, k)[s0] -> (m, n)>
kernel.func @multiplies_pairs(
    %x: tensor<?x33xf32> {kernel.dims = array<i64: 0>}, %w: tensor<3x17x16x2xbf16>, %m: index)
    -> (tensor<?x48xf32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 48, 33)>)
      ins(%x, %w : tensor<?x33xf32>, tensor<3x17x16x2xbf16>)
      attributes {indexing_maps = [#x, #packed, #y], packed_rhs = 48 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x48xf32>
  kernel.return %r : tensor<?x48xf32>
}
