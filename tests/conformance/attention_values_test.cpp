// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.attention whose weights and values multiply as codes of 8 bits. Sums of codes are exact, so that all targets
// give the same bits; against the interpreter f32's softmax and the joining of blocks are left.

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/conformance/attention_check.h"

namespace heddle::conformance {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

attention_text make_values(attention_text text) {
  text.pv_int8 = true;
  return text;
}

TEST(AttentionValues, TakeAnyHeadSize) {
  for (int64_t size : {1, 3, 16, 20, 32, 64, 80, 129})
    check_attention(make_values({.key_heads = 1, .head_size = 12, .value_size = size}), {{1, 1, 1}, {1, 7, 70}});
}

TEST(AttentionValues, TakeEveryLayoutMaskAndGroup) {
  for (const char *layout : {"bsnd", "bnsd", "transposed", "fused"})
    check_attention(make_values({.group = 2, .head_size = 22, .value_size = 24, .layout = layout, .mask = kCausal}),
                    {{1, 1, 1}, {2, 3, 3}, {2, 70, 70}});
  check_attention(make_values({.group = 5, .head_size = 16, .value_size = 20, .mask = kWindow, .scale_input = true}),
                  {{2, 3, 17}, {1, 40, 300}});
  attention_text padded = make_values({.head_size = 32, .value_size = 32, .mask = kPaddingMask, .qk_int8 = true});
  padded.captures = {{"tensor<?x?xi64>", "0, 2", "b, n", "i64"}};
  padded.score = kPaddingScore;
  change keep = [&](inputs &values, const std::vector<int64_t> &sizes) {
    std::swap(values[3], values[4]); // where set_padding looks for the mask
    set_padding(values, sizes);
    std::swap(values[3], values[4]);
  };
  check_attention(padded, {{6, 9, 300}}, {keep});
  padded.fully_masked = "zero";
  check_attention(padded, {{6, 9, 300}}, {keep});
}

TEST(AttentionValues, GoByBlocksOfTheirOwn) {
  // Later blocks score far less, more, and so little that they weigh nothing beside the first.
  change slopes = [](inputs &values, const std::vector<int64_t> &sizes) {
    const double scores[] = {3, 1, 8, -1000};
    for (int64_t n = 0; n < sizes[2]; ++n)
      values[4].set_float(n, scores[n / 256 % 4] + static_cast<double>(n % 3) / 4);
  };
  attention_text text = make_values({.key_heads = 1, .head_size = 8, .value_size = 24});
  text.captures = {{"tensor<?x?xf32>", "0, 2", "b, n", "f32"}};
  text.score = "%score = arith.addf %s, %c0 : f32";
  check_attention(text, {{1, 9, 255}, {1, 9, 256}, {1, 9, 1100}}, {slopes});
}

TEST(AttentionValues, SaturateAtTheirScales) {
  // One key alone weighs 127: its values come back as codes times scales.
  attention_text text = make_values({.key_heads = 1, .head_size = 8, .value_size = 8});
  for (const std::string &target : byte_targets()) {
    auto module = kernel_module::compile(text.build(), target);
    ASSERT_TRUE(module);
    auto values = random_inputs(module->func("attention"), {1, 1, 1}, 1);
    const double given[] = {0, 0.25, -0.5, 127, 127.5, 1e30, -128, -1e30};
    const double expected[] = {0, 0, 0, 127, 127, 127, -127, -127};
    for (int64_t i = 0; i < 8; ++i) {
      values[2].set_float(i, given[i] * 0.5);
      values[3].set_float(i, 0.5);
    }
    kernel_result result = module->run("attention", values, {1, 1, 1});
    for (int64_t i = 0; i < 8; ++i)
      EXPECT_EQ(result.outputs[0].get_float(i), expected[i] * 0.5) << target << " " << i;
  }
}

TEST(AttentionValues, ShowWhatIsNotFinite) {
  // In rows that see it; a query that isn't finite spoils its row.
  change marks = [](inputs &values, const std::vector<int64_t> &) {
    values[0].set_float(5 * 8 + 7, NAN);
    values[2].set_float(20 * 8 + 1, kInfinity);
    values[2].set_float(3 * 8 + 6, NAN);
    values[2].set_float(39 * 8, -kInfinity);
  };
  check_attention(make_values({.key_heads = 1, .head_size = 8, .value_size = 8, .mask = kCausal}), {{1, 30, 40}},
                  {marks});
  check_attention(make_values({.key_heads = 1, .head_size = 8, .value_size = 8}), {{1, 30, 300}}, {marks});
}

TEST(AttentionValues, AreTheSameBitsOnAllTargets) {
  for (bool qk_int8 : {false, true}) {
    attention_text text =
        make_values({.group = 2, .head_size = 24, .value_size = 40, .mask = kCausal, .qk_int8 = qk_int8});
    std::string first;
    for (const std::string &target : byte_targets()) {
      auto module = kernel_module::compile(text.build(), target);
      ASSERT_TRUE(module);
      kernel_result result = module->run("attention", make_inputs(text, *module, {2, 50, 600}, 3), {2, 50, 600});
      std::string bytes(reinterpret_cast<const char *>(result.outputs[0].bytes.data()), result.outputs[0].bytes.size());
      if (first.empty())
        first = bytes;
      EXPECT_TRUE(bytes == first) << target;
    }
  }
}

TEST(AttentionValues, IgnoreOtherRows) {
  for (bool qk_int8 : {false, true})
    check_rows_ignore_others(
        make_values({.group = 2, .head_size = 24, .value_size = 24, .mask = kCausal, .qk_int8 = qk_int8}));
}

TEST(AttentionValues, IgnorePaddingOnTheRight) {
  check_rows_ignore_padding(make_values({.head_size = 24, .value_size = 24}), {1, 16, 217, 258, 290});
}

} // namespace
} // namespace heddle::conformance
