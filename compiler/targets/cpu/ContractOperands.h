// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The factors of a contraction as its inner loop reads them: rows of the left side at a stride, panels of 16 columns of
// the right side. What doesn't lie in memory like that is copied to scratch once per work item.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_CONTRACTOPERANDS_H
#define HEDDLE_COMPILER_TARGETS_CPU_CONTRACTOPERANDS_H

#include "compiler/targets/cpu/LhsCopier.h"
#include "compiler/targets/cpu/PanelPacker.h"

namespace heddle::cpu {

class ContractOperands {
public:
  /// |loops|: indices of the batch loops; those of m, n and k are set as code is emitted.
  ContractOperands(KernelEmitter &emitter, llvm::SmallVectorImpl<mlir::Value> &loops)
      : emitter(emitter), loops(loops), plan(emitter.plan), m(plan.contract.panelLoops[0]),
        n(plan.contract.panelLoops[1]), k(plan.contract.panelLoops[2]), copier(emitter, loops),
        packer(emitter, loops, /*input=*/1, n, k) {}

  /// Panels are shared out in groups of up to |width|. Those of weights lie one stream apart: group g of G holds panels
  /// g, g + G, g + 2 G ... Who runs consecutive groups then reads as many long streams as a group has panels, and
  /// prefetchers follow long streams, not short ones. Those of activations are neighbours, which packing reads
  /// together.
  void openGroup(mlir::Value group, int64_t width);
  /// Panels in the group, and what it may be.
  mlir::Value getNumPanels() { return numPanels; }
  llvm::SmallVector<int64_t> possibleNumPanels();
  /// First column of panel |j| of the group.
  mlir::Value column(int64_t j);

  /// Copies to scratch what has to be copied: rows |rowBegin| to |rowEnd|; the group's panels of an activation.
  void copyRows(mlir::Value rowBegin, mlir::Value rowEnd);
  void packPanels();

  /// Steps of the loop over k, and elements of a panel that each reads.
  mlir::Value getNumSteps();
  int64_t getStepElements() const;

  /// Element number of (row, k = 0) of the left side; a step of the loop over k moves it by lhsStep(). In scratch an
  /// element is a word of 32 bits.
  mlir::Value lhsRow(mlir::Value row);
  mlir::Value lhsStep();
  /// Elements from one k to the next.
  mlir::Value depthStride();
  mlir::Value lhsMemory() {
    return plan.contract.lhsCopy != LhsCopy::None ? emitter.scratch : emitter.getBinding(plan.bindings[0]);
  }
  /// Element number of (k = 0, first column) of panel |j| of the group; k steps by getStepElements().
  mlir::Value rhsPanel(int64_t j);
  /// The same of the group that comes next, or of this one if it is the last. Weights only.
  mlir::Value nextRhsPanel(int64_t j);
  /// Scales of block |block| for panel |j| of the group.
  mlir::Value loadScales(int64_t j, mlir::Value block);
  mlir::Value rhsMemory() { return plan.contract.packedRhs ? emitter.getBinding(plan.bindings[1]) : emitter.scratch; }

private:
  void packPanel(mlir::Value panel);

  KernelEmitter &emitter;
  llvm::SmallVectorImpl<mlir::Value> &loops;
  const KernelPlan &plan;
  unsigned m, n, k;
  LhsCopier copier;
  PanelPacker packer;
  mlir::Value rowBegin;
  int64_t groupWidth = 0;
  mlir::Value firstPanel, panelStep, numPanels; // of the group
};

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_CONTRACTOPERANDS_H
