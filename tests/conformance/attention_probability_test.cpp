// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.attention with a region on probabilities: two passes over the keys, in which hidden keys weigh what the region
// gives for 0, rows without keys what it gives for the rule's number.

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/conformance/attention_check.h"

namespace heddle::conformance {
namespace {

const char *const kAll[] = {kSquared, kShifted, kRescued, kSignedCodes, kUnsignedCodes};

TEST(AttentionProbability, TakesAnyHeadSizeAndLayout) {
  for (auto [head_size, value_size] : {std::pair(4, 4), {64, 64}, {80, 33}})
    check_attention({.key_heads = 1, .head_size = head_size, .value_size = value_size, .probability = kSquared},
                    {{1, 1, 1}, {1, 7, 70}});
  for (const char *layout : {"bnsd", "transposed", "fused"}) {
    attention_text text{.group = 2, .head_size = 20, .value_size = 24, .layout = layout, .mask = kCausal};
    text.probability = kShifted;
    check_attention(text, {{1, 1, 1}, {2, 3, 3}, {2, 70, 70}});
  }
}

TEST(AttentionProbability, NeedsTheSumOfAllBlocksFirst) {
  for (const char *probability : {kSquared, kShifted}) {
    attention_text text = make_small("");
    text.probability = probability;
    text.lse = text.probabilities = true;
    check_attention(text, {{1, 130, 256}, {1, 5, 257}, {1, 66, 700}, {0, 4, 4}, {1, 0, 5}, {1, 3, 0}});
  }
}

TEST(AttentionProbability, SeesHiddenKeysAsZero) {
  for (const char *probability : kAll) {
    attention_text text = make_small(probability == kShifted ? kWindow : kCausal);
    text.probability = probability;
    check_attention(text, {{1, 40, 40}, {1, 9, 300}, {1, 100, 33}});
  }
}

TEST(AttentionProbability, DecidesWhatRowsWithoutKeysGive) {
  const std::pair<const char *, const char *> cases[] = {
      {kSquared, "zero"}, {kSquared, "nan"}, {kShifted, "literal"},     {kShifted, "zero"},
      {kShifted, "nan"},  {kRescued, "nan"}, {kSignedCodes, "literal"}, {kUnsignedCodes, "nan"}};
  for (auto [probability, rule] : cases) {
    attention_text text = make_small(kPaddingMask, rule);
    text.captures = {{"tensor<?x?xi64>", "0, 2", "b, n", "i64"}};
    text.score = kPaddingScore;
    text.probability = probability;
    text.lse = text.probabilities = true;
    check_attention(text, {{6, 9, 220}}, {set_padding});
  }
  // Rows that come too late for their window: no group of keys is looked at.
  for (const char *probability : {kSquared, kRescued}) {
    attention_text late = make_small(kWindow, "nan");
    late.probability = probability;
    check_attention(late, {{1, 100, 33}});
  }
}

TEST(AttentionProbability, ReadsNoKeyBehindTheLength) {
  change lengths = [](inputs &values, const std::vector<int64_t> &sizes) {
    const int64_t numbers[] = {0, 1, 64, 257, 1000, -4};
    for (int64_t b = 0; b < sizes[0]; ++b)
      values[3].set_int(b, numbers[b]);
  };
  for (auto [mask, probability] : {std::pair("", kShifted), {kCausal, kSquared}, {kCausal, kRescued}}) {
    attention_text text = make_small(mask, "nan");
    text.kv_len = text.lse = text.probabilities = true;
    text.probability = probability;
    check_attention(text, {{6, 20, 300}}, {lengths});
  }
}

TEST(AttentionProbability, ReadsCapturesAndIndices) {
  // A gate of each query, key and head, as dropout is; a number of the head; the key's own position.
  attention_text text{.group = 2, .head_size = 16, .value_size = 16, .mask = kCausal};
  text.captures = {{"tensor<?x2x?x?xf32>", "0, 1, 2", "b, g, m, n", "f32"}, {"tensor<4xf32>", "", "g * 2 + r", "f32"}};
  text.probability = R"(%gated = arith.mulf %p, %c0 : f32
    %i = arith.index_cast %n : index to i32
    %position = arith.sitofp %i : i32 to f32
    %step = arith.constant 0.001 : f32
    %more = arith.mulf %position, %step : f32
    %sum = arith.addf %gated, %more : f32
    %weight = arith.mulf %sum, %c1 : f32)";
  check_attention(text, {{2, 9, 40}, {1, 70, 300}});
}

/// Queries of 0, so that all keys that a row sees have the same probability.
void make_uniform(inputs &values, const std::vector<int64_t> &) {
  for (int64_t i = 0; i < values[0].size(); ++i)
    values[0].set_float(i, 0);
}

TEST(AttentionProbability, RoundsHalfToEvenAndSaturates) {
  // 128 keys: five times a probability is 2.5 steps, exactly, and a single key's 320 steps.
  attention_text text = make_small("");
  text.probability = R"(%step = arith.constant 0.015625 : f32
    %five = arith.constant 5.0 : f32
    %greatest = arith.constant 255.0 : f32
    %times = arith.mulf %p, %five : f32
    %steps = arith.divf %times, %step : f32
    %whole = math.roundeven %steps : f32
    %most = arith.minimumf %whole, %greatest : f32
    %code = arith.fptoui %most : f32 to i8
    %wide = arith.extui %code : i8 to i32
    %float = arith.sitofp %wide : i32 to f32
    %weight = arith.mulf %float, %step : f32)";
  check_attention(text, {{1, 3, 128}, {1, 2, 1}, {1, 2, 2}}, {make_uniform});
  for (const std::string &target : runnable_targets()) {
    auto module = kernel_module::compile(text.build(), target);
    ASSERT_TRUE(module);
    for (auto [keys, weight] : {std::pair(128, 2.0 / 64), {1, 255.0 / 64}, {2, 160.0 / 64}}) {
      inputs values = random_inputs(module->func("attention"), {1, 1, keys}, 1);
      make_uniform(values, {});
      for (int64_t i = 0; i < values[2].size(); ++i)
        values[2].set_float(i, 1);
      EXPECT_EQ(module->run("attention", values, {1, 1, keys}).outputs[0].get_float(0), keys * weight) << target;
    }
  }
}

TEST(AttentionProbability, PropagatesWhatIsNotANumber) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<change> values;
  for (unsigned tensor : {0, 1, 2})
    for (double value : {double(NAN), kInfinity, -kInfinity})
      values.push_back([=](inputs &tensors, const std::vector<int64_t> &) { tensors[tensor].set_float(17, value); });
  for (auto [probability, mask] :
       {std::pair(kSquared, kCausal), {kShifted, ""}, {kRescued, kCausal}, {kSignedCodes, ""}}) {
    attention_text text = make_small(mask);
    text.probability = probability;
    check_attention(text, {{1, 20, 20}, {1, 9, 150}}, values);
  }
}

} // namespace
} // namespace heddle::conformance
