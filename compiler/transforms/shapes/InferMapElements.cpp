// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of maps in the shape program: nn's scalar functions on expressions.

#include "compiler/transforms/shapes/ShapeAnalyzer.h"
#include "compiler/transforms/shapes/TensorIndex.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace heddle;
using namespace mlir;
using nn::BinaryKind;
using nn::CompareKind;
using nn::UnaryKind;

//===----------------------------------------------------------------------===//
// One element. Null where the function has no expression.
//===----------------------------------------------------------------------===//

static ShapeExpr mapUnary(ShapeContext &context, nn::UnaryOp op, ShapeExpr x) {
  ShapeExpr zero = context.constant(0);
  switch (op.getKind()) {
  case UnaryKind::Abs:
    return context.max(x, context.sub(zero, x));
  case UnaryKind::Neg:
    return context.sub(zero, x);
  case UnaryKind::Sign:
    return context.sub(context.less(zero, x), context.less(x, zero));
  case UnaryKind::Relu:
    return context.max(x, zero);
  case UnaryKind::Not:
    return context.logicalNot(x);
  case UnaryKind::BitwiseNot:
    return context.sub(context.constant(-1), x);
  default:
    return {};
  }
}

/// Powers of sizes have small constant exponents.
static ShapeExpr mapPower(ShapeContext &context, ShapeExpr base, ShapeExpr exponent) {
  std::optional<int64_t> count = exponent.getConstant();
  if (!count || *count < 0 || *count > 63)
    return {};
  ShapeExpr power = context.constant(1);
  for (int64_t i = 0; i < *count; ++i)
    power = context.mul(power, base);
  return power;
}

static ShapeExpr mapBitwise(ShapeContext &context, BinaryKind kind, ShapeExpr a, ShapeExpr b) {
  std::optional<int64_t> x = a.getConstant(), y = b.getConstant();
  if (!x || !y)
    return {};
  switch (kind) {
  case BinaryKind::BitwiseAnd:
    return context.constant(*x & *y);
  case BinaryKind::BitwiseOr:
    return context.constant(*x | *y);
  default:
    return context.constant(*x ^ *y);
  }
}

/// Division and remainders. By the constant 0 nn gives 0; by a size that is 0 when the model runs, the run ends.
static ShapeExpr mapDivision(ShapeContext &context, BinaryKind kind, ShapeExpr a, ShapeExpr b) {
  if (b.isConstant(0))
    return b;
  switch (kind) {
  case BinaryKind::Div:
    return context.truncDiv(a, b);
  case BinaryKind::Mod:
    return context.mod(a, b);
  default:
    return context.sub(a, context.mul(context.truncDiv(a, b), b));
  }
}

static ShapeExpr mapBinary(ShapeContext &context, nn::BinaryOp op, ShapeExpr a, ShapeExpr b) {
  switch (op.getKind()) {
  case BinaryKind::Add:
    return context.add(a, b);
  case BinaryKind::Sub:
    return context.sub(a, b);
  case BinaryKind::Mul:
    return context.mul(a, b);
  case BinaryKind::Div:
  case BinaryKind::Mod:
  case BinaryKind::Fmod:
    return mapDivision(context, op.getKind(), a, b);
  case BinaryKind::Pow:
    return mapPower(context, a, b);
  case BinaryKind::Min:
    return context.min(a, b);
  case BinaryKind::Max:
    return context.max(a, b);
  case BinaryKind::And:
    return context.logicalAnd(a, b);
  case BinaryKind::Or:
    return context.logicalOr(a, b);
  case BinaryKind::Xor:
    return context.logicalNot(context.equal(a, b));
  case BinaryKind::BitwiseAnd:
  case BinaryKind::BitwiseOr:
  case BinaryKind::BitwiseXor:
    return mapBitwise(context, op.getKind(), a, b);
  }
  return {};
}

static ShapeExpr mapCompare(ShapeContext &context, nn::CompareOp op, ShapeExpr a, ShapeExpr b) {
  switch (op.getKind()) {
  case CompareKind::Eq:
    return context.equal(a, b);
  case CompareKind::Ne:
    return context.logicalNot(context.equal(a, b));
  case CompareKind::Lt:
    return context.less(a, b);
  case CompareKind::Le:
    return context.lessEqual(a, b);
  case CompareKind::Gt:
    return context.less(b, a);
  case CompareKind::Ge:
    return context.lessEqual(b, a);
  }
  return {};
}

/// Constants wrap as nn.cast does; what isn't constant must fit, which setElements demands.
static ShapeExpr mapCast(ShapeContext &context, nn::CastOp op, ShapeExpr x) {
  auto type = dyn_cast<IntegerType>(op.getTo());
  if (!type)
    return {};
  if (type.getWidth() == 1)
    return context.logicalNot(context.equal(x, context.constant(0)));
  std::optional<int64_t> value = x.getConstant();
  if (!value || type.getWidth() >= 64)
    return x;
  APInt bits = APInt(64, *value, /*isSigned=*/true).trunc(type.getWidth());
  return context.constant(type.isUnsigned() ? bits.getZExtValue() : bits.getSExtValue());
}

static ShapeExpr mapClip(ShapeContext &context, nn::ClipOp op, ArrayRef<ShapeExpr> operands) {
  ShapeExpr result = operands[0];
  operands = operands.drop_front();
  if (op.getMin()) {
    result = context.max(result, operands[0]);
    operands = operands.drop_front();
  }
  return op.getMax() ? context.min(result, operands[0]) : result;
}

static ShapeExpr mapElement(ShapeContext &context, Operation *op, ArrayRef<ShapeExpr> x) {
  return TypeSwitch<Operation *, ShapeExpr>(op)
      .Case([&](nn::UnaryOp op) { return mapUnary(context, op, x[0]); })
      .Case([&](nn::BinaryOp op) { return mapBinary(context, op, x[0], x[1]); })
      .Case([&](nn::CompareOp op) { return mapCompare(context, op, x[0], x[1]); })
      .Case([&](nn::WhereOp) { return context.select(x[0], x[1], x[2]); })
      .Case([&](nn::CastOp op) { return mapCast(context, op, x[0]); })
      .Case([&](nn::ClipOp op) { return mapClip(context, op, x); })
      .Default(ShapeExpr());
}

//===----------------------------------------------------------------------===//
// All elements
//===----------------------------------------------------------------------===//

LogicalResult heddle::inferMapElements(ShapeAnalyzer &analyzer, Operation *op) {
  struct Operand {
    ArrayRef<ShapeExpr> elements;
    SmallVector<int64_t> dims;
  };
  SmallVector<Operand, 3> operands;
  for (Value value : op->getOperands()) {
    std::optional<ArrayRef<ShapeExpr>> elements = analyzer.getElements(value);
    if (!elements)
      return success();
    operands.push_back({*elements, *analyzer.getStaticDims(value)});
  }
  std::optional<SmallVector<int64_t>> dims = analyzer.getSmallDims(op->getResult(0));
  if (!dims)
    return success();

  ShapeExprs results;
  for (int64_t i = 0, e = getNumElements(*dims); i < e; ++i) {
    Coordinates coordinates = getCoordinates(i, *dims);
    SmallVector<ShapeExpr, 3> inputs;
    for (const Operand &operand : operands)
      inputs.push_back(operand.elements[getPosition(coordinates, operand.dims)]);
    results.push_back(mapElement(analyzer.context, op, inputs));
  }
  return analyzer.setElements(op->getResult(0), results);
}
