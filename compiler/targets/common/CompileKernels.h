// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of a module, each compiled on its own, on several threads.

#ifndef HEDDLE_COMPILER_TARGETS_COMMON_COMPILEKERNELS_H
#define HEDDLE_COMPILER_TARGETS_COMMON_COMPILEKERNELS_H

#include "compiler/targets/Target.h"
#include "dialects/kernel/KernelOps.h"

namespace heddle {

/// Calls |compile| with each kernel.func of |kernels| and its number in the module, from any of |threads| threads, and
/// |progress| after each, one call at a time. All are tried; fails if one did. Diagnostics come in the kernels' order.
mlir::LogicalResult compileEachKernel(mlir::ModuleOp kernels, unsigned threads, const CompileProgress &progress,
                                      llvm::function_ref<mlir::LogicalResult(size_t, kernel::FuncOp)> compile);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGETS_COMMON_COMPILEKERNELS_H
