// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The form of errors, their exit codes, and the way from MLIR's diagnostics.

#include "compiler/support/Error.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>
#include <set>

namespace heddle {
namespace {

TEST(Error, HasTheFormOfTheInterface) {
  ErrorList errors;
  (void)errors.add(
      {ErrorCode::H0204, "node 'n': shapes differ", "in model.onnx, op Add (opset 17)", "make them equal"});
  (void)errors.add({ErrorCode::H0513, "file is truncated", "", "one\ntwo"});
  EXPECT_EQ(errors.str(), "error[H0204]: node 'n': shapes differ\n"
                          "  in model.onnx, op Add (opset 17)\n"
                          "  help: make them equal\n"
                          "error[H0513]: file is truncated\n"
                          "  help: one\n"
                          "  two\n");
}

TEST(Error, GivesTerminalsNothingToObey) {
  ErrorList errors;
  (void)errors.add({ErrorCode::H0201, "node 'a\x1b[31m\nb\x7f'", "op Foo\r", "x\ty\nz"});
  EXPECT_EQ(errors.str(), "error[H0201]: node 'a?[31m?b?'\n"
                          "  op Foo?\n"
                          "  help: x?y\n"
                          "  z\n");
}

TEST(Error, SetsTheExitCodeByItsClass) {
  ErrorList errors;
  EXPECT_EQ(errors.exitCode(), 0);
  // The first one found is the cause of what follows.
  (void)errors.add({ErrorCode::H0513, "", "", ""});
  (void)errors.add({ErrorCode::H0201, "", "", ""});
  EXPECT_EQ(errors.exitCode(), 5);
  EXPECT_EQ(exitCodeOf(ErrorCode::H0201), 3);
  EXPECT_EQ(exitCodeOf(ErrorCode::H0601), 1);
  EXPECT_EQ(exitCodeOf(ErrorCode::H0902), 70);
}

TEST(Error, CodesHaveKnownClassesAndTexts) {
#define HEDDLE_CASE(code, summary, explanation)                                                                        \
  EXPECT_EQ(stringifyErrorCode(ErrorCode::code), #code);                                                               \
  EXPECT_TRUE((std::set<int>{1, 2, 3, 4, 5, 70}.count(exitCodeOf(ErrorCode::code)))) << #code;                         \
  EXPECT_GT(std::string(explanation).size(), std::string(summary).size()) << #code;
  HEDDLE_COMPILER_ERROR_CODES(HEDDLE_CASE)
#undef HEDDLE_CASE
}

class Capture : public testing::Test {
protected:
  static LocationText describe(mlir::Location location) {
    auto name = mlir::dyn_cast<mlir::NameLoc>(location);
    return name ? LocationText{name.getName().str(), "op MatMul (opset 17)"} : LocationText();
  }
  mlir::Location at(llvm::StringRef name) { return mlir::NameLoc::get(mlir::StringAttr::get(&context, name)); }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  ErrorList errors;
};

TEST_F(Capture, NamesTheNodeAndTurnsNotesIntoHelp) {
  DiagnosticCapture capture(&context, errors, ErrorCode::H0204, "model.onnx", describe);
  mlir::emitError(at("layer/MatMul")).append("'nn.matmul' op expects equal dimensions").attachNote() << "transpose it";
  EXPECT_EQ(errors.str(), "error[H0204]: node 'layer/MatMul': expects equal dimensions\n"
                          "  in model.onnx, op MatMul (opset 17)\n"
                          "  help: transpose it\n");
}

TEST_F(Capture, LeavesOutWhatIsNotKnown) {
  DiagnosticCapture capture(&context, errors, ErrorCode::H0902, "", describe);
  mlir::emitError(mlir::UnknownLoc::get(&context)) << "'quoted' words stay";
  EXPECT_EQ(errors.str(), "error[H0902]: 'quoted' words stay\n");
}

TEST_F(Capture, HandsWarningsOn) {
  unsigned warnings = 0;
  mlir::ScopedDiagnosticHandler outer(&context, [&](mlir::Diagnostic &) {
    ++warnings;
    return mlir::success();
  });
  DiagnosticCapture capture(&context, errors, ErrorCode::H0204, "model.onnx", describe);
  mlir::emitWarning(at("n")) << "careful";
  EXPECT_TRUE(errors.empty());
  EXPECT_EQ(warnings, 1u);
}

} // namespace
} // namespace heddle
