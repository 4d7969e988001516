// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that move data, for heddle-kernel-bench: their bytes, read and written, as a fraction of what plain reading
// of their input reaches.

#include "llvm/Support/FormatVariadic.h"

#include "tests/conformance/kernel_bench.h"

namespace heddle::conformance {
namespace {

/// Residual, then layer norm with scale and bias, as it ends each half of an encoder's layer.
std::string residual_norm_text(int64_t width) {
  return llvm::formatv(R"(
kernel.func @norm(%x: tensor<?x{0}xf32> {{kernel.dims = array<i64: 0>}, %y: tensor<?x{0}xf32> {{kernel.dims = array<i64: 0>},
                  %g: tensor<{0}xf32>, %b: tensor<{0}xf32>, %n: index)
    -> (tensor<?x{0}xf32> {{kernel.dims = array<i64: 0>}) {{
  %z = kernel.rowwise sizes(%n) bounds(affine_map<()[s0] -> (s0, {0})>)
      ins(%x, %y, %g, %b : tensor<?x{0}xf32>, tensor<?x{0}xf32>, tensor<{0}xf32>, tensor<{0}xf32>)
      attributes {{indexing_maps = [affine_map<(i, j)[s0] -> (i, j)>, affine_map<(i, j)[s0] -> (i, j)>,
                                   affine_map<(i, j)[s0] -> (j)>, affine_map<(i, j)[s0] -> (j)>,
                                   affine_map<(i, j)[s0] -> (i, j)>],
                  combiners = [#kernel.combiner<sum>, #kernel.combiner<sum>]} regions {{
  ^bb0(%e: f32, %r: f32, %s: f32, %o: f32):
    %t = arith.addf %e, %r : f32
    kernel.yield %t : f32
  }, {{
  ^bb0(%e: f32, %r: f32, %s: f32, %o: f32, %sum: f32):
    %w = arith.constant {0}.0 : f32
    %mean = arith.divf %sum, %w : f32
    %t = arith.addf %e, %r : f32
    %d = arith.subf %t, %mean : f32
    %q = arith.mulf %d, %d : f32
    kernel.yield %q : f32
  }, {{
  ^bb0(%e: f32, %r: f32, %s: f32, %o: f32, %sum: f32, %sq: f32):
    %w = arith.constant {0}.0 : f32
    %eps = arith.constant 1.0e-5 : f32
    %mean = arith.divf %sum, %w : f32
    %var = arith.divf %sq, %w : f32
    %v = arith.addf %var, %eps : f32
    %inv = math.rsqrt %v : f32
    %t = arith.addf %e, %r : f32
    %d = arith.subf %t, %mean : f32
    %m = arith.mulf %d, %inv : f32
    %p = arith.mulf %m, %s : f32
    %q = arith.addf %p, %o : f32
    kernel.yield %q : f32
  } : tensor<?x{0}xf32>
  kernel.return %z : tensor<?x{0}xf32>
})",
                       width);
}

std::string softmax_text(int64_t width) {
  return llvm::formatv(R"(
#x = affine_map<(i, j)[s0] -> (i, j)>
kernel.func @softmax(%x: tensor<?x{0}xf32> {{kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?x{0}xf32> {{kernel.dims = array<i64: 0>}) {{
  %p = kernel.rowwise sizes(%n) bounds(affine_map<()[s0] -> (s0, {0})>) ins(%x : tensor<?x{0}xf32>)
      attributes {{indexing_maps = [#x, #x], combiners = [#kernel.combiner<maximum>, #kernel.combiner<sum>]} regions {{
  ^bb0(%e: f32):
    kernel.yield %e : f32
  }, {{
  ^bb0(%e: f32, %max: f32):
    %d = arith.subf %e, %max : f32
    %y = math.exp %d : f32
    kernel.yield %y : f32
  }, {{
  ^bb0(%e: f32, %max: f32, %sum: f32):
    %d = arith.subf %e, %max : f32
    %y = math.exp %d : f32
    %r = arith.divf %y, %sum : f32
    kernel.yield %r : f32
  } : tensor<?x{0}xf32>
  kernel.return %p : tensor<?x{0}xf32>
})",
                       width);
}

/// A map of one input; |body| makes %r of %e.
std::string map_text(int64_t width, const std::string &body) {
  return llvm::formatv(R"(
kernel.func @map(%x: tensor<?x{0}xf32> {{kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?x{0}xf32> {{kernel.dims = array<i64: 0>}) {{
  %y = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0, {0})>) ins(%x : tensor<?x{0}xf32>)
      attributes {{indexing_maps = [affine_map<(i, j)[s0] -> (i, j)>, affine_map<(i, j)[s0] -> (i, j)>]} {{
  ^bb0(%e: f32):
    {1}
    kernel.yield %r : f32
  } : tensor<?x{0}xf32>
  kernel.return %y : tensor<?x{0}xf32>
})",
                       width, body);
}

/// |streams|: tensors of rows x width that are read or written.
bench_case make_case(const std::string &kind, std::string text, const std::string &function, int64_t rows,
                     int64_t width, int64_t streams) {
  bench_case result;
  result.name = llvm::formatv("{0}/{1}x{2}", kind, rows, width);
  result.text = std::move(text);
  result.function = function;
  result.sizes = {rows};
  result.bound = bench_case::limit::bytes;
  result.amount = static_cast<double>(streams * rows * width) * sizeof(float);
  return result;
}

constexpr char kGelu[] = R"(%root = arith.constant 0.70710678 : f32
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %s = arith.mulf %e, %root : f32
    %f = math.erf %s : f32
    %g = arith.addf %f, %one : f32
    %h = arith.mulf %e, %g : f32
    %r = arith.mulf %h, %half : f32)";

} // namespace

std::vector<bench_case> rowwise_cases() {
  std::vector<bench_case> result;
  for (auto [rows, width] : {std::pair(128, 384), {128, 768}, {1024, 768}})
    result.push_back(make_case("residual_norm", residual_norm_text(width), "norm", rows, width, 3));
  for (auto [rows, width] : {std::pair(1536, 128), {1024, 512}})
    result.push_back(make_case("softmax", softmax_text(width), "softmax", rows, width, 2));
  result.push_back(make_case("map_gelu", map_text(3072, kGelu), "map", 128, 3072, 2));
  result.push_back(make_case("map_tanh", map_text(3072, "%r = math.tanh %e : f32"), "map", 128, 3072, 2));
  result.push_back(make_case("map_double", map_text(768, "%r = arith.addf %e, %e : f32"), "map", 128, 768, 2));
  return result;
}

} // namespace heddle::conformance
