// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Analyses a function given as text; what it returns is what is looked at.

#ifndef HEDDLE_TESTS_COMPILER_TRANSFORMS_SHAPES_SHAPE_ANALYSIS_TEST_H
#define HEDDLE_TESTS_COMPILER_TRANSFORMS_SHAPES_SHAPE_ANALYSIS_TEST_H

#include "compiler/transforms/shapes/ShapeAnalysis.h"
#include "dialects/attn/AttnOps.h"
#include "dialects/nn/NnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

namespace heddle::test {

class ShapeAnalysisTest : public ::testing::Test {
protected:
  ShapeAnalysisTest() { context.loadDialect<nn::NnDialect, mlir::func::FuncDialect>(); }

  /// Analyses @main with the arguments %x : [B, S, 384] f32, %ids : [B, S] i64, %n : a host input, and |body|, which
  /// ends in a return of values of the types |results|.
  void analyze(llvm::StringRef body, llvm::StringRef results) {
    std::string source = (R"(func.func @main(
        %x: tensor<?x?x384xf32> {nn.name = "x", nn.dims = ["B", "S", 384]},
        %ids: tensor<?x?xi64> {nn.name = "ids", nn.dims = ["B", "S"]},
        %n: tensor<i64> {nn.name = "n", nn.dims = []}) -> ()" +
                          results + ") {\n" + body + "\n}")
                             .str();
    module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    ASSERT_TRUE(module) << source;
    func = *module->getOps<mlir::func::FuncOp>().begin();
    analysis = ShapeAnalysis::create(func);
  }

  mlir::Value returned(unsigned i) { return func.getBody().front().getTerminator()->getOperand(i); }

  static std::string format(llvm::ArrayRef<ShapeExpr> exprs) {
    return llvm::join(llvm::map_range(exprs, [](ShapeExpr expr) { return expr.str(); }), ", ");
  }
  std::string dims(unsigned i = 0) { return analysis ? format(analysis->getDims(returned(i))) : "<failed>"; }
  std::string elements(unsigned i = 0) {
    if (!analysis)
      return "<failed>";
    auto elements = analysis->getElements(returned(i));
    return elements ? format(*elements) : "<unknown>";
  }
  /// "B == B2 @ node: message" for each check.
  std::string checks() {
    if (!analysis)
      return "<failed>";
    return llvm::join(llvm::map_range(analysis->getChecks(),
                                      [](const ShapeCheck &check) {
                                        return check.lhs.str() +
                                               (check.kind == rt::CheckKind::Equal ? " == " : " <= ") +
                                               check.rhs.str() + " @ " + check.node + ": " + check.message;
                                      }),
                      "\n");
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp func;
  std::unique_ptr<ShapeAnalysis> analysis;
};

} // namespace heddle::test

#endif // HEDDLE_TESTS_COMPILER_TRANSFORMS_SHAPES_SHAPE_ANALYSIS_TEST_H
