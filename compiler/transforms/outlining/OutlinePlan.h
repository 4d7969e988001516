// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides, before any kernel is made, which values of the model get memory of their own, which are recomputed inside
// the kernels that read them, and which element-wise ops join the kernel that produces their operand.

#ifndef HEDDLE_COMPILER_TRANSFORMS_OUTLINING_OUTLINEPLAN_H
#define HEDDLE_COMPILER_TRANSFORMS_OUTLINING_OUTLINEPLAN_H

#include "compiler/transforms/shapes/ShapeAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace heddle {

/// What becomes of an op of nn.
enum class OutlineRole {
  Unsupported, ///< no kernel exists for it
  Shape,       ///< lives in the shape program only, or is a constant
  View,        ///< other index expressions onto the same memory
  Inline,      ///< one scalar expression per element: part of whatever kernel asks for it
  Root,        ///< a structured root of its own
};

OutlineRole getOutlineRole(mlir::Operation *op);

/// True if |value| is a constant table or a few element-wise ops on one, as where it is stored as codes: readers of few
/// elements compute those.
bool isDequantizedTable(mlir::Value value);

class OutlinePlan {
public:
  OutlinePlan(mlir::func::FuncOp func, const ShapeAnalysis &analysis);

  /// Whether an Inline op's result is stored. Results of roots always are, unless their group goes on.
  bool isMaterialized(mlir::Value value) const { return materialized.contains(value); }

  /// The root whose kernel ends with |op|; null if there is none. |op| may be the root itself.
  mlir::Operation *getRootEndingAt(mlir::Operation *op) const { return rootOfEnd.lookup(op); }
  /// True if |op| is computed inside the kernel of a root before it and isn't what that kernel stores.
  bool isAbsorbed(mlir::Operation *op) const { return absorbed.contains(op); }

  /// The permutation that all readers of |value| apply to it, empty if they don't agree on one: a kernel stores its
  /// result in that order, so that the transposes cost nothing.
  llvm::SmallVector<int64_t> getStoredOrder(mlir::Value value) const;

private:
  void findGroup(mlir::Operation *root);
  bool needsMemory(mlir::Operation *op);
  /// Scalar ops that an element of |value| costs where it isn't stored; counting ends at |budget|.
  int64_t getCost(mlir::Value value, int64_t budget, unsigned depth) const;
  bool isShapeValue(mlir::Value value) const { return analysis.getElements(value).has_value(); }
  bool isShapeUse(mlir::OpOperand &use) const;
  void collectReaders(mlir::Value value, bool reshaped,
                      llvm::SmallVectorImpl<std::pair<mlir::OpOperand *, bool>> &readers) const;

  const ShapeAnalysis &analysis;
  llvm::DenseSet<mlir::Value> materialized;
  llvm::DenseSet<mlir::Operation *> absorbed;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> rootOfEnd;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_OUTLINING_OUTLINEPLAN_H
