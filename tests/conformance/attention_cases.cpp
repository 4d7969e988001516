// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of 12 heads, of size 64 but for codes of 8 bits, for heddle-kernel-bench. All masks count the operations of
// the whole, so that times compare: a causal mask at twice the whole's per cent skips what it may.

#include "llvm/Support/FormatVariadic.h"

#include "tests/conformance/attention_text.h"
#include "tests/conformance/kernel_bench.h"
#include "tests/conformance/kernel_harness.h"

namespace heddle::conformance {
namespace {

constexpr int64_t kHeads = 12, kHeadSize = 64;

/// Only the 256 keys up to the query's own.
constexpr char kWindow256[] = R"(%past = arith.cmpi ule, %n, %m : index
    %w = arith.constant 256 : index
    %end = arith.addi %n, %w : index
    %near = arith.cmpi ugt, %end, %m : index
    %keep = arith.andi %past, %near : i1)";

attention_text make_text(const std::string &mask) {
  return {.key_heads = kHeads, .head_size = kHeadSize, .value_size = kHeadSize, .mask = mask, .fully_masked = "zero"};
}

bench_case make_case(const std::string &kind, const attention_text &text, std::vector<int64_t> sizes) {
  double columns = static_cast<double>(text.key_heads * (text.head_size + text.value_size));
  bench_case result;
  result.name = llvm::formatv("{0}/{1}x{2}x{3}", kind, sizes[0], sizes[1], sizes[2]);
  result.text = text.build();
  result.function = "attention";
  result.amount = 2.0 * columns * static_cast<double>(sizes[0] * sizes[1] * sizes[2]);
  result.sizes = std::move(sizes);
  return result;
}

/// A mask of ones for the first |kept| keys, as padding writes it.
bench_case make_padded(const std::string &kind, const std::vector<int64_t> &sizes, int64_t kept) {
  attention_text text = make_text(kPaddingMask);
  text.captures = {{"tensor<?x?xi64>", "0, 2", "b, n", "i64"}};
  text.score = kPaddingScore;
  bench_case result = make_case(kind, text, sizes);
  result.prepare = [=](std::vector<host_tensor> &inputs) {
    for (int64_t i = 0; i < inputs[3].size(); ++i)
      inputs[3].set_int(i, i % sizes[2] < kept);
  };
  return result;
}

/// One step of a decoder: few queries; reading keys and values, of |copies| sequences in turn, bounds it. The keys go
/// in parts, whose states |use| gives or takes.
bench_case make_step(const std::string &kind, attention_text::parts_use use, int64_t rows, size_t copies) {
  constexpr int64_t kKeys = 2048;
  attention_text text{.key_heads = kHeads, .head_size = kHeadSize, .value_size = kHeadSize};
  text.parts = use;
  bench_case result = make_case(kind, text, {1, rows, kKeys, kKeys / 256});
  result.bound = bench_case::limit::bytes;
  result.amount = 0;
  // Query, key, value, then the states.
  result.read_inputs = use == attention_text::parts_use::gives ? std::vector<unsigned>{1, 2} : std::vector<unsigned>{3};
  result.copies = copies;
  return result;
}

/// Floats beside codes of 8 bits, padded as encoders are. Per cent count against the peak of floats in both.
void add_codes(std::vector<bench_case> &result) {
  for (int64_t size : {32, 64, 128})
    for (const std::vector<int64_t> &sizes : {std::vector<int64_t>{1, 16, 16}, {1, 128, 128}, {1, 512, 512}})
      for (auto [name, qk_int8, pv_int8] : {std::tuple("", false, false),
                                            {"_qk_int8", true, false},
                                            {"_pv_int8", false, true},
                                            {"_int8", true, true}}) {
        attention_text text{
            .key_heads = kHeads, .head_size = size, .value_size = size, .qk_int8 = qk_int8, .pv_int8 = pv_int8};
        text.captures = {{"tensor<?x?xi64>", "0, 2", "b, n", "i64"}};
        text.score = kPaddingScore;
        text.mask = kPaddingMask;
        bench_case next = make_case(llvm::formatv("attention_head_size_{0}{1}", size, name), text, sizes);
        next.prepare = [has_scales = pv_int8](std::vector<host_tensor> &inputs) {
          for (int64_t i = 0; i < inputs.back().size(); ++i)
            inputs.back().set_int(i, 1);
          for (int64_t i = 0; has_scales && i < inputs[3].size(); ++i)
            inputs[3].set_float(i, 2.0 / 127);
        };
        next.targets = byte_targets();
        result.push_back(next);
      }
}

} // namespace

std::vector<bench_case> attention_cases() {
  std::vector<bench_case> result;
  add_codes(result);
  for (const std::vector<int64_t> &sizes :
       {std::vector<int64_t>{1, 128, 128}, {8, 128, 128}, {1, 512, 512}, {1, 2048, 2048}}) {
    result.push_back(make_case("attention", make_text(""), sizes));
    result.push_back(make_case("attention_causal", make_text(kCausal), sizes));
    result.push_back(make_case("attention_window256", make_text(kWindow256), sizes));
    result.push_back(make_padded("attention_padding_keeps_all", sizes, sizes[2]));
    result.push_back(make_padded("attention_padding_keeps_quarter", sizes, sizes[2] / 4));
    result.push_back(make_padded("attention_padding_keeps_none", sizes, 0));
  }
  using parts_use = attention_text::parts_use;
  for (int64_t rows : {1, 4, 8})
    result.push_back(make_step("attention_step", parts_use::gives, rows, 1));
  // A sequence's keys and values take 12.6 MB.
  result.push_back(make_step("attention_step_from_memory", parts_use::gives, 1, 16));
  result.push_back(make_step("attention_merge", parts_use::takes, 1, 1));
  return result;
}

} // namespace heddle::conformance
