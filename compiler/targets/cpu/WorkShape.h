// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a CPU kernel's work is shared out, known before its code exists.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_WORKSHAPE_H
#define HEDDLE_COMPILER_TARGETS_CPU_WORKSHAPE_H

#include "compiler/targets/Target.h"
#include "compiler/targets/cpu/KernelPlan.h"

namespace heddle::cpu {

WorkShape getWorkShape(const KernelPlan &plan);

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_WORKSHAPE_H
