// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.attention whose queries and keys multiply as codes of 8 bits. Codes and their sums are the interpreter's
// exactly, on every target; what is left is f32's softmax, so the tolerance is that of floats.

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/conformance/attention_check.h"

namespace heddle::conformance {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

attention_text make_codes(attention_text text) {
  text.qk_int8 = true;
  return text;
}

TEST(AttentionCodes, TakeAnyHeadSize) {
  for (int64_t size : {1, 3, 4, 18, 32, 64, 80, 129})
    check_attention(make_codes({.key_heads = 1, .head_size = size, .value_size = 16}), {{1, 1, 1}, {1, 7, 70}});
  check_attention(make_codes({.key_heads = 1, .head_size = 1024, .value_size = 8}), {{1, 5, 33}});
}

TEST(AttentionCodes, TakeEveryLayoutMaskAndGroup) {
  for (const char *layout : {"bsnd", "bnsd", "transposed", "fused"})
    check_attention(
        make_codes({.group = 2, .head_size = 22, .value_size = 24, .layout = layout, .mask = kCausal, .lse = true}),
        {{1, 1, 1}, {2, 3, 3}, {2, 70, 70}});
  check_attention(make_codes({.group = 5, .head_size = 16, .value_size = 20, .mask = kWindow, .scale_input = true}),
                  {{2, 3, 17}, {1, 40, 300}});
  attention_text padded = make_codes({.head_size = 32, .value_size = 32, .mask = kPaddingMask, .probabilities = true});
  padded.captures = {{"tensor<?x?xi64>", "0, 2", "b, n", "i64"}};
  padded.score = kPaddingScore;
  check_attention(padded, {{6, 9, 300}}, {set_padding});
  check_attention(make_codes({.head_size = 8, .value_size = 8, .mask = kCausal, .probability = kSquared}),
                  {{1, 20, 70}});
}

TEST(AttentionCodes, KeepScalesOfTheirRows) {
  // Each row has another magnitude: nothing, what f32 holds least and most of, and a single outlier.
  change magnitudes = [](inputs &values, const std::vector<int64_t> &sizes) {
    const double factors[] = {1, 0, 1e-38, 1e-44, 1e15, 1e-3};
    for (unsigned i : {0, 1})
      for (int64_t row = 0; row < sizes[i + 1]; ++row)
        for (int64_t d = 0; d < 12; ++d) {
          int64_t place = row * 12 + d;
          values[i].set_float(place,
                              values[i].get_float(place) * factors[(row + i) % 6] * (row == 7 && d == 3 ? 50 : 1));
        }
  };
  check_attention(make_codes({.key_heads = 1, .head_size = 12, .value_size = 8}), {{1, 19, 37}}, {magnitudes});
}

TEST(AttentionCodes, ShowWhatIsNotFinite) {
  // A query that isn't finite spoils its row, a key all rows that see it; a hidden one none.
  change marks = [](inputs &values, const std::vector<int64_t> &) {
    values[0].set_float(2 * 8 + 3, NAN);
    values[0].set_float(5 * 8 + 7, -kInfinity);
    values[1].set_float(20 * 8 + 1, kInfinity);
  };
  check_attention(make_codes({.key_heads = 1, .head_size = 8, .value_size = 8, .mask = kCausal}), {{1, 30, 40}},
                  {marks});
}

/// The first |rows| queries of |all|, which holds |count| of them.
host_tensor first_rows(const host_tensor &all, int64_t rows) {
  std::vector<int64_t> dims = all.dims;
  dims[1] = rows;
  host_tensor result(all.type, dims);
  for (int64_t i = 0; i < result.size(); ++i)
    result.set_float(i, all.get_float(i));
  return result;
}

TEST(AttentionCodes, IgnoreOtherRows) {
  // Alone, in a few and by parts: the same bits.
  attention_text text = make_codes({.group = 2, .head_size = 24, .value_size = 24, .mask = kCausal});
  for (const std::string &target : byte_targets()) {
    auto whole = kernel_module::compile(text.build(), target);
    text.parts = attention_text::parts_use::gives;
    auto gives = kernel_module::compile(text.build(), target);
    text.parts = attention_text::parts_use::takes;
    auto takes = kernel_module::compile(text.build(), target);
    text.parts = attention_text::parts_use::none;
    ASSERT_TRUE(whole && gives && takes);
    auto inputs = random_inputs(whole->func("attention"), {1, 150, 300}, 3);
    kernel_result all = whole->run("attention", inputs, {1, 150, 300});
    for (int64_t rows : {1, 2, 7, 64, 149}) {
      auto fewer = inputs;
      fewer[0] = first_rows(inputs[0], rows);
      kernel_result part = whole->run("attention", fewer, {1, rows, 300});
      EXPECT_EQ(part.outputs[0].bytes, first_rows(all.outputs[0], rows).bytes) << target << " " << rows;
      fewer.push_back(gives->run("attention", fewer, {1, rows, 300, 2}, 1).outputs[0]);
      kernel_result merged = takes->run("attention", fewer, {1, rows, 300, 2}, 1);
      EXPECT_EQ(merged.outputs[0].bytes, part.outputs[0].bytes) << target << " by parts " << rows;
    }
  }
}

TEST(AttentionCodes, IgnorePaddingOnTheRight) {
  attention_text text = make_codes({.head_size = 24, .value_size = 24}), padded = text;
  padded.mask = "%keep = arith.andi %c0, %c0 : i1";
  padded.captures = {{"tensor<?x?xi1>", "0, 2", "b, n", "i1"}};
  for (const std::string &target : byte_targets()) {
    auto plain = kernel_module::compile(text.build(), target), masked = kernel_module::compile(padded.build(), target);
    ASSERT_TRUE(plain && masked);
    auto inputs = random_inputs(masked->func("attention"), {1, 13, 300}, 5);
    for (int64_t length : {1, 16, 217, 290}) {
      std::vector<host_tensor> shorter = {inputs[0], first_rows(inputs[1], length), first_rows(inputs[2], length)};
      kernel_result expected = plain->run("attention", shorter, {1, 13, length});
      for (double fill : {1e9, double(NAN)}) {
        auto longer = inputs;
        for (int64_t n = 0; n < 300; ++n)
          longer[3].set_int(n, n < length);
        for (unsigned i : {1, 2})
          for (int64_t place = shorter[i].size(); place < longer[i].size(); ++place)
            longer[i].set_float(place, fill);
        EXPECT_EQ(masked->run("attention", longer, {1, 13, 300}).outputs[0].bytes, expected.outputs[0].bytes)
            << target << " length " << length << " fill " << fill;
      }
    }
  }
}

} // namespace
} // namespace heddle::conformance
