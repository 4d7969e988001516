// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cutting a range of rows into tiles of constant height: whole tiles in a loop, then one piece of code per smaller
// height.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_ROWTILES_H
#define HEDDLE_COMPILER_TARGETS_CPU_ROWTILES_H

#include "compiler/targets/cpu/KernelEmitter.h"

namespace heddle::cpu {

/// Runs |body| for the one of |cases| that |value| equals; it equals one, or with |mayBeNone| none where nothing is to
/// be done.
void emitSwitch(KernelEmitter &emitter, mlir::Value value, llvm::ArrayRef<int64_t> cases,
                llvm::function_ref<void(int64_t)> body, bool mayBeNone = false);

struct RowTiles {
  int64_t height = 0;
  /// Few rows alone leave the multipliers waiting: a tail of up to half a tile shares the rows of one whole tile.
  bool split = false;
  /// Rows left behind whole tiles, where it is known.
  std::optional<int64_t> rest;

  /// The longest tail that does. Halves of it and a whole tile must be lower than one, which takes three rows.
  int64_t getMostShared() const { return split && height >= 3 ? height / 2 : 0; }
};

/// Rows of each but the last of the ceil(total / most) items that share |total| rows evenly: at most |most|, a multiple
/// of |unit|, which divides |most|. 257 rows are two items of 129 and 128 in place of one of 256 and one that has to
/// read as much for a single row.
int64_t getEvenShare(int64_t total, int64_t most, int64_t unit);
mlir::Value emitEvenShare(KernelEmitter &emitter, mlir::Value total, int64_t most, int64_t unit);

/// Runs |body|(first row, rows) for the tiles of rows |begin| to |end|.
void forRowTiles(KernelEmitter &emitter, const RowTiles &tiles, mlir::Value begin, mlir::Value end,
                 llvm::function_ref<void(mlir::Value, int64_t)> body);

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_ROWTILES_H
