// The whole way to the LLVM dialect, and LLVM accepts what comes out.
//
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:x86-64-v4 --heddle-cpu-codegen-pipeline | FileCheck %s
// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:x86-64-v3 --heddle-cpu-codegen-pipeline | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM

// CHECK-NOT: {{(func|scf|vector|memref|arith|math|kernel|builtin.unrealized)\.}}
// CHECK: llvm.func @softmax(
// CHECK: llvm.func internal @softmax.body
// LLVM: define i32 @softmax(ptr
// LLVM: define internal i32 @softmax.body(ptr noalias
#x = affine_map<(i, j)[s0, s1] -> (i, j)>
kernel.func @softmax(%x: tensor<?x?xf32> {kernel.dims = array<i64: 0, 1>}, %n: index, %s: index)
    -> (tensor<?x?xf32> {kernel.dims = array<i64: 0, 1>}) {
  %p = kernel.rowwise sizes(%n, %s) bounds(affine_map<()[s0, s1] -> (s0, s1)>) ins(%x : tensor<?x?xf32>)
      attributes {indexing_maps = [#x, #x], combiners = [#kernel.combiner<maximum>, #kernel.combiner<sum>]} regions {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  }, {
  ^bb0(%e: f32, %max: f32):
    %d = arith.subf %e, %max : f32
    %x1 = math.exp %d : f32
    kernel.yield %x1 : f32
  }, {
  ^bb0(%e: f32, %max: f32, %sum: f32):
    %d = arith.subf %e, %max : f32
    %x1 = math.exp %d : f32
    %r = arith.divf %x1, %sum : f32
    kernel.yield %r : f32
  } : tensor<?x?xf32>
  kernel.return %p : tensor<?x?xf32>
}
