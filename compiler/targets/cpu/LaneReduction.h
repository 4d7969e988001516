// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions on vectors. The element at position j of a row always goes to lane j mod 16 of accumulator (j / 16) mod A,
// and lanes are merged in one fixed tree: the order depends on the row's length alone, and neutral elements at a row's
// end (masked keys of a softmax, padding) change no bit.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_LANEREDUCTION_H
#define HEDDLE_COMPILER_TARGETS_CPU_LANEREDUCTION_H

#include "compiler/targets/cpu/KernelEmitter.h"

namespace heddle::cpu {

/// The value that merges with any other without changing it.
mlir::Value buildNeutral(KernelEmitter &emitter, kernel::Combiner combiner, mlir::Type type);
/// |left| and |right| merged.
mlir::Value buildCombined(KernelEmitter &emitter, kernel::Combiner combiner, mlir::Value left, mlir::Value right);
/// All lanes of |vector| merged, by halves.
mlir::Value buildLaneReduction(KernelEmitter &emitter, kernel::Combiner combiner, mlir::Value vector);

/// What the reductions of one row need.
struct RowReduction {
  llvm::SmallVector<kernel::Combiner> combiners;
  llvm::SmallVector<mlir::Type> types; // of the accumulators' elements
  unsigned loop = 0;                   // loop along the row
  /// Values to merge at index i of the row, one per combiner; scalars count for all lanes.
  std::function<mlir::FailureOr<llvm::SmallVector<mlir::Value>>(mlir::Value i, const Lanes &)> emitTerms;
};

/// Vector accumulators of |reduction|, |accumulators| for each combiner, all neutral.
llvm::SmallVector<mlir::Value> buildRowAccumulators(KernelEmitter &emitter, const RowReduction &reduction);
/// Adds the row to |accumulators|.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> buildRowPass(KernelEmitter &emitter, const RowReduction &reduction,
                                                             mlir::ValueRange accumulators);
/// One scalar per combiner.
llvm::SmallVector<mlir::Value> buildRowResults(KernelEmitter &emitter, const RowReduction &reduction,
                                               mlir::ValueRange accumulators);

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_LANEREDUCTION_H
