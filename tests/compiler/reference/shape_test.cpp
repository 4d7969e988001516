// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that move elements, by shape or by index: expectations written out element by element.

#include "tests/compiler/reference/evaluator_test.h"

namespace heddle::reference {
namespace {

using Ints = std::vector<int64_t>;

class ShapeTest : public EvaluatorTest {
protected:
  // 0, 1, 2 ...
  HostTensor count(llvm::ArrayRef<int64_t> dims) {
    std::vector<int64_t> values(*countElements(dims));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = i;
    return makeInts(dims, values);
  }
};

TEST_F(ShapeTest, ReshapeCopiesAndInfersExtents) {
  auto dims = [&](Ints shape, const std::string &attributes = "") {
    std::string type = "tensor<" + std::to_string(shape.size()) + "xi64>";
    std::string result = "tensor<";
    for (size_t i = 0; i < shape.size(); ++i)
      result += "?x";
    result += "i64>";
    auto y = runOp("nn.reshape %a, %b " + attributes + " : (tensor<2x6xi64>, " + type + ") -> " + result,
                   {count({2, 6}), makeInts({int64_t(shape.size())}, shape)}, result);
    return y.empty() ? Ints() : y[0].getDims().vec();
  };
  EXPECT_EQ(dims({3, 4}), (Ints{3, 4}));
  EXPECT_EQ(dims({0, -1, 3}), (Ints{2, 2, 3}));
  EXPECT_EQ(dims({-1}), (Ints{12}));
}

TEST_F(ShapeTest, ReshapeReportsShapesThatDoNotFit) {
  auto error = [&](Ints shape, const std::string &attributes = "") {
    std::string type = "tensor<" + std::to_string(shape.size()) + "xi64>", result = "tensor<";
    for (size_t i = 0; i < shape.size(); ++i)
      result += "?x";
    result += "i64>";
    return runOpError("nn.reshape %a, %b " + attributes + " : (tensor<2x6xi64>, " + type + ") -> " + result,
                      {count({2, 6}), makeInts({int64_t(shape.size())}, shape)}, result);
  };
  EXPECT_EQ(error({5, 2}), "'nn.reshape' op: expects a shape of 12 elements, got [5, 2]");
  EXPECT_EQ(error({-1, 5}), "'nn.reshape' op: expects a shape of 12 elements, got [-1, 5]");
  EXPECT_EQ(error({-1, -1}), "'nn.reshape' op: expects one -1 in the shape at most");
  EXPECT_EQ(error({2, 6, 0}), "'nn.reshape' op: expects an input dimension to copy for the 0 at position 2");
  EXPECT_EQ(error({0, 6}, "{allowzero}"), "'nn.reshape' op: expects a shape of 12 elements, got [0, 6]");
  EXPECT_EQ(error({-5, 2}), "'nn.reshape' op: expects extents of at least 0, got shape [-5, 2]");
}

TEST_F(ShapeTest, TransposePermutes) {
  EXPECT_EQ(intsOf("nn.transpose %a perm [2, 0, 1] : (tensor<2x2x2xi64>) -> tensor<2x2x2xi64>", {count({2, 2, 2})},
                   "tensor<2x2x2xi64>"),
            (Ints{0, 2, 4, 6, 1, 3, 5, 7}));
}

TEST_F(ShapeTest, DimensionsOfOneComeAndGo) {
  auto dims = [&](const std::string &op, Ints from, const std::string &type) {
    return runOp(op, {count(from)}, type).at(0).getDims().vec();
  };
  EXPECT_EQ(dims("nn.squeeze %a axes [0, 2] : (tensor<1x3x1xi64>) -> tensor<3xi64>", {1, 3, 1}, "tensor<3xi64>"),
            (Ints{3}));
  EXPECT_EQ(dims("nn.unsqueeze %a axes [0, 2] : (tensor<3xi64>) -> tensor<1x3x1xi64>", {3}, "tensor<1x3x1xi64>"),
            (Ints{1, 3, 1}));
  EXPECT_EQ(dims("nn.flatten %a {axis = 2 : i64} : (tensor<2x3x4x5xi64>) -> tensor<6x20xi64>", {2, 3, 4, 5},
                 "tensor<6x20xi64>"),
            (Ints{6, 20}));
  EXPECT_EQ(dims("nn.flatten %a {axis = 0 : i64} : (tensor<2x3xi64>) -> tensor<1x6xi64>", {2, 3}, "tensor<1x6xi64>"),
            (Ints{1, 6}));
}

TEST_F(ShapeTest, ExpandBroadcastsBothWays) {
  EXPECT_EQ(intsOf("nn.expand %a, %b : (tensor<3x1xi64>, tensor<3xi64>) -> tensor<?x?x?xi64>",
                   {count({3, 1}), makeInts({3}, {2, 1, 2})}, "tensor<?x?x?xi64>"),
            (Ints{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
}

TEST_F(ShapeTest, TileRepeats) {
  EXPECT_EQ(intsOf("nn.tile %a, %b : (tensor<1x2xi64>, tensor<2xi64>) -> tensor<?x?xi64>",
                   {count({1, 2}), makeInts({2}, {2, 2})}, "tensor<?x?xi64>"),
            (Ints{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(runOpError("nn.tile %a, %b : (tensor<1x2xi64>, tensor<2xi64>) -> tensor<?x?xi64>",
                       {count({1, 2}), makeInts({2}, {1, -1})}, "tensor<?x?xi64>"),
            "'nn.tile' op: expects repeat counts of at least 0, got -1");
}

TEST_F(ShapeTest, ConcatAndSplitAreInverse) {
  EXPECT_EQ(intsOf("nn.concat %a, %b {axis = 1 : i64} : (tensor<2x1xi64>, tensor<2x2xi64>) -> tensor<2x3xi64>",
                   {makeInts({2, 1}, {7, 8}), count({2, 2})}, "tensor<2x3xi64>"),
            (Ints{7, 0, 1, 8, 2, 3}));
  auto parts = runOp("nn.split %a {axis = 1 : i64, num_outputs = 2 : i64, split_sizes = array<i64: 1, 2>}"
                     " : (tensor<2x3xi64>) -> (tensor<2x1xi64>, tensor<2x2xi64>)",
                     {makeInts({2, 3}, {7, 0, 1, 8, 2, 3})}, "tensor<2x1xi64>, tensor<2x2xi64>");
  EXPECT_EQ(parts.at(0).getInts().vec(), (Ints{7, 8}));
  EXPECT_EQ(parts.at(1).getInts().vec(), (Ints{0, 1, 2, 3}));
}

TEST_F(ShapeTest, SplitWithoutSizesLeavesTheRestLast) {
  auto parts = runOp("nn.split %a {axis = 0 : i64, num_outputs = 3 : i64}"
                     " : (tensor<7xi64>) -> (tensor<3xi64>, tensor<3xi64>, tensor<1xi64>)",
                     {count({7})}, "tensor<3xi64>, tensor<3xi64>, tensor<1xi64>");
  EXPECT_EQ(parts.at(2).getInts().vec(), (Ints{6}));
}

TEST_F(ShapeTest, SliceFollowsOnnxAtTheEdges) {
  auto slice = [&](int64_t start, int64_t end, int64_t step) {
    return intsOf(
        "nn.slice %a, %b, %c axes(%d : tensor<1xi64>) steps(%e : tensor<1xi64>)"
        " : (tensor<5xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64>",
        {count({5}), makeInts({1}, {start}), makeInts({1}, {end}), makeInts({1}, {-1}), makeInts({1}, {step})},
        "tensor<?xi64>");
  };
  EXPECT_EQ(slice(1, 4, 2), (Ints{1, 3}));
  EXPECT_EQ(slice(-2, INT64_MAX, 1), (Ints{3, 4}));
  EXPECT_EQ(slice(4, INT64_MIN, -2), (Ints{4, 2, 0}));
  EXPECT_EQ(slice(INT64_MAX, -3, -1), (Ints{4, 3}));
  EXPECT_EQ(slice(-100, -200, -1), (Ints{0}));
  EXPECT_EQ(slice(3, 1, 1), (Ints{}));
  EXPECT_EQ(slice(0, 5, INT64_MAX), (Ints{0}));
  EXPECT_EQ(slice(4, -6, INT64_MIN), (Ints{4}));
}

TEST_F(ShapeTest, SliceReportsBadAxesAndSteps) {
  auto error = [&](Ints axes, int64_t step) {
    return runOpError(
        "nn.slice %a, %b, %c axes(%d : tensor<2xi64>) steps(%e : tensor<2xi64>)"
        " : (tensor<2x2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xi64>",
        {count({2, 2}), makeInts({2}, {0, 0}), makeInts({2}, {1, 1}), makeInts({2}, axes), makeInts({2}, {1, step})},
        "tensor<?x?xi64>");
  };
  EXPECT_EQ(error({0, 2}, 1), "'nn.slice' op: expects axes within [-2, 2), got 2");
  EXPECT_EQ(error({1, -1}, 1), "'nn.slice' op: expects distinct axes");
  EXPECT_EQ(error({0, 1}, 0), "'nn.slice' op: expects a step other than 0");
}

TEST_F(ShapeTest, PadModesContinueTheData) {
  auto pad = [&](const std::string &mode, int64_t before, int64_t after) {
    return intsOf("nn.pad " + mode +
                      " %a, %b value(%c : tensor<i64>) : (tensor<4xi64>, tensor<2xi64>) -> tensor<?xi64>",
                  {count({4}), makeInts({2}, {before, after}), makeInts({}, {9})}, "tensor<?xi64>");
  };
  EXPECT_EQ(pad("constant", 2, 1), (Ints{9, 9, 0, 1, 2, 3, 9}));
  EXPECT_EQ(pad("edge", 2, 1), (Ints{0, 0, 0, 1, 2, 3, 3}));
  EXPECT_EQ(pad("reflect", 2, 1), (Ints{2, 1, 0, 1, 2, 3, 2}));
  EXPECT_EQ(pad("reflect", 7, 0), (Ints{1, 0, 1, 2, 3, 2, 1, 0, 1, 2, 3}));
  EXPECT_EQ(pad("wrap", 2, 1), (Ints{2, 3, 0, 1, 2, 3, 0}));
  EXPECT_EQ(pad("constant", -1, -2), (Ints{1}));
  EXPECT_EQ(pad("constant", -1, 1), (Ints{1, 2, 3, 9}));
}

TEST_F(ShapeTest, TriluKeepsATriangle) {
  HostTensor x = makeInts({2, 3}, {1, 2, 3, 4, 5, 6});
  auto trilu = [&](int64_t k, const std::string &attributes) {
    return intsOf("nn.trilu %a, %b " + attributes + " : (tensor<2x3xi64>, tensor<i64>) -> tensor<2x3xi64>",
                  {x, makeInts({}, {k})}, "tensor<2x3xi64>");
  };
  EXPECT_EQ(trilu(0, "{upper}"), (Ints{1, 2, 3, 0, 5, 6}));
  EXPECT_EQ(trilu(1, "{upper}"), (Ints{0, 2, 3, 0, 0, 6}));
  EXPECT_EQ(trilu(0, ""), (Ints{1, 0, 0, 4, 5, 0}));
  EXPECT_EQ(trilu(-1, ""), (Ints{0, 0, 0, 4, 0, 0}));
  EXPECT_EQ(trilu(INT64_MAX, ""), (Ints{1, 2, 3, 4, 5, 6}));
}

TEST_F(ShapeTest, GatherPicksSlicesAndCountsFromTheBack) {
  EXPECT_EQ(intsOf("nn.gather %a, %b {axis = 1 : i64} : (tensor<2x3xi64>, tensor<2x1xi64>) -> tensor<2x2x1xi64>",
                   {count({2, 3}), makeInts({2, 1}, {2, -3})}, "tensor<2x2x1xi64>"),
            (Ints{2, 0, 5, 3}));
  EXPECT_EQ(runOpError("nn.gather %a, %b {axis = 0 : i64} : (tensor<2xi64>, tensor<i64>) -> tensor<i64>",
                       {count({2}), makeInts({}, {-3})}, "tensor<i64>"),
            "'nn.gather' op: expects an index within [-2, 2), got -3");
}

TEST_F(ShapeTest, GatherElementsAndScatterElementsMoveSingleElements) {
  HostTensor x = count({2, 3}), at = makeInts({2, 2}, {2, 0, -1, 1});
  EXPECT_EQ(intsOf("nn.gather_elements %a, %b {axis = 1 : i64} : (tensor<2x3xi64>, tensor<2x2xi64>) -> tensor<2x2xi64>",
                   {x, at}, "tensor<2x2xi64>"),
            (Ints{2, 0, 5, 4}));
  EXPECT_EQ(intsOf("nn.scatter_elements none %a, %b, %c {axis = 1 : i64}"
                   " : (tensor<2x3xi64>, tensor<2x2xi64>, tensor<2x2xi64>) -> tensor<2x3xi64>",
                   {x, at, makeInts({2, 2}, {10, 20, 30, 40})}, "tensor<2x3xi64>"),
            (Ints{20, 1, 10, 3, 40, 30}));
}

TEST_F(ShapeTest, ScatterReductionsCombineInOrder) {
  auto scatter = [&](const std::string &reduction) {
    return intsOf("nn.scatter_elements " + reduction +
                      " %a, %b, %c {axis = 0 : i64} : (tensor<2xi8>, tensor<3xi64>, tensor<3xi8>) -> tensor<2xi8>",
                  {makeInts({2}, {100, 5}, "i8"), makeInts({3}, {0, 0, 1}), makeInts({3}, {20, 10, -7}, "i8")},
                  "tensor<2xi8>");
  };
  EXPECT_EQ(scatter("add"), (Ints{-126, -2}));
  EXPECT_EQ(scatter("mul"), (Ints{32, -35}));
  EXPECT_EQ(scatter("max"), (Ints{100, 5}));
  EXPECT_EQ(scatter("min"), (Ints{10, -7}));
}

TEST_F(ShapeTest, GatherNdAndScatterNdTakeTuples) {
  EXPECT_EQ(intsOf("nn.gather_nd %a, %b {batch_dims = 0 : i64} : (tensor<2x3xi64>, tensor<2x2xi64>) -> tensor<2xi64>",
                   {count({2, 3}), makeInts({2, 2}, {1, 2, -1, 0})}, "tensor<2xi64>"),
            (Ints{5, 3}));
  EXPECT_EQ(intsOf("nn.gather_nd %a, %b {batch_dims = 1 : i64}"
                   " : (tensor<2x2x2xi64>, tensor<2x1xi64>) -> tensor<2x2xi64>",
                   {count({2, 2, 2}), makeInts({2, 1}, {1, 0})}, "tensor<2x2xi64>"),
            (Ints{2, 3, 4, 5}));
  EXPECT_EQ(intsOf("nn.scatter_nd none %a, %b, %c"
                   " : (tensor<3x2xi64>, tensor<1x1xi64>, tensor<1x2xi64>) -> tensor<3x2xi64>",
                   {count({3, 2}), makeInts({1, 1}, {-2}), makeInts({1, 2}, {8, 9})}, "tensor<3x2xi64>"),
            (Ints{0, 1, 8, 9, 4, 5}));
}

TEST_F(ShapeTest, OneHotLeavesOutOfRangeIndicesOff) {
  EXPECT_EQ(intsOf("nn.one_hot %a, %b, %c {axis = 0 : i64}"
                   " : (tensor<3xi64>, tensor<i64>, tensor<2xi64>) -> tensor<?x3xi64>",
                   {makeInts({3}, {1, -2, 2}), makeInts({}, {2}), makeInts({2}, {7, 8})}, "tensor<?x3xi64>"),
            (Ints{7, 8, 7, 8, 7, 7}));
}

TEST_F(ShapeTest, TopKPrefersTheLowerIndexAndPutsNanFirst) {
  auto run = [&](std::vector<double> x, const std::string &attributes) {
    auto results = runOp("nn.top_k %a, %b {axis = 0 : i64" + attributes +
                             "} : (tensor<4xf32>, tensor<i64>) -> (tensor<?xf32>, tensor<?xi64>)",
                         {makeFloats({4}, x), makeInts({}, {2})}, "tensor<?xf32>, tensor<?xi64>");
    return results.at(1).getInts().vec();
  };
  EXPECT_EQ(run({1, 3, 2, 3}, ", largest"), (Ints{1, 3}));
  EXPECT_EQ(run({1, 3, 2, 1}, ""), (Ints{0, 3}));
  EXPECT_EQ(run({1, 3, NAN, 1}, ", largest"), (Ints{2, 1}));
}

TEST_F(ShapeTest, TopKAlongAnInnerAxisReportsALargeK) {
  auto results = runOp("nn.top_k %a, %b {axis = 0 : i64, largest}"
                       " : (tensor<2x2xi64>, tensor<i64>) -> (tensor<?x2xi64>, tensor<?x2xi64>)",
                       {makeInts({2, 2}, {1, 4, 3, 2}), makeInts({}, {1})}, "tensor<?x2xi64>, tensor<?x2xi64>");
  EXPECT_EQ(results.at(0).getInts().vec(), (Ints{3, 4}));
  EXPECT_EQ(results.at(1).getInts().vec(), (Ints{1, 0}));
  EXPECT_EQ(runOpError("nn.top_k %a, %b {axis = 0 : i64, largest}"
                       " : (tensor<2x2xi64>, tensor<i64>) -> (tensor<?x2xi64>, tensor<?x2xi64>)",
                       {makeInts({2, 2}, {1, 4, 3, 2}), makeInts({}, {3})}, "tensor<?x2xi64>, tensor<?x2xi64>"),
            "'nn.top_k' op: expects k within [0, 2], got 3");
}

} // namespace
} // namespace heddle::reference
