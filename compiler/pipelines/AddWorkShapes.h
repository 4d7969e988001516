// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between the targets' decisions and the program: how many work items each dispatch has on each target.

#ifndef HEDDLE_COMPILER_PIPELINES_ADDWORKSHAPES_H
#define HEDDLE_COMPILER_PIPELINES_ADDWORKSHAPES_H

#include "compiler/pipelines/CompileModel.h"

namespace heddle {

/// Marks, by kernel.constant, the inputs of |kernels| that are constants in every dispatch of |module|.
void markConstantInputs(mlir::ModuleOp module, mlir::ModuleOp kernels);

/// Computes grids, grains, scratch and axes of all dispatches of |module| for |targets| (with kernel.config on their
/// kernels) in the shape function, and records the targets' names on the module.
mlir::LogicalResult addWorkShapes(mlir::ModuleOp module, llvm::ArrayRef<CompiledTarget> targets);

/// Gives kernels the names of |target|, in the program as well as in the target's own module.
void nameKernels(mlir::ModuleOp module, CompiledTarget &target);

} // namespace heddle

#endif // HEDDLE_COMPILER_PIPELINES_ADDWORKSHAPES_H
