// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The configs that a CPU kernel may have in place of its own without another bit in its results.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_CONFIGSPACE_H
#define HEDDLE_COMPILER_TARGETS_CPU_CONFIGSPACE_H

#include "compiler/targets/cpu/CpuTarget.h"
#include "dialects/kernel/KernelOps.h"

namespace heddle::cpu {

/// Target::enumerateConfigs.
std::vector<ConfigCandidate> enumerateConfigs(kernel::FuncOp func, llvm::ArrayRef<int64_t> sizes,
                                              const CpuTarget &target, const DeviceLimits &limits);

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_CONFIGSPACE_H
