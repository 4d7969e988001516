// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Padding: what an attention's regions say about a key alone, whatever the row. No interval tells its values, so groups
// of keys are looked through when the kernel runs. Where all keys of a group are ordinary ones, neither mask nor score
// region needs to know of padding.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_ATTENTIONPADDING_H
#define HEDDLE_COMPILER_TARGETS_CPU_ATTENTIONPADDING_H

#include "compiler/targets/cpu/KernelPlan.h"
#include "mlir/IR/OwningOpRef.h"

namespace heddle::cpu {

class AttentionPadding {
public:
  explicit AttentionPadding(const KernelPlan &plan);

  bool empty() const { return conditions.empty(); }
  /// Is |value|, of the mask region, one of the conditions that hide a key?
  bool isCondition(mlir::Value value) const { return llvm::is_contained(conditions, value); }
  /// Yields the conditions; arguments as the mask's.
  mlir::Region &getConditions() { return scan->getRegion(1); }
  /// Yields for each key what must be true (i1) or 0 (f32) for the score to be the plain one; arguments as the score's,
  /// which itself isn't used.
  mlir::Region &getNeutral() { return scan->getRegion(0); }
  /// The score region without what padding adds, right where all that getNeutral() yields is as it must be.
  mlir::Region &getPlainScore() { return plain->getRegion(0); }

private:
  void findConditions(const KernelPlan &plan, kernel::AttentionOp op);

  llvm::SmallVector<mlir::Value> conditions;
  /// Captures that the conditions read.
  llvm::SmallDenseSet<unsigned> captures;
  /// Copies of the op that hold the regions.
  mlir::OwningOpRef<mlir::Operation *> scan, plain;
};

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_ATTENTIONPADDING_H
