// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of a program at one typical input, for estimates in reports.

#ifndef HEDDLE_COMPILER_DRIVER_NOMINALSHAPE_H
#define HEDDLE_COMPILER_DRIVER_NOMINALSHAPE_H

#include "dialects/rt/RtDialect.h"
#include "llvm/ADT/DenseMap.h"

#include <string>

namespace heddle {

/// Values of all sizes of |entry| when the first dynamic dimension of each input is 1 and the others are 128. Sizes
/// that can't be computed then are 0.
llvm::DenseMap<mlir::Value, int64_t> evaluateNominalSizes(rt::FuncOp entry);

/// "batch 1, other dynamic dimensions 128".
llvm::StringRef describeNominalShape();

} // namespace heddle

#endif // HEDDLE_COMPILER_DRIVER_NOMINALSHAPE_H
