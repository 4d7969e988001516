// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables of artifact.fbs from the ops of the rt dialect, one for one. Private to this room.

#ifndef HEDDLE_COMPILER_ARTIFACT_PROGRAMTABLES_H
#define HEDDLE_COMPILER_ARTIFACT_PROGRAMTABLES_H

#include "compiler/support/Shader.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace heddle {
namespace fb {
enum class ElementType : uint8_t;
struct ProgramT;
} // namespace fb

/// The format's name of an element type; none for what it doesn't have.
std::optional<fb::ElementType> getElementType(mlir::Type type);

/// Fills kernels and entries of |program| for |targetCount| targets. What the format has no record for is a diagnostic.
mlir::LogicalResult buildProgramTables(mlir::ModuleOp module, size_t targetCount, fb::ProgramT &program);

} // namespace heddle

#endif // HEDDLE_COMPILER_ARTIFACT_PROGRAMTABLES_H
