// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Result types are inferred exactly as inputs/infer_shapes.mlir writes them, and creation from unchecked input reports
// its faults.

#include "dialects/attn/AttnOps.h"
#include "dialects/nn/NnOps.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include "mlir/Parser/Parser.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace heddle;

namespace {

class InferShapes : public testing::Test {
protected:
  InferShapes() : handler(&context, [this](mlir::Diagnostic &diagnostic) { messages.push_back(diagnostic.str()); }) {
    context.loadDialect<nn::NnDialect, attn::AttnDialect, mlir::func::FuncDialect>();
  }

  /// A value of the type that |text| spells, defined in |module|.
  mlir::Value makeValue(mlir::OpBuilder &builder, llvm::StringRef text) {
    mlir::Type type = mlir::parseType(text, &context);
    return builder.create<mlir::UnrealizedConversionCastOp>(builder.getUnknownLoc(), type, mlir::ValueRange())
        .getResult(0);
  }

  mlir::MLIRContext context;
  std::vector<std::string> messages;
  mlir::ScopedDiagnosticHandler handler;
};

TEST_F(InferShapes, GivesTheTypesOfTheFile) {
  std::string path = std::string(std::getenv("HEDDLE_SOURCE_DIR")) + "/tests/dialects/nn/inputs/infer_shapes.mlir";
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(path, &context);
  ASSERT_TRUE(module) << path << (messages.empty() ? "" : ": " + messages.front());
  int count = 0;
  module->walk([&](mlir::InferTypeOpInterface op) {
    llvm::SmallVector<mlir::Type> inferred;
    ASSERT_TRUE(
        mlir::succeeded(op.inferReturnTypes(&context, op->getLoc(), op->getOperands(), op->getRawDictionaryAttrs(),
                                            op->getPropertiesStorage(), op->getRegions(), inferred)));
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << *op.getOperation() << "\ninferred: ";
    llvm::interleaveComma(inferred, stream);
    EXPECT_TRUE(mlir::TypeRange(inferred) == op->getResultTypes()) << text;
    ++count;
  });
  EXPECT_GT(count, 80);
}

TEST_F(InferShapes, CreatesAnOpWithTheInferredType) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  auto builder = mlir::OpBuilder::atBlockBegin(module->getBody());
  mlir::Value lhs = makeValue(builder, "tensor<?x4xf32>"), rhs = makeValue(builder, "tensor<4x5xf32>");
  auto op = nn::createChecked<nn::MatMulOp>(builder, builder.getUnknownLoc(), lhs, rhs);
  ASSERT_TRUE(mlir::succeeded(op));
  EXPECT_EQ((*op)->getResult(0).getType(), mlir::parseType("tensor<?x5xf32>", &context));
}

TEST_F(InferShapes, CreatesAnOpWithSeveralResults) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  auto builder = mlir::OpBuilder::atBlockBegin(module->getBody());
  mlir::Value input = makeValue(builder, "tensor<?x9xf32>");
  auto split = nn::createChecked<nn::SplitOp>(builder, builder.getUnknownLoc(), input, /*axis=*/1, /*num_outputs=*/4,
                                              mlir::DenseI64ArrayAttr());
  ASSERT_TRUE(mlir::succeeded(split));
  ASSERT_EQ((*split)->getNumResults(), 4u);
  EXPECT_EQ((*split)->getResult(3).getType(), mlir::parseType("tensor<?x0xf32>", &context));
  auto quantized = nn::createChecked<nn::DynamicQuantizeLinearOp>(builder, builder.getUnknownLoc(), input);
  ASSERT_TRUE(mlir::succeeded(quantized));
  EXPECT_EQ((*quantized)->getResult(2).getType(), mlir::parseType("tensor<ui8>", &context));
}

TEST_F(InferShapes, ReportsShapesThatDoNotFitAndCreatesNothing) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  auto builder = mlir::OpBuilder::atBlockBegin(module->getBody());
  mlir::Value lhs = makeValue(builder, "tensor<?x4xf32>"), rhs = makeValue(builder, "tensor<5x5xf32>");
  EXPECT_TRUE(mlir::failed(nn::createChecked<nn::MatMulOp>(builder, builder.getUnknownLoc(), lhs, rhs)));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0], "expects equal inner dimensions, got 4 and 5");
  EXPECT_TRUE(module->getOps<nn::MatMulOp>().empty());
}

TEST_F(InferShapes, ReportsElementTypesThatTheOpDoesNotTake) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  auto builder = mlir::OpBuilder::atBlockBegin(module->getBody());
  mlir::Value input = makeValue(builder, "tensor<?x4xi64>");
  EXPECT_TRUE(mlir::failed(nn::createChecked<nn::SoftmaxOp>(builder, builder.getUnknownLoc(), input, /*axis=*/1)));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("'nn.softmax' op operand #0 must be ranked tensor of"), std::string::npos) << messages[0];
  EXPECT_TRUE(module->getOps<nn::SoftmaxOp>().empty());
}

TEST_F(InferShapes, ReportsTensorsWithoutRank) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  auto builder = mlir::OpBuilder::atBlockBegin(module->getBody());
  mlir::Value input = makeValue(builder, "tensor<*xf32>");
  EXPECT_TRUE(
      mlir::failed(nn::createChecked<nn::UnaryOp>(builder, builder.getUnknownLoc(), nn::UnaryKind::Exp, input)));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0], "expects ranked tensors, got 'tensor<*xf32>'");
}

} // namespace
