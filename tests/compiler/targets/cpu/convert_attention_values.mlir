// Attention whose weights and values are codes of 8 bits, four keys to a word: multiplied by one instruction or as pairs.
//
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:cascadelake --cpu-convert-kernel-to-vector --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,DOTS
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:x86-64-v4 --cpu-convert-kernel-to-vector --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:x86-64-v3 --cpu-convert-kernel-to-vector --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,NARROW

// CHECK-LABEL: func.func @values
// Values of four keys: the greatest magnitude a column, and a word.
// CHECK: scf.for %{{.*}} step %c4
// CHECK-COUNT-4: arith.maxui {{.*}} : vector<16xi32>
// Weights in place of the scores, 16 bytes as four floats.
// CHECK: %[[CODES:.*]] = arith.trunci %{{.*}} : vector<16xi32> to vector<16xi8>
// CHECK: vector.bitcast %[[CODES]] : vector<16xi8> to vector<4xf32>
// DOTS: %[[SUMS:.*]]:8 = scf.for {{.*}} -> (vector<16xi32>
// DOTS: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// DOTS: arith.sitofp %[[SUMS]]#0 : vector<16xi32> to vector<16xf32>
// WIDE: %[[SUMS:.*]]:8 = scf.for {{.*}} -> (vector<16xi32>
// WIDE: %[[PAIRS:.*]] = llvm.call_intrinsic "llvm.x86.avx512.pmaddubs.w.512"
// WIDE: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"(%[[PAIRS]],
// WIDE: arith.sitofp %[[SUMS]]#0 : vector<16xi32> to vector<16xf32>
// NARROW: %[[SUMS:.*]]:12 = scf.for {{.*}} -> (vector<8xi32>
// NARROW: llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"
// NARROW: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// NARROW: %[[SUM:.*]] = vector.shuffle %[[SUMS]]#0, %[[SUMS]]#1
// NARROW: arith.sitofp %[[SUM]] : vector<16xi32> to vector<16xf32>
// Rows that a value that isn't finite concerns take codes as floats.
// CHECK: math.roundeven
// CHECK: return
kernel.func @values(%q: tensor<40x20xf32>, %k: tensor<40x20xf32>, %v: tensor<40x16xf32>, %s: tensor<16xf32>) -> tensor<40x16xf32> {
  %o = kernel.attention bounds(affine_map<() -> (1, 1, 1, 40, 40, 20, 16)>)
      ins(%q, %k, %v, %s : tensor<40x20xf32>, tensor<40x20xf32>, tensor<40x16xf32>, tensor<16xf32>)
      attributes {indexing_maps = [affine_map<(b, g, r, m, n, d, e) -> (m, d)>, affine_map<(b, g, r, m, n, d, e) -> (n, d)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (n, e)>, affine_map<(b, g, r, m, n, d, e) -> (e)>,
                                   affine_map<(b, g, r, m, n, d, e) -> (m, e)>],
                  scale = 0.25 : f32, fully_masked = "literal", pv_int8_block = 256 : i64} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<40x16xf32>
  kernel.return %o : tensor<40x16xf32>
}
