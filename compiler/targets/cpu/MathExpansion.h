// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the math dialect as arithmetic, so that no kernel ever calls a library.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_MATHEXPANSION_H
#define HEDDLE_COMPILER_TARGETS_CPU_MATHEXPANSION_H

#include "mlir/IR/Builders.h"

namespace heddle::cpu {

/// Emits scalar op |op| of the math dialect, or arith.remf, for |operands| (scalars or vectors of 16). Functions that
/// have one instruction stay what they are. Fails with an error at |op| where there is no expansion.
mlir::FailureOr<mlir::Value> expandMath(mlir::OpBuilder &builder, mlir::Operation *op,
                                        llvm::ArrayRef<mlir::Value> operands);

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_MATHEXPANSION_H
