// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables of artifact.fbs from the ops of the rt dialect, one for one. Private to this room.

#ifndef HEDDLE_COMPILER_ARTIFACT_PROGRAMTABLES_H
#define HEDDLE_COMPILER_ARTIFACT_PROGRAMTABLES_H

#include "mlir/IR/BuiltinOps.h"

namespace heddle {
namespace fb {
struct ProgramT;
} // namespace fb

/// Fills kernels and entries of |program| for |targetCount| targets. What the format has no record for is a diagnostic.
mlir::LogicalResult buildProgramTables(mlir::ModuleOp module, size_t targetCount, fb::ProgramT &program);

} // namespace heddle

#endif // HEDDLE_COMPILER_ARTIFACT_PROGRAMTABLES_H
