// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Double precision within regions, for targets without it: coordinates of a resize, say, are computed in f64 and end as
// indices and weights.

#ifndef HEDDLE_COMPILER_TARGETS_COMMON_SPLITDOUBLES_H
#define HEDDLE_COMPILER_TARGETS_COMMON_SPLITDOUBLES_H

#include "dialects/kernel/KernelOps.h"

namespace heddle {

/// Rewrites the regions of |func|'s root in place, so that each f64 is a sum of two f32: 48 bits of precision (sums,
/// products and quotients are off by a few 2^-48) in the range of f32. Fails with an error at an op that has no such
/// form, or at a constant outside that range; regions that take or yield f64 are none of this.
mlir::LogicalResult splitRegionDoubles(kernel::FuncOp func);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGETS_COMMON_SPLITDOUBLES_H
