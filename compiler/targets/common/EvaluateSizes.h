// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What expressions over a kernel's sizes are at given ones.

#ifndef HEDDLE_COMPILER_TARGETS_COMMON_EVALUATESIZES_H
#define HEDDLE_COMPILER_TARGETS_COMMON_EVALUATESIZES_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/ArrayRef.h"

namespace heddle {

/// The value of |expr|, which has no dimensions, where symbol i is |sizes|[i]. As a double, since an estimate is better
/// than an overflow; a division by 0 gives 0.
double evaluateSizes(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> sizes);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGETS_COMMON_EVALUATESIZES_H
