// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An interpreter of shape functions for sizes that the compiler chooses: those of self-tests, and of its estimates.

#ifndef HEDDLE_COMPILER_PIPELINES_EVALUATESIZES_H
#define HEDDLE_COMPILER_PIPELINES_EVALUATESIZES_H

#include "dialects/rt/RtDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace heddle {

/// What a shape function reads.
struct SizeInputs {
  llvm::function_ref<int64_t(rt::InputDimOp)> getDim;
  /// Of an element of an input, which is a size as a rule.
  int64_t value;
};

/// Whether what has no result, a check that fails or a sum beyond 64 bits, ends a shape function, or counts as 0.
enum class SizeErrors { End, CountAsZero };

/// Puts the values of all of |function|'s ops and results into |values|; false where an error has ended it.
bool evaluateSizes(rt::ShapeFuncOp function, const SizeInputs &inputs, SizeErrors errors,
                   llvm::DenseMap<mlir::Value, int64_t> &values);

} // namespace heddle

#endif // HEDDLE_COMPILER_PIPELINES_EVALUATESIZES_H
