// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.attention on every target against plain loops: head sizes, layouts, masks, captures, lengths, rows without
// keys, numbers that aren't finite.

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/conformance/attention_check.h"

namespace heddle::conformance {
namespace {

const shapes kSmall = {{1, 1, 1}, {2, 3, 17}, {1, 7, 64}, {1, 13, 65}, {0, 4, 4}, {1, 0, 5}};

//===----------------------------------------------------------------------===//
// Shapes and layouts
//===----------------------------------------------------------------------===//

TEST(Attention, TakesAnyHeadSize) {
  for (auto [head_size, value_size] :
       {std::pair(4, 4), {20, 20}, {32, 33}, {33, 32}, {64, 64}, {80, 80}, {128, 128}, {1, 1}})
    check_attention({.key_heads = 1, .head_size = head_size, .value_size = value_size}, {{1, 1, 1}, {1, 7, 70}});
}

TEST(Attention, WalksOverManyBlocksOfKeys) {
  check_attention(make_small(""), {{1, 130, 256}, {1, 5, 257}, {1, 66, 700}});
}

TEST(Attention, SharesKeysWithinAGroup) {
  check_attention({.key_heads = 2, .group = 5, .head_size = 16, .value_size = 20, .mask = kCausal}, kSmall);
  check_attention({.key_heads = 1, .group = 3, .head_size = 8, .value_size = 8, .mask = kCausal}, {{1, 90, 300}});
}

TEST(Attention, ReadsEveryLayout) {
  for (const char *layout : {"bsnd", "bnsd", "transposed", "fused"}) {
    attention_text text{.group = 2, .head_size = 20, .value_size = 24, .layout = layout, .mask = kCausal};
    check_attention(text, {{1, 1, 1}, {2, 3, 3}, {1, 17, 17}, {2, 70, 70}});
  }
}

TEST(Attention, TakesTheScaleAsAnInput) { check_attention({.scale_input = true}, {{1, 5, 40}}); }

/// Head sizes and heads known at run time only; the query's head size in two parts, inner one first; one value column
/// after the other.
constexpr char kUnusual[] = R"(
#q = affine_map<(b, g, r, m, n, d, e)[s0, s1, s2, s3, s4] -> (m, r, d mod 4, d floordiv 4)>
#k = affine_map<(b, g, r, m, n, d, e)[s0, s1, s2, s3, s4] -> (n mod 3, n floordiv 3, d)>
#v = affine_map<(b, g, r, m, n, d, e)[s0, s1, s2, s3, s4] -> (e, n floordiv 3, n mod 3)>
#o = affine_map<(b, g, r, m, n, d, e)[s0, s1, s2, s3, s4] -> (e, m, r)>
kernel.func @attention(%q: tensor<?x?x4x?xf32> {kernel.dims = array<i64: 0, 2, 3>},
                       %k: tensor<3x?x?xf32> {kernel.dims = array<i64: 1, 5>},
                       %v: tensor<?x?x3xf32> {kernel.dims = array<i64: 4, 1>},
                       %m: index, %n3: index, %heads: index, %d4: index, %e: index, %d: index, %n: index)
    -> (tensor<?x?x?xf32> {kernel.dims = array<i64: 4, 0, 2>}) {
  %r = kernel.attention sizes(%m, %n, %heads, %d, %e)
      bounds(affine_map<()[s0, s1, s2, s3, s4] -> (1, 1, s2, s0, s1, s3, s4)>)
      ins(%q, %k, %v : tensor<?x?x4x?xf32>, tensor<3x?x?xf32>, tensor<?x?x3xf32>)
      attributes {indexing_maps = [#q, #k, #v, #o], scale = 0.5 : f32, fully_masked = "literal"} score {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<?x?x?xf32>
  kernel.return %r : tensor<?x?x?xf32>
})";

TEST(Attention, TakesSizesAndStridesOfAnyKind) {
  // m, keys / 3, heads, head size / 4, value size, head size, keys
  check_kernel(kUnusual, "attention", {{1, 1, 1, 1, 1, 4, 3}, {5, 20, 2, 5, 19, 20, 60}, {3, 100, 3, 8, 33, 32, 300}},
               6e-6);
}

//===----------------------------------------------------------------------===//
// Masks and scores
//===----------------------------------------------------------------------===//

TEST(Attention, SkipsWhatTheMaskHides) {
  for (auto [mask, rule] : {std::pair(kCausal, "literal"), {kWindow, "zero"}, {kWindow, "literal"}})
    check_attention(make_small(mask, rule), {{1, 40, 40}, {1, 300, 300}, {1, 9, 300}, {1, 300, 70}});
}

/// Only every third key, in blocks of 96 queries and keys.
constexpr char kDilatedBlocks[] = R"(%three = arith.constant 3 : index
    %zero = arith.constant 0 : index
    %rest = arith.remui %n, %three : index
    %third = arith.cmpi eq, %rest, %zero : index
    %size = arith.constant 96 : index
    %qb = arith.divui %m, %size : index
    %kb = arith.divui %n, %size : index
    %same = arith.cmpi eq, %qb, %kb : index
    %far = arith.constant 280 : index
    %late = arith.cmpi uge, %n, %far : index
    %either = arith.ori %same, %late : i1
    %keep = arith.andi %third, %either : i1)";

TEST(Attention, LeavesHolesBetweenGroupsOfKeys) { check_attention(make_small(kDilatedBlocks), {{1, 200, 400}}); }

const attention_capture kPadding = {"tensor<?x?xi1>", "0, 2", "b, n", "i1"};

TEST(Attention, ReadsPaddingMasks) {
  attention_text text = make_small("%keep = arith.andi %c0, %c0 : i1");
  text.captures = {kPadding};
  check_attention(text, {{2, 3, 17}, {3, 20, 300}, {1, 1, 1}});
  text.mask = "%past = arith.cmpi ule, %n, %m : index\n    %keep = arith.andi %c0, %past : i1";
  // Whole groups of padding on either side, and batches of nothing but padding.
  for (const char *rule : {"literal", "zero", "nan"}) {
    text.fully_masked = rule;
    change sides = [](inputs &values, const std::vector<int64_t> &sizes) {
      for (int64_t b = 0; b < sizes[0]; ++b)
        for (int64_t n = 0; n < sizes[2]; ++n)
          values[3].set_int(b * sizes[2] + n, b == 0 ? n < 100 : b == 1 ? n >= 150 : 0);
    };
    check_attention(text, {{3, 200, 300}}, {sides});
  }
}

TEST(Attention, ReadsPaddingAsExportersWriteIt) {
  // The rows of the batch without any key get what the fill says.
  attention_text text = make_small(kPaddingMask);
  text.captures = {{"tensor<?x?xi64>", "0, 2", "b, n", "i64"}};
  text.score = kPaddingScore;
  check_attention(text, {{6, 9, 300}, {2, 3, 17}}, {set_padding});
  // Selected: the key is kept where the mask isn't 0.
  text.mask = R"(%zero = arith.constant 0 : i64
    %hidden = arith.cmpi eq, %c0, %zero : i64
    %true = arith.constant true
    %keep = arith.xori %hidden, %true : i1)";
  text.score = R"(%zero = arith.constant 0 : i64
    %lowest = arith.constant 0xFF7FFFFF : f32
    %hidden = arith.cmpi eq, %c0, %zero : i64
    %score = arith.select %hidden, %lowest, %s : f32)";
  check_attention(text, {{6, 9, 300}}, {set_padding});
  // Under a causal mask, where padding on the left leaves many rows without keys.
  text.mask = std::string(kPaddingMask).substr(0, std::string(kPaddingMask).find("%keep")) +
              R"(%kept = arith.cmpi sgt, %c0, %zero : i64
    %past = arith.cmpi ule, %n, %m : index
    %keep = arith.andi %kept, %past : i1)";
  for (const char *rule : {"literal", "zero", "nan"}) {
    text.fully_masked = rule;
    text.lse = true;
    check_attention(text, {{6, 190, 300}}, {set_padding});
  }
}

TEST(Attention, AddsBiasesThatAreNoPadding) {
  // Integers other than 0 and 1 in the mask, and a second bias of the key alone that no mask reads.
  attention_text text = make_small(kPaddingMask);
  text.captures = {{"tensor<?x?xi64>", "0, 2", "b, n", "i64"}, {"tensor<?x?xf32>", "0, 2", "b, n", "f32"}};
  text.score = R"(%float = arith.sitofp %c0 : i64 to f32
    %some = arith.addf %s, %float : f32
    %score = arith.subf %some, %c1 : f32)";
  change positive = [](inputs &values, const std::vector<int64_t> &) {
    for (int64_t i = 0; i < values[3].size(); ++i)
      values[3].set_int(i, i < 128 ? 1 + i % 3 : i % 4);
  };
  check_attention(text, {{2, 5, 200}}, {positive});
}

TEST(Attention, ReadsMasksPerQueryAndHead) {
  attention_capture mask = {"tensor<?x2x?x?xi1>", "0, 1, 2", "b, g, m, n", "i1"};
  check_attention({.captures = {mask}, .mask = "%keep = arith.andi %c0, %c0 : i1"}, {{2, 9, 40}, {1, 20, 130}});
}

TEST(Attention, TakesBoundsFromCapturesOfABatch) {
  // Keys from the batch's offset on, as many as its window says.
  attention_capture window = {"tensor<?xi64>", "0", "b", "i64"}, offset = {"tensor<?xi32>", "0", "b", "i32"};
  attention_text text = make_small("", "zero");
  text.captures = {window, offset};
  text.mask = R"(%ni = arith.index_cast %n : index to i64
    %mi = arith.index_cast %m : index to i64
    %o = arith.extsi %c1 : i32 to i64
    %p = arith.addi %mi, %o : i64
    %past = arith.cmpi sle, %ni, %p : i64
    %low = arith.subi %p, %c0 : i64
    %near = arith.cmpi sgt, %ni, %low : i64
    %keep = arith.andi %past, %near : i1)";
  change bounds = [](inputs &values, const std::vector<int64_t> &sizes) {
    // Vulkan devices compute in 32 bits, and inputs beyond are refused.
    bool is_narrow = runnable_targets().front() == "vulkan";
    const int64_t most = is_narrow ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max();
    const int64_t windows[] = {40, most, -most + 999, 0};
    const int64_t offsets[] = {100, 0, -5, 3};
    for (int64_t b = 0; b < sizes[0]; ++b)
      values[3].set_int(b, windows[b]), values[4].set_int(b, offsets[b]);
  };
  check_attention(text, {{4, 30, 200}, {4, 300, 300}}, {bounds});
}

TEST(Attention, AddsBiases) {
  attention_capture bias = {"tensor<?x2x?x?xf32>", "0, 1, 2", "b, g, m, n", "f32"};
  check_attention({.captures = {bias}, .score = "%score = arith.addf %s, %c0 : f32"}, {{2, 5, 33}, {1, 20, 300}});
}

TEST(Attention, CapsScoresBeforeTheMask) {
  attention_text text{.mask = kCausal};
  text.score = R"(%cap = arith.constant 5.0 : f32
    %small = arith.divf %s, %cap : f32
    %bent = math.tanh %small : f32
    %score = arith.mulf %bent, %cap : f32)";
  check_attention(text, {{1, 30, 30}});
}

/// A bias by bucket of a data-dependent distance, read through a checked index.
constexpr char kTable[] = R"(
#q = affine_map<(b, g, r, m, n, d, e)[s0, s1] -> (m, d)>
#k = affine_map<(b, g, r, m, n, d, e)[s0, s1] -> (n, d)>
#v = affine_map<(b, g, r, m, n, d, e)[s0, s1] -> (n, e)>
#p = affine_map<(b, g, r, m, n, d, e)[s0, s1] -> (n)>
#o = affine_map<(b, g, r, m, n, d, e)[s0, s1] -> (m, e)>
kernel.func @attention(%q: tensor<?x8xf32> {kernel.dims = array<i64: 0>}, %k: tensor<?x8xf32> {kernel.dims = array<i64: 1>},
                       %v: tensor<?x8xf32> {kernel.dims = array<i64: 1>}, %p: tensor<?xi64> {kernel.dims = array<i64: 1>},
                       %table: tensor<20xf32>, %m: index, %n: index)
    -> (tensor<?x8xf32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.attention sizes(%m, %n) bounds(affine_map<()[s0, s1] -> (1, 1, 1, s0, s1, 8, 8)>)
      ins(%q, %k, %v, %p : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xi64>)
      attributes {indexing_maps = [#q, #k, #v, #p, #o], scale = 0.5 : f32, fully_masked = "zero"} score {
  ^bb0(%s: f32, %bucket: i64):
    %bias = kernel.gather %table[%bucket] {site = 0 : i64} : tensor<20xf32>, i64 -> f32
    %score = arith.addf %s, %bias : f32
    kernel.yield %score : f32
  } mask {
  ^bb0(%bucket: i64):
    %zero = arith.constant 0 : i64
    %keep = arith.cmpi sge, %bucket, %zero : i64
    kernel.yield %keep : i1
  } : tensor<?x8xf32>
  kernel.return %r : tensor<?x8xf32>
})";

TEST(Attention, ReadsTables) {
  check_kernel(kTable, "attention", {{3, 5}, {20, 300}}, 6e-6);
  for (const std::string &target : runnable_targets()) {
    auto module = kernel_module::compile(kTable, target);
    ASSERT_TRUE(module);
    inputs values = random_inputs(module->func("attention"), {7, 40}, 1);
    values[3].set_int(33, 21);
    kernel_result result = module->run("attention", values, {7, 40});
    ASSERT_TRUE(result.error.has_value()) << target;
    EXPECT_EQ(result.error->code, HEDDLE_KERNEL_INDEX_OUT_OF_RANGE);
    EXPECT_EQ(result.error->value, 21);
    EXPECT_EQ(result.error->limit, 20);
  }
}

//===----------------------------------------------------------------------===//
// Rows without keys, lengths, further results
//===----------------------------------------------------------------------===//

TEST(Attention, FollowsTheRuleOfRowsWithoutKeys) {
  attention_capture keys = {"tensor<?x?xi1>", "1, 2", "m, n", "i1"};
  for (const char *rule : {"literal", "zero", "nan"}) {
    attention_text text = make_small("%keep = arith.andi %c0, %c0 : i1", rule);
    text.captures = {keys};
    text.lse = text.probabilities = true;
    change empty = [](inputs &values, const std::vector<int64_t> &sizes) {
      for (int64_t m = 0; m < sizes[1]; m += 3)
        for (int64_t n = 0; n < sizes[2]; ++n)
          values[3].set_int(m * sizes[2] + n, 0);
    };
    check_attention(text, {{1, 9, 40}, {1, 20, 300}}, {empty});
    // Rows that come too late for their window.
    check_attention(make_small(kWindow, rule), {{1, 100, 33}});
  }
}

TEST(Attention, GivesWeightsAndTheirLogarithm) {
  for (const char *mask : {"", kCausal})
    check_attention({.group = 2, .head_size = 16, .value_size = 16, .mask = mask, .lse = true, .probabilities = true},
                    {{2, 5, 33}, {1, 70, 300}, {1, 3, 0}});
}

TEST(Attention, ReadsNoKeyBehindItsLength) {
  change lengths = [](inputs &values, const std::vector<int64_t> &sizes) {
    const int64_t numbers[] = {0, 1, 64, 257, 1000, -4};
    for (int64_t b = 0; b < sizes[0]; ++b)
      values[3].set_int(b, numbers[b]);
  };
  for (auto [mask, rule] : {std::pair("", "literal"), {"", "nan"}, {kCausal, "literal"}, {kCausal, "zero"}}) {
    attention_text text = make_small(mask, rule);
    text.kv_len = text.lse = text.probabilities = true;
    check_attention(text, {{6, 20, 300}}, {lengths});
  }
}

//===----------------------------------------------------------------------===//
// Numbers that aren't finite
//===----------------------------------------------------------------------===//

TEST(Attention, AddsFillsOfAnySize) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  attention_text text = make_small("");
  text.captures = {{"tensor<?x?xf32>", "0, 2", "b, n", "f32"}};
  text.score = "%score = arith.addf %s, %c0 : f32";
  text.lse = true;
  std::vector<change> fills;
  for (double fill : {-kInfinity, -double(std::numeric_limits<float>::max()), -1e9, -1e4})
    fills.push_back([fill](inputs &values, const std::vector<int64_t> &sizes) {
      // A batch of nothing but fill only where the fill swallows the score in double precision too.
      for (int64_t b = 0; b < sizes[0]; ++b)
        for (int64_t n = 0; n < sizes[2]; ++n)
          values[3].set_float(b * sizes[2] + n, n % 3 == b || (b == 2 && fill < -1e30) ? fill : 0.0);
    });
  check_attention(text, {{3, 5, 33}, {3, 20, 300}}, fills);
}

TEST(Attention, PropagatesWhatIsNotANumber) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<change> values;
  for (unsigned tensor : {0, 1, 2})
    for (double value : {double(NAN), kInfinity, -kInfinity})
      values.push_back([=](inputs &tensors, const std::vector<int64_t> &) { tensors[tensor].set_float(17, value); });
  for (const char *mask : {"", kCausal})
    check_attention(make_small(mask), {{1, 20, 20}, {1, 9, 300}}, values);
}

} // namespace
} // namespace heddle::conformance
