// Attention whose scores are of bytes: four products at once where a CPU can, else two of 16 bits. Rows of 20
// elements are padded to 32.
//
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:cascadelake --cpu-convert-kernel-to-vector --canonicalize --cse | FileCheck %s --check-prefix=DOTS
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:x86-64-v3 --cpu-convert-kernel-to-vector --canonicalize --cse | FileCheck %s --check-prefix=WORDS

// DOTS-LABEL: func.func @scores
// Queries first: the greatest magnitude, then codes + 128, 16 bytes as four floats.
// DOTS: arith.maxui
// DOTS: vector.reduction <maxui>
// DOTS: %[[CODES:.*]] = arith.trunci %{{.*}} : vector<16xi32> to vector<16xi8>
// DOTS: %[[UNSIGNED:.*]] = arith.xori %[[CODES]], %{{.*}} : vector<16xi8>
// DOTS: vector.bitcast %[[UNSIGNED]] : vector<16xi8> to vector<4xf32>
// Each panel of keys: a scale a lane, five words of four bytes and 128 times their sum.
// DOTS: scf.for %{{.*}} = %c0 to %c20 step %c1 {{.*}} -> (vector<16xi32>)
// DOTS: arith.maxui {{.*}} : vector<16xi32>
// DOTS: scf.for %{{.*}} = %c0 to %c5 step %c1 {{.*}} -> (vector<16xi32>)
// DOTS: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// DOTS: arith.subi
// A tile starts from the keys' offsets, and ends with the scales of rows and keys.
// DOTS: %[[SUMS:.*]]:16 = scf.for %{{.*}} = %c0 to %c5 step %c1
// DOTS: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// DOTS: %[[SUM:.*]] = arith.sitofp %[[SUMS]]#0 : vector<16xi32> to vector<16xf32>
// DOTS-NEXT: %[[SCALE:.*]] = arith.mulf
// DOTS-NEXT: arith.mulf %[[SUM]], %[[SCALE]]

// WORDS-LABEL: func.func @scores
// WORDS-NOT: vpdpbusd
// WORDS: vector.reduction <maxui>
// WORDS: %[[CODES:.*]] = arith.trunci %{{.*}} : vector<16xi32> to vector<16xi16>
// WORDS: vector.bitcast %[[CODES]] : vector<16xi16> to vector<8xf32>
// WORDS: %[[SUMS:.*]]:12 = scf.for %{{.*}} = %c0 to %c10 step %c1
// WORDS: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// WORDS: %[[BOTH:.*]] = vector.shuffle %[[SUMS]]#0, %[[SUMS]]#1
// WORDS: %[[SUM:.*]] = arith.sitofp %[[BOTH]] : vector<16xi32> to vector<16xf32>
// WORDS-NEXT: %[[SCALE:.*]] = arith.mulf
// WORDS-NEXT: arith.mulf %[[SUM]], %[[SCALE]]
// WORDS: return
kernel.func @scores(%q: tensor<40x20xf32>, %k: tensor<40x20xf32>, %v: tensor<40x16xf32>) -> tensor<40x16xf32> {
  %o = kernel.attention bounds(affine_map<() -> (1, 1, 1, 40, 40, 20, 16)>)
      ins(%q, %k, %v : tensor<40x20xf32>, tensor<40x20xf32>, tensor<40x16xf32>)
      attributes {indexing_maps = [affine_map<(b, g, r, m, n, d, e) -> (m, d)>, affine_map<(b, g, r, m, n, d, e) -> (n, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, e)>, affine_map<(b, g, r, m, n, d, e) -> (m, e)>],
                  scale = 0.25 : f32, fully_masked = "literal", qk_int8} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<40x16xf32>
  kernel.return %o : tensor<40x16xf32>
}
