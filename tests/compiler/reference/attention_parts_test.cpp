// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention in running form equals the whole one however keys are divided; and what surrounds attention.

#include "tests/compiler/reference/evaluator_test.h"

namespace heddle::reference {
namespace {

const double kInf = INFINITY;
const double kNan = NAN;
using Ints = std::vector<int64_t>;

std::vector<double> noise(int64_t count, double seed) {
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = 3 * std::sin(seed + 1.7 * i);
  return values;
}

class AttentionPartsTest : public EvaluatorTest {
protected:
  // Two batches of two heads of size 2, three queries; the mask keeps key j for a query at i where j >= |first| + i,
  // so |first| decides how many rows keep none of the six keys.
  std::string getMask(int64_t first) {
    return R"(mask {
    ^bb0(%b0: index, %h: index, %i: index, %j: index):
      %first = arith.constant )" +
           std::to_string(first) + R"( : index
      %from = arith.addi %first, %i : index
      %keep = arith.cmpi uge, %j, %from : index
      attn.yield %keep : i1
    })";
  }

  // Output and lse of all six keys at once.
  std::vector<HostTensor> runWhole(const std::string &mask, const std::string &rule) {
    return runOp("attn.sdpa %a, %b, %c kv_len(%d : tensor<2xi64>) " + mask + getAttributes(rule) +
                     " : tensor<2x3x2x2xf32>, tensor<2x6x2x2xf32>, tensor<2x6x2x2xf32> -> tensor<2x3x2x2xf32>"
                     " lse tensor<2x2x3xf32>",
                 {query, makeFloats({2, 6, 2, 2}, keys), makeFloats({2, 6, 2, 2}, values), lengths},
                 "tensor<2x3x2x2xf32>, tensor<2x2x3xf32>");
  }

  // The same from keys [0, cut) and [cut, 6), one after the other, or apart and then merged.
  std::vector<HostTensor> runParts(int64_t cut, bool apart, const std::string &mask, const std::string &rule) {
    std::string left = "tensor<2x" + std::to_string(cut) + "x2x2xf32>";
    std::string right = "tensor<2x" + std::to_string(6 - cut) + "x2x2xf32>";
    auto online = [&](const std::string &names, const std::string &kv, const std::string &type, const std::string &at,
                      const std::string &state) {
      return names + " = attn.online_sdpa %q, " + kv + " kv_len(%len : tensor<2xi64>) kv_offset(%" + at +
             " : tensor<i64>) outs(" + state + ") " + mask + getAttributes(rule) + " : tensor<2x3x2x2xf32>, " + type +
             ", " + type + " -> tensor<2x3x2x2xf32>, tensor<2x2x3xf32>\n";
    };
    std::string text = "func.func @main(%q: tensor<2x3x2x2xf32>, %k0: " + left + ", %v0: " + left + ", %k1: " + right +
                       ", %v1: " + right + ", %len: tensor<2xi64>, %cut: tensor<i64>, %zero: tensor<i64>)" +
                       " -> (tensor<2x3x2x2xf32>, tensor<2x2x3xf32>) {\n" +
                       "%a0 = nn.constant dense<0.0> : tensor<2x3x2x2xf32>\n"
                       "%m0 = nn.constant dense<0xFF800000> : tensor<2x2x3xf32>\n"
                       "%s0 = nn.constant dense<0.0> : tensor<2x2x3xf32>\n";
    text += online("%a1, %m1, %s1", "%k0, %v0", left, "zero", "%a0, %m0, %s0");
    text += online("%a2, %m2, %s2", "%k1, %v1", right, "cut", apart ? "%a0, %m0, %s0" : "%a1, %m1, %s1");
    if (apart)
      text += "%a3, %m3, %s3 = attn.merge_partials (%a2, %m2, %s2), (%a1, %m1, %s1)"
              " : tensor<2x3x2x2xf32>, tensor<2x2x3xf32>\n";
    std::string last = apart ? "3" : "2";
    text += "%o, %lse = attn.finalize_partials %a" + last + ", %m" + last + ", %s" + last +
            " {fully_masked = #attn<fully_masked " + rule +
            ">} : tensor<2x3x2x2xf32>, tensor<2x2x3xf32> -> tensor<2x3x2x2xf32> lse tensor<2x2x3xf32>\n"
            "return %o, %lse : tensor<2x3x2x2xf32>, tensor<2x2x3xf32>\n}\n";
    auto slice = [&](const std::vector<double> &all, int64_t from, int64_t to) {
      std::vector<double> part;
      for (int64_t b = 0; b < 2; ++b)
        part.insert(part.end(), all.begin() + (b * 6 + from) * 4, all.begin() + (b * 6 + to) * 4);
      return makeFloats({2, to - from, 2, 2}, part);
    };
    return runModule(text, {query, slice(keys, 0, cut), slice(values, 0, cut), slice(keys, cut, 6),
                            slice(values, cut, 6), lengths, makeInts({}, {cut}), makeInts({}, {0})});
  }

  std::string getAttributes(const std::string &rule) {
    return "{q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.7 : f32, fully_masked = #attn<fully_masked " +
           rule + ">}";
  }

  std::vector<double> keys = noise(2 * 6 * 2 * 2, 2), values = noise(2 * 6 * 2 * 2, 3);
  HostTensor query = makeFloats({2, 3, 2, 2}, noise(2 * 3 * 2 * 2, 1));
  HostTensor lengths = makeInts({2}, {6, 5});
};

TEST_F(AttentionPartsTest, PartsOfTheKeysGiveTheWhole) {
  // first 5: of three rows the first keeps one key in the first batch, the others none; so every rule is met.
  for (std::string rule : {"literal", "zero", "nan"})
    for (int64_t first : {0, 3, 5})
      for (int64_t cut : {1, 3, 5})
        for (bool apart : {false, true}) {
          SCOPED_TRACE(rule + " first " + std::to_string(first) + " cut " + std::to_string(cut));
          std::vector<HostTensor> whole = runWhole(getMask(first), rule);
          std::vector<HostTensor> parts = runParts(cut, apart, getMask(first), rule);
          ASSERT_EQ(whole.size(), 2u);
          ASSERT_EQ(parts.size(), 2u);
          expectNear(parts[0].getFloats(), whole[0].getFloats());
          expectNear(parts[1].getFloats(), whole[1].getFloats());
        }
}

TEST_F(AttentionPartsTest, MergingTakesThePositiveOfTwoSigns) {
  auto merge = [&](double m1, double s1, double m2, double s2) {
    auto scalar = [&](double x) { return makeFloats({1, 1, 1}, {x}); };
    auto y = runOp("attn.merge_partials (%a, %b, %c), (%d, %e, %f) : tensor<1x1x1x1xf32>, tensor<1x1x1xf32>",
                   {makeFloats({1, 1, 1, 1}, {10}), scalar(m1), scalar(s1), makeFloats({1, 1, 1, 1}, {20}), scalar(m2),
                    scalar(s2)},
                   "tensor<1x1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>");
    return std::vector<double>{y.at(0).getFloats()[0], y.at(1).getFloats()[0], y.at(2).getFloats()[0]};
  };
  double half = std::log(2.0);
  expectNear(merge(0, 1, half, 3), {25, half, 3.5});  // 10 / 2 + 20, 1 / 2 + 3
  expectNear(merge(half, -1, 0, -2), {20, half, -2}); // 10 + 20 / 2, -1 - 2 / 2
  expectNear(merge(100, -1, 0, 2), {20, 0, 2});       // kept keys discard masked ones
  expectNear(merge(0, 1, 5, -2), {10, 0, 1});
  expectNear(merge(-kInf, 0, -3, 2), {20, -3, 2}); // empty
  expectNear(merge(kInf, 0, -3, 2), {20, -3, 2});
}

TEST_F(AttentionPartsTest, ABlockOfInfiniteScoresLeavesNoTrace) {
  // The first key's score is -inf but kept, as an additive mask does.
  const char *text = R"(
func.func @main(%q: tensor<1x1x1x1xf32>, %k0: tensor<1x1x1x1xf32>, %k1: tensor<1x1x1x1xf32>) -> tensor<1x1x1x1xf32> {
  %a0 = nn.constant dense<0.0> : tensor<1x1x1x1xf32>
  %m0 = nn.constant dense<0xFF800000> : tensor<1x1x1xf32>
  %s0 = nn.constant dense<0.0> : tensor<1x1x1xf32>
  %a1, %m1, %s1 = attn.online_sdpa %q, %k0, %k0 outs(%a0, %m0, %s0)
    {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 1.0 : f32}
    : tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32> -> tensor<1x1x1x1xf32>, tensor<1x1x1xf32>
  %a2, %m2, %s2 = attn.online_sdpa %q, %k1, %k1 outs(%a1, %m1, %s1)
    {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 1.0 : f32}
    : tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32> -> tensor<1x1x1x1xf32>, tensor<1x1x1xf32>
  %o = attn.finalize_partials %a2, %m2, %s2 : tensor<1x1x1x1xf32>, tensor<1x1x1xf32> -> tensor<1x1x1x1xf32>
  return %o : tensor<1x1x1x1xf32>
})";
  HostTensor one = makeFloats({1, 1, 1, 1}, {1});
  std::vector<HostTensor> y = runModule(text, {one, makeFloats({1, 1, 1, 1}, {-kInf}), makeFloats({1, 1, 1, 1}, {5})});
  expectNear(y.at(0).getFloats(), {5});
}

TEST_F(AttentionPartsTest, FinalizingNothingFollowsTheRule) {
  auto finalize = [&](const std::string &rule) {
    return floatsOf("attn.finalize_partials %a, %b, %c {fully_masked = #attn<fully_masked " + rule +
                        ">} : tensor<1x1x1x1xf32>, tensor<1x1x1xf32> -> tensor<1x1x1x1xf32>",
                    {makeFloats({1, 1, 1, 1}, {0}), makeFloats({1, 1, 1}, {-kInf}), makeFloats({1, 1, 1}, {0})},
                    "tensor<1x1x1x1xf32>");
  };
  expectNear(finalize("literal"), {0});
  expectNear(finalize("zero"), {0});
  expectNear(finalize("nan"), {kNan});
}

TEST_F(AttentionPartsTest, QkvProjectionPartsItsColumns) {
  // One token (1, 1), weight rows (0 ... 5) and 10 times that; bias 100 * column: column c is 111 c.
  std::vector<double> weight, bias;
  for (double factor : {1.0, 10.0})
    for (int c = 0; c < 6; ++c)
      weight.push_back(factor * c);
  for (int c = 0; c < 6; ++c)
    bias.push_back(100 * c);
  auto y = runOp("attn.qkv_projection %a, %b, %c"
                 " {q_num_heads = 2 : i64, kv_num_heads = 1 : i64, head_size = 1 : i64, v_head_size = 3 : i64}"
                 " : (tensor<1x1x2xf32>, tensor<2x6xf32>, tensor<6xf32>)"
                 " -> (tensor<1x1x2x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x3xf32>)",
                 {makeFloats({1, 1, 2}, {1, 1}), makeFloats({2, 6}, weight), makeFloats({6}, bias)},
                 "tensor<1x1x2x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x3xf32>");
  expectNear(y.at(0).getFloats(), {0, 111});
  expectNear(y.at(1).getFloats(), {222});
  expectNear(y.at(2).getFloats(), {333, 444, 555});
}

TEST_F(AttentionPartsTest, RopeRotatesHalvesOrNeighboursAndCopiesTheRest) {
  // A quarter turn at position 1: (x, y) becomes (-y, x); position 0 stays.
  HostTensor x = makeFloats({1, 2, 1, 5}, {1, 2, 3, 4, 9, 1, 2, 3, 4, 9});
  HostTensor cos = makeFloats({2, 2}, {1, 1, 0, 0}), sin = makeFloats({2, 2}, {0, 0, 1, 1});
  auto rope = [&](const std::string &layout, const std::string &type, HostTensor input, const std::string &more) {
    return floatsOf("attn.rope " + layout + " %a, %b, %c, %d {rotary_embedding_dim = 4 : i64" + more + "} : " + type +
                        ", tensor<2x2xf32>, tensor<1x2xi64>",
                    {input, cos, sin, makeInts({1, 2}, {0, 1})}, type);
  };
  expectNear(rope("bsnd", "tensor<1x2x1x5xf32>", x, ""), {1, 2, 3, 4, 9, -3, -4, 1, 2, 9});
  expectNear(rope("bsnd", "tensor<1x2x1x5xf32>", x, ", interleaved"), {1, 2, 3, 4, 9, -2, 1, -4, 3, 9});
  expectNear(rope("bnsd", "tensor<1x1x2x5xf32>", x.withDims({1, 1, 2, 5}), ""), {1, 2, 3, 4, 9, -3, -4, 1, 2, 9});
}

TEST_F(AttentionPartsTest, RopeReportsPositionsWithoutAngles) {
  EXPECT_EQ(runOpError("attn.rope bsnd %a, %b, %c, %d {rotary_embedding_dim = 2 : i64}"
                       " : tensor<1x1x1x2xf32>, tensor<2x1xf32>, tensor<1x1xi64>",
                       {makeFloats({1, 1, 1, 2}, {1, 2}), makeFloats({2, 1}, {1, 1}), makeFloats({2, 1}, {0, 0}),
                        makeInts({1, 1}, {2})},
                       "tensor<1x1x1x2xf32>"),
            "'attn.rope' op: expects positions within [0, 2), got 2");
}

TEST_F(AttentionPartsTest, CacheUpdatesAreLinearOrCircular) {
  HostTensor cache = makeInts({2, 3}, {1, 2, 3, 4, 5, 6}), update = makeInts({2, 2}, {10, 20, 30, 40});
  auto run = [&](const std::string &mode, Ints at) {
    return intsOf("attn.kv_cache_update " + mode +
                      " %a, %b, %c {axis = 1 : i64}"
                      " : tensor<2x3xi64>, tensor<2x2xi64>, tensor<2xi64>",
                  {cache, update, makeInts({2}, at)}, "tensor<2x3xi64>");
  };
  // 2^63 - 1 is 1 modulo 3.
  EXPECT_EQ(run("circular", {INT64_MAX, 0}), (Ints{1, 10, 20, 30, 40, 6}));
  EXPECT_EQ(run("linear", {0, 1}), (Ints{10, 20, 3, 4, 30, 40}));
  EXPECT_EQ(run("circular", {2, 4}), (Ints{20, 2, 10, 4, 30, 40}));
  EXPECT_EQ(runOpError("attn.kv_cache_update linear %a, %b, %c {axis = 1 : i64}"
                       " : tensor<2x3xi64>, tensor<2x2xi64>, tensor<2xi64>",
                       {cache, update, makeInts({2}, {0, 2})}, "tensor<2x3xi64>"),
            "'attn.kv_cache_update' op: expects 2 rows from row 2 on within the cache's 3");
}

} // namespace
} // namespace heddle::reference
