// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of rows with packed weights and a bias, for heddle-kernel-bench.

#include "llvm/Support/FormatVariadic.h"

#include "tests/conformance/kernel_bench.h"

namespace heddle::conformance {
namespace {

/// More than any cache holds; a copy is read once before its turn comes again.
constexpr size_t kBeyondCaches = size_t(192) << 20;

std::string make_text(int64_t n, int64_t k) {
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
    kernel.yield %s : f32
  } : tensor<?x{0}xf32>
  kernel.return %y : tensor<?x{0}xf32>
})",
                       n, k, (n + 15) / 16);
}

bench_case make_case(const std::string &kind, int64_t m, int64_t n, int64_t k) {
  bench_case result;
  result.name = llvm::formatv("{0}/{1}x{2}x{3}", kind, m, n, k);
  result.text = make_text(n, k);
  result.function = "product";
  result.sizes = {m};
  result.amount = 2.0 * static_cast<double>(m * n * k);
  result.read_input = 1;
  return result;
}

} // namespace

std::vector<bench_case> contract_cases() {
  std::vector<bench_case> result;
  // Rows x N x K: encoders of width 384, 768 and 1024 at sequence length 128 and more.
  for (auto [m, n, k] : {std::tuple(128, 384, 384),
                         {128, 1536, 384},
                         {128, 384, 1536},
                         {128, 768, 768},
                         {128, 3072, 768},
                         {128, 768, 3072},
                         {1024, 384, 384},
                         {1024, 1536, 384},
                         {128, 1024, 1024},
                         {128, 1024, 4096}})
    result.push_back(make_case("contract", m, n, k));
  // Few rows and their cached weights, then every size a little off the multiples of tiles.
  for (int64_t m : {1, 2, 3, 4, 6, 7, 8, 12, 16})
    result.push_back(make_case("contract", m, 768, 768));
  for (auto [m, n, k] : {std::tuple(127, 768, 768),
                         {129, 768, 768},
                         {128, 767, 768},
                         {128, 769, 768},
                         {128, 768, 767},
                         {128, 768, 769},
                         {127, 129, 131}})
    result.push_back(make_case("contract", m, n, k));
  for (auto [m, n, k] : {std::tuple(1, 768, 768),
                         {1, 3072, 768},
                         {1, 768, 3072},
                         {1, 4096, 4096},
                         {2, 768, 768},
                         {4, 768, 768},
                         {8, 768, 768},
                         {16, 768, 768}}) {
    bench_case cold = make_case("contract_from_memory", m, n, k);
    cold.bound = bench_case::limit::bytes;
    size_t bytes = static_cast<size_t>((n + 15) / 16 * 16 * k) * sizeof(float);
    cold.amount = static_cast<double>(bytes);
    cold.copies = kBeyondCaches / bytes + 1;
    result.push_back(std::move(cold));
  }
  return result;
}

} // namespace heddle::conformance
