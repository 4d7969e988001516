// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of a kernel's name that don't depend on the target: `<types>_<root>_<tile>__<isa>_<hash>`.

#ifndef HEDDLE_COMPILER_TARGETS_COMMON_KERNELNAME_H
#define HEDDLE_COMPILER_TARGETS_COMMON_KERNELNAME_H

#include <cstdint>
#include <string>

#include "dialects/kernel/KernelOps.h"

namespace heddle {

/// Element types of the operands, each once: f32, or i64f32 for an embedding. Contractions of narrow numbers by what
/// they multiply, which types of storage don't tell: u8s8, f32s4.
std::string getTypeWord(kernel::FuncOp func);

/// Hash of the kernel and its config, without its name and locations, which no code depends on, and of |isa|.
uint32_t hashKernel(kernel::FuncOp func, llvm::StringRef isa);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGETS_COMMON_KERNELNAME_H
