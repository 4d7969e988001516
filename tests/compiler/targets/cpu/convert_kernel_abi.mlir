// RUN: heddle-opt %s --cpu-convert-kernel-abi | FileCheck %s

// The entry is the first of the module's functions: with it a kernel's code begins.
// CHECK-LABEL: module
// CHECK-NEXT: llvm.func @scale(%[[DISPATCH:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64, %[[SCRATCH:.*]]: !llvm.ptr) -> i32
// CHECK: %[[BINDINGS:.*]] = llvm.load
// CHECK: llvm.getelementptr %[[DISPATCH]][8]
// CHECK: %[[SIZES:.*]] = llvm.load
// CHECK: llvm.getelementptr %[[BINDINGS]][0]
// CHECK: llvm.getelementptr %[[BINDINGS]][8]
// CHECK: llvm.getelementptr %[[SIZES]][0]
// CHECK: llvm.getelementptr %[[DISPATCH]][16]
// CHECK: %[[CODE:.*]] = llvm.call @scale.body({{.*}}, %[[BEGIN]], %[[END]], %[[SCRATCH]], %{{.*}})
// CHECK: llvm.return %[[CODE]]
// CHECK-LABEL: llvm.func internal @scale.body
// CHECK-SAME: llvm.noalias
// CHECK-SAME: passthrough = ["noinline"]
llvm.func @scale(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}, %n: i64, %begin: i64, %end: i64,
                 %scratch: !llvm.ptr {llvm.noalias}, %error: !llvm.ptr {llvm.noalias}) -> i32
    attributes {cpu.kernel} {
  %ok = llvm.mlir.constant(0 : i32) : i32
  llvm.return %ok : i32
}

// CHECK-LABEL: llvm.func @not_a_kernel(%{{.*}}: i32)
llvm.func @not_a_kernel(%x: i32) {
  llvm.return
}

// Only another function of the module calls it.
// CHECK-LABEL: llvm.func internal @scale.bucket0
// CHECK-SAME: passthrough = ["noinline"]
llvm.func @scale.bucket0(%x: !llvm.ptr {llvm.noalias}) attributes {cpu.kernel = "bucket"} {
  llvm.return
}
