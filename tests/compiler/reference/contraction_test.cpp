// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products and quantisation: small cases by hand, and blocked loops against the textbook ones.

#include "compiler/reference/MatMul.h"
#include "tests/compiler/reference/evaluator_test.h"

#include <limits>
#include <random>

namespace heddle::reference {
namespace {

using Ints = std::vector<int64_t>;

class ContractionTest : public EvaluatorTest {};

TEST_F(ContractionTest, BlockedProductEqualsTheTextbookOnIntegers) {
  // Extents around the block, so that every remainder occurs; integers, so that equality is exact.
  int64_t m = 37, k = 131, n = 133;
  std::vector<int64_t> a(m * k), b(k * n), expected(m * n);
  std::vector<double> a64(m * k), b64(k * n);
  for (size_t i = 0; i < a.size(); ++i)
    a64[i] = a[i] = int64_t(i * 7919 % 201) - 100;
  for (size_t i = 0; i < b.size(); ++i)
    b64[i] = b[i] = int64_t(i * 104729 % 201) - 100;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t p = 0; p < k; ++p)
        expected[i * n + j] += a[i * k + p] * b[p * n + j];
  EXPECT_EQ(matmul(makeInts({m, k}, a), makeInts({k, n}, b), mlir::IntegerType::get(&context, 64))->getInts().vec(),
            expected);
  llvm::Expected<HostTensor> floats =
      matmul(makeFloats({m, k}, a64), makeFloats({k, n}, b64), mlir::Float32Type::get(&context));
  EXPECT_EQ(floats->getFloats().vec(), std::vector<double>(expected.begin(), expected.end()));
}

TEST_F(ContractionTest, ARowDoesNotDependOnOthers) {
  int64_t m = 70, k = 131, n = 9;
  std::vector<double> a(m * k), b(k * n);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = std::sin(i);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = std::cos(i);
  mlir::Type type = mlir::Float32Type::get(&context);
  HostTensor all = *matmul(makeFloats({m, k}, a), makeFloats({k, n}, b), type);
  std::vector<double> last(a.end() - k, a.end());
  HostTensor one = *matmul(makeFloats({1, k}, last), makeFloats({k, n}, b), type);
  EXPECT_EQ(all.getFloats().take_back(n), one.getFloats());
}

TEST_F(ContractionTest, MatMulBroadcastsBatchesAndTakesVectors) {
  expectNear(floatsOf("nn.matmul %a, %b : (tensor<2x1x1x2xf32>, tensor<2x2x1xf32>) -> tensor<2x2x1x1xf32>",
                      {makeFloats({2, 1, 1, 2}, {1, 2, 3, 4}), makeFloats({2, 2, 1}, {1, 0, 0, 1})},
                      "tensor<2x2x1x1xf32>"),
             {1, 2, 3, 4});
  expectNear(floatsOf("nn.matmul %a, %b : (tensor<2xf32>, tensor<2x3xf32>) -> tensor<3xf32>",
                      {makeFloats({2}, {1, 10}), makeFloats({2, 3}, {1, 2, 3, 4, 5, 6})}, "tensor<3xf32>"),
             {41, 52, 63});
  expectNear(floatsOf("nn.matmul %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>",
                      {makeFloats({2}, {1, 10}), makeFloats({2}, {2, 3})}, "tensor<f32>"),
             {32});
  EXPECT_EQ(intsOf("nn.matmul %a, %b : (tensor<1x2xi8>, tensor<2x1xi8>) -> tensor<1x1xi8>",
                   {makeInts({1, 2}, {100, 100}, "i8"), makeInts({2, 1}, {1, 1}, "i8")}, "tensor<1x1xi8>"),
            (Ints{-56}));
}

TEST_F(ContractionTest, MatMulReportsInnerDimensionsSeenAtRunTime) {
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(R"(
func.func @main(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = nn.matmul %a, %b : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
})");
  ASSERT_TRUE(module);
  auto outputs = Evaluator::create(*module)->run({makeFloats({1, 2}, {1, 2}), makeFloats({1, 2}, {1, 2})});
  EXPECT_EQ(llvm::toString(outputs.takeError()), "'nn.matmul' op: expects equal inner dimensions, got 2 and 1");
}

TEST_F(ContractionTest, GemmTransposesScalesAndAdds) {
  // 2 * (a^T b^T) + 0.5 * c with a (2, 1), b (2, 2)
  expectNear(floatsOf("nn.gemm %a, %b, %c {trans_a, trans_b, alpha = 2.0 : f32, beta = 0.5 : f32}"
                      " : (tensor<2x1xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>",
                      {makeFloats({2, 1}, {1, 2}), makeFloats({2, 2}, {1, 2, 3, 4}), makeFloats({2}, {10, 20})},
                      "tensor<1x2xf32>"),
             {15, 32});
  EXPECT_EQ(intsOf("nn.gemm %a, %b, %c : (tensor<1x1xi32>, tensor<1x1xi32>, tensor<i32>) -> tensor<1x1xi32>",
                   {makeInts({1, 1}, {3}, "i32"), makeInts({1, 1}, {4}, "i32"), makeInts({}, {INT32_MAX}, "i32")},
                   "tensor<1x1xi32>"),
            (Ints{INT32_MIN + 11}));
}

TEST_F(ContractionTest, EinsumContractsTakesDiagonalsAndBroadcasts) {
  HostTensor a = makeFloats({2, 2}, {1, 2, 3, 4}), b = makeFloats({2, 2}, {5, 6, 7, 8});
  expectNear(floatsOf(R"(nn.einsum "ij,jk->ki" %a, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>)", {a, b},
                      "tensor<2x2xf32>"),
             {19, 43, 22, 50});
  expectNear(floatsOf(R"(nn.einsum "ii->i" %a : (tensor<2x2xf32>) -> tensor<2xf32>)", {a}, "tensor<2xf32>"), {1, 4});
  expectNear(floatsOf(R"(nn.einsum "ij->" %a : (tensor<2x2xf32>) -> tensor<f32>)", {a}, "tensor<f32>"), {10});
  expectNear(floatsOf(R"(nn.einsum "...i,...i->..." %a, %b : (tensor<2x2xf32>, tensor<1x2xf32>) -> tensor<2xf32>)",
                      {a, makeFloats({1, 2}, {1, 10})}, "tensor<2xf32>"),
             {21, 43});
}

TEST_F(ContractionTest, ConvolutionPadsStridesAndDilates) {
  HostTensor x = makeFloats({1, 1, 4}, {1, 2, 3, 4}), w = makeFloats({1, 1, 2}, {1, 10});
  auto conv = [&](const std::string &strides, const std::string &pads, const std::string &dilations, int64_t out) {
    std::string type = "tensor<1x1x" + std::to_string(out) + "xf32>";
    return floatsOf("nn.conv %a, %b {strides = array<i64: " + strides + ">, pads = array<i64: " + pads +
                        ">, dilations = array<i64: " + dilations +
                        ">, group = 1 : i64} : (tensor<1x1x4xf32>, tensor<1x1x2xf32>) -> " + type,
                    {x, w}, type);
  };
  expectNear(conv("1", "0, 0", "1", 3), {21, 32, 43});
  expectNear(conv("2", "1, 1", "1", 3), {10, 32, 4});
  expectNear(conv("1", "0, 0", "2", 2), {31, 42});
}

TEST_F(ContractionTest, ConvolutionKeepsGroupsApart) {
  // Two groups of one channel, 1 x 1 kernels: channel 0 times 2, channel 1 times 3, plus biases.
  expectNear(floatsOf("nn.conv %a, %b, %c {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,"
                      " dilations = array<i64: 1, 1>, group = 2 : i64}"
                      " : (tensor<2x2x1x2xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<2x2x1x2xf32>",
                      {makeFloats({2, 2, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), makeFloats({2, 1, 1, 1}, {2, 3}),
                       makeFloats({2}, {100, 200})},
                      "tensor<2x2x1x2xf32>"),
             {102, 104, 209, 212, 110, 112, 221, 224});
}

TEST_F(ContractionTest, ReportsWhatOnlyTheRunSees) {
  // All types are dynamic, so that no verifier has seen the mistake.
  auto error = [&](const std::string &text, std::vector<HostTensor> inputs) {
    mlir::OwningOpRef<mlir::ModuleOp> module = parse("func.func @main" + text);
    return module ? llvm::toString(Evaluator::create(*module)->run(inputs).takeError()) : "";
  };
  std::string conv = "(%x: tensor<1x?x?xf32>, %w: tensor<?x?x?xf32>, %b: tensor<?xf32>) -> tensor<1x?x?xf32> {"
                     "%y = nn.conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = "
                     "array<i64: 1>, group = 1 : i64} : (tensor<1x?x?xf32>, tensor<?x?x?xf32>, tensor<?xf32>) -> "
                     "tensor<1x?x?xf32> return %y : tensor<1x?x?xf32> }";
  HostTensor x = makeFloats({1, 2, 2}, {1, 2, 3, 4}), bias = makeFloats({1}, {0});
  EXPECT_EQ(error(conv, {x, makeFloats({1, 1, 1}, {1}), bias}),
            "'nn.conv' op: expects 1 input channels (1 groups of 1), got 2");
  EXPECT_EQ(error(conv, {x, makeFloats({1, 2, 3}, {1, 1, 1, 1, 1, 1}), bias}),
            "'nn.conv' op: expects a kernel that fits the padded input, got extent 3 in 2 at spatial dimension 0");
  EXPECT_EQ(error(conv, {x, makeFloats({2, 2, 1}, {1, 1, 1, 1}), bias}),
            "'nn.conv' op: expects 1 groups of output channels and one bias each, got weight of shape [2, 2, 1]");
  std::string quantize = "(%x: tensor<?xf32>, %s: tensor<?xf32>, %z: tensor<?xi8>) -> tensor<?xi8> {"
                         "%y = nn.quantize_linear %x, %s, %z {axis = 0 : i64, block_size = 0 : i64, to = i8} : "
                         "(tensor<?xf32>, tensor<?xf32>, tensor<?xi8>) -> tensor<?xi8> return %y : tensor<?xi8> }";
  HostTensor three = makeFloats({3}, {1, 2, 3});
  EXPECT_EQ(error(quantize, {three, makeFloats({2}, {1, 1}), makeInts({2}, {0, 0}, "i8")}),
            "'nn.quantize_linear' op: expects a scale of shape [3], got [2]");
  EXPECT_EQ(error(quantize, {three, three, makeInts({2}, {0, 0}, "i8")}),
            "'nn.quantize_linear' op: expects a zero point of shape [3], got [2]");
}

TEST_F(ContractionTest, QuantizeRoundsHalfToEvenThenShiftsThenSaturates) {
  EXPECT_EQ(intsOf("nn.quantize_linear %a, %b, %c {axis = 0 : i64, block_size = 0 : i64, to = ui8}"
                   " : (tensor<6xf32>, tensor<f32>, tensor<ui8>) -> tensor<6xui8>",
                   {makeFloats({6}, {1, 3, 5, -1000, 1000, NAN}), makeFloats({}, {2}), makeInts({}, {10}, "ui8")},
                   "tensor<6xui8>"),
            (Ints{10, 12, 12, 0, 255, 10}));
}

TEST_F(ContractionTest, QuantizeDividesInF32) {
  // In f32 0.3 / 0.2 is 1.5 exactly and goes to 2; the doubles nearest to these floats give 1.49999998.
  EXPECT_EQ(intsOf("nn.quantize_linear %a, %b {axis = 0 : i64, block_size = 0 : i64, to = i8}"
                   " : (tensor<1xf32>, tensor<f32>) -> tensor<1xi8>",
                   {makeFloats({1}, {0.3f}), makeFloats({}, {0.2f})}, "tensor<1xi8>"),
            (Ints{int64_t(std::nearbyintf(0.3f / 0.2f))}));
}

TEST_F(ContractionTest, ScalesServeAxesAndBlocks) {
  expectNear(floatsOf("nn.dequantize_linear %a, %b, %c {axis = 1 : i64, block_size = 0 : i64}"
                      " : (tensor<2x2xi8>, tensor<2xf32>, tensor<2xi8>) -> tensor<2x2xf32>",
                      {makeInts({2, 2}, {1, 2, 3, 4}, "i8"), makeFloats({2}, {0.5, 2}), makeInts({2}, {1, -1}, "i8")},
                      "tensor<2x2xf32>"),
             {0, 6, 1, 10});
  expectNear(floatsOf("nn.dequantize_linear %a, %b {axis = 1 : i64, block_size = 2 : i64}"
                      " : (tensor<1x3xi8>, tensor<1x2xf32>) -> tensor<1x3xf32>",
                      {makeInts({1, 3}, {1, 2, 3}, "i8"), makeFloats({1, 2}, {0.5, 2})}, "tensor<1x3xf32>"),
             {0.5, 1, 6});
}

TEST_F(ContractionTest, DynamicQuantizationIncludesZeroInItsRange) {
  auto run = [&](std::vector<double> x) {
    return runOp("nn.dynamic_quantize_linear %a : (tensor<3xf32>) -> (tensor<3xui8>, tensor<f32>, tensor<ui8>)",
                 {makeFloats({3}, x)}, "tensor<3xui8>, tensor<f32>, tensor<ui8>");
  };
  std::vector<HostTensor> y = run({-1, 0, 4.1f});
  float scale = (4.1f + 1) / 255;
  EXPECT_EQ(y[1].getFloats()[0], scale);
  EXPECT_EQ(y[2].getInts()[0], int64_t(std::nearbyint(1 / scale)));
  EXPECT_EQ(y[0].getInts().vec(), (Ints{0, 50, 255}));
  y = run({2, 4, 255});
  EXPECT_EQ(y[0].getInts().vec(), (Ints{2, 4, 255}));
  EXPECT_EQ(y[2].getInts()[0], 0);
  y = run({0, 0, 0});
  EXPECT_EQ(y[0].getInts().vec(), (Ints{0, 0, 0}));
  EXPECT_EQ(y[1].getFloats()[0], 0);
}

TEST_F(ContractionTest, MatMulIntegerSubtractsZeroPointsOfRowsAndColumns) {
  EXPECT_EQ(intsOf("nn.matmul_integer %a, %b lhs_zero_point(%c : tensor<2xui8>) rhs_zero_point(%d : tensor<2xi8>)"
                   " : (tensor<2x1xui8>, tensor<1x2xi8>) -> tensor<2x2xi32>",
                   {makeInts({2, 1}, {255, 0}, "ui8"), makeInts({1, 2}, {-128, 127}, "i8"),
                    makeInts({2}, {0, 255}, "ui8"), makeInts({2}, {127, -1}, "i8")},
                   "tensor<2x2xi32>"),
            (Ints{-65025, 32640, 65025, -32640}));
}

TEST_F(ContractionTest, MatMulIntegerSubtractsZeroPointsOfRowsInBatches) {
  EXPECT_EQ(intsOf("nn.matmul_integer %a, %b lhs_zero_point(%c : tensor<2x2x1xui8>)"
                   " : (tensor<2x2x1xui8>, tensor<1x1xi8>) -> tensor<2x2x1xi32>",
                   {makeInts({2, 2, 1}, {5, 5, 5, 5}, "ui8"), makeInts({1, 1}, {3}, "i8"),
                    makeInts({2, 2, 1}, {1, 2, 3, 4}, "ui8")},
                   "tensor<2x2x1xi32>"),
            (Ints{12, 9, 6, 3}));
}

TEST_F(ContractionTest, QuantizeRowsLooksAtEachRowAlone) {
  auto run = [&](std::vector<double> x) {
    return runOp("nn.quantize_rows %a : (tensor<2x3xf32>) -> (tensor<2x3xui8>, tensor<2x1xf32>, tensor<2x1xui8>)",
                 {makeFloats({2, 3}, x)}, "tensor<2x3xui8>, tensor<2x1xf32>, tensor<2x1xui8>");
  };
  std::vector<HostTensor> y = run({-1, 0, 4.1f, 0, 0, 0});
  EXPECT_EQ(y[1].getFloats().vec(), (std::vector<double>{(4.1f + 1) / 255, 1}));
  EXPECT_EQ(y[2].getInts().vec(), (Ints{50, 0}));
  EXPECT_EQ(y[0].getInts().vec(), (Ints{0, 50, 255, 0, 0, 0}));
  // A row that isn't finite spoils itself alone; one of denormal numbers has no scale of its own.
  y = run({1, std::numeric_limits<double>::infinity(), 2, 1e-38, 0, -1e-38});
  EXPECT_TRUE(std::isnan(y[1].getFloats()[0]));
  EXPECT_EQ(y[1].getFloats()[1], 1);
  EXPECT_EQ(y[0].getInts()[3], 0);
}

TEST_F(ContractionTest, QuantizeWeightGivesEachColumnItsScale) {
  std::vector<HostTensor> y = runOp("nn.quantize_weight %a {axis = 1 : i64, block_size = 0 : i64, to = i8}"
                                    " : (tensor<2x3xf32>) -> (tensor<2x3xi8>, tensor<3xf32>)",
                                    {makeFloats({2, 3}, {1, 0, -254, 0.5, 0, 127})}, "tensor<2x3xi8>, tensor<3xf32>");
  EXPECT_EQ(y[1].getFloats().vec(), (std::vector<double>{1 / 127.0f, 1, 2}));
  EXPECT_EQ(y[0].getInts().vec(), (Ints{127, 0, -127, 64, 0, 64})); // 63.5 to even
}

TEST_F(ContractionTest, QuantizeWeightBlocksAreRoundedUp) {
  std::vector<HostTensor> y = runOp("nn.quantize_weight %a {axis = 1 : i64, block_size = 2 : i64, to = i4}"
                                    " : (tensor<3x2xf32>) -> (tensor<3x2xi4>, tensor<2x2xf32>)",
                                    {makeFloats({3, 2}, {7, 1, -3, 0, 14, 70})}, "tensor<3x2xi4>, tensor<2x2xf32>");
  EXPECT_EQ(y[1].getFloats().vec(), (std::vector<double>{1, 1 / 7.0f, 2, 10}));
  EXPECT_EQ(y[0].getInts().vec(), (Ints{7, 7, -3, 0, 7, 7}));
}

TEST_F(ContractionTest, PairSafeWeightsFitSixteenBits) {
  // Column 0: a pair of equal sign at the limit raises the scale. Column 1: unequal signs leave it as it is.
  std::vector<HostTensor> y = runOp("nn.quantize_weight %a {axis = 1 : i64, block_size = 0 : i64, pair_safe, to = i8}"
                                    " : (tensor<3x2xf32>) -> (tensor<3x2xi8>, tensor<2xf32>)",
                                    {makeFloats({3, 2}, {127, 127, 127, -127, 1, 1})}, "tensor<3x2xi8>, tensor<2xf32>");
  EXPECT_EQ(y[1].getFloats().vec(), (std::vector<double>{254 / 128.0f, 1}));
  EXPECT_EQ(y[0].getInts().vec(), (Ints{64, 127, 64, -127, 1, 1}));
  // Whatever the weights, two products with 255 fit.
  std::mt19937 random(7);
  std::vector<double> weights(64);
  for (double &weight : weights)
    weight = static_cast<float>(std::normal_distribution<double>()(random));
  y = runOp("nn.quantize_weight %a {axis = 1 : i64, block_size = 0 : i64, pair_safe, to = i8}"
            " : (tensor<64x1xf32>) -> (tensor<64x1xi8>, tensor<1xf32>)",
            {makeFloats({64, 1}, weights)}, "tensor<64x1xi8>, tensor<1xf32>");
  for (int64_t i = 0; i < 64; i += 2)
    EXPECT_LE(std::abs(y[0].getInts()[i] + y[0].getInts()[i + 1]), 128);
}

} // namespace
} // namespace heddle::reference
