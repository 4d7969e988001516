// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interval analysis of a mask region over one tile of its loops. The result is code: two i1 values, computed from the
// tile's bounds, that tell whether the region may be true somewhere and whether it is true everywhere.

#ifndef HEDDLE_COMPILER_TRANSFORMS_SPARSITY_TILETEST_H
#define HEDDLE_COMPILER_TRANSFORMS_SPARSITY_TILETEST_H

#include <functional>
#include <optional>

#include "dialects/kernel/KernelOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace heddle::sparsity {

/// The indices of one loop that a tile covers: from |low| to |high|, both included, values of type index.
struct LoopRange {
  mlir::Value low, high;
};

/// Truth of an i1 over all elements of a tile.
struct TileTruth {
  mlir::Value may; // false: true nowhere, the tile is EMPTY
  mlir::Value all; // true: true everywhere, the tile is FULL
};

/// What a tile needs to know of values from outside the region.
struct TileScope {
  /// Ranges of the root's loops; one whose index the region uses must be there.
  llvm::SmallVector<LoopRange> loops;
  /// Value of argument |number| of the region where the whole tile has but one, else null.
  std::function<mlir::Value(unsigned number)> getArgument;
  /// The emitted value of a size argument of the kernel.
  std::function<mlir::Value(mlir::Value size)> getSize;
  /// The truth of conditions that the caller knows by other means, from looking at the data say; may be empty.
  std::function<std::optional<TileTruth>(mlir::Value condition)> getTruth;
  /// Bits of the integers that the test's values of type index become; captured numbers are no wider.
  unsigned wordBits = 64;
};

/// Emits the test of |region|'s yielded i1 at |builder|'s insertion point.
TileTruth buildTileTest(mlir::OpBuilder &builder, mlir::Location loc, mlir::Region &region, const TileScope &scope);

/// True if |region| yields true whatever its arguments and indices.
bool isAlwaysTrue(mlir::Region &region);

} // namespace heddle::sparsity

#endif // HEDDLE_COMPILER_TRANSFORMS_SPARSITY_TILETEST_H
