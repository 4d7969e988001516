// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The matrix product that tests compare and benchmarks time.

#pragma once

#include <string>

#include "llvm/Support/FormatVariadic.h"

namespace heddle::conformance {

/// kernel.func @product: x (rows, k) times a packed constant (k, n), plus a bias, through a region, which |epilogue|
/// ends: it makes %r of %s.
inline std::string packed_product(int64_t n, int64_t k, const std::string &epilogue = "") {
  return llvm::formatv(R"(
kernel.func @product(%x: tensor<?x{1}xf32> {{kernel.dims = array<i64: 0>}, %w: tensor<{2}x{1}x16xf32>,
                     %bias: tensor<{0}xf32>, %m: index) -> (tensor<?x{0}xf32> {{kernel.dims = array<i64: 0>}) {{
  %y = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, {0}, {1})>)
      ins(%x, %w, %bias : tensor<?x{1}xf32>, tensor<{2}x{1}x16xf32>, tensor<{0}xf32>)
      attributes {{indexing_maps = [affine_map<(m, n, k)[s0] -> (m, k)>, affine_map<(m, n, k)[s0] -> (0, 0, 0)>,
                                   affine_map<(m, n, k)[s0] -> (n)>, affine_map<(m, n, k)[s0] -> (m, n)>],
                  packed_rhs = {0} : i64} epilogue {{
  ^bb0(%acc: f32, %b: f32):
    %s = arith.addf %acc, %b : f32
    {3}
    kernel.yield {4} : f32
  } : tensor<?x{0}xf32>
  kernel.return %y : tensor<?x{0}xf32>
})",
                       n, k, (n + 15) / 16, epilogue, epilogue.empty() ? "%s" : "%r");
}

} // namespace heddle::conformance
