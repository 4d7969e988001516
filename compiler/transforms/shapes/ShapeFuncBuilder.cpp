// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape expressions as ops of an rt.shape_func.

#include "compiler/transforms/shapes/ShapeFuncBuilder.h"

#include "mlir/IR/BuiltinOps.h"

using namespace heddle;
using namespace mlir;

ShapeFuncBuilder::ShapeFuncBuilder(Block *body, Location loc) : loc(loc), body(body), builder(loc.getContext()) {
  builder.setInsertionPointToEnd(&region.emplaceBlock());
}

ShapeFuncBuilder::~ShapeFuncBuilder() = default;

Value ShapeFuncBuilder::emitInteger(int64_t value) {
  Value &constant = constants[value];
  if (!constant)
    constant = builder.create<rt::ShapeConstantOp>(loc, builder.getIndexType(), value);
  return constant;
}

Value ShapeFuncBuilder::emitArith(rt::ShapeKind kind, Value lhs, Value rhs) {
  return builder.create<rt::ShapeArithOp>(loc, builder.getIndexType(), kind, lhs, rhs);
}

Value ShapeFuncBuilder::emitMonomial(ArrayRef<ShapeExpr> atoms) {
  if (atoms.size() == 1)
    return emit(atoms[0]);
  std::vector<unsigned> key;
  for (ShapeExpr atom : atoms)
    key.push_back(atom.getId());
  if (auto found = monomials.find(key); found != monomials.end())
    return found->second;
  Value rest = emitMonomial(atoms.drop_back());
  Value product = emitArith(rt::ShapeKind::Mul, rest, emit(atoms.back()));
  monomials[key] = product;
  return product;
}

Value ShapeFuncBuilder::emitSum(ShapeExpr expr) {
  Value sum;
  for (const ShapeTerm &term : expr.getTerms()) {
    // A negative term behind another one is subtracted, except that the least i64 has no negative.
    bool isSubtracted = sum && term.coefficient < 0 && term.coefficient != INT64_MIN;
    int64_t coefficient = isSubtracted ? -term.coefficient : term.coefficient;
    Value product = term.atoms.empty() ? emitInteger(coefficient) : emitMonomial(term.atoms);
    if (!term.atoms.empty() && coefficient != 1)
      product = emitArith(rt::ShapeKind::Mul, product, emitInteger(coefficient));
    sum = !sum ? product : emitArith(isSubtracted ? rt::ShapeKind::Sub : rt::ShapeKind::Add, sum, product);
  }
  return sum;
}

static rt::ShapeKind getArithKind(ShapeExprKind kind) {
  switch (kind) {
  case ShapeExprKind::FloorDiv:
    return rt::ShapeKind::FloorDiv;
  case ShapeExprKind::Mod:
    return rt::ShapeKind::Mod;
  case ShapeExprKind::Min:
    return rt::ShapeKind::Min;
  case ShapeExprKind::Max:
    return rt::ShapeKind::Max;
  case ShapeExprKind::Equal:
    return rt::ShapeKind::Equal;
  case ShapeExprKind::Less:
    return rt::ShapeKind::Less;
  default:
    llvm_unreachable("not an operation of two operands");
  }
}

Value ShapeFuncBuilder::emitNew(ShapeExpr expr) {
  // The runtime finds out in its own way.
  if (!expr)
    return emitArith(rt::ShapeKind::Mul, emitInteger(INT64_MAX), emitInteger(2));
  switch (expr.getKind()) {
  case ShapeExprKind::Constant:
    return emitInteger(*expr.getConstant());
  case ShapeExprKind::Symbol:
    return builder.create<rt::InputDimOp>(loc, builder.getIndexType(), expr.getInput(), expr.getPosition());
  case ShapeExprKind::InputValue:
    return builder.create<rt::InputValueOp>(loc, builder.getIndexType(), expr.getInput(), expr.getPosition());
  case ShapeExprKind::Sum:
    return emitSum(expr);
  default:
    break;
  }
  SmallVector<Value> operands;
  for (ShapeExpr operand : expr.getOperands())
    operands.push_back(emit(operand));
  if (expr.getKind() == ShapeExprKind::Select)
    return builder.create<rt::ShapeSelectOp>(loc, builder.getIndexType(), operands[0], operands[1], operands[2]);
  rt::ShapeKind kind = getArithKind(expr.getKind());
  Value result = operands[0];
  for (Value operand : llvm::drop_begin(operands))
    result = emitArith(kind, result, operand);
  return result;
}

Value ShapeFuncBuilder::emit(ShapeExpr expr) {
  if (Value value = emitted.lookup(expr))
    return value;
  Value value = emitNew(expr);
  emitted[expr] = value;
  return value;
}

Value ShapeFuncBuilder::slot(ShapeExpr expr) {
  Value &placeholder = placeholders[expr];
  if (placeholder)
    return placeholder;
  OpBuilder outer = OpBuilder::atBlockBegin(body);
  auto cast = outer.create<UnrealizedConversionCastOp>(loc, outer.getIndexType(), ValueRange());
  yielded.emplace_back(emit(expr), cast);
  return placeholder = cast.getResult(0);
}

SmallVector<Value> ShapeFuncBuilder::slots(ArrayRef<ShapeExpr> exprs) {
  return llvm::map_to_vector(exprs, [&](ShapeExpr expr) { return slot(expr); });
}

void ShapeFuncBuilder::check(const ShapeCheck &check) {
  Value lhs = emit(check.lhs), rhs = emit(check.rhs);
  builder.create<rt::CheckOp>(loc, check.kind, lhs, rhs, check.node, check.message);
}

rt::ShapeFuncOp ShapeFuncBuilder::finish() {
  SmallVector<Value> values;
  for (auto [value, placeholder] : yielded)
    values.push_back(value);
  builder.create<rt::YieldOp>(loc, values);

  OpBuilder outer = OpBuilder::atBlockBegin(body);
  SmallVector<Type> types(values.size(), outer.getIndexType());
  auto shapeFunc = outer.create<rt::ShapeFuncOp>(loc, types);
  shapeFunc.getBody().takeBody(region);
  for (auto [i, entry] : llvm::enumerate(yielded)) {
    entry.second->getResult(0).replaceAllUsesWith(shapeFunc.getResult(i));
    entry.second->erase();
  }
  return shapeFunc;
}
