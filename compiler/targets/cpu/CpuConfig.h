// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place where tiles of CPU kernels are decided.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_CPUCONFIG_H
#define HEDDLE_COMPILER_TARGETS_CPU_CPUCONFIG_H

#include "compiler/targets/cpu/CpuTarget.h"
#include "compiler/targets/cpu/KernelPlan.h"

namespace heddle::cpu {

/// The config of |func| on |target|.
kernel::LoweringConfigAttr selectConfig(kernel::FuncOp func, const CpuTarget &target);

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_CPUCONFIG_H
