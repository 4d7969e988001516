// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bytes, finished by zero points and scales, and products with weights of bytes, for heddle-kernel-bench.

#include "llvm/Support/FormatVariadic.h"

#include "tests/conformance/contract_text.h"
#include "tests/conformance/kernel_bench.h"
#include "tests/conformance/kernel_harness.h"

namespace heddle::conformance {
namespace {

/// More than any cache holds; a copy is read once before its turn comes again.
constexpr size_t kBeyondCaches = size_t(192) << 20;

bench_case make_case(const std::string &kind, int64_t m, int64_t n, int64_t k, const std::string &attributes) {
  bench_case result;
  result.name = llvm::formatv("{0}/{1}x{2}x{3}", kind, m, n, k);
  result.text = byte_layer(n, k, attributes);
  result.function = "product";
  result.sizes = {m};
  result.bound = bench_case::limit::byte_products;
  result.amount = 2.0 * static_cast<double>(m * n * k);
  result.read_inputs = {1};
  result.targets = byte_targets();
  return result;
}

bench_case make_reading_case(const std::string &kind, int64_t m, int64_t n, int64_t k, const std::string &attributes) {
  bench_case result = make_case(kind, m, n, k, attributes);
  result.bound = bench_case::limit::bytes;
  result.amount = 0;
  result.copies = kBeyondCaches / static_cast<size_t>(n * k) + 1;
  return result;
}

enum class weight_form { bytes, half_bytes, blocks_of_bytes };

std::string weight_text(weight_form form, int64_t n, int64_t k) {
  if (form == weight_form::bytes)
    return weight_product(n, k);
  return form == weight_form::half_bytes ? half_byte_product(n, k, /*block=*/32) : block_byte_product(n, k, 32);
}

/// Floats by narrow weights, which the arithmetic of floats bounds, or few rows by reading.
bench_case make_weight_case(weight_form form, int64_t m, int64_t n, int64_t k, bool from_memory) {
  std::string kind = form == weight_form::bytes        ? "byte_weights"
                     : form == weight_form::half_bytes ? "half_byte_weights"
                                                       : "block_byte_weights";
  bench_case result =
      from_memory ? make_reading_case(kind + "_from_memory", m, n, k, "") : make_case(kind, m, n, k, "");
  result.text = weight_text(form, n, k);
  result.targets.clear();
  if (!from_memory)
    result.bound = bench_case::limit::flops;
  if (form != weight_form::bytes)
    result.read_inputs = {1, 2};
  return result;
}

} // namespace

std::vector<bench_case> byte_contract_cases() {
  std::vector<bench_case> result;
  for (const char *safety : {"", ", pair_safe"}) {
    std::string kind = *safety ? "safe_byte_contract" : "byte_contract";
    for (auto [m, n, k] : {std::tuple(128, 384, 384),
                           {128, 1536, 384},
                           {128, 384, 1536},
                           {128, 768, 768},
                           {128, 3072, 768},
                           {128, 768, 3072},
                           {128, 1024, 4096},
                           {16, 768, 768},
                           {7, 768, 768},
                           {127, 767, 767}})
      result.push_back(make_case(kind, m, n, k, safety));
    for (auto [m, n, k] : {std::tuple(128, 1536, 384), {128, 3072, 768}}) {
      result.push_back(make_case(kind + "_gelu", m, n, k, safety));
      result.back().text = byte_layer(n, k, safety, kGeluEpilogue);
    }
    for (int64_t m : {1, 2, 4, 8, 16})
      result.push_back(make_reading_case(kind + "_from_memory", m, 768, 768, safety));
    for (auto [n, k] : {std::pair(3072, 768), {768, 3072}})
      result.push_back(make_reading_case(kind + "_from_memory", 1, n, k, safety));
  }
  result.push_back(make_case("signed_byte_contract", 128, 768, 768, ", signed_lhs"));
  for (weight_form form : {weight_form::bytes, weight_form::half_bytes, weight_form::blocks_of_bytes}) {
    for (auto [m, n, k] : {std::tuple(128, 768, 768), {128, 3072, 768}, {128, 768, 3072}, {16, 768, 768}})
      result.push_back(make_weight_case(form, m, n, k, /*from_memory=*/false));
    for (auto [m, n, k] : {std::tuple(1, 768, 768), {2, 768, 768}, {4, 768, 768}, {1, 3072, 768}, {1, 4096, 4096}})
      result.push_back(make_weight_case(form, m, n, k, /*from_memory=*/true));
  }
  return result;
}

} // namespace heddle::conformance
