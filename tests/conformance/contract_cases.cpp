// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of rows with packed weights and a bias, for heddle-kernel-bench.

#include "llvm/Support/FormatVariadic.h"

#include "tests/conformance/contract_text.h"
#include "tests/conformance/kernel_bench.h"

namespace heddle::conformance {
namespace {

/// More than any cache holds; a copy is read once before its turn comes again.
constexpr size_t kBeyondCaches = size_t(192) << 20;

bench_case make_case(const std::string &kind, int64_t m, int64_t n, int64_t k) {
  bench_case result;
  result.name = llvm::formatv("{0}/{1}x{2}x{3}", kind, m, n, k);
  result.text = packed_product(n, k);
  result.function = "product";
  result.sizes = {m};
  result.amount = 2.0 * static_cast<double>(m * n * k);
  result.read_inputs = {1};
  return result;
}

/// The same with reading its weights as the bound, out of the cache or of memory.
bench_case make_reading_case(int64_t m, int64_t n, int64_t k, bool from_memory) {
  bench_case result = make_case(from_memory ? "contract_from_memory" : "contract_reading", m, n, k);
  result.bound = bench_case::limit::bytes;
  result.amount = 0;
  result.copies = from_memory ? kBeyondCaches / (static_cast<size_t>(n * k) * sizeof(float)) + 1 : 1;
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
  for (int64_t m : {1, 2, 3, 4, 6, 7, 8, 12, 16})
    result.push_back(make_case("contract", m, 768, 768));
  // Beside the multiples of every tile.
  for (auto [m, n, k] : {std::tuple(127, 768, 768),
                         {129, 768, 768},
                         {121, 768, 768},
                         {13, 768, 768},
                         {9, 768, 768},
                         {128, 767, 768},
                         {128, 769, 768},
                         {128, 776, 768},
                         {128, 768, 767},
                         {128, 768, 769},
                         {128, 400, 384},
                         {128, 512, 512},
                         {127, 767, 767},
                         {129, 769, 769},
                         {127, 129, 131}})
    result.push_back(make_case("contract", m, n, k));
  for (int64_t m : {1, 2, 3, 4, 6, 8, 12, 16})
    for (bool from_memory : {false, true})
      result.push_back(make_reading_case(m, 768, 768, from_memory));
  for (auto [n, k] : {std::pair(3072, 768), {768, 3072}, {4096, 4096}})
    result.push_back(make_reading_case(1, n, k, /*from_memory=*/true));
  return result;
}

} // namespace heddle::conformance
