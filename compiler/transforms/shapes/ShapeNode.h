// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a ShapeExpr points to, how a context keeps such nodes unique, and arithmetic on the terms of polynomials.
// Private to this room.

#ifndef HEDDLE_COMPILER_TRANSFORMS_SHAPES_SHAPENODE_H
#define HEDDLE_COMPILER_TRANSFORMS_SHAPES_SHAPENODE_H

#include "compiler/transforms/shapes/ShapeExpr.h"
#include "llvm/ADT/FoldingSet.h"
#include "llvm/ADT/StringMap.h"

#include <vector>

namespace heddle::detail {

using ShapeTerms = llvm::SmallVector<ShapeTerm, 2>;

/// One canonical expression. Fields that a kind doesn't use keep their defaults.
struct ShapeNode : llvm::FoldingSetNode {
  ShapeExprKind kind = ShapeExprKind::Constant;
  unsigned id = 0;
  unsigned input = 0;
  /// Constant: its value. Symbol: the dimension. InputValue: the element.
  int64_t value = 0;
  std::string name;
  llvm::SmallVector<ShapeExpr, 3> operands;
  ShapeTerms terms;
  ShapeRange range = {INT64_MIN, INT64_MAX};
  unsigned complexity = 1;

  void Profile(llvm::FoldingSetNodeID &profile) const;
};

struct ShapeContextImpl {
  llvm::FoldingSet<ShapeNode> unique;
  llvm::StringMap<ShapeExpr> symbols;
  std::vector<std::unique_ptr<ShapeNode>> nodes;

  /// The node equal to |candidate|, whose id, terms of an atom and complexity are filled in here.
  ShapeExpr intern(ShapeNode candidate);
  ShapeExpr makeAtom(ShapeExprKind kind, llvm::ArrayRef<ShapeExpr> operands, ShapeRange range);
  /// Of normalised terms.
  ShapeExpr makeSum(ShapeTerms terms);
};

/// Sorts, merges equal monomials, drops zeros; false on overflow.
bool normalize(ShapeTerms &terms);

/// Graded lexicographic order, which products respect: exact division relies on that. Negative, 0 or positive.
int compareMonomials(llvm::ArrayRef<ShapeExpr> a, llvm::ArrayRef<ShapeExpr> b);

/// |a| without the atoms of |b|; none where b isn't a factor.
std::optional<llvm::SmallVector<ShapeExpr, 2>> divideMonomial(llvm::ArrayRef<ShapeExpr> a, llvm::ArrayRef<ShapeExpr> b);

/// Greatest common divisor of all coefficients; 0 without terms.
int64_t getContent(llvm::ArrayRef<ShapeTerm> terms);

/// Rounded towards minus infinity. Neither is defined for b = 0, nor for the least i64 over -1.
int64_t floorDivide(int64_t a, int64_t b);
int64_t floorModulo(int64_t a, int64_t b);

ShapeRange addRanges(ShapeRange a, ShapeRange b);
ShapeRange multiplyRanges(ShapeRange a, ShapeRange b);
ShapeRange floorDivideRanges(ShapeRange a, ShapeRange b);
ShapeRange modRange(ShapeRange a, ShapeRange b);

} // namespace heddle::detail

#endif // HEDDLE_COMPILER_TRANSFORMS_SHAPES_SHAPENODE_H
