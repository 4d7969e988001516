// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Building of a kernel.reduce from the terms that it combines.

#ifndef HEDDLE_COMPILER_TRANSFORMS_OUTLINING_REDUCTION_H
#define HEDDLE_COMPILER_TRANSFORMS_OUTLINING_REDUCTION_H

#include "compiler/transforms/outlining/Outliner.h"

namespace heddle {

/// Loops |bounds|, of which |reduced| are reduced. |resultIndex| is the index of the root's value over the others;
/// accumulators are of the kernel types |types|, one per combiner.
struct Reduction {
  ShapeDims bounds;
  llvm::SmallVector<int64_t> reduced;
  AffineIndex resultIndex;
  llvm::SmallVector<kernel::Combiner> combiners;
  llvm::SmallVector<mlir::Type> types;
};

/// Makes the kernel that computes |root| with what follows it up to |end|: |emitTerms| gives what each combiner merges
/// at the current loops, |emitRoot| the value of the root, in its element type, from the accumulators.
void buildReduction(Outliner &outliner, const Reduction &reduction, mlir::Operation *root, mlir::Operation *end,
                    llvm::function_ref<llvm::SmallVector<mlir::Value>(ScalarEmitter &)> emitTerms,
                    llvm::function_ref<mlir::Value(ScalarEmitter &, llvm::ArrayRef<mlir::Value>)> emitRoot);

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_OUTLINING_REDUCTION_H
