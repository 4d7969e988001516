// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packing an activation into panels of 16 columns: element (k, column c of the panel) at k * 16 + c. A copy where
// columns are neighbours in memory, 16 x 16 transposes in registers where k is, else one gather per k.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_PANELPACKER_H
#define HEDDLE_COMPILER_TARGETS_CPU_PANELPACKER_H

#include "compiler/targets/cpu/KernelEmitter.h"

namespace heddle::cpu {

/// The transpose of 16 vectors.
llvm::SmallVector<mlir::Value> buildTranspose(KernelEmitter &emitter, llvm::SmallVector<mlir::Value> rows);

class PanelPacker {
public:
  /// |loops|: indices of the other loops that root input |input| walks; those of |columnLoop| and |depthLoop| are set
  /// as code is emitted.
  PanelPacker(KernelEmitter &emitter, llvm::SmallVectorImpl<mlir::Value> &loops, unsigned input, unsigned columnLoop,
              unsigned depthLoop)
      : emitter(emitter), loops(loops), plan(emitter.plan), input(input), n(columnLoop), k(depthLoop) {}

  /// Rows of a panel: the depth rounded up to whole transposed blocks.
  mlir::Value paddedDepth();
  /// Packs columns |first| to |first| + 15, those below |end|, into scratch from element |target| on. The others are
  /// zero and never read.
  void pack(mlir::Value target, mlir::Value first, mlir::Value end, bool columnsAreWhole);

private:
  void packByColumns(mlir::Value target, mlir::Value first, mlir::Value columns, bool columnsAreWhole);
  void packTransposed(mlir::Value target, mlir::Value first, mlir::Value columns, bool columnsAreWhole);
  void packBlock(mlir::Value target, mlir::Value first, mlir::Value columns, mlir::Value depth, bool isWhole);

  KernelEmitter &emitter;
  llvm::SmallVectorImpl<mlir::Value> &loops;
  const KernelPlan &plan;
  unsigned input, n, k;
};

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_PANELPACKER_H
