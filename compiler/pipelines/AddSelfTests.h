// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cases with which devices test their shaders.

#ifndef HEDDLE_COMPILER_PIPELINES_ADDSELFTESTS_H
#define HEDDLE_COMPILER_PIPELINES_ADDSELFTESTS_H

#include "compiler/pipelines/CompileModel.h"

namespace heddle {

/// Gives each shader of |targets| a small case, where its kernel has one. The sizes are those that dispatches of
/// |module|, to which addWorkShapes() has been applied, have for some small inputs.
void addSelfTests(mlir::ModuleOp module, llvm::MutableArrayRef<CompiledTarget> targets);

} // namespace heddle

#endif // HEDDLE_COMPILER_PIPELINES_ADDSELFTESTS_H
