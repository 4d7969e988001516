// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fixture, and tests of the evaluator as a whole: values, lifetimes, errors.

#include "tests/compiler/reference/evaluator_test.h"

#include <map>

#include "dialects/attn/AttnDialect.h"
#include "dialects/nn/NnDialect.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace heddle::reference {

EvaluatorTest::EvaluatorTest() {
  context.loadDialect<nn::NnDialect, attn::AttnDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect>();
}

HostTensor EvaluatorTest::makeFloats(ArrayRef<int64_t> dims, std::vector<double> values, StringRef type) {
  return HostTensor(parseType(type, &context), dims, std::move(values));
}

HostTensor EvaluatorTest::makeInts(ArrayRef<int64_t> dims, std::vector<int64_t> values, StringRef type) {
  return HostTensor(parseType(type, &context), dims, std::move(values));
}

OwningOpRef<ModuleOp> EvaluatorTest::parse(const std::string &text) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  EXPECT_TRUE(module) << text;
  return module;
}

std::vector<HostTensor> EvaluatorTest::runModule(const std::string &text, ArrayRef<HostTensor> inputs) {
  OwningOpRef<ModuleOp> module = parse(text);
  if (!module)
    return {};
  llvm::Expected<Evaluator> evaluator = Evaluator::create(*module);
  if (!evaluator) {
    ADD_FAILURE() << llvm::toString(evaluator.takeError());
    return {};
  }
  auto outputs = evaluator->run(inputs);
  if (!outputs) {
    ADD_FAILURE() << llvm::toString(outputs.takeError()) << "\n" << text;
    return {};
  }
  return {outputs->begin(), outputs->end()};
}

std::string EvaluatorTest::getModule(const std::string &op, ArrayRef<HostTensor> inputs, const std::string &types) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "func.func @main(";
  for (size_t i = 0; i < inputs.size(); ++i)
    stream << (i ? ", " : "") << "%" << char('a' + i) << ": " << inputs[i].getType();
  size_t count = llvm::StringRef(types).count("tensor");
  stream << ") -> (" << types << ") {\n  %r:" << count << " = " << op << "\n  return ";
  for (size_t i = 0; i < count; ++i)
    stream << (i ? ", " : "") << "%r#" << i;
  stream << " : " << types << "\n}\n";
  return text;
}

std::vector<HostTensor> EvaluatorTest::runOp(const std::string &op, ArrayRef<HostTensor> inputs,
                                             const std::string &types) {
  return runModule(getModule(op, inputs, types), inputs);
}

std::string EvaluatorTest::runOpError(const std::string &op, ArrayRef<HostTensor> inputs, const std::string &types) {
  OwningOpRef<ModuleOp> module = parse(getModule(op, inputs, types));
  if (!module)
    return "";
  auto outputs = Evaluator::create(*module)->run(inputs);
  return outputs ? "no error" : llvm::toString(outputs.takeError());
}

std::vector<double> EvaluatorTest::floatsOf(const std::string &op, ArrayRef<HostTensor> inputs,
                                            const std::string &type) {
  std::vector<HostTensor> results = runOp(op, inputs, type);
  return results.empty() ? std::vector<double>() : results[0].getFloats().vec();
}

std::vector<int64_t> EvaluatorTest::intsOf(const std::string &op, ArrayRef<HostTensor> inputs,
                                           const std::string &type) {
  std::vector<HostTensor> results = runOp(op, inputs, type);
  return results.empty() ? std::vector<int64_t>() : results[0].getInts().vec();
}

void expectNear(ArrayRef<double> actual, ArrayRef<double> expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(actual[i])) << "at " << i << ": " << actual[i];
    else if (std::isinf(expected[i]))
      EXPECT_EQ(actual[i], expected[i]) << "at " << i;
    else
      EXPECT_NEAR(actual[i], expected[i], 1e-12 * std::max(1.0, std::fabs(expected[i]))) << "at " << i;
  }
}

namespace {

constexpr char kTwoLayers[] = R"(
func.func @main(%x: tensor<?x2xf32> {nn.name = "pixels"}) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
  %w = nn.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %y = nn.matmul %x, %w : (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32>
  %z = nn.matmul %y, %w : (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32>
  return %z, %x : tensor<?x2xf32>, tensor<?x2xf32>
}
)";

TEST_F(EvaluatorTest, RunsAFunctionAndReturnsAnArgument) {
  std::vector<HostTensor> outputs = runModule(kTwoLayers, {makeFloats({1, 2}, {1, 1})});
  ASSERT_EQ(outputs.size(), 2u);
  expectNear(outputs[0].getFloats(), {22, 32}); // [1 1] @ w = [4 6], @ w again
  expectNear(outputs[1].getFloats(), {1, 1});
}

TEST_F(EvaluatorTest, ObserverSeesEveryValueButConstants) {
  OwningOpRef<ModuleOp> module = parse(kTwoLayers);
  ASSERT_TRUE(module);
  std::vector<std::vector<double>> seen;
  auto outputs = Evaluator::create(*module)->run({makeFloats({1, 2}, {1, 1})},
                                                 [&](Value, const HostTensor &t) { seen.push_back(t.getFloats()); });
  ASSERT_TRUE(bool(outputs));
  EXPECT_EQ(seen, (std::vector<std::vector<double>>{{4, 6}, {22, 32}}));
}

TEST_F(EvaluatorTest, RefusesInputsThatDoNotFitByName) {
  OwningOpRef<ModuleOp> module = parse(kTwoLayers);
  ASSERT_TRUE(module);
  Evaluator evaluator = *Evaluator::create(*module);
  EXPECT_EQ(llvm::toString(evaluator.run({}).takeError()), "expects 1 inputs, got 0");
  EXPECT_EQ(llvm::toString(evaluator.run({makeFloats({1, 3}, {1, 1, 1})}).takeError()),
            "expects input 'pixels' of type 'tensor<?x2xf32>', got 'tensor<1x3xf32>'");
  EXPECT_EQ(llvm::toString(evaluator.run({makeInts({1, 2}, {1, 1})}).takeError()),
            "expects input 'pixels' of type 'tensor<?x2xf32>', got 'tensor<1x2xi64>'");
}

TEST_F(EvaluatorTest, RefusesAMissingEntryAndForeignOps) {
  OwningOpRef<ModuleOp> module =
      parse("func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> { %y = arith.negf %x : tensor<1xf32> "
            "return %y : tensor<1xf32> }");
  ASSERT_TRUE(module);
  EXPECT_EQ(llvm::toString(Evaluator::create(*module, "other").takeError()),
            "expects a function 'other' in the module");
  EXPECT_EQ(llvm::toString(Evaluator::create(*module)->run({makeFloats({1}, {1})}).takeError()),
            "'arith.negf' op: expects an op of nn or attn; the reference evaluates no others");
}

TEST_F(EvaluatorTest, RefusesADeclaredFunction) {
  OwningOpRef<ModuleOp> module = parse("func.func private @main()");
  ASSERT_TRUE(module);
  EXPECT_EQ(llvm::toString(Evaluator::create(*module)->run({}).takeError()), "expects a function of one block");
}

TEST_F(EvaluatorTest, NamesTheNodeOfAnError) {
  const char *text = R"(
func.func @main(%t: tensor<4x2xf32>, %i: tensor<1xi64>) -> tensor<1x2xf32> {
  %y = nn.gather %t, %i {axis = 0 : i64} : (tensor<4x2xf32>, tensor<1xi64>) -> tensor<1x2xf32>
      loc(fused<#nn.onnx_op<"Gather", "", 17>>["/embeddings/Gather"])
  return %y : tensor<1x2xf32>
}
)";
  OwningOpRef<ModuleOp> module = parse(text);
  ASSERT_TRUE(module);
  auto outputs = Evaluator::create(*module)->run({makeFloats({4, 2}, std::vector<double>(8)), makeInts({1}, {4})});
  EXPECT_EQ(llvm::toString(outputs.takeError()),
            "node '/embeddings/Gather' (Gather): expects an index within [-4, 4), got 4");
}

TEST_F(EvaluatorTest, ChecksResultsAgainstDeclaredTypes) {
  // The declared type says more than operands tell, and here too much.
  std::string error = runOpError("nn.range %a, %b, %c : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3xi64>",
                                 {makeInts({}, {0}), makeInts({}, {2}), makeInts({}, {1})}, "tensor<3xi64>");
  EXPECT_EQ(error, "'nn.range' op: expects a result of type 'tensor<3xi64>', got 'tensor<2xi64>'");
}

TEST_F(EvaluatorTest, ReportsAConstantThatCannotBeRead) {
  OwningOpRef<ModuleOp> module = parse(R"(
func.func @main() -> tensor<1xf32> {
  %w = nn.constant #nn.external<"/nonexistent/weights.bin", 0, 4> -> tensor<1xf32>
  return %w : tensor<1xf32>
}
)");
  ASSERT_TRUE(module);
  std::string error = llvm::toString(Evaluator::create(*module)->run({}).takeError());
  EXPECT_NE(error.find("/nonexistent/weights.bin"), std::string::npos) << error;
}

TEST_F(EvaluatorTest, ReadsEveryKindOfLiteral) {
  std::vector<HostTensor> outputs = runModule(R"(
func.func @main() -> (tensor<3xi1>, tensor<2xui8>, tensor<2xbf16>, tensor<2xf16>, tensor<3xi4>, tensor<2xf64>) {
  %0 = nn.constant dense<[true, false, true]> : tensor<3xi1>
  %1 = nn.constant dense<[7, 255]> : tensor<2xui8>
  %2 = nn.constant dense<[1.5, -2.0]> : tensor<2xbf16>
  %3 = nn.constant dense<[6.103515625e-05, 65504.0]> : tensor<2xf16>
  %4 = nn.constant dense<[-8, 7, -1]> : tensor<3xi4>
  %5 = nn.constant dense<0.1> : tensor<2xf64>
  return %0, %1, %2, %3, %4, %5
    : tensor<3xi1>, tensor<2xui8>, tensor<2xbf16>, tensor<2xf16>, tensor<3xi4>, tensor<2xf64>
}
)",
                                              {});
  ASSERT_EQ(outputs.size(), 6u);
  EXPECT_EQ(outputs[0].getInts().vec(), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(outputs[1].getInts().vec(), (std::vector<int64_t>{7, 255}));
  EXPECT_EQ(outputs[2].getFloats().vec(), (std::vector<double>{1.5, -2}));
  EXPECT_EQ(outputs[3].getFloats().vec(), (std::vector<double>{6.103515625e-05, 65504}));
  EXPECT_EQ(outputs[4].getInts().vec(), (std::vector<int64_t>{-8, 7, -1}));
  EXPECT_EQ(outputs[5].getFloats().vec(), (std::vector<double>{0.1, 0.1}));
}

} // namespace
} // namespace heddle::reference
