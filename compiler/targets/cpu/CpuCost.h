// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel's plan is expected to take. An order for measurements, nothing else: no table is made of it.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_CPUCOST_H
#define HEDDLE_COMPILER_TARGETS_CPU_CPUCOST_H

#include "compiler/targets/ConfigCandidate.h"
#include "compiler/targets/cpu/KernelPlan.h"

namespace heddle::cpu {

/// Vector registers, and how many of them a vector of 16 floats takes.
struct VectorRegisters {
  int64_t count, perVector;
  /// Whether |rows| x |vectors| accumulators fit beside the right side's vectors and one element of the left side.
  bool hold(int64_t rows, int64_t vectors) const { return (rows * vectors + vectors) * perVector + 1 <= count; }
};

/// Seconds of one dispatch of |plan| with |sizes|, all threads together.
double estimateSeconds(const KernelPlan &plan, llvm::ArrayRef<int64_t> sizes, const VectorRegisters &registers,
                       const DeviceLimits &limits);

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_CPUCOST_H
