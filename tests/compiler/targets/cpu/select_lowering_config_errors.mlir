// RUN: not heddle-opt %s --cpu-select-lowering-config=target=cpu:znver33 2>&1 | FileCheck %s --check-prefix=NEAR
// RUN: not heddle-opt %s --cpu-select-lowering-config=target=cpu:x86-64-v2 2>&1 | FileCheck %s --check-prefix=OLD

// NEAR: error: unknown CPU 'znver33'; did you mean 'znver3'
// OLD: error: CPU 'x86-64-v2' lacks avx2 or fma, which kernels need; the oldest supported is x86-64-v3
module {}
