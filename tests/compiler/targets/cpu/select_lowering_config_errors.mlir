// RUN: not heddle-opt %s --cpu-select-lowering-config=target=cpu:znver33 2>&1 | FileCheck %s --check-prefix=NEAR
// RUN: not heddle-opt %s --cpu-select-lowering-config=target=cpu:x86-64-v2 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not heddle-opt %s --cpu-select-lowering-config=target=cpu:x86-64-v4 2>&1 | FileCheck %s --check-prefix=PAIRS

// NEAR: error: unknown CPU 'znver33'; did you mean 'znver3'
// OLD: error: CPU 'x86-64-v2' lacks avx2 or fma, which kernels need; the oldest supported is x86-64-v3
// PAIRS: error: 'kernel.contract' op expects a target with avx512bf16 for weights of bf16, got cpu:x86-64-v4
kernel.func @product(%x: tensor<4x6xf32>, %w: tensor<1x3x16x2xbf16>) -> tensor<4x16xf32> {
  %y = kernel.contract bounds(affine_map<() -> (4, 16, 6)>) ins(%x, %w : tensor<4x6xf32>, tensor<1x3x16x2xbf16>)
      attributes {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0, 0)>,
                                   affine_map<(m, n, k) -> (m, n)>], packed_rhs = 16 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<4x16xf32>
  kernel.return %y : tensor<4x16xf32>
}
