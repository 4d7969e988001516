// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index arithmetic of views: composition, reshape, and putting split dimensions together again.

#include "compiler/transforms/outlining/TensorView.h"

#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;

AffineExpr ShapeSymbols::get(ShapeExpr expr) {
  if (std::optional<int64_t> value = expr.getConstant())
    return getAffineConstantExpr(*value, context);
  auto [it, isNew] = numbers.try_emplace(expr, exprs.size());
  if (isNew)
    exprs.push_back(expr);
  return getAffineSymbolExpr(it->second, context);
}

AffineIndex heddle::identityIndex(unsigned rank, MLIRContext *context) {
  AffineIndex index;
  for (unsigned i = 0; i < rank; ++i)
    index.push_back(getAffineDimExpr(i, context));
  return index;
}

TensorView TensorView::contiguous(Value buffer, Type elementType, ArrayRef<ShapeExpr> dims) {
  return {buffer, elementType, ShapeDims(dims), identityIndex(dims.size(), buffer.getContext())};
}

AffineIndex heddle::compose(ArrayRef<AffineExpr> indices, ArrayRef<AffineExpr> dims) {
  return llvm::map_to_vector<4>(indices, [&](AffineExpr expr) { return expr.replaceDims(dims); });
}

bool heddle::isStrided(AffineExpr expr) {
  bool strided = true;
  expr.walk([&](AffineExpr part) {
    AffineExprKind kind = part.getKind();
    if (kind == AffineExprKind::FloorDiv || kind == AffineExprKind::CeilDiv || kind == AffineExprKind::Mod)
      strided = false;
  });
  return strided;
}

/// e if |high| is e floordiv |extent| and |low| is e mod |extent|, for some e; else null.
static AffineExpr joined(AffineExpr high, AffineExpr low, AffineExpr extent) {
  auto mod = dyn_cast<AffineBinaryOpExpr>(low);
  if (!mod || mod.getKind() != AffineExprKind::Mod || mod.getRHS() != extent)
    return nullptr;
  // Built by the same simplifier as |high| was, so that equal values are one expression.
  return mod.getLHS().floorDiv(extent) == high ? mod.getLHS() : nullptr;
}

/// The factor B of a sum x * B + y with a symbolic B, with |x| and |y|; null if |expr| isn't of that form.
static AffineExpr matchSplit(AffineExpr expr, AffineExpr &x, AffineExpr &y) {
  auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!sum || sum.getKind() != AffineExprKind::Add)
    return nullptr;
  auto product = dyn_cast<AffineBinaryOpExpr>(sum.getLHS());
  if (!product || product.getKind() != AffineExprKind::Mul || !isa<AffineSymbolExpr>(product.getRHS()))
    return nullptr;
  x = product.getLHS();
  y = sum.getRHS();
  return product.getRHS();
}

/// The inverse of joining, where a dimension times a symbol would otherwise be left: extent A*B indexed by x * B + y
/// becomes A, B indexed by x, y.
static void splitSymbolic(ShapeDims &baseDims, AffineIndex &indices, ShapeSymbols &symbols, ShapeContext &context) {
  for (unsigned i = 0; i < baseDims.size(); ++i) {
    AffineExpr x, y;
    AffineExpr factor = matchSplit(indices[i], x, y);
    if (!factor)
      continue;
    ShapeExpr low = symbols.of(cast<AffineSymbolExpr>(factor).getPosition());
    ShapeExpr high = context.divideExactly(baseDims[i], low);
    if (!high)
      continue;
    baseDims[i] = high;
    indices[i] = x;
    baseDims.insert(baseDims.begin() + i + 1, low);
    indices.insert(indices.begin() + i + 1, y);
  }
}

void heddle::simplifyBase(ShapeDims &baseDims, AffineIndex &indices, ShapeSymbols &symbols, ShapeContext &context) {
  for (unsigned i = baseDims.size(); i-- > 0;)
    if (baseDims[i].isConstant(1)) {
      baseDims.erase(baseDims.begin() + i);
      indices.erase(indices.begin() + i);
    }
  for (unsigned i = baseDims.size(); i-- > 1;)
    if (AffineExpr whole = joined(indices[i - 1], indices[i], symbols.get(baseDims[i]))) {
      indices[i - 1] = whole;
      baseDims[i - 1] = context.mul(baseDims[i - 1], baseDims[i]);
      baseDims.erase(baseDims.begin() + i);
      indices.erase(indices.begin() + i);
    }
  splitSymbolic(baseDims, indices, symbols, context);
}

bool heddle::isWalkable(const TensorView &view, ArrayRef<AffineExpr> index, ShapeSymbols &symbols,
                        ShapeContext &context) {
  ShapeDims dims = view.baseDims;
  AffineIndex composed = compose(view.indices, index);
  simplifyBase(dims, composed, symbols, context);
  return llvm::all_of(composed, isStrided);
}

namespace {
/// Dimensions [oldBegin, oldEnd) of the old shape hold the same elements as [newBegin, newEnd) of the new one.
struct ReshapeGroup {
  unsigned oldBegin, oldEnd, newBegin, newEnd;
};
} // namespace

static ShapeExpr productOf(ArrayRef<ShapeExpr> dims, ShapeContext &context) { return context.product(dims); }

/// Splits a reshape into the smallest groups of provably equal products; one group of all where none are found.
static SmallVector<ReshapeGroup> groupDims(ArrayRef<ShapeExpr> oldDims, ArrayRef<ShapeExpr> newDims,
                                           ShapeContext &context) {
  SmallVector<ReshapeGroup> groups;
  unsigned oldBegin = 0, newBegin = 0;
  while (oldBegin < oldDims.size() && newBegin < newDims.size()) {
    bool found = false;
    // Shortest first: few dimensions take part in one split or merge.
    for (unsigned length = 2; !found && length <= oldDims.size() - oldBegin + newDims.size() - newBegin; ++length)
      for (unsigned oldCount = 1; !found && oldCount < length; ++oldCount) {
        unsigned newCount = length - oldCount;
        if (oldBegin + oldCount > oldDims.size() || newBegin + newCount > newDims.size())
          continue;
        if (productOf(oldDims.slice(oldBegin, oldCount), context) !=
            productOf(newDims.slice(newBegin, newCount), context))
          continue;
        groups.push_back({oldBegin, oldBegin + oldCount, newBegin, newBegin + newCount});
        oldBegin += oldCount;
        newBegin += newCount;
        found = true;
      }
    if (!found) {
      // Sizes that only a run can compare: the analysis has added the check, here they are one group.
      groups.push_back(
          {oldBegin, static_cast<unsigned>(oldDims.size()), newBegin, static_cast<unsigned>(newDims.size())});
      return groups;
    }
  }
  // What is left is of extent 1.
  if (oldBegin < oldDims.size() || newBegin < newDims.size())
    groups.push_back(
        {oldBegin, static_cast<unsigned>(oldDims.size()), newBegin, static_cast<unsigned>(newDims.size())});
  return groups;
}

AffineIndex heddle::reshapeIndex(ArrayRef<ShapeExpr> oldDims, ArrayRef<ShapeExpr> newDims,
                                 ArrayRef<AffineExpr> newIndex, ShapeSymbols &symbols, ShapeContext &context) {
  AffineIndex oldIndex(oldDims.size(), getAffineConstantExpr(0, symbols.getContext()));
  for (const ReshapeGroup &group : groupDims(oldDims, newDims, context)) {
    // linear: position within the group, row-major.
    AffineExpr linear = getAffineConstantExpr(0, symbols.getContext());
    for (unsigned i = group.newBegin; i < group.newEnd; ++i)
      if (!newDims[i].isConstant(1))
        linear = linear * symbols.get(newDims[i]) + newIndex[i];
    SmallVector<unsigned> wide;
    for (unsigned i = group.oldBegin; i < group.oldEnd; ++i)
      if (!oldDims[i].isConstant(1))
        wide.push_back(i);
    for (unsigned i : llvm::reverse(wide)) {
      if (i == wide.front()) {
        oldIndex[i] = linear; // nothing lies above: no modulo needed
        break;
      }
      AffineExpr extent = symbols.get(oldDims[i]);
      oldIndex[i] = linear % extent;
      linear = linear.floorDiv(extent);
    }
  }
  return oldIndex;
}
