// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fixture that evaluates one op, or a whole module, given as text.

#ifndef HEDDLE_TESTS_COMPILER_REFERENCE_EVALUATOR_TEST_H
#define HEDDLE_TESTS_COMPILER_REFERENCE_EVALUATOR_TEST_H

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/reference/Evaluator.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace heddle::reference {

class EvaluatorTest : public ::testing::Test {
protected:
  EvaluatorTest();

  /// A tensor of a type such as "f32" or "ui8".
  HostTensor makeFloats(llvm::ArrayRef<int64_t> dims, std::vector<double> values, llvm::StringRef type = "f32");
  HostTensor makeInts(llvm::ArrayRef<int64_t> dims, std::vector<int64_t> values, llvm::StringRef type = "i64");

  /// Parses |text|; an error is a failure of the test.
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text);
  /// The outputs of @main for |inputs|.
  std::vector<HostTensor> runModule(const std::string &text, llvm::ArrayRef<HostTensor> inputs);
  /// The results of one op, whose text reads the |inputs| as %a, %b, ... and whose result types are |types|.
  std::vector<HostTensor> runOp(const std::string &op, llvm::ArrayRef<HostTensor> inputs, const std::string &types);
  /// The message of the error that the op must give.
  std::string runOpError(const std::string &op, llvm::ArrayRef<HostTensor> inputs, const std::string &types);

  /// The only result's elements.
  std::vector<double> floatsOf(const std::string &op, llvm::ArrayRef<HostTensor> inputs, const std::string &type);
  std::vector<int64_t> intsOf(const std::string &op, llvm::ArrayRef<HostTensor> inputs, const std::string &type);

  mlir::MLIRContext context;

private:
  /// A module whose @main is the op; arguments have the inputs' types, or dynamic ones.
  std::string getModule(const std::string &op, llvm::ArrayRef<HostTensor> inputs, const std::string &types);
};

/// Fails unless both have the same length and each pair differs by 1e-12 at most; two NaNs are equal.
void expectNear(llvm::ArrayRef<double> actual, llvm::ArrayRef<double> expected);

} // namespace heddle::reference

#endif // HEDDLE_TESTS_COMPILER_REFERENCE_EVALUATOR_TEST_H
