// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recognises masks in score arithmetic: selected and added fills, 0/1 tensors times a fill, triangles.

#include "compiler/transforms/fusion/MaskTerms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

#include <limits>

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

static std::optional<double> getNumber(Value tensor) {
  auto value = dyn_cast_or_null<FloatAttr>(getSplat(tensor));
  return value ? std::optional(value.getValueAsDouble()) : std::nullopt;
}

static bool isFill(double value) { return value <= kMaskFill; }

namespace {
/// Walks score arithmetic from the softmax towards the product.
class MaskFinder {
public:
  MaskFinder(ElementEmitter &emitter, SmallVectorImpl<MaskTerm> &terms, SmallVectorImpl<Element> &opaque)
      : emitter(emitter), space(emitter.getSpace()), dims(emitter.getDims()), terms(terms), opaque(opaque) {}

  /// |element| holds the score; what it gives is multiplied by |factor| > 0 before the softmax.
  void visitScore(const Element &element, double factor);
  /// |element| times |factor| of either sign is added.
  void visitBias(const Element &element, double factor);

private:
  void visitScoreBinary(nn::BinaryOp op, const Element &element, double factor);
  void visitScoreWhere(nn::WhereOp op, const Element &element, double factor);
  void visitBiasBinary(nn::BinaryOp op, const Element &element, double factor);
  void visitBiasWhere(nn::WhereOp op, const Element &element, double factor);
  void visitTriangle(nn::TriluOp op, const Element &element, double factor);
  void visitConstant(nn::ConstantOp op, const Element &element, double factor);
  bool visitUnit(const Element &element, double factor);

  /// The element of |operand| that |element| of an element-wise op reads.
  Element operandOf(Value operand, const Element &element) const {
    return {operand, broadcastSource(space, dims.get(operand), dims.get(element.tensor), element.index)};
  }
  void addTerm(double fill, std::function<Value(ElementEmitter &)> emitKeep) {
    terms.push_back({std::max(fill, floor), std::move(emitKeep)});
  }
  void addCondition(nn::WhereOp op, const Element &element, bool keepsWhereTrue, double fill);

  ElementEmitter &emitter;
  const LoopSpace &space;
  KnownDims &dims;
  SmallVectorImpl<MaskTerm> &terms;
  SmallVectorImpl<Element> &opaque;
  // How many sums may be taken apart: what follows both sides of each needs a bound.
  unsigned budget = 256;
  // The greatest fill that a selection nearer to the softmax may put in place of one found further down.
  double floor = -std::numeric_limits<double>::infinity();
};
} // namespace

/// Keys are kept where |op|'s condition is true, or false.
void MaskFinder::addCondition(nn::WhereOp op, const Element &element, bool keepsWhereTrue, double fill) {
  Element condition = operandOf(op.getCondition(), element);
  addTerm(fill, [condition, keepsWhereTrue](ElementEmitter &mask) {
    Value value = mask.emit(condition.tensor, condition.index);
    return value && !keepsWhereTrue ? mask.emitNot(value) : value;
  });
  terms.back().selection = op;
  terms.back().kept = keepsWhereTrue ? op.getOnTrue() : op.getOnFalse();
}

//===------------------------------------------------------------------------------------------------------------===//
// On the way of the score.
//===------------------------------------------------------------------------------------------------------------===//

void MaskFinder::visitScore(const Element &element, double factor) {
  if (std::optional<Element> source = getElementSource(space, dims, element))
    return visitScore(*source, factor);
  Operation *op = element.tensor.getDefiningOp();
  if (!op)
    return;
  // Whatever else is computed of a masked score, a soft cap say, hides what the fill becomes.
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](nn::BinaryOp binary) { visitScoreBinary(binary, element, factor); })
      .Case([&](nn::WhereOp where) { visitScoreWhere(where, element, factor); });
}

void MaskFinder::visitScoreBinary(nn::BinaryOp op, const Element &element, double factor) {
  bool leftHolds = emitter.holdsScore(op.getLhs()), rightHolds = emitter.holdsScore(op.getRhs());
  if (leftHolds == rightHolds)
    return;
  Element inner = operandOf(leftHolds ? op.getLhs() : op.getRhs(), element);
  Element other = operandOf(leftHolds ? op.getRhs() : op.getLhs(), element);
  std::optional<double> number = getNumber(other.tensor);
  switch (op.getKind()) {
  case nn::BinaryKind::Add:
    visitBias(other, factor);
    return visitScore(inner, factor);
  case nn::BinaryKind::Sub:
    if (!leftHolds)
      return; // the score's sign changes
    visitBias(other, -factor);
    return visitScore(inner, factor);
  case nn::BinaryKind::Mul:
    if (number && *number > 0)
      visitScore(inner, factor * *number);
    return;
  case nn::BinaryKind::Div:
    if (leftHolds && number && *number > 0)
      visitScore(inner, factor / *number);
    return;
  default:
    return;
  }
}

void MaskFinder::visitScoreWhere(nn::WhereOp op, const Element &element, double factor) {
  bool keepsWhereTrue = emitter.holdsScore(op.getOnTrue());
  if (keepsWhereTrue == emitter.holdsScore(op.getOnFalse()))
    return;
  std::optional<double> fill = getNumber(keepsWhereTrue ? op.getOnFalse() : op.getOnTrue());
  // What else is selected may take the place of a fill further down, which then masks nothing.
  if (!fill || !isFill(*fill * factor))
    return;
  addCondition(op, element, keepsWhereTrue, *fill * factor);
  llvm::SaveAndRestore<double> restore(floor, std::max(floor, *fill * factor));
  visitScore(operandOf(keepsWhereTrue ? op.getOnTrue() : op.getOnFalse(), element), factor);
}

//===------------------------------------------------------------------------------------------------------------===//
// What is added to the score.
//===------------------------------------------------------------------------------------------------------------===//

void MaskFinder::visitBias(const Element &element, double factor) {
  if (getNumber(element.tensor) || visitUnit(element, factor))
    return;
  if (budget == 0)
    return opaque.push_back(element);
  --budget;
  if (std::optional<Element> source = getElementSource(space, dims, element))
    return visitBias(*source, factor);
  Operation *op = element.tensor.getDefiningOp();
  if (auto constant = dyn_cast_or_null<nn::ConstantOp>(op))
    return visitConstant(constant, element, factor);
  if (auto binary = dyn_cast_or_null<nn::BinaryOp>(op))
    return visitBiasBinary(binary, element, factor);
  if (auto where = dyn_cast_or_null<nn::WhereOp>(op))
    return visitBiasWhere(where, element, factor);
  if (auto trilu = dyn_cast_or_null<nn::TriluOp>(op))
    return visitTriangle(trilu, element, factor);
  opaque.push_back(element);
}

void MaskFinder::visitBiasBinary(nn::BinaryOp op, const Element &element, double factor) {
  Element lhs = operandOf(op.getLhs(), element), rhs = operandOf(op.getRhs(), element);
  std::optional<double> left = getNumber(lhs.tensor), right = getNumber(rhs.tensor);
  switch (op.getKind()) {
  case nn::BinaryKind::Add:
    visitBias(lhs, factor);
    return visitBias(rhs, factor);
  case nn::BinaryKind::Sub:
    visitBias(lhs, factor);
    return visitBias(rhs, -factor);
  case nn::BinaryKind::Mul:
    if (right)
      return visitBias(lhs, factor * *right);
    if (left)
      return visitBias(rhs, factor * *left);
    break;
  case nn::BinaryKind::Div:
    if (right)
      return visitBias(lhs, factor / *right);
    break;
  default:
    break;
  }
  opaque.push_back(element);
}

void MaskFinder::visitBiasWhere(nn::WhereOp op, const Element &element, double factor) {
  std::optional<double> onTrue = getNumber(op.getOnTrue()), onFalse = getNumber(op.getOnFalse());
  bool keepsWhereTrue = onFalse && isFill(*onFalse * factor);
  bool keepsWhereFalse = onTrue && isFill(*onTrue * factor);
  if (keepsWhereTrue == keepsWhereFalse)
    return opaque.push_back(element);
  double fill = (keepsWhereTrue ? *onFalse : *onTrue) * factor;
  addCondition(op, element, keepsWhereTrue, fill);
  llvm::SaveAndRestore<double> restore(floor, std::max(floor, fill));
  visitBias(operandOf(keepsWhereTrue ? op.getOnTrue() : op.getOnFalse(), element), factor);
}

/// A triangle of fills: keys outside of it are kept.
void MaskFinder::visitTriangle(nn::TriluOp op, const Element &element, double factor) {
  std::optional<double> fill = getNumber(op.getInput());
  std::optional<LinearIndex> bound = op.getK() ? getLinearElement(space, dims, op.getK(), {}) : space.zero();
  if (!fill || !isFill(*fill * factor) || !bound)
    return opaque.push_back(element);
  nn::CompareKind outside = op.getUpper() ? nn::CompareKind::Lt : nn::CompareKind::Gt;
  LinearIndex column = element.index.back();
  LinearIndex diagonal = space.add(element.index[element.index.size() - 2], *bound);
  addTerm(*fill * factor, [=](ElementEmitter &mask) { return mask.emitComparison(outside, column, diagonal); });
}

/// A stored triangle or window of fills.
void MaskFinder::visitConstant(nn::ConstantOp op, const Element &element, double factor) {
  const std::optional<DiagonalBand> &band = dims.getConstantForms().getBand(op);
  bool keepsInside = band && isFill(band->outside * factor);
  bool keepsOutside = band && isFill(band->inside * factor);
  if (keepsInside == keepsOutside)
    return opaque.push_back(element);
  addTerm((keepsInside ? band->outside : band->inside) * factor, [=, form = *band](ElementEmitter &mask) {
    Value inside = mask.emitInside(op, form, element.index);
    return inside && keepsOutside ? mask.emitNot(inside) : inside;
  });
}

/// The bool or integer tensor that |tensor| is a conversion of; null where there is none.
static Value getConverted(Value tensor) {
  while (auto cast = tensor.getDefiningOp<nn::CastOp>()) {
    tensor = cast.getInput();
    if (getElementTypeOrSelf(tensor.getType()).isSignlessInteger())
      return tensor;
  }
  return nullptr;
}

/// "m is above 0", or not, for a bool or integer m.
static Value emitSign(ElementEmitter &mask, const Element &unit, bool isPositive) {
  Value m = mask.emit(unit.tensor, unit.index);
  if (!m || m.getType().isInteger(1))
    return m && !isPositive ? mask.emitNot(m) : m;
  OpBuilder &builder = mask.getBuilder();
  Value zero = builder.create<arith::ConstantOp>(builder.getUnknownLoc(), builder.getIntegerAttr(m.getType(), 0));
  auto predicate = isPositive ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::sle;
  return builder.create<arith::CmpIOp>(builder.getUnknownLoc(), predicate, m, zero);
}

/// m or 1 - m for a bool or integer m, times |factor|. Integers may be other than 0 and 1: a key is skipped only where
/// it gets the fill or less, which is right for all of them.
bool MaskFinder::visitUnit(const Element &element, double factor) {
  Element unit = element;
  bool keepsPositive = false;
  auto difference = element.tensor.getDefiningOp<nn::BinaryOp>();
  if (difference && difference.getKind() == nn::BinaryKind::Sub) {
    bool fromOne = getNumber(difference.getLhs()) == 1, toOne = getNumber(difference.getRhs()) == 1;
    if (fromOne == toOne)
      return false;
    unit = operandOf(fromOne ? difference.getRhs() : difference.getLhs(), element);
    factor = fromOne ? factor : -factor; // now of 1 - m
    keepsPositive = true;
  }
  Value source = getConverted(unit.tensor);
  if (!source || !isFill(factor))
    return false;
  unit.tensor = source;
  addTerm(factor, [=](ElementEmitter &mask) { return emitSign(mask, unit, keepsPositive); });
  return true;
}

SmallVector<MaskTerm> heddle::attn::findMaskTerms(ElementEmitter &emitter, const Element &softmaxInput,
                                                  SmallVectorImpl<Element> &opaque) {
  SmallVector<MaskTerm> terms;
  MaskFinder(emitter, terms, opaque).visitScore(softmaxInput, 1);
  return terms;
}

SmallVector<MaskTerm> heddle::attn::findBiasTerms(ElementEmitter &emitter, const Element &bias,
                                                  SmallVectorImpl<Element> &opaque) {
  SmallVector<MaskTerm> terms;
  MaskFinder(emitter, terms, opaque).visitBias(bias, 1);
  return terms;
}
