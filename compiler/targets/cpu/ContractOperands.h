// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The factors of a contraction as its inner loop reads them: rows of the left side at a stride, panels of 16 columns of
// the right side. What doesn't lie in memory like that is copied to scratch once per work item.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_CONTRACTOPERANDS_H
#define HEDDLE_COMPILER_TARGETS_CPU_CONTRACTOPERANDS_H

#include "compiler/targets/cpu/KernelEmitter.h"
#include "compiler/targets/cpu/PanelPacker.h"

namespace heddle::cpu {

class ContractOperands {
public:
  /// |loops|: indices of the batch loops; those of m, n and k are set as code is emitted.
  ContractOperands(KernelEmitter &emitter, llvm::SmallVectorImpl<mlir::Value> &loops)
      : emitter(emitter), loops(loops), plan(emitter.plan), m(plan.contract.panelLoops[0]),
        n(plan.contract.panelLoops[1]), k(plan.contract.panelLoops[2]), packer(emitter, loops, /*input=*/1, n, k) {}

  /// Copies to scratch what has to be copied: rows |rowBegin| to |rowEnd|, |panelCount| panels from column |column| on.
  void prepare(mlir::Value rowBegin, mlir::Value rowEnd, mlir::Value column, mlir::Value panelCount);

  /// Element number of (row, k = 0) of the left side; k steps by lhsStep().
  mlir::Value lhsRow(mlir::Value row);
  mlir::Value lhsStep();
  mlir::Value lhsMemory() { return plan.contract.copyLhs ? emitter.scratch : emitter.getBinding(plan.bindings[0]); }
  /// Element number of (k = 0, first column) of panel |j| of the work item; k steps by 16.
  mlir::Value rhsPanel(int64_t j);
  mlir::Value rhsMemory() { return plan.contract.packedRhs ? emitter.getBinding(plan.bindings[1]) : emitter.scratch; }

private:
  void copyLhs(mlir::Value rowEnd);
  void packPanel(mlir::Value panel);

  KernelEmitter &emitter;
  llvm::SmallVectorImpl<mlir::Value> &loops;
  const KernelPlan &plan;
  unsigned m, n, k;
  PanelPacker packer;
  mlir::Value rowBegin, column;
};

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_CONTRACTOPERANDS_H
