// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps: expectations worked out by hand, above all where integers wrap and where NaNs and zeros meet.

#include "tests/compiler/reference/evaluator_test.h"

namespace heddle::reference {
namespace {

const double kInf = INFINITY;
const double kNan = NAN;

class ElementwiseTest : public EvaluatorTest {
protected:
  std::vector<double> unary(const std::string &kind, std::vector<double> x) {
    std::string type = "tensor<" + std::to_string(x.size()) + "xf32>";
    HostTensor input = makeFloats({int64_t(x.size())}, x);
    return floatsOf("nn.unary " + kind + " %a : (" + type + ") -> " + type, {input}, type);
  }
  std::vector<double> binary(const std::string &kind, std::vector<double> x, std::vector<double> y) {
    int64_t n = x.size();
    std::string type = "tensor<" + std::to_string(n) + "xf32>";
    return floatsOf("nn.binary " + kind + " %a, %b : (" + type + ", " + type + ") -> " + type,
                    {makeFloats({n}, x), makeFloats({n}, y)}, type);
  }
  std::vector<int64_t> binaryInts(const std::string &kind, const std::string &element, std::vector<int64_t> x,
                                  std::vector<int64_t> y) {
    int64_t n = x.size();
    std::string type = "tensor<" + std::to_string(n) + "x" + element + ">";
    return intsOf("nn.binary " + kind + " %a, %b : (" + type + ", " + type + ") -> " + type,
                  {makeInts({n}, x, element), makeInts({n}, y, element)}, type);
  }
  HostTensor cast(const HostTensor &input, const std::string &to) {
    std::string shape = "<" + std::to_string(input.getNumElements()) + "x";
    std::string from;
    llvm::raw_string_ostream(from) << input.getType();
    std::string result = "tensor" + shape + to + ">";
    return runOp("nn.cast %a {to = " + to + "} : (" + from + ") -> " + result, {input}, result).at(0);
  }
};

using Ints = std::vector<int64_t>;

TEST_F(ElementwiseTest, UnaryFloatsFollowTheirFormulas) {
  expectNear(unary("abs", {-2, 3, -0.0}), {2, 3, 0});
  expectNear(unary("neg", {-2, 3}), {2, -3});
  expectNear(unary("sign", {-2, 3, 0, kNan}), {-1, 1, 0, kNan});
  expectNear(unary("relu", {-2, 3, kNan}), {0, 3, kNan});
  expectNear(unary("sqrt", {4, 2, -1}), {2, 1.41421356237309505, kNan});
  expectNear(unary("reciprocal", {4, 0}), {0.25, kInf});
  expectNear(unary("exp", {0, 1, -kInf}), {1, 2.71828182845904524, 0});
  expectNear(unary("log", {1, 0, -1}), {0, -kInf, kNan});
  expectNear(unary("sin", {0, 1}), {0, 0.841470984807896507});
  expectNear(unary("cos", {0, 1}), {1, 0.540302305868139717});
  expectNear(unary("tanh", {0, 1}), {0, 0.761594155955764888});
  expectNear(unary("erf", {0, 1}), {0, 0.842700792949714869});
  expectNear(unary("floor", {-1.5, 1.5}), {-2, 1});
  expectNear(unary("ceil", {-1.5, 1.5}), {-1, 2});
  expectNear(unary("round", {0.5, 1.5, 2.5, -0.5, -1.5}), {0, 2, 2, 0, -2});
}

TEST_F(ElementwiseTest, ActivationsFollowTheirFormulasAndDoNotOverflow) {
  expectNear(unary("sigmoid", {0, 1, -800}), {0.5, 0.731058578630004879, 0});
  expectNear(unary("softplus", {0, 800, -800}), {0.693147180559945309, 800, 0});
  expectNear(unary("silu", {1, 0}), {0.731058578630004879, 0});
  expectNear(unary("gelu_erf", {1, -1, 0}), {0.841344746068542949, -0.158655253931457051, 0});
  expectNear(unary("gelu_tanh", {1, 0}), {0.8411919906082768, 0});
  expectNear(unary("quick_gelu", {1, 0}), {0.8457957659328212, 0});
}

TEST_F(ElementwiseTest, TestsForNanAndInfinity) {
  HostTensor x = makeFloats({4}, {1, kNan, kInf, -kInf});
  EXPECT_EQ(intsOf("nn.unary is_nan %a : (tensor<4xf32>) -> tensor<4xi1>", {x}, "tensor<4xi1>"), (Ints{0, 1, 0, 0}));
  EXPECT_EQ(intsOf("nn.unary is_inf %a : (tensor<4xf32>) -> tensor<4xi1>", {x}, "tensor<4xi1>"), (Ints{0, 0, 1, 1}));
}

TEST_F(ElementwiseTest, UnaryIntegersWrapInTheirWidth) {
  HostTensor x = makeInts({3}, {-128, 127, -1}, "i8");
  auto run = [&](const std::string &kind) {
    return intsOf("nn.unary " + kind + " %a : (tensor<3xi8>) -> tensor<3xi8>", {x}, "tensor<3xi8>");
  };
  EXPECT_EQ(run("abs"), (Ints{-128, 127, 1}));
  EXPECT_EQ(run("neg"), (Ints{-128, -127, 1}));
  EXPECT_EQ(run("sign"), (Ints{-1, 1, -1}));
  EXPECT_EQ(run("relu"), (Ints{0, 127, 0}));
  EXPECT_EQ(run("bitwise_not"), (Ints{127, -128, 0}));
  EXPECT_EQ(intsOf("nn.unary not %a : (tensor<2xi1>) -> tensor<2xi1>", {makeInts({2}, {0, 1}, "i1")}, "tensor<2xi1>"),
            (Ints{1, 0}));
}

TEST_F(ElementwiseTest, BinaryFloatsFollowTheirFormulas) {
  expectNear(binary("add", {1, 2}, {3, 4}), {4, 6});
  expectNear(binary("sub", {1, 2}, {3, 5}), {-2, -3});
  expectNear(binary("mul", {1, 2}, {3, 5}), {3, 10});
  expectNear(binary("div", {1, 2}, {0, -4}), {kInf, -0.5});
  expectNear(binary("pow", {2, 4}, {10, -0.5}), {1024, 0.5});
  expectNear(binary("fmod", {-7, 7}, {3, -3}), {-1, 1});
  expectNear(binary("min", {1, kNan, 2}, {2, 1, kNan}), {1, kNan, kNan});
  expectNear(binary("max", {1, kNan, 2}, {2, 1, kNan}), {2, kNan, kNan});
}

TEST_F(ElementwiseTest, BinaryIntegersWrapAndNeverTrap) {
  EXPECT_EQ(binaryInts("add", "i8", {127, -1}, {1, 1}), (Ints{-128, 0}));
  EXPECT_EQ(binaryInts("sub", "ui8", {0, 5}, {1, 2}), (Ints{255, 3}));
  EXPECT_EQ(binaryInts("mul", "i64", {INT64_MAX, 3}, {2, -3}), (Ints{-2, -9}));
  EXPECT_EQ(binaryInts("div", "i64", {-7, 7, 1, INT64_MIN}, {2, -2, 0, -1}), (Ints{-3, -3, 0, INT64_MIN}));
  EXPECT_EQ(binaryInts("div", "i8", {-128}, {-1}), (Ints{-128}));
  EXPECT_EQ(binaryInts("div", "ui64", {-1}, {2}), (Ints{INT64_MAX}));
  EXPECT_EQ(binaryInts("mod", "i32", {-7, 7, -7, 5}, {3, -3, -3, 0}), (Ints{2, -2, -1, 0}));
  EXPECT_EQ(binaryInts("fmod", "i32", {-7, 7, INT32_MIN, 5}, {3, -3, -1, 0}), (Ints{-1, 1, 0, 0}));
  EXPECT_EQ(binaryInts("min", "ui64", {-1}, {1}), (Ints{1}));
  EXPECT_EQ(binaryInts("max", "i64", {-1}, {1}), (Ints{1}));
}

TEST_F(ElementwiseTest, PowersOfIntegersAreExactOrTruncated) {
  EXPECT_EQ(binaryInts("pow", "i64", {3, -2, 2, -1, 0}, {39, 3, -1, -3, -1}),
            (Ints{4052555153018976267, -8, 0, -1, 0}));
  EXPECT_EQ(intsOf("nn.binary pow %a, %b : (tensor<2xi32>, tensor<2xf32>) -> tensor<2xi32>",
                   {makeInts({2}, {2, 9}, "i32"), makeFloats({2}, {0.5, 0.5})}, "tensor<2xi32>"),
            (Ints{1, 3}));
}

TEST_F(ElementwiseTest, LogicAndBits) {
  EXPECT_EQ(binaryInts("and", "i1", {0, 0, 1, 1}, {0, 1, 0, 1}), (Ints{0, 0, 0, 1}));
  EXPECT_EQ(binaryInts("or", "i1", {0, 0, 1, 1}, {0, 1, 0, 1}), (Ints{0, 1, 1, 1}));
  EXPECT_EQ(binaryInts("xor", "i1", {0, 0, 1, 1}, {0, 1, 0, 1}), (Ints{0, 1, 1, 0}));
  EXPECT_EQ(binaryInts("bitwise_and", "i16", {12}, {10}), (Ints{8}));
  EXPECT_EQ(binaryInts("bitwise_or", "i16", {12}, {10}), (Ints{14}));
  EXPECT_EQ(binaryInts("bitwise_xor", "ui8", {12}, {255}), (Ints{243}));
}

TEST_F(ElementwiseTest, OperandsBroadcastFromTheRight) {
  expectNear(floatsOf("nn.binary add %a, %b : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2x3xf32>",
                      {makeFloats({2, 1}, {10, 20}), makeFloats({3}, {1, 2, 3})}, "tensor<2x3xf32>"),
             {11, 12, 13, 21, 22, 23});
}

TEST_F(ElementwiseTest, ReportsShapesThatDoNotBroadcast) {
  // The parser sees `?` only; the run sees 2 and 3.
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(R"(
func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %y = nn.binary add %a, %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
})");
  ASSERT_TRUE(module);
  auto outputs = Evaluator::create(*module)->run({makeFloats({2}, {1, 2}), makeFloats({3}, {1, 2, 3})});
  EXPECT_EQ(llvm::toString(outputs.takeError()),
            "'nn.binary' op: expects operands that broadcast, got shapes [2] and [3]");
}

TEST_F(ElementwiseTest, ComparesFloatsWithNanAndUnsignedIntegers) {
  auto compare = [&](const std::string &kind, HostTensor x, HostTensor y, const std::string &type) {
    return intsOf("nn.compare " + kind + " %a, %b : (" + type + ", " + type + ") -> tensor<3xi1>", {x, y},
                  "tensor<3xi1>");
  };
  HostTensor x = makeFloats({3}, {1, 2, kNan}), y = makeFloats({3}, {2, 2, kNan});
  EXPECT_EQ(compare("eq", x, y, "tensor<3xf32>"), (Ints{0, 1, 0}));
  EXPECT_EQ(compare("ne", x, y, "tensor<3xf32>"), (Ints{1, 0, 1}));
  EXPECT_EQ(compare("lt", x, y, "tensor<3xf32>"), (Ints{1, 0, 0}));
  EXPECT_EQ(compare("le", x, y, "tensor<3xf32>"), (Ints{1, 1, 0}));
  EXPECT_EQ(compare("gt", x, y, "tensor<3xf32>"), (Ints{0, 0, 0}));
  EXPECT_EQ(compare("ge", x, y, "tensor<3xf32>"), (Ints{0, 1, 0}));
  HostTensor u = makeInts({3}, {-1, 0, 1}, "ui64"), v = makeInts({3}, {1, 1, 1}, "ui64");
  EXPECT_EQ(compare("gt", u, v, "tensor<3xui64>"), (Ints{1, 0, 0}));
}

TEST_F(ElementwiseTest, WhereIgnoresWhatItDoesNotSelect) {
  expectNear(floatsOf("nn.where %a, %b, %c : (tensor<3xi1>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>",
                      {makeInts({3}, {1, 0, 1}, "i1"), makeFloats({3}, {1, kNan, 3}), makeFloats({}, {-1})},
                      "tensor<3xf32>"),
             {1, -1, 3});
}

TEST_F(ElementwiseTest, CastsBetweenFloatsRoundToNearestEven) {
  EXPECT_EQ(cast(makeFloats({3}, {1 + 0x1p-11, 1e6, 1 + 3 * 0x1p-11}), "f16").getFloats().vec(),
            (std::vector<double>{1, kInf, 1 + 0x1p-9}));
  EXPECT_EQ(cast(makeFloats({1}, {1 + 0x1p-8}), "bf16").getFloats().vec(), (std::vector<double>{1}));
  EXPECT_EQ(cast(makeFloats({1}, {1 + 0x1p-30}, "f64"), "f32").getFloats().vec(), (std::vector<double>{1}));
}

TEST_F(ElementwiseTest, CastsToIntegersTruncateSaturateAndKeepLowBits) {
  HostTensor x = makeFloats({5}, {-1.9, 1.9, 300, -300, kNan});
  EXPECT_EQ(cast(x, "i8").getInts().vec(), (Ints{-1, 1, 127, -128, 0}));
  EXPECT_EQ(cast(x, "ui8").getInts().vec(), (Ints{0, 1, 255, 0, 0}));
  EXPECT_EQ(cast(x, "i1").getInts().vec(), (Ints{1, 1, 1, 1, 1}));
  EXPECT_EQ(cast(makeInts({2}, {257, -1}), "ui8").getInts().vec(), (Ints{1, 255}));
  EXPECT_EQ(cast(makeInts({2}, {128, -129}), "i8").getInts().vec(), (Ints{-128, 127}));
  EXPECT_EQ(cast(makeInts({2}, {256, 0}), "i1").getInts().vec(), (Ints{1, 0}));
}

TEST_F(ElementwiseTest, CastsToFloatsRoundOnce) {
  EXPECT_EQ(cast(makeInts({1}, {16777217}), "f32").getFloats().vec(), (std::vector<double>{16777216}));
  EXPECT_EQ(cast(makeInts({2}, {1, 0}, "i1"), "f32").getFloats().vec(), (std::vector<double>{1, 0}));
  EXPECT_EQ(cast(makeInts({1}, {-1}, "ui64"), "f64").getFloats().vec(), (std::vector<double>{0x1p64}));
}

TEST_F(ElementwiseTest, ClipKeepsNanAndPrefersTheUpperBound) {
  expectNear(floatsOf("nn.clip %a min(%b : tensor<f32>) max(%c : tensor<f32>) : (tensor<4xf32>) -> tensor<4xf32>",
                      {makeFloats({4}, {-5, 0.5, 5, kNan}), makeFloats({}, {0}), makeFloats({}, {1})}, "tensor<4xf32>"),
             {0, 0.5, 1, kNan});
  EXPECT_EQ(intsOf("nn.clip %a min(%b : tensor<i64>) max(%c : tensor<i64>) : (tensor<2xi64>) -> tensor<2xi64>",
                   {makeInts({2}, {-5, 5}), makeInts({}, {3}), makeInts({}, {1})}, "tensor<2xi64>"),
            (Ints{1, 1}));
  EXPECT_EQ(intsOf("nn.clip %a max(%b : tensor<i64>) : (tensor<2xi64>) -> tensor<2xi64>",
                   {makeInts({2}, {-5, 5}), makeInts({}, {1})}, "tensor<2xi64>"),
            (Ints{-5, 1}));
}

} // namespace
} // namespace heddle::reference
