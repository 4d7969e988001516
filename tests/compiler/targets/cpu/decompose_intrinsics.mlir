// Instructions of AVX-512 as arithmetic, and none where the CPU has them.
//
// RUN: heddle-opt %s --split-input-file --cpu-decompose-intrinsics | FileCheck %s
// RUN: heddle-opt %s --split-input-file --heddle-cpu-codegen-pipeline=avx512=true | FileCheck %s --check-prefix=AVX512

// CHECK-LABEL: func.func @masked
// CHECK-SAME: %[[X:.*]]: vector<16xf32>, %[[N:.*]]: vector<16xf32>, %[[BITS:.*]]: i16
// CHECK: %[[KEPT:.*]] = vector.bitcast %{{.*}} : vector<1xi16> to vector<16xi1>
// CHECK: %[[MAGIC:.*]] = arith.constant dense<0x4B400000> : vector<16xf32>
// CHECK: %[[SHIFTED:.*]] = arith.addf %[[N]], %[[MAGIC]]
// CHECK: %[[LOW:.*]] = arith.bitcast %[[SHIFTED]] : vector<16xf32> to vector<16xi32>
// CHECK: %[[POWER:.*]] = arith.shli %[[LOW]]
// CHECK: %[[SUM:.*]] = arith.addi %{{.*}}, %[[POWER]]
// CHECK: %[[ISNAN:.*]] = arith.cmpf uno, %[[N]], %[[N]]
// CHECK: %[[SCALED:.*]] = arith.select %[[ISNAN]], %[[N]], %{{.*}}
// CHECK: %[[RESULT:.*]] = arith.select %[[KEPT]], %[[SCALED]]
// CHECK: return %[[RESULT]]
// AVX512-LABEL: llvm.func @masked
// AVX512: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
func.func @masked(%x: vector<16xf32>, %n: vector<16xf32>, %bits: i16) -> vector<16xf32> {
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %mode = arith.constant 4 : i32
  %y = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%x, %n, %zero, %bits, %mode)
     : (vector<16xf32>, vector<16xf32>, vector<16xf32>, i16, i32) -> vector<16xf32>
  return %y : vector<16xf32>
}

// -----

// All lanes: nothing to select, and NaN is anything.
// CHECK-LABEL: func.func @all
// CHECK-NOT: arith.select
func.func @all(%x: vector<16xf32>, %n: vector<16xf32>) -> vector<16xf32> {
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %all = arith.constant -1 : i16
  %mode = arith.constant 4 : i32
  %y = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%x, %n, %zero, %all, %mode)
     : (vector<16xf32>, vector<16xf32>, vector<16xf32>, i16, i32) -> vector<16xf32>
  return %y : vector<16xf32>
}
