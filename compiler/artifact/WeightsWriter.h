// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A weight's way from its source into the file: the recipe of an rt.constant, run streaming.

#ifndef HEDDLE_COMPILER_ARTIFACT_WEIGHTSWRITER_H
#define HEDDLE_COMPILER_ARTIFACT_WEIGHTSWRITER_H

#include "dialects/rt/RtDialect.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle {

/// Bytes that |op| takes in the file.
uint64_t getStoredBytes(rt::ConstantOp op);

/// Hands |op|'s bytes to |sink| piece by piece; a piece is at most one packed panel, or the whole where there is no
/// recipe (then it is the mapped source). Diagnostics at |op| where the source can't be read.
mlir::LogicalResult streamConstant(rt::ConstantOp op, llvm::function_ref<void(llvm::ArrayRef<uint8_t>)> sink);

} // namespace heddle

#endif // HEDDLE_COMPILER_ARTIFACT_WEIGHTSWRITER_H
