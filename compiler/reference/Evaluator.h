// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs functions of nn and attn ops by scalar loops: the oracle of tests and of `heddle verify`, and the constant
// folder. Floats are computed in double and rounded by no op but nn.cast and quantisation; integers are exact.

#ifndef HEDDLE_COMPILER_REFERENCE_EVALUATOR_H
#define HEDDLE_COMPILER_REFERENCE_EVALUATOR_H

#include <functional>

#include "compiler/reference/HostTensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace heddle::reference {

/// Gets each op result as soon as it is known, but for constants. The tensor may be kept; it is cheap to copy. It may
/// also be replaced by another of its type: later ops then read that one.
using Observer = std::function<void(mlir::Value value, HostTensor &tensor)>;

/// The results of |op|, an op of nn or attn, for |operands|, which have the types of op's operands. The error begins
/// with the node's name. Results are checked against the op's result types.
llvm::Expected<llvm::SmallVector<HostTensor, 2>> evaluateOp(mlir::Operation *op,
                                                            llvm::ArrayRef<const HostTensor *> operands);

/// Evaluates one function. It views the function, which must outlive it and stay unchanged; run() may be called from
/// several threads at once.
class Evaluator {
public:
  /// A function with one block of nn and attn ops that ends in func.return.
  explicit Evaluator(mlir::func::FuncOp function) : function(function) {}
  /// The function |entry| of |module|, or an error.
  static llvm::Expected<Evaluator> create(mlir::ModuleOp module, llvm::StringRef entry = "main");

  /// Runs the function on |inputs|, one an argument and of its type (a `?` takes any extent). A value's memory is
  /// released after its last use, so a model needs little more than its largest tensors. Errors are faults of inputs
  /// or of the model, such as an index out of range, and name the node.
  llvm::Expected<llvm::SmallVector<HostTensor>> run(llvm::ArrayRef<HostTensor> inputs,
                                                    Observer observer = nullptr) const;

  mlir::func::FuncOp getFunction() const { return function; }

private:
  mlir::func::FuncOp function;
};

} // namespace heddle::reference

#endif // HEDDLE_COMPILER_REFERENCE_EVALUATOR_H
