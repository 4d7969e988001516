// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known about shapes before any kernel runs: each tensor's dimensions and the elements of small integer
// tensors, as expressions over the entry's sizes, and the checks under which they hold.

#ifndef HEDDLE_COMPILER_TRANSFORMS_SHAPES_SHAPEANALYSIS_H
#define HEDDLE_COMPILER_TRANSFORMS_SHAPES_SHAPEANALYSIS_H

#include "compiler/transforms/shapes/ShapeExpr.h"
#include "dialects/rt/RtDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// A condition that the shapes of a function rely on and that only a run can decide. In |message| `{a}` and `{b}`
/// stand for the values of |lhs| and |rhs|; |node| is the model's node.
struct ShapeCheck {
  rt::CheckKind kind;
  ShapeExpr lhs;
  ShapeExpr rhs;
  std::string node;
  std::string message;
};

/// The shapes of one function of nn and attn ops, straight-line code. Values are those of the function at the time of
/// the analysis; a pass that replaces them analyses again. Not thread-safe.
class ShapeAnalysis {
public:
  /// The most elements that a tensor in the shape program has.
  static constexpr int64_t kMaxElements = 64;

  /// Analyses |func|. Where a shape can't be known before kernels run, a diagnostic at that op says why and what to
  /// do, and null is returned.
  static std::unique_ptr<ShapeAnalysis> create(mlir::func::FuncOp func);
  ~ShapeAnalysis();

  ShapeContext &getContext();

  /// One expression a dimension; empty for a scalar and for values outside the function.
  llvm::ArrayRef<ShapeExpr> getDims(mlir::Value value) const;

  /// The elements of an integer or bool tensor that derives from shapes, constants or host inputs, row-major, bools as
  /// 0 and 1; none where the tensor isn't such or has more than kMaxElements. Elements of an input are given only
  /// where some shape depends on them: reading one makes it part of the plan's key.
  std::optional<llvm::ArrayRef<ShapeExpr>> getElements(mlir::Value value) const;

  /// In the order in which the program reaches them; each once.
  llvm::ArrayRef<ShapeCheck> getChecks() const;

private:
  ShapeAnalysis();
  friend class ShapeAnalyzer;

  ShapeContext context;
  // Vectors without inline storage: views of them are held while a growing map moves its entries.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<ShapeExpr, 0>> dims;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<ShapeExpr, 0>> elements;
  std::vector<ShapeCheck> checks;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_SHAPES_SHAPEANALYSIS_H
