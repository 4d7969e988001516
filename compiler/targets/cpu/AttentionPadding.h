// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an attention's mask says of its score, and padding: what the regions say about a key alone, whatever the row. No
// interval tells padding's values, so groups of keys are looked through when the kernel runs. Where the mask keeps a
// whole tile, the score region needs nothing that hides keys.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_ATTENTIONPADDING_H
#define HEDDLE_COMPILER_TARGETS_CPU_ATTENTIONPADDING_H

#include "compiler/targets/cpu/KernelPlan.h"
#include "mlir/IR/OwningOpRef.h"

namespace heddle::cpu {

class AttentionPadding {
public:
  explicit AttentionPadding(const KernelPlan &plan);

  /// The mask hides no key by itself.
  bool empty() const { return conditions.empty(); }
  /// Is |value|, of the mask region, one of the conditions that hide a key?
  bool isCondition(mlir::Value value) const { return llvm::is_contained(conditions, value); }
  /// Yields the conditions; arguments as the mask's. Not to be asked where it is empty.
  mlir::Region &getConditions() { return scan->getRegion(1); }
  /// Yields for each key what must be true (i1) or 0 (f32) for the score to be the plain one; arguments as the score's,
  /// which itself isn't used. Not to be asked where it is empty.
  mlir::Region &getNeutral() { return scan->getRegion(0); }
  /// The score region for elements that the mask keeps, and where all that getNeutral() yields is as it must be.
  mlir::Region &getPlainScore() { return plain->getRegion(0); }

private:
  void findConditions(const KernelPlan &plan, kernel::AttentionOp op);

  llvm::SmallVector<mlir::Value> conditions;
  /// Captures that the conditions read.
  llvm::SmallDenseSet<unsigned> captures;
  /// Copies of the op that hold the regions.
  mlir::OwningOpRef<mlir::Operation *> scan, plain;
};

/// Simplifies the score region of |op|, an attention, for elements that its mask keeps: conditions that the mask asks
/// as well hold.
void assumeMask(kernel::AttentionOp op);

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_ATTENTIONPADDING_H
