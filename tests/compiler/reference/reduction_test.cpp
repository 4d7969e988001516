// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions, row-wise ops and ops without a data operand: expectations worked out by hand.

#include "tests/compiler/reference/evaluator_test.h"

namespace heddle::reference {
namespace {

const double kInf = INFINITY;
const double kNan = NAN;
using Ints = std::vector<int64_t>;

class ReductionTest : public EvaluatorTest {
protected:
  std::vector<double> reduceRows(const std::string &kind, HostTensor x) {
    std::string type = "tensor<" + std::to_string(x.getDim(0)) + "x" + std::to_string(x.getDim(1)) + "xf32>";
    std::string result = "tensor<" + std::to_string(x.getDim(0)) + "xf32>";
    return floatsOf("nn.reduce " + kind + " %a axes [1] : (" + type + ") -> " + result, {x}, result);
  }
  std::vector<int64_t> reduceInts(const std::string &kind, const std::string &element, std::vector<int64_t> x) {
    std::string type = "tensor<" + std::to_string(x.size()) + "x" + element + ">", result = "tensor<" + element + ">";
    return intsOf("nn.reduce " + kind + " %a axes [0] : (" + type + ") -> " + result,
                  {makeInts({int64_t(x.size())}, x, element)}, result);
  }
};

TEST_F(ReductionTest, FloatKindsFollowTheirFormulas) {
  HostTensor x = makeFloats({2, 3}, {1, -2, 4, 0.5, 0.5, 2});
  expectNear(reduceRows("sum", x), {3, 3});
  expectNear(reduceRows("mean", x), {1, 1});
  expectNear(reduceRows("max", x), {4, 2});
  expectNear(reduceRows("min", x), {-2, 0.5});
  expectNear(reduceRows("prod", x), {-8, 0.5});
  expectNear(reduceRows("l1", x), {7, 3});
  expectNear(reduceRows("l2", x), {std::sqrt(21.0), std::sqrt(4.5)});
  expectNear(reduceRows("sum_square", x), {21, 4.5});
  expectNear(reduceRows("log_sum", x), {std::log(3.0), std::log(3.0)});
  expectNear(reduceRows("log_sum_exp", makeFloats({2, 2}, {1000, 1000, -kInf, -kInf})), {1000 + std::log(2.0), -kInf});
}

TEST_F(ReductionTest, NanWinsAndNothingHasItsNeutralValue) {
  expectNear(reduceRows("max", makeFloats({2, 2}, {1, kNan, kNan, 1})), {kNan, kNan});
  expectNear(reduceRows("min", makeFloats({2, 2}, {1, kNan, kNan, 1})), {kNan, kNan});
  HostTensor none = makeFloats({1, 0}, {});
  expectNear(reduceRows("sum", none), {0});
  expectNear(reduceRows("mean", none), {kNan});
  expectNear(reduceRows("prod", none), {1});
  expectNear(reduceRows("max", none), {-kInf});
  expectNear(reduceRows("min", none), {kInf});
  expectNear(reduceRows("log_sum_exp", none), {-kInf});
}

TEST_F(ReductionTest, IntegersWrapAndTruncate) {
  EXPECT_EQ(reduceInts("sum", "i8", {100, 100}), (Ints{-56}));
  EXPECT_EQ(reduceInts("prod", "i32", {65536, 65536, 2}), (Ints{0}));
  EXPECT_EQ(reduceInts("mean", "i64", {-3, 0}), (Ints{-1}));
  EXPECT_EQ(reduceInts("mean", "i64", {INT64_MAX, INT64_MAX}), (Ints{INT64_MAX}));
  EXPECT_EQ(reduceInts("max", "ui64", {1, -1}), (Ints{-1}));
  EXPECT_EQ(reduceInts("min", "i64", {1, -1}), (Ints{-1}));
  EXPECT_EQ(reduceInts("l1", "i8", {-128, 1}), (Ints{-127}));
  EXPECT_EQ(reduceInts("sum_square", "i32", {3, 4}), (Ints{25}));
  EXPECT_EQ(reduceInts("max", "i1", {0, 1}), (Ints{1}));
  EXPECT_EQ(reduceInts("min", "i1", {0, 1}), (Ints{0}));
}

TEST_F(ReductionTest, ReducesInnerAndOuterAxesAtOnce) {
  // x (2, 2, 2) = 0 ... 7; over axes 0 and 2 remain 0+1+4+5 and 2+3+6+7
  HostTensor x = makeFloats({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  std::vector<HostTensor> y = runOp(
      "nn.reduce sum %a axes [0, 2] {keepdims} : (tensor<2x2x2xf32>) -> tensor<1x2x1xf32>", {x}, "tensor<1x2x1xf32>");
  expectNear(y.at(0).getFloats(), {10, 18});
  expectNear(
      floatsOf("nn.reduce sum_square %a axes [] : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>", {x}, "tensor<2x2x2xf32>"),
      {0, 1, 4, 9, 16, 25, 36, 49});
}

TEST_F(ReductionTest, ArgReduceTakesTheFirstOrLastAndNanFirst) {
  HostTensor x = makeFloats({3, 3}, {1, 3, 3, 2, 2, 2, 5, kNan, 6});
  EXPECT_EQ(intsOf("nn.arg_reduce max %a {axis = 1 : i64} : (tensor<3x3xf32>) -> tensor<3xi64>", {x}, "tensor<3xi64>"),
            (Ints{1, 0, 1}));
  EXPECT_EQ(intsOf("nn.arg_reduce max %a {axis = 1 : i64, select_last_index} : (tensor<3x3xf32>) -> tensor<3xi64>", {x},
                   "tensor<3xi64>"),
            (Ints{2, 2, 1}));
  EXPECT_EQ(intsOf("nn.arg_reduce min %a {axis = 0 : i64, keepdims} : (tensor<3x3xf32>) -> tensor<1x3xi64>", {x},
                   "tensor<1x3xi64>"),
            (Ints{0, 2, 1}));
}

TEST_F(ReductionTest, ArgReduceOfNothingIsAnError) {
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(R"(
func.func @main(%a: tensor<2x?xf32>) -> tensor<2xi64> {
  %y = nn.arg_reduce max %a {axis = 1 : i64} : (tensor<2x?xf32>) -> tensor<2xi64>
  return %y : tensor<2xi64>
})");
  ASSERT_TRUE(module);
  auto outputs = Evaluator::create(*module)->run({makeFloats({2, 0}, {})});
  EXPECT_EQ(llvm::toString(outputs.takeError()), "'nn.arg_reduce' op: expects at least one element along axis 1");
}

TEST_F(ReductionTest, RunningSumsGoEitherWay) {
  HostTensor x = makeInts({2, 3}, {1, 2, 3, 4, 5, 6});
  auto run = [&](const std::string &attributes) {
    return intsOf("nn.cumsum %a {" + attributes + "} : (tensor<2x3xi64>) -> tensor<2x3xi64>", {x}, "tensor<2x3xi64>");
  };
  EXPECT_EQ(run("axis = 1 : i64"), (Ints{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(run("axis = 1 : i64, exclusive"), (Ints{0, 1, 3, 0, 4, 9}));
  EXPECT_EQ(run("axis = 1 : i64, reverse"), (Ints{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(run("axis = 1 : i64, exclusive, reverse"), (Ints{5, 3, 0, 11, 6, 0}));
  EXPECT_EQ(run("axis = 0 : i64"), (Ints{1, 2, 3, 5, 7, 9}));
}

TEST_F(ReductionTest, SoftmaxDoesNotOverflowAndKeepsNanRows) {
  double a = 1 / (1 + std::exp(-1.0));
  expectNear(floatsOf("nn.softmax %a {axis = 1 : i64} : (tensor<3x2xf32>) -> tensor<3x2xf32>",
                      {makeFloats({3, 2}, {1001, 1000, 0, -kInf, -kInf, -kInf})}, "tensor<3x2xf32>"),
             {a, 1 - a, 1, 0, kNan, kNan});
  expectNear(floatsOf("nn.softmax %a {axis = 0 : i64} : (tensor<2x1xf32>) -> tensor<2x1xf32>",
                      {makeFloats({2, 1}, {1, 0})}, "tensor<2x1xf32>"),
             {a, 1 - a});
  expectNear(floatsOf("nn.log_softmax %a {axis = 1 : i64} : (tensor<1x2xf32>) -> tensor<1x2xf32>",
                      {makeFloats({1, 2}, {1001, 1000})}, "tensor<1x2xf32>"),
             {std::log(a), std::log(1 - a)});
}

TEST_F(ReductionTest, LayerNormOfTwoElementsIsPlusAndMinusOne) {
  // mean 2, variance 1: (x - 2) / sqrt(1 + 3) = -0.5, 0.5, then scale and bias
  expectNear(floatsOf("nn.layer_norm %a, %b, %c {axis = 1 : i64, epsilon = 3.0 : f32}"
                      " : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>",
                      {makeFloats({1, 2}, {1, 3}), makeFloats({2}, {10, 20}), makeFloats({2}, {1, 2})},
                      "tensor<1x2xf32>"),
             {-4, 12});
  // Over two axes, without a bias: the same for four elements.
  expectNear(floatsOf("nn.layer_norm %a, %b {axis = 0 : i64, epsilon = 0.0 : f32}"
                      " : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>",
                      {makeFloats({2, 2}, {1, 3, 1, 3}), makeFloats({}, {2})}, "tensor<2x2xf32>"),
             {-2, 2, -2, 2});
}

TEST_F(ReductionTest, RmsNormDividesByTheRootMeanSquare) {
  // mean square of (1, 7) is 25
  expectNear(floatsOf("nn.rms_norm %a, %b {axis = 1 : i64, epsilon = 0.0 : f32}"
                      " : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>",
                      {makeFloats({1, 2}, {1, 7}), makeFloats({2}, {5, 10})}, "tensor<1x2xf32>"),
             {1, 14});
}

TEST_F(ReductionTest, RangesRoundTheirLengthUp) {
  auto ints = [&](int64_t start, int64_t limit, int64_t delta, const std::string &type) {
    return intsOf("nn.range %a, %b, %c : (tensor<i64>, tensor<i64>, tensor<i64>) -> " + type,
                  {makeInts({}, {start}), makeInts({}, {limit}), makeInts({}, {delta})}, type);
  };
  EXPECT_EQ(ints(0, 5, 2, "tensor<?xi64>"), (Ints{0, 2, 4}));
  EXPECT_EQ(ints(5, 0, -2, "tensor<?xi64>"), (Ints{5, 3, 1}));
  EXPECT_EQ(ints(5, 0, 1, "tensor<?xi64>"), (Ints{}));
  EXPECT_EQ(ints(INT64_MAX - 1, INT64_MAX, INT64_MAX, "tensor<?xi64>"), (Ints{INT64_MAX - 1}));
  expectNear(floatsOf("nn.range %a, %b, %c : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>",
                      {makeFloats({}, {1}), makeFloats({}, {2}), makeFloats({}, {0.375})}, "tensor<?xf32>"),
             {1, 1.375, 1.75});
}

TEST_F(ReductionTest, RangesThatNeverEndAreErrors) {
  auto error = [&](int64_t limit, int64_t delta) {
    return runOpError("nn.range %a, %b, %c : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>",
                      {makeInts({}, {0}), makeInts({}, {limit}), makeInts({}, {delta})}, "tensor<?xi64>");
  };
  EXPECT_EQ(error(5, 0), "'nn.range' op: expects a delta other than 0");
  EXPECT_EQ(error(INT64_MAX, 1), "'nn.range' op: expects a range of at most 1073741824 elements");
}

TEST_F(ReductionTest, ShapeSizeAndFill) {
  HostTensor x = makeFloats({2, 0, 3}, {});
  EXPECT_EQ(intsOf("nn.shape %a {start = 1 : i64, end = 3 : i64} : (tensor<2x0x3xf32>) -> tensor<2xi64>", {x},
                   "tensor<2xi64>"),
            (Ints{0, 3}));
  EXPECT_EQ(intsOf("nn.size %a : (tensor<2x0x3xf32>) -> tensor<i64>", {x}, "tensor<i64>"), (Ints{0}));
  expectNear(floatsOf("nn.constant_of_shape %a {value = 1.5 : f32} : (tensor<2xi64>) -> tensor<?x?xf32>",
                      {makeInts({2}, {1, 2})}, "tensor<?x?xf32>"),
             {1.5, 1.5});
  EXPECT_EQ(runOpError("nn.constant_of_shape %a {value = 1 : i64} : (tensor<1xi64>) -> tensor<?xi64>",
                       {makeInts({1}, {-1})}, "tensor<?xi64>"),
            "'nn.constant_of_shape' op: expects extents of at least 0, got shape [-1]");
}

} // namespace
} // namespace heddle::reference
