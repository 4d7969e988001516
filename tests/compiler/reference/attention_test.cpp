// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention: against the textbook formula in BNSD loops, and against values by hand at the edges.

#include <functional>

#include "tests/compiler/reference/evaluator_test.h"

namespace heddle::reference {
namespace {

const double kInf = INFINITY;
const double kNan = NAN;

// Sizes of one attention.
struct Sizes {
  int64_t b, n, g, q, kv, d, dv;
};

// What the textbook gives for one query row: output, log sum of exponentials, weights.
struct Row {
  std::vector<double> output, weights;
  double lse;
};

std::vector<double> noise(int64_t count, double seed) {
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = std::sin(seed + 1.7 * i);
  return values;
}

// softmax(scale q k^T + score, masked by keep) v for one row; a masked key weighs 0.
Row attend(const std::vector<double> &scores, const std::vector<bool> &keep, const double *v, int64_t dv) {
  Row row{std::vector<double>(dv), std::vector<double>(scores.size()), 0};
  double sum = 0;
  for (size_t j = 0; j < scores.size(); ++j)
    sum += row.weights[j] = keep[j] ? std::exp(scores[j]) : 0;
  for (size_t j = 0; j < scores.size(); ++j) {
    row.weights[j] /= sum;
    for (int64_t d = 0; d < dv; ++d)
      row.output[d] += row.weights[j] * v[j * dv + d];
  }
  row.lse = std::log(sum);
  return row;
}

class AttentionTest : public EvaluatorTest {
protected:
  // One head of size 1 with one query of 1: the scores are the keys.
  std::vector<HostTensor> attendKeys(std::vector<double> keys, std::vector<double> values, const std::string &options,
                                     const std::string &attributes, std::vector<HostTensor> more = {}) {
    int64_t n = keys.size();
    std::string kv = "tensor<1x" + std::to_string(n) + "x1x1xf32>", one = "tensor<1x1x1x1xf32>";
    std::string weights = "tensor<1x1x1x" + std::to_string(n) + "xf32>";
    std::vector<HostTensor> inputs = {makeFloats({1, 1, 1, 1}, {1}), makeFloats({1, n, 1, 1}, keys),
                                      makeFloats({1, n, 1, 1}, values)};
    inputs.insert(inputs.end(), more.begin(), more.end());
    return runOp("attn.sdpa %a, %b, %c " + options +
                     " {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 1.0 : f32" + attributes + "} : " + one +
                     ", " + kv + ", " + kv + " -> " + one + " lse tensor<1x1x1xf32> probabilities " + weights,
                 inputs, one + ", tensor<1x1x1xf32>, " + weights);
  }
};

constexpr char kMaskNothing[] = R"(mask {
  ^bb0(%i0: index, %i1: index, %i2: index, %i3: index):
    %no = arith.constant false
    attn.yield %no : i1
  })";

// Keeps the keys below a captured scalar.
constexpr char kMaskFrom[] = R"(mask_captures(%d : tensor<i64>) mask {
  ^bb0(%i0: index, %i1: index, %i2: index, %i3: index, %limit: i64):
    %j = arith.index_cast %i3 : index to i64
    %keep = arith.cmpi slt, %j, %limit : i64
    attn.yield %keep : i1
  })";

TEST_F(AttentionTest, WeighsByTheSoftmaxOfScores) {
  std::vector<HostTensor> y = attendKeys({0, std::log(3.0)}, {4, 8}, "", "");
  expectNear(y.at(0).getFloats(), {7});
  expectNear(y[1].getFloats(), {std::log(4.0)});
  expectNear(y[2].getFloats(), {0.25, 0.75});
}

TEST_F(AttentionTest, MultipliesCodesOfRows) {
  // The query's scale is 1 and its codes 127 and 2, halfway to even; the first key's scale is 2 and its codes 0 and
  // 127: 1 * 2 * (2 * 127) / 1024 = 0.49609375, where floats would give 0.62.
  auto attend = [&](std::vector<double> query, std::vector<double> keys) {
    return runOp(
        "attn.sdpa %a, %b, %c {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 9.765625e-04 : f32, qk_int8} : "
        "tensor<1x1x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x2x1x1xf32> -> tensor<1x1x1x1xf32> "
        "lse tensor<1x1x1xf32>",
        {makeFloats({1, 1, 1, 2}, query), makeFloats({1, 2, 1, 2}, keys), makeFloats({1, 2, 1, 1}, {4, 8})},
        "tensor<1x1x1x1xf32>, tensor<1x1x1xf32>");
  };
  double other = std::exp(-0.49609375), weight = 1 / (1 + other), lse = 0.49609375 + std::log(1 + other);
  std::vector<HostTensor> y = attend({127, 2.5}, {0, 254, 0, 0});
  expectNear(y.at(0).getFloats(), {4 * weight + 8 * (1 - weight)});
  expectNear(y.at(1).getFloats(), {lse});
  // What isn't finite spoils the scores of its row.
  expectNear(attend({127, kInf}, {0, 254, 0, 0}).at(0).getFloats(), {kNan});
  expectNear(attend({127, 2.5}, {0, 254, 0, kNan}).at(1).getFloats(), {kNan});
}

TEST_F(AttentionTest, RoundsWeightsAndValuesToCodesByBlocks) {
  // Scores 0, ln(127 / 2.4) less, and one more in the next block of two keys: codes 127 and 2; 127 and a hidden key's
  // 0.
  double far = std::log(127 / 2.4);
  auto attend = [&](std::vector<double> values) {
    return runOp(
        "attn.sdpa %a, %b, %c kv_len(%e : tensor<1xi64>) value_scale(%d : tensor<f32>) {q_num_heads = 1 : i64, "
        "kv_num_heads = 1 : i64, scale = 1.0 : f32, pv_int8_block = 2 : i64} : tensor<1x1x1x1xf32>, "
        "tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32> -> tensor<1x1x1x1xf32>",
        {makeFloats({1, 1, 1, 1}, {1}), makeFloats({1, 4, 1, 1}, {0, -far, 1, 9}),
         makeFloats({1, 4, 1, 1}, std::move(values)), makeFloats({}, {0.5}), makeInts({1}, {3})},
        "tensor<1x1x1x1xf32>");
  };
  // Values 10.3, 1000 and -2.3 are 21, 127 and -5 steps of 1/2; the first block counts exp(-1) times.
  double factor = std::exp(-1.0), sum = (127 + 2) * factor + 127;
  expectNear(attend({10.3, 1000, -2.3, kNan}).at(0).getFloats(),
             {0.5 * ((127 * 21 + 2 * 127) * factor + 127 * -5) / sum});
  expectNear(attend({10.3, -kInf, -2.3, 0}).at(0).getFloats(), {kNan});
}

TEST_F(AttentionTest, EqualsTheTextbookWithGroupsOffsetsAndRegions) {
  Sizes s{2, 4, 2, 3, 5, 3, 2};
  // BSND query and output, BNSD keys, values shared by all batches; a bias (n, q, kv), a padding mask (b, kv).
  std::vector<double> q = noise(s.b * s.q * s.n * s.d, 1), k = noise(s.b * s.g * s.kv * s.d, 2),
                      v = noise(s.g * s.kv * s.dv, 3), bias = noise(s.n * s.q * s.kv, 4);
  std::vector<int64_t> pad = {1, 1, 0, 1, 1, 0, 1, 1, 1, 1}, lengths = {5, 4};
  const char *op = R"(attn.sdpa %a, %b, %c q_offset(%d : tensor<i64>) kv_len(%e : tensor<2xi64>)
      score_captures(%f : tensor<4x3x5xf32>) mask_captures(%g : tensor<2x5xi1>)
      score {
    ^bb0(%s: f32, %b0: index, %h: index, %i: index, %j: index, %bias: f32):
      %two = arith.constant 2.0 : f32
      %0 = arith.mulf %s, %two : f32
      %1 = arith.addf %0, %bias : f32
      attn.yield %1 : f32
    } mask {
    ^bb0(%b0: index, %h: index, %i: index, %j: index, %keep: i1):
      %seen = arith.cmpi ule, %j, %i : index
      %both = arith.andi %seen, %keep : i1
      attn.yield %both : i1
    } {q_num_heads = 4 : i64, kv_num_heads = 2 : i64, scale = 0.5 : f32, fully_masked = #attn<fully_masked zero>,
       key_map = affine_map<(b, n, q, kv, d) -> (b, n, kv, d)>, value_map = affine_map<(b, n, q, kv, d) -> (n, kv, d)>,
       score_capture_maps = [affine_map<(b, n, q, kv) -> (n, q, kv)>],
       mask_capture_maps = [affine_map<(b, n, q, kv) -> (b, kv)>]}
      : tensor<2x3x4x3xf32>, tensor<2x2x5x3xf32>, tensor<2x5x2xf32> -> tensor<2x3x4x2xf32> lse tensor<2x4x3xf32>
        probabilities tensor<2x4x3x5xf32>)";
  std::vector<HostTensor> y =
      runOp(op,
            {makeFloats({2, 3, 4, 3}, q), makeFloats({2, 2, 5, 3}, k), makeFloats({2, 5, 2}, v), makeInts({}, {2}),
             makeInts({2}, lengths), makeFloats({4, 3, 5}, bias), makeInts({2, 5}, pad, "i1")},
            "tensor<2x3x4x2xf32>, tensor<2x4x3xf32>, tensor<2x4x3x5xf32>");
  ASSERT_EQ(y.size(), 3u);
  for (int64_t b = 0; b < s.b; ++b)
    for (int64_t n = 0; n < s.n; ++n)
      for (int64_t i = 0; i < s.q; ++i) {
        int64_t g = n / 2;
        std::vector<double> scores(s.kv);
        std::vector<bool> keep(s.kv);
        for (int64_t j = 0; j < s.kv; ++j) {
          for (int64_t d = 0; d < s.d; ++d)
            scores[j] += q[((b * s.q + i) * s.n + n) * s.d + d] * k[((b * s.g + g) * s.kv + j) * s.d + d];
          scores[j] = scores[j] * 0.5 * 2 + bias[(n * s.q + i) * s.kv + j];
          keep[j] = j < lengths[b] && pad[b * s.kv + j] && j <= i + 2;
        }
        Row row = attend(scores, keep, v.data() + g * s.kv * s.dv, s.dv);
        expectNear(y[0].getFloats().slice(((b * s.q + i) * s.n + n) * s.dv, s.dv), row.output);
        expectNear(y[1].getFloats().slice((b * s.n + n) * s.q + i, 1), {row.lse});
        expectNear(y[2].getFloats().slice(((b * s.n + n) * s.q + i) * s.kv, s.kv), row.weights);
      }
}

TEST_F(AttentionTest, RegionsSeePositionsAndCapturesSeeRows) {
  // q_offset 10: the region adds the query's position, the capture is read at row 0.
  std::vector<HostTensor> y = attendKeys({0, 0}, {1, 2}, R"(q_offset(%d : tensor<1xi64>)
      score_captures(%e : tensor<1xf32>) score {
    ^bb0(%s: f32, %b0: index, %h: index, %i: index, %j: index, %captured: f32):
      %0 = arith.index_cast %i : index to i64
      %1 = arith.sitofp %0 : i64 to f32
      %2 = arith.addf %1, %captured : f32
      attn.yield %2 : f32
    })",
                                         ", score_capture_maps = [affine_map<(b, n, q, kv) -> (q)>]",
                                         {makeInts({1}, {10}), makeFloats({1}, {5})});
  expectNear(y.at(1).getFloats(), {15 + std::log(2.0)});
}

TEST_F(AttentionTest, FullyMaskedRowsFollowTheirRule) {
  auto run = [&](const std::string &rule) {
    return attendKeys({0, std::log(3.0)}, {4, 8}, kMaskNothing, ", fully_masked = #attn<fully_masked " + rule + ">");
  };
  std::vector<HostTensor> y = run("literal"); // as if there were no mask
  expectNear(y.at(0).getFloats(), {7});
  expectNear(y[1].getFloats(), {std::log(4.0)});
  expectNear(y[2].getFloats(), {0.25, 0.75});
  y = run("zero");
  expectNear(y.at(0).getFloats(), {0});
  expectNear(y[1].getFloats(), {-kInf});
  expectNear(y[2].getFloats(), {0, 0});
  y = run("nan");
  expectNear(y.at(0).getFloats(), {kNan});
  expectNear(y[1].getFloats(), {-kInf});
  expectNear(y[2].getFloats(), {kNan, kNan});
}

TEST_F(AttentionTest, KeysPastTheEndAreNeverRead) {
  std::vector<HostTensor> y = attendKeys({0, kNan}, {4, kNan}, "kv_len(%d : tensor<1xi64>)", "", {makeInts({1}, {1})});
  expectNear(y.at(0).getFloats(), {4});
  expectNear(y[2].getFloats(), {1, 0});
}

TEST_F(AttentionTest, NoKeysGiveZerosEvenLiterally) {
  for (std::string rule : {"literal", "zero"}) {
    std::vector<HostTensor> y = attendKeys({kNan}, {kNan}, "kv_len(%d : tensor<1xi64>)",
                                           ", fully_masked = #attn<fully_masked " + rule + ">", {makeInts({1}, {0})});
    expectNear(y.at(0).getFloats(), {0});
    expectNear(y[1].getFloats(), {-kInf});
  }
}

TEST_F(AttentionTest, AMaskedKeyWeighsExactlyNothing) {
  // Its value is infinite: any weight but 0 would show.
  std::vector<HostTensor> y = attendKeys(
      {0, 50}, {4, kInf}, kMaskFrom, ", mask_capture_maps = [affine_map<(b, n, q, kv) -> ()>]", {makeInts({}, {1})});
  expectNear(y.at(0).getFloats(), {4});
}

TEST_F(AttentionTest, FiniteFillsKeepTheirLiteralMeaning) {
  // Both scores filled with -1e9: softmax of equal scores, not zero.
  std::vector<HostTensor> y = attendKeys({-1e9, -1e9}, {4, 8}, "", ", fully_masked = #attn<fully_masked zero>");
  expectNear(y.at(0).getFloats(), {6});
}

TEST_F(AttentionTest, QuantisedOperandsAndProbabilities) {
  // query (3 - 1) * 0.5 = 1; keys (0, 0); values (codes - 100) * 2 = (-200, 310); weights 1 and 1 as 127 of 127.
  const char *op = R"(attn.sdpa %a, %b, %c query_scale(%d : tensor<f32>) query_zero_point(%e : tensor<i8>)
      key_scale(%f : tensor<f32>) value_scale(%g : tensor<1x1x1x1xf32>) value_zero_point(%h : tensor<ui8>)
      {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 1.0 : f32, probability_scale = 0.01 : f32}
      : tensor<1x1x1x1xi8>, tensor<1x2x1x1xi8>, tensor<1x2x1x1xui8> -> tensor<1x1x1x1xf32>)";
  std::vector<double> y =
      floatsOf(op,
               {makeInts({1, 1, 1, 1}, {3}, "i8"), makeInts({1, 2, 1, 1}, {0, -2}, "i8"),
                makeInts({1, 2, 1, 1}, {0, 255}, "ui8"), makeFloats({}, {0.5}), makeInts({}, {1}, "i8"),
                makeFloats({}, {0.5}), makeFloats({1, 1, 1, 1}, {2}), makeInts({}, {100}, "ui8")},
               "tensor<1x1x1x1xf32>");
  // Scores 0 and -1: weights 1 and exp(-1), of which the product sees 100 and 37 hundredths (f32's hundredth).
  double p = 0.01f, sum = 1 + std::exp(-1);
  expectNear(y, {(100 * p * -200 + 37 * p * 310) / sum});
}

// Half a probability and an eighth, or 3 for what isn't a number.
constexpr char kShift[] = R"(probability {
  ^bb0(%p: f32, %i0: index, %i1: index, %i2: index, %i3: index):
    %half = arith.constant 0.5 : f32
    %eighth = arith.constant 0.125 : f32
    %three = arith.constant 3.0 : f32
    %less = arith.mulf %p, %half : f32
    %more = arith.addf %less, %eighth : f32
    %isnan = arith.cmpf uno, %p, %p : f32
    %weight = arith.select %isnan, %three, %more : f32
    attn.yield %weight : f32
  })";

TEST_F(AttentionTest, TheProbabilityRegionSeesHiddenKeysAsZero) {
  std::vector<HostTensor> y =
      attendKeys({0, 0, 50}, {4, 8, 16}, std::string(kMaskFrom) + kShift,
                 ", mask_capture_maps = [affine_map<(b, n, q, kv) -> ()>]", {makeInts({}, {2})});
  // 0.375 of 4 and 8, an eighth of 16; results don't show the region.
  expectNear(y.at(0).getFloats(), {0.375 * 12 + 2});
  expectNear(y[1].getFloats(), {std::log(2)});
  expectNear(y[2].getFloats(), {0.5, 0.5, 0});
}

TEST_F(AttentionTest, TheProbabilityRegionDecidesRowsWithoutKeys) {
  auto run = [&](const std::string &rule, int64_t length) {
    return attendKeys({0, 0}, {4, 8}, "kv_len(%d : tensor<1xi64>) " + std::string(kMaskNothing) + kShift,
                      ", fully_masked = #attn<fully_masked " + rule + ">", {makeInts({1}, {length})});
  };
  for (auto [rule, output] : {std::pair("literal", 0.375 * 12), {"zero", 0.125 * 12}, {"nan", 3.0 * 12}}) {
    expectNear(run(rule, 2).at(0).getFloats(), {output});
    // Without keys there is nothing to weigh.
    expectNear(run(rule, 0).at(0).getFloats(), {0});
  }
  expectNear(run("nan", 2)[2].getFloats(), {kNan, kNan});
}

TEST_F(AttentionTest, AWeightOfZeroReadsNothing) {
  // The greater probability is cut down to 0, and its value infinite.
  const char *cut = R"(probability {
  ^bb0(%p: f32, %i0: index, %i1: index, %i2: index, %i3: index):
    %half = arith.constant 0.5 : f32
    %zero = arith.constant 0.0 : f32
    %large = arith.cmpf ogt, %p, %half : f32
    %weight = arith.select %large, %zero, %p : f32
    attn.yield %weight : f32
  })";
  std::vector<HostTensor> y = attendKeys({0, 1}, {4, kInf}, cut, "");
  expectNear(y.at(0).getFloats(), {4 / (1 + std::exp(1))});
}

TEST_F(AttentionTest, ReportsWhatDoesNotFitAtRunTime) {
  const char *text = R"(
func.func @main(%a: tensor<1x1x1x1xf32>, %b: tensor<1x?x1x1xf32>, %c: tensor<1x?x1x1xf32>, %d: tensor<?xf32>)
    -> tensor<1x1x1x1xf32> {
  %y = attn.sdpa %a, %b, %c score_captures(%d : tensor<?xf32>) score {
    ^bb0(%s: f32, %b0: index, %h: index, %i: index, %j: index, %e: f32):
      attn.yield %e : f32
    } {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 1.0 : f32,
       score_capture_maps = [affine_map<(b, n, q, kv) -> (kv)>]}
    : tensor<1x1x1x1xf32>, tensor<1x?x1x1xf32>, tensor<1x?x1x1xf32> -> tensor<1x1x1x1xf32>
  return %y : tensor<1x1x1x1xf32>
})";
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(text);
  ASSERT_TRUE(module);
  auto error = [&](int64_t keys, int64_t values, int64_t captured) {
    std::vector<HostTensor> inputs = {makeFloats({1, 1, 1, 1}, {1}),
                                      makeFloats({1, keys, 1, 1}, std::vector<double>(keys)),
                                      makeFloats({1, values, 1, 1}, std::vector<double>(values)),
                                      makeFloats({captured}, std::vector<double>(captured))};
    return llvm::toString(Evaluator::create(*module)->run(inputs).takeError());
  };
  EXPECT_EQ(error(2, 3, 2), "'attn.sdpa' op: expects equal extents of dimension key, got 2 and 3");
  EXPECT_EQ(error(2, 2, 1), "'attn.sdpa' op: expects captures that have an element for every query and key, "
                            "got shape [1] read at query 0, key 1");
}

} // namespace
} // namespace heddle::reference
