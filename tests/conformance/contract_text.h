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

/// kernel.func @product: bytes x (rows, k) times packed bytes (k, n), with |attributes| such as ", pair_safe", to i32.
inline std::string byte_product(int64_t n, int64_t k, const std::string &attributes = "") {
  return llvm::formatv(R"(
kernel.func @product(%x: tensor<?x{1}xi8> {{kernel.dims = array<i64: 0>}, %w: tensor<{2}x{3}x16x4xi8>, %m: index)
    -> (tensor<?x{0}xi32> {{kernel.dims = array<i64: 0>}) {{
  %y = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, {0}, {1})>)
      ins(%x, %w : tensor<?x{1}xi8>, tensor<{2}x{3}x16x4xi8>)
      attributes {{indexing_maps = [affine_map<(m, n, k)[s0] -> (m, k)>, affine_map<(m, n, k)[s0] -> (0, 0, 0, 0)>,
                                   affine_map<(m, n, k)[s0] -> (m, n)>], packed_rhs = {0} : i64{4}} epilogue {{
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  } : tensor<?x{0}xi32>
  kernel.return %y : tensor<?x{0}xi32>
})",
                       n, k, (n + 15) / 16, (k + 3) / 4, attributes);
}

/// GELU by erf, as models write it: %r of %biased.
inline constexpr const char *kGeluEpilogue = R"(%half_root = arith.constant 0.707106769 : f32
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %reduced = arith.mulf %biased, %half_root : f32
    %erf = math.erf %reduced : f32
    %half_y = arith.mulf %biased, %half : f32
    %factor = arith.addf %erf, %one : f32
    %r = arith.mulf %half_y, %factor : f32)";

/// The same, finished as a layer does: zero point %z and scale %s of each row, sum %sums and scale %t of each column,
/// and a bias; |epilogue| makes %r of %biased.
inline std::string byte_layer(int64_t n, int64_t k, const std::string &attributes = "",
                              const std::string &epilogue = "") {
  return llvm::formatv(R"(
kernel.func @product(%x: tensor<?x{1}xi8> {{kernel.dims = array<i64: 0>}, %w: tensor<{2}x{3}x16x4xi8>,
                     %z: tensor<?xi8> {{kernel.dims = array<i64: 0>}, %sums: tensor<{0}xi32>,
                     %s: tensor<?xf32> {{kernel.dims = array<i64: 0>}, %t: tensor<{0}xf32>, %bias: tensor<{0}xf32>,
                     %m: index) -> (tensor<?x{0}xf32> {{kernel.dims = array<i64: 0>}) {{
  %y = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, {0}, {1})>)
      ins(%x, %w, %z, %sums, %s, %t, %bias : tensor<?x{1}xi8>, tensor<{2}x{3}x16x4xi8>, tensor<?xi8>, tensor<{0}xi32>,
          tensor<?xf32>, tensor<{0}xf32>, tensor<{0}xf32>)
      attributes {{indexing_maps = [affine_map<(m, n, k)[s0] -> (m, k)>, affine_map<(m, n, k)[s0] -> (0, 0, 0, 0)>,
                                   affine_map<(m, n, k)[s0] -> (m)>, affine_map<(m, n, k)[s0] -> (n)>,
                                   affine_map<(m, n, k)[s0] -> (m)>, affine_map<(m, n, k)[s0] -> (n)>,
                                   affine_map<(m, n, k)[s0] -> (n)>, affine_map<(m, n, k)[s0] -> (m, n)>],
                  packed_rhs = {0} : i64{4}} epilogue {{
  ^bb0(%acc: i32, %zero: i8, %sum: i32, %row: f32, %column: f32, %b: f32):
    %wide = arith.extui %zero : i8 to i32
    %shift = arith.muli %wide, %sum : i32
    %centred = arith.subi %acc, %shift : i32
    %f = arith.sitofp %centred : i32 to f32
    %scaled = arith.mulf %f, %row : f32
    %value = arith.mulf %scaled, %column : f32
    %biased = arith.addf %value, %b : f32
    {5}
    kernel.yield {6} : f32
  } : tensor<?x{0}xf32>
  kernel.return %y : tensor<?x{0}xf32>
})",
                       n, k, (n + 15) / 16, (k + 3) / 4, attributes, epilogue, epilogue.empty() ? "%biased" : "%r");
}

/// Floats x (rows, k) times packed bytes (k, n) with a scale for each column, and a bias.
inline std::string weight_product(int64_t n, int64_t k) {
  return llvm::formatv(R"(
kernel.func @product(%x: tensor<?x{1}xf32> {{kernel.dims = array<i64: 0>}, %w: tensor<{2}x{1}x16xi8>,
                     %t: tensor<{0}xf32>, %bias: tensor<{0}xf32>, %m: index)
    -> (tensor<?x{0}xf32> {{kernel.dims = array<i64: 0>}) {{
  %y = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, {0}, {1})>)
      ins(%x, %w, %t, %bias : tensor<?x{1}xf32>, tensor<{2}x{1}x16xi8>, tensor<{0}xf32>, tensor<{0}xf32>)
      attributes {{indexing_maps = [affine_map<(m, n, k)[s0] -> (m, k)>, affine_map<(m, n, k)[s0] -> (0, 0, 0)>,
                                   affine_map<(m, n, k)[s0] -> (n)>, affine_map<(m, n, k)[s0] -> (n)>,
                                   affine_map<(m, n, k)[s0] -> (m, n)>], packed_rhs = {0} : i64} epilogue {{
  ^bb0(%acc: f32, %scale: f32, %b: f32):
    %scaled = arith.mulf %acc, %scale : f32
    %r = arith.addf %scaled, %b : f32
    kernel.yield %r : f32
  } : tensor<?x{0}xf32>
  kernel.return %y : tensor<?x{0}xf32>
})",
                       n, k, (n + 15) / 16);
}

/// The same with weights of type |panels| and a scale for each block of |block| k in each column.
inline std::string block_product(int64_t n, int64_t k, int64_t block, const std::string &panels) {
  return llvm::formatv(R"(
kernel.func @product(%x: tensor<?x{1}xf32> {{kernel.dims = array<i64: 0>}, %w: {3},
                     %t: tensor<{2}x{4}x16xf32>, %bias: tensor<{0}xf32>, %m: index)
    -> (tensor<?x{0}xf32> {{kernel.dims = array<i64: 0>}) {{
  %y = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, {0}, {1})>)
      ins(%x, %w, %t, %bias : tensor<?x{1}xf32>, {3}, tensor<{2}x{4}x16xf32>, tensor<{0}xf32>)
      attributes {{indexing_maps = [affine_map<(m, n, k)[s0] -> (m, k)>, affine_map<(m, n, k)[s0] -> (0, 0, 0{6})>,
                                   affine_map<(m, n, k)[s0] -> (0, 0, 0)>, affine_map<(m, n, k)[s0] -> (n)>,
                                   affine_map<(m, n, k)[s0] -> (m, n)>],
                  packed_rhs = {0} : i64, block_size = {5} : i64} epilogue {{
  ^bb0(%acc: f32, %b: f32):
    %r = arith.addf %acc, %b : f32
    kernel.yield %r : f32
  } : tensor<?x{0}xf32>
  kernel.return %y : tensor<?x{0}xf32>
})",
                       n, k, (n + 15) / 16, panels, (k + block - 1) / block, block,
                       llvm::StringRef(panels).contains("x16x1x") ? ", 0" : "");
}

inline std::string half_byte_product(int64_t n, int64_t k, int64_t block) {
  return block_product(n, k, block, llvm::formatv("tensor<{0}x{1}x16xi8>", (n + 15) / 16, (k + 1) / 2));
}

inline std::string block_byte_product(int64_t n, int64_t k, int64_t block) {
  return block_product(n, k, block, llvm::formatv("tensor<{0}x{1}x16x1xi8>", (n + 15) / 16, k));
}

} // namespace heddle::conformance
