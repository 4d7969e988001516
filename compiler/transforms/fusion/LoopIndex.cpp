// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linear index arithmetic over attention's loops.

#include "compiler/transforms/fusion/LoopIndex.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

LoopDims KnownDims::get(Value value) const {
  auto it = noted.find(value);
  return it == noted.end() ? LoopDims(analysis.getDims(value)) : it->second;
}

LoopSpace LoopSpace::withSize(ShapeExpr size) const {
  LoopSpace result = *this;
  result.extents[kLoopSize] = size;
  return result;
}

LinearIndex LoopSpace::constant(ShapeExpr value) const {
  LinearIndex result;
  result.factors.fill(context->constant(0));
  result.offset = value;
  return result;
}

LinearIndex LoopSpace::loop(Loop loop) const {
  LinearIndex result = zero();
  result.factors[loop] = context->constant(1);
  return result;
}

LinearIndex LoopSpace::dropUnitLoops(LinearIndex index) const {
  for (unsigned loop = 0; loop < kNumLoops; ++loop)
    if (extents[loop].isConstant(1))
      index.factors[loop] = context->constant(0);
  return index;
}

LinearIndex LoopSpace::add(const LinearIndex &a, const LinearIndex &b) const {
  LinearIndex result;
  for (unsigned i = 0; i < kNumLoops; ++i)
    result.factors[i] = context->add(a.factors[i], b.factors[i]);
  result.offset = context->add(a.offset, b.offset);
  return result;
}

LinearIndex LoopSpace::scale(const LinearIndex &a, ShapeExpr factor) const {
  LinearIndex result;
  for (unsigned i = 0; i < kNumLoops; ++i)
    result.factors[i] = context->mul(a.factors[i], factor);
  result.offset = context->mul(a.offset, factor);
  return result;
}

bool LoopSpace::isWithin(const LinearIndex &index, ShapeExpr bound) const {
  ShapeExpr end = context->add(index.offset, context->constant(1));
  if (!index.offset || !context->isProvablyNonNegative(index.offset))
    return false;
  for (unsigned i = 0; i < kNumLoops; ++i) {
    ShapeExpr factor = index.factors[i];
    if (!factor || !context->isProvablyNonNegative(factor))
      return false;
    end = context->add(end, context->mul(factor, context->sub(extents[i], context->constant(1))));
  }
  return end && (end == bound || context->isProvablyLessEqual(end, bound));
}

std::optional<std::pair<LinearIndex, LinearIndex>> LoopSpace::split(const LinearIndex &index, ShapeExpr divisor) const {
  LinearIndex quotient = zero(), remainder = zero();
  auto part = [&](ShapeExpr term, ShapeExpr &high, ShapeExpr &low) {
    if (term.isConstant(0))
      return;
    if (ShapeExpr whole = context->divideExactly(term, divisor))
      high = whole;
    else
      low = term;
  };
  for (unsigned i = 0; i < kNumLoops; ++i)
    part(index.factors[i], quotient.factors[i], remainder.factors[i]);
  part(index.offset, quotient.offset, remainder.offset);
  if (!isWithin(remainder, divisor))
    return std::nullopt;
  return std::make_pair(quotient, remainder);
}

namespace {
/// Dimensions [fromBegin, fromEnd) before a reshape hold the elements of [toBegin, toEnd) after it.
struct DimGroup {
  unsigned fromBegin, fromEnd, toBegin, toEnd;
};
} // namespace

/// The smallest group from |group|'s begins on whose products are provably equal; false where there is none.
static bool findGroup(ShapeContext &context, ArrayRef<ShapeExpr> from, ArrayRef<ShapeExpr> to, DimGroup &group) {
  unsigned fromLeft = from.size() - group.fromBegin, toLeft = to.size() - group.toBegin;
  for (unsigned length = 2; length <= fromLeft + toLeft; ++length)
    for (unsigned fromCount = 1; fromCount < length; ++fromCount) {
      unsigned toCount = length - fromCount;
      if (fromCount > fromLeft || toCount > toLeft)
        continue;
      if (context.product(from.slice(group.fromBegin, fromCount)) != context.product(to.slice(group.toBegin, toCount)))
        continue;
      group.fromEnd = group.fromBegin + fromCount;
      group.toEnd = group.toBegin + toCount;
      return true;
    }
  return false;
}

std::optional<TensorIndex> LoopSpace::reshape(ArrayRef<ShapeExpr> from, ArrayRef<LinearIndex> index,
                                              ArrayRef<ShapeExpr> to) const {
  TensorIndex result(to.size(), zero());
  DimGroup group = {0, 0, 0, 0};
  while (group.fromBegin < from.size() && group.toBegin < to.size()) {
    // Sizes that only a run can compare say nothing about where elements go.
    if (!findGroup(*context, from, to, group))
      return std::nullopt;
    LinearIndex position = zero();
    for (unsigned i = group.fromBegin; i < group.fromEnd; ++i)
      position = add(scale(position, from[i]), index[i]);
    for (unsigned i = group.toEnd; i-- > group.toBegin;) {
      if (i == group.toBegin) {
        result[i] = position; // nothing lies above
        break;
      }
      auto parts = split(position, to[i]);
      if (!parts)
        return std::nullopt;
      std::tie(position, result[i]) = *parts;
    }
    group.fromBegin = group.fromEnd;
    group.toBegin = group.toEnd;
  }
  // What is left over has extent 1: index 0 on both sides.
  return result;
}
