// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the math dialect in a kernel's regions as arithmetic of single precision, for targets without another:
// no result then depends on a driver's library.

#ifndef HEDDLE_COMPILER_TARGETS_COMMON_EXPANDMATH_H
#define HEDDLE_COMPILER_TARGETS_COMMON_EXPANDMATH_H

#include "dialects/kernel/KernelOps.h"

namespace heddle {

/// Makes divisions of f32 whose results are rounded to integers, as codes and zero points are, correct to the last
/// digit: a device's own may be 2.5 units off, and the other code comes out. Before doubles are split, whose divisions
/// are no such.
void roundCodeDivisions(kernel::FuncOp func);

/// Rewrites the regions of |func|'s root in place. What every target has an instruction for stays: absolute values,
/// rounding, fma, square roots, signs, counts of bits. Fails with an error at an op that has no expansion, or
/// that gives a double.
mlir::LogicalResult expandRegionMath(kernel::FuncOp func);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGETS_COMMON_EXPANDMATH_H
