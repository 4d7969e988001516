// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an attention row gives depends on its own keys alone, bit for bit: not on the number of rows, the batch, padding
// on the right, or what stands in it.

#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "tests/conformance/attention_check.h"

namespace heddle::conformance {
namespace {

constexpr int64_t kHeads = 2, kGroup = 2, kHeadSize = 24;

attention_text make_text(const std::string &mask) {
  return {.key_heads = kHeads, .group = kGroup, .head_size = kHeadSize, .value_size = kHeadSize, .mask = mask};
}

TEST(AttentionInvariance, IgnoresTheNumberOfRows) {
  for (const std::string &target : runnable_targets())
    for (auto [mask, probability] : {std::pair("", ""), {kCausal, ""}, {kWindow, ""}, {kCausal, kShifted}}) {
      attention_text text = make_text(mask);
      text.probability = probability;
      auto module = kernel_module::compile(text.build(), target);
      ASSERT_TRUE(module);
      auto inputs = random_inputs(module->func("attention"), {1, 150, 300}, 3);
      kernel_result all = module->run("attention", inputs, {1, 150, 300});
      for (int64_t rows : {1, 2, 5, 6, 13, 64, 149}) {
        auto fewer = inputs;
        fewer[0] = first_of(inputs[0], 1, rows);
        kernel_result part = module->run("attention", fewer, {1, rows, 300});
        EXPECT_EQ(part.outputs[0].bytes, first_of(all.outputs[0], 1, rows).bytes) << target << " " << mask << rows;
      }
    }
}

TEST(AttentionInvariance, IgnoresTheBatch) {
  for (const std::string &target : runnable_targets()) {
    auto module = kernel_module::compile(make_text(kCausal).build(), target);
    ASSERT_TRUE(module);
    auto inputs = random_inputs(module->func("attention"), {3, 40, 70}, 4);
    kernel_result all = module->run("attention", inputs, {3, 40, 70});
    auto alone = inputs;
    for (host_tensor &tensor : alone)
      tensor = first_of(tensor, 0, 1);
    kernel_result part = module->run("attention", alone, {1, 40, 70});
    EXPECT_EQ(part.outputs[0].bytes, first_of(all.outputs[0], 0, 1).bytes) << target;
  }
}

/// Keys from |length| on: |fill|.
void fill_behind(host_tensor &tensor, int64_t length, double fill) {
  int64_t row = kHeads * kHeadSize;
  for (int64_t i = length * row; i < tensor.size(); ++i)
    tensor.set_float(i, fill);
}

/// Keys that a mask or a length hides change no bit, whatever stands in them.
void check_padding(const std::string &probability) {
  attention_text text = make_text(""), padded = make_text("%keep = arith.andi %c0, %c0 : i1"), measured = text;
  padded.captures = {{"tensor<?x?xi1>", "0, 2", "b, n", "i1"}};
  measured.kv_len = true;
  text.probability = padded.probability = measured.probability = probability;
  for (const std::string &target : runnable_targets()) {
    auto plain = kernel_module::compile(text.build(), target);
    auto by_mask = kernel_module::compile(padded.build(), target);
    auto by_length = kernel_module::compile(measured.build(), target);
    ASSERT_TRUE(plain && by_mask && by_length);
    auto inputs = random_inputs(plain->func("attention"), {1, 13, 300}, 5);
    for (int64_t length : {1, 16, 217, 256, 290}) {
      auto shorter = inputs;
      shorter[1] = first_of(inputs[1], 1, length);
      shorter[2] = first_of(inputs[2], 1, length);
      kernel_result expected = plain->run("attention", shorter, {1, 13, length});
      for (double fill : {1.0, double(NAN), std::numeric_limits<double>::infinity()}) {
        auto longer = inputs;
        fill_behind(longer[1], length, fill);
        fill_behind(longer[2], length, fill);
        longer.push_back(host_tensor(mlir::IntegerType::get(inputs[0].type.getContext(), 64), {1}));
        longer.back().set_int(0, length);
        EXPECT_EQ(by_length->run("attention", longer, {1, 13, 300}).outputs[0].bytes, expected.outputs[0].bytes)
            << target << " length " << length << " fill " << fill;
        longer.back() = host_tensor(mlir::IntegerType::get(inputs[0].type.getContext(), 1), {1, 300});
        for (int64_t n = 0; n < length; ++n)
          longer.back().set_int(n, 1);
        EXPECT_EQ(by_mask->run("attention", longer, {1, 13, 300}).outputs[0].bytes, expected.outputs[0].bytes)
            << target << " mask of " << length << " fill " << fill;
      }
    }
  }
}

TEST(AttentionInvariance, IgnoresPaddingOnTheRightWhateverStandsInIt) { check_padding(""); }

TEST(AttentionInvariance, IgnoresPaddingThatProbabilityRegionsWeighAsNothing) { check_padding(kSignedCodes); }

//===----------------------------------------------------------------------===//
// Parts of the keys
//===----------------------------------------------------------------------===//

using change = std::function<void(std::vector<host_tensor> &)>;

/// Runs |text| whole and by parts: states that another kernel computes, item by item from the last to the first, and
/// merges. Both must give the same bits, and what the interpreter gives. |has_exact_states|: no value that isn't finite
/// weighs 0, which states may show.
void check_parts(attention_text text, const std::vector<int64_t> &sizes, const change &apply = nullptr,
                 bool has_exact_states = true) {
  std::vector<int64_t> with_parts = sizes, without_parts = sizes;
  with_parts.push_back((sizes[2] + 255) / 256);
  without_parts.push_back(0);
  for (const std::string &target : runnable_targets()) {
    auto plain = kernel_module::compile(text.build(), target);
    text.parts = attention_text::parts_use::gives;
    auto gives = kernel_module::compile(text.build(), target);
    text.parts = attention_text::parts_use::takes;
    auto takes = kernel_module::compile(text.build(), target);
    text.parts = attention_text::parts_use::none;
    ASSERT_TRUE(plain && gives && takes);
    auto inputs = random_inputs(plain->func("attention"), sizes, 7);
    if (apply)
      apply(inputs);
    std::string where = target + " " + text.mask + text.fully_masked + " keys " + std::to_string(sizes[2]);
    kernel_result expected = plain->run("attention", inputs, sizes);
    expect_near(expected, interpret(plain->func("attention"), inputs, sizes), 6e-6, where);

    kernel_result states = gives->run("attention", inputs, with_parts, 1);
    if (has_exact_states)
      expect_near(states, interpret(gives->func("attention"), inputs, with_parts), 6e-6, where + ", states");
    auto merged_inputs = inputs;
    auto place = merged_inputs.begin() + 3 + text.kv_len + text.scale_input;
    merged_inputs.insert(place, states.outputs[0]);
    kernel_result merged = takes->run("attention", merged_inputs, with_parts, 1);
    for (size_t i = 0; i < expected.outputs.size(); ++i)
      EXPECT_EQ(merged.outputs[i].bytes, expected.outputs[i].bytes) << where << ", result " << i;
    // Without parts the second kernel goes through the keys itself.
    *(merged_inputs.begin() + 3 + text.kv_len + text.scale_input) = host_tensor(
        inputs[0].type, input_dims(takes->func("attention"), 3 + text.kv_len + text.scale_input, without_parts));
    kernel_result alone = takes->run("attention", merged_inputs, without_parts);
    for (size_t i = 0; i < expected.outputs.size(); ++i)
      EXPECT_EQ(alone.outputs[i].bytes, expected.outputs[i].bytes) << where << ", alone, result " << i;
  }
}

TEST(AttentionParts, MergeToTheSameBits) {
  for (int64_t keys : {1, 256, 257, 700})
    check_parts(make_text(""), {2, 3, keys});
  check_parts({.key_heads = 1, .head_size = 20, .value_size = 33, .mask = kWindow, .lse = true}, {1, 2, 600});
  check_parts({.key_heads = 1, .group = 5, .head_size = 16, .value_size = 8, .lse = true, .probabilities = true},
              {1, 4, 520});
  attention_text offset = make_text(R"(%far = arith.constant 500 : index
    %p = arith.addi %m, %far : index
    %keep = arith.cmpi ule, %n, %p : index)");
  offset.scale_input = true;
  check_parts(offset, {1, 16, 700});
}

TEST(AttentionParts, LeaveRowsWithoutKeysToTheirRule) {
  for (const char *rule : {"literal", "zero", "nan"}) {
    attention_text text = make_text(kPaddingMask);
    text.captures = {{"tensor<?x?xi64>", "0, 2", "b, n", "i64"}};
    text.score = kPaddingScore;
    text.fully_masked = rule;
    text.lse = text.kv_len = true;
    check_parts(text, {4, 2, 600}, [](std::vector<host_tensor> &inputs) {
      const int64_t lengths[] = {600, 257, 0, 500};
      for (int64_t b = 0; b < 4; ++b) {
        inputs[3].set_int(b, lengths[b]);
        for (int64_t n = 0; n < 600; ++n)
          inputs[4].set_int(b * 600 + n, b == 0 ? n >= 300 : b == 1 ? n < 40 : b == 2);
      }
    });
  }
}

TEST(AttentionParts, CarryWhatIsNotANumber) {
  // Values that aren't finite where no key is seen, where a key weighs 0 in a part or to the whole, and where it
  // counts; scores that are infinite, or NaN, in one part alone.
  attention_text text = make_text("%keep = arith.andi %c0, %c0 : i1");
  text.captures = {{"tensor<?x?xi1>", "0, 2", "b, n", "i1"}, {"tensor<?x?xf32>", "0, 2", "b, n", "f32"}};
  text.score = "%score = arith.addf %s, %c1 : f32";
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  check_parts(
      text, {6, 2, 600},
      [](std::vector<host_tensor> &inputs) {
        int64_t row = kHeads * kHeadSize;
        for (int64_t b = 0; b < 6; ++b)
          for (int64_t n = 0; n < 600; ++n) {
            inputs[3].set_int(b * 600 + n, n != 300);
            inputs[4].set_float(b * 600 + n, b == 1 && n < 256 ? -1000.0 : 0.0);
          }
        inputs[2].set_float((0 * 600 + 300) * row, NAN);
        inputs[2].set_float((1 * 600 + 7) * row, kInfinity);
        inputs[2].set_float((2 * 600 + 580) * row, -kInfinity);
        inputs[4].set_float(3 * 600 + 40, kInfinity);
        inputs[4].set_float(4 * 600 + 280, -kInfinity);
        inputs[1].set_float((5 * 600 + 290) * row, NAN);
      },
      /*has_exact_states=*/false);
}

TEST(AttentionParts, ReadNoKeysAgain) {
  // The second kernel gives the same whatever became of the keys: it has their states.
  attention_text text = make_text("");
  text.parts = attention_text::parts_use::gives;
  auto gives = kernel_module::compile(text.build(), runnable_targets().front());
  text.parts = attention_text::parts_use::takes;
  auto takes = kernel_module::compile(text.build(), runnable_targets().front());
  ASSERT_TRUE(gives && takes);
  const std::vector<int64_t> sizes = {1, 1, 600, 3};
  auto inputs = random_inputs(gives->func("attention"), sizes, 8);
  inputs.push_back(gives->run("attention", inputs, sizes).outputs[0]);
  kernel_result expected = takes->run("attention", inputs, sizes);
  fill_behind(inputs[1], 0, NAN);
  fill_behind(inputs[2], 0, NAN);
  EXPECT_EQ(takes->run("attention", inputs, sizes).outputs[0].bytes, expected.outputs[0].bytes);
}

} // namespace
} // namespace heddle::conformance
