// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conditions of regions: logic that keeps them free of what is known, and constants that become predicates on
// positions. An analysis of tiles sees through these and not through numbers that are selected and compared again.

#include "compiler/transforms/fusion/ElementEmitter.h"
#include "compiler/transforms/outlining/ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

//===------------------------------------------------------------------------------------------------------------===//
// Logic
//===------------------------------------------------------------------------------------------------------------===//

bool ElementEmitter::isTrue(Value value) const { return matchPattern(value, m_One()); }
bool ElementEmitter::isFalse(Value value) const { return matchPattern(value, m_Zero()); }

Value ElementEmitter::emitNot(Value a) {
  if (isFalse(a) || isTrue(a))
    return constant(builder.getBoolAttr(!isTrue(a)));
  // A comparison's opposite is one, for floats with NaN on the other side.
  if (auto compare = a.getDefiningOp<arith::CmpIOp>())
    return builder.create<arith::CmpIOp>(loc, arith::invertPredicate(compare.getPredicate()), compare.getLhs(),
                                         compare.getRhs());
  return builder.create<arith::XOrIOp>(loc, a, constant(builder.getBoolAttr(true)));
}

Value ElementEmitter::emitAnd(Value a, Value b) {
  if (isTrue(a) || a == b || isFalse(b))
    return b;
  return isTrue(b) || isFalse(a) ? a : builder.create<arith::AndIOp>(loc, a, b).getResult();
}

Value ElementEmitter::emitOr(Value a, Value b) {
  if (isFalse(a) || a == b || isTrue(b))
    return b;
  return isFalse(b) || isTrue(a) ? a : builder.create<arith::OrIOp>(loc, a, b).getResult();
}

Value ElementEmitter::emitChoice(Value condition, Value a, Value b) {
  if (isTrue(a) && isTrue(b))
    return a;
  if (isTrue(a) || isFalse(b))
    return isTrue(a) ? emitOr(condition, b) : emitAnd(condition, a);
  if (isFalse(a) || isTrue(b))
    return isFalse(a) ? emitAnd(emitNot(condition), b) : emitOr(emitNot(condition), a);
  return builder.create<arith::SelectOp>(loc, condition, a, b);
}

//===------------------------------------------------------------------------------------------------------------===//
// Comparisons of what is selected
//===------------------------------------------------------------------------------------------------------------===//

/// What |comparison| says with |number| on its left; its right side is a constant.
static bool compareNumbers(Operation *comparison, Attribute number) {
  Attribute right;
  matchPattern(comparison->getOperand(1), m_Constant(&right));
  if (auto integers = dyn_cast<arith::CmpIOp>(comparison))
    return arith::applyCmpPredicate(integers.getPredicate(), cast<IntegerAttr>(number).getValue(),
                                    cast<IntegerAttr>(right).getValue());
  // The number may come from a narrower type, which is exact.
  APFloat left = cast<FloatAttr>(number).getValue(), bound = cast<FloatAttr>(right).getValue();
  bool losesInfo;
  left.convert(bound.getSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return arith::applyCmpPredicate(cast<arith::CmpFOp>(comparison).getPredicate(), left, bound);
}

/// |comparison| with |value| on its left, with a condition for each number that |value| is selected from. Null where
/// that says no more than the comparison itself.
Value ElementEmitter::distribute(Value value, Operation *comparison, unsigned depth) {
  constexpr unsigned kMaxDepth = 8; // a selection's sides are both followed
  Attribute number;
  if (matchPattern(value, m_Constant(&number)))
    return constant(builder.getBoolAttr(compareNumbers(comparison, number)));
  Operation *op = value.getDefiningOp();
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op); select && depth < kMaxDepth) {
    Value a = distribute(select.getTrueValue(), comparison, depth + 1);
    Value b = a ? distribute(select.getFalseValue(), comparison, depth + 1) : Value();
    return b ? emitChoice(select.getCondition(), a, b) : Value();
  }
  if (auto wider = dyn_cast_or_null<arith::ExtFOp>(op))
    return distribute(wider.getIn(), comparison, depth);
  // A bool as a number is 1 or 0.
  if (isa_and_nonnull<arith::ExtUIOp, arith::UIToFPOp>(op) && op->getOperand(0).getType().isInteger(1)) {
    Type type = value.getType();
    auto numberOf = [&](int64_t bit) {
      return isa<FloatType>(type) ? Attribute(builder.getFloatAttr(type, static_cast<double>(bit)))
                                  : Attribute(builder.getIntegerAttr(type, bit));
    };
    Value a = constant(builder.getBoolAttr(compareNumbers(comparison, numberOf(1))));
    Value b = constant(builder.getBoolAttr(compareNumbers(comparison, numberOf(0))));
    return emitChoice(op->getOperand(0), a, b);
  }
  return nullptr;
}

Value ElementEmitter::simplify(Value comparison) {
  Operation *op = comparison.getDefiningOp();
  if (!isa_and_nonnull<arith::CmpIOp, arith::CmpFOp>(op) || !matchPattern(op->getOperand(1), m_Constant()))
    return comparison;
  Value condition = distribute(op->getOperand(0), op, 0);
  return condition ? condition : comparison;
}

//===------------------------------------------------------------------------------------------------------------===//
// Bands of constants
//===------------------------------------------------------------------------------------------------------------===//

Value ElementEmitter::emitInside(nn::ConstantOp op, const DiagonalBand &band, ArrayRef<LinearIndex> index) {
  // Past its end the constant has no elements, and a run ends where the broadcast asks for them.
  for (auto [entry, extent] : llvm::zip_equal(index, op.getType().getShape()))
    if (!space.isWithin(entry, space.getContext().constant(extent)))
      return nullptr;
  LinearIndex row = index.size() > 1 ? index[index.size() - 2] : space.zero(), column = index.back();
  auto bound = [&](nn::CompareKind kind, int64_t distance) {
    return emitComparison(kind, column, space.add(row, space.constant(space.getContext().constant(distance))));
  };
  Value last = band.last ? bound(nn::CompareKind::Le, *band.last) : constant(builder.getBoolAttr(true));
  Value first = band.first ? bound(nn::CompareKind::Ge, *band.first) : constant(builder.getBoolAttr(true));
  return last && first ? emitAnd(last, first) : Value();
}

/// An element of a constant triangle or window; null where |tensor| is something else.
Value ElementEmitter::emitBand(Value tensor, ArrayRef<LinearIndex> index) {
  auto op = tensor.getDefiningOp<nn::ConstantOp>();
  // Of small constants, a slope for each head say, positions say nothing.
  bool hasPositions = op && llvm::any_of(index, [](const LinearIndex &entry) {
                        return !entry.factors[kLoopQuery].isConstant(0) || !entry.factors[kLoopKey].isConstant(0);
                      });
  if (!hasPositions)
    return nullptr;
  const std::optional<DiagonalBand> &band = dims.getConstantForms().getBand(op);
  Value inside = band ? emitInside(op, *band, index) : Value();
  if (!inside)
    return nullptr;
  Type type = op.getType().getElementType();
  if (type.isInteger(1))
    return band->inside != 0 ? inside : emitNot(inside);
  return builder.create<arith::SelectOp>(loc, inside, emitNumber(builder, type, band->inside),
                                         emitNumber(builder, type, band->outside));
}
