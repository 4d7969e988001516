// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random attention kernels against plain loops, with NaN and infinities thrown into any operand: head sizes, groups,
// layouts, masks, biases, lengths, rules, further results. A seed that fails is named; it draws the same kernel again.

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "tests/conformance/attention_text.h"
#include "tests/conformance/kernel_harness.h"

namespace heddle::conformance {
namespace {

using generator = std::mt19937;

template <typename T> T pick(generator &random, std::initializer_list<T> values) {
  return *(values.begin() + std::uniform_int_distribution<size_t>(0, values.size() - 1)(random));
}

bool chance(generator &random, double probability) { return std::bernoulli_distribution(probability)(random); }

/// Adds a mask that reads capture |number|, or none.
void add_mask(attention_text &text, generator &random) {
  std::string c = "%c" + std::to_string(text.captures.size());
  switch (pick(random, {0, 1, 2, 3, 4, 5})) {
  case 0:
    return;
  case 1:
    text.mask = kCausal;
    return;
  case 2:
    text.mask = kWindow;
    return;
  case 3:
    text.captures.push_back({"tensor<?x?xi1>", "0, 2", "b, n", "i1"});
    text.mask = "%keep = arith.andi " + c + ", " + c + " : i1";
    return;
  case 4:
    text.captures.push_back({"tensor<?x?xi1>", "0, 2", "b, n", "i1"});
    text.mask = "%past = arith.cmpi ule, %n, %m : index\n    %keep = arith.andi " + c + ", %past : i1";
    return;
  default:
    text.captures.push_back({"tensor<?x?x?xi1>", "0, 1, 2", "b, m, n", "i1"});
    text.mask = "%keep = arith.andi " + c + ", " + c + " : i1";
  }
}

attention_text draw_text(generator &random) {
  attention_text text;
  text.key_heads = pick<int64_t>(random, {1, 2});
  text.group = pick<int64_t>(random, {1, 1, 3});
  text.head_size = pick<int64_t>(random, {8, 20, 33, 80, 128});
  text.value_size = chance(random, 0.5) ? text.head_size : pick<int64_t>(random, {1, 16, 20, 72});
  text.layout = pick<const char *>(random, {"bsnd", "bnsd", "transposed"});
  text.fully_masked = pick<const char *>(random, {"literal", "zero", "nan"});
  text.kv_len = chance(random, 0.3);
  text.scale_input = chance(random, 0.2);
  text.lse = chance(random, 0.6);
  text.probabilities = chance(random, 0.3);
  if (chance(random, 0.5)) {
    text.captures.push_back(chance(random, 0.5) ? attention_capture{"tensor<?x?x?xf32>", "0, 1, 2", "b, m, n", "f32"}
                                                : attention_capture{"tensor<?x?xf32>", "0, 2", "b, n", "f32"});
    text.score = "%score = arith.addf %s, %c0 : f32";
  }
  add_mask(text, random);
  // Not those that round: numbers that a NaN or an infinity disturbs stand anywhere, on ties as well.
  if (chance(random, 0.4))
    text.probability = pick<const char *>(random, {kShifted, kRescued, kSquared});
  return text;
}

/// Lengths around the number of keys, and a few floats that aren't finite.
void disturb(std::vector<host_tensor> &inputs, const attention_text &text, const std::vector<int64_t> &sizes,
             generator &random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (int64_t b = 0; text.kv_len && b < sizes[0]; ++b)
    inputs[3].set_int(b, std::uniform_int_distribution<int64_t>(-1, sizes[2] + 1)(random));
  for (host_tensor &tensor : inputs) {
    if (!mlir::isa<mlir::FloatType>(tensor.type) || tensor.size() < 2 || chance(random, 0.4))
      continue;
    for (int64_t count = pick<int64_t>(random, {1, 2, 5}); count > 0; --count)
      tensor.set_float(std::uniform_int_distribution<int64_t>(0, tensor.size() - 1)(random),
                       pick(random, {double(NAN), kInfinity, -kInfinity, -kInfinity}));
  }
}

class RandomAttention : public testing::TestWithParam<unsigned> {};

TEST_P(RandomAttention, GivesWhatPlainLoopsGive) {
  generator random(GetParam());
  attention_text text = draw_text(random);
  for (const std::string &target : runnable_targets()) {
    auto module = kernel_module::compile(text.build(), target);
    ASSERT_TRUE(module);
    generator draws(GetParam());
    for (unsigned draw = 0; draw < 6; ++draw) {
      std::vector<int64_t> sizes = {pick<int64_t>(draws, {1, 2}), pick<int64_t>(draws, {1, 3, 9}),
                                    pick<int64_t>(draws, {1, 17, 64, 90, 300})};
      auto inputs = random_inputs(module->func("attention"), sizes, draw);
      if (draw > 0)
        disturb(inputs, text, sizes, draws);
      std::string where = target + " seed " + std::to_string(GetParam()) + " draw " + std::to_string(draw) + "\n";
      kernel_result whole = module->run("attention", inputs, sizes);
      // Dot products of up to 128 terms in f32.
      expect_near(whole, interpret(module->func("attention"), inputs, sizes), 2e-5, where + text.build());
      kernel_result single = module->run("attention", inputs, sizes, 1);
      for (size_t i = 0; i < whole.outputs.size(); ++i)
        EXPECT_EQ(whole.outputs[i].bytes, single.outputs[i].bytes) << where;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomAttention, testing::Range(0u, 14u));

} // namespace
} // namespace heddle::conformance
