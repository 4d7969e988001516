// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From kernels with configs to one linked image.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_CPUCODEGEN_H
#define HEDDLE_COMPILER_TARGETS_CPU_CPUCODEGEN_H

#include "compiler/targets/cpu/CpuTarget.h"

namespace heddle::cpu {

/// See Target::compileKernels.
mlir::FailureOr<KernelImage> compileKernels(mlir::ModuleOp kernels, const CpuTarget &target, unsigned threads,
                                            const CompileProgress &progress);

/// What is made of one kernel.
enum class CodeKind { Object, Assembly };

/// Code of |module|, which holds functions of the LLVM dialect alone and belongs to the calling thread.
mlir::FailureOr<std::vector<char>> emitCode(mlir::ModuleOp module, const CpuTarget &target, CodeKind kind);

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_CPUCODEGEN_H
