// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rt dialect: types, enums and ops.

#ifndef HEDDLE_DIALECTS_RT_RTDIALECT_H
#define HEDDLE_DIALECTS_RT_RTDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace heddle::rt {
/// Module attribute: names of the targets that the artifact will hold, best first.
inline constexpr llvm::StringLiteral kTargetsAttrName = "rt.targets";
} // namespace heddle::rt

#include "dialects/rt/RtDialect.h.inc"
#include "dialects/rt/RtEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/rt/RtTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/rt/RtOps.h.inc"

#endif // HEDDLE_DIALECTS_RT_RTDIALECT_H
