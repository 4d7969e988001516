// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expansions of math functions. exp, exp2, tanh and erf, which sit in hot loops, take the single precision of
// SingleMath.h; the others take the double precision functions of FloatMath.cpp and round once, so they are correct to
// the last digit but for rare ties.

#include "compiler/targets/cpu/MathExpansion.h"

#include <cmath>

#include "compiler/targets/common/SingleMath.h"
#include "compiler/targets/cpu/FloatMath.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle::cpu {

namespace {

Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
}

/// Runs |build| in double precision on |operands| and rounds to their type.
Value inDouble(OpBuilder &b, Location loc, ArrayRef<Value> operands,
               llvm::function_ref<Value(const FloatMath &, ArrayRef<Value>)> build) {
  Type type = operands.front().getType();
  Type wide = withElement(type, b.getF64Type());
  FloatMath m(b, loc, wide);
  if (type == wide)
    return build(m, operands);
  SmallVector<Value> widened;
  for (Value operand : operands)
    widened.push_back(b.create<arith::ExtFOp>(loc, wide, operand));
  return b.create<arith::TruncFOp>(loc, type, build(m, widened));
}

Value buildPower(OpBuilder &b, Operation *op, ArrayRef<Value> operands) {
  FloatAttr exponent;
  FloatMath m(b, operands[0].getLoc(), operands[0].getType());
  if (matchPattern(op->getOperand(1), m_Constant(&exponent)))
    if (Value simple = buildConstantPower(m, operands[0], exponent.getValueAsDouble()))
      return simple;
  return inDouble(b, m.loc, operands,
                  [](const FloatMath &m, ArrayRef<Value> args) { return buildPow64(m, args[0], args[1]); });
}

/// All operands scalars or all vectors, as the op wants them.
SmallVector<Value> equalize(OpBuilder &b, Location loc, ArrayRef<Value> operands) {
  auto isVector = [](Value value) { return isa<VectorType>(value.getType()); };
  auto shaped = llvm::find_if(operands, isVector);
  SmallVector<Value> result;
  for (Value operand : operands) {
    if (shaped != operands.end() && !isVector(operand))
      operand = b.create<vector::BroadcastOp>(loc, withElement((*shaped).getType(), operand.getType()), operand);
    result.push_back(operand);
  }
  return result;
}

/// Ops that LLVM turns into instructions on every target we have.
bool isNative(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp, math::FloorOp, math::FmaOp, math::RoundEvenOp,
             math::RoundOp, math::SqrtOp, math::TruncOp, math::CtPopOp, math::CountLeadingZerosOp,
             math::CountTrailingZerosOp>(op);
}

} // namespace

FailureOr<Value> expandMath(OpBuilder &b, Operation *op, ArrayRef<Value> given) {
  Location loc = b.getUnknownLoc();
  SmallVector<Value> operands = equalize(b, loc, given);
  Type type = operands.front().getType();
  if (isNative(op)) {
    OperationState state(loc, op->getName(), operands, {type}, op->getAttrs());
    return b.create(state)->getResult(0);
  }
  Type element = getElementTypeOrSelf(type);
  if (!element.isF32() && !element.isF64()) {
    op->emitOpError() << "has no form on this target for elements of type " << element;
    return failure();
  }
  Value x = operands.front();
  FloatMath m(b, loc, type);
  auto wide = [&](Value (*build)(const FloatMath &, Value)) {
    return inDouble(b, loc, x, [&](const FloatMath &m, ArrayRef<Value> args) { return build(m, args[0]); });
  };
  auto scaledLog = [&](double factor) {
    return inDouble(b, loc, x, [&](const FloatMath &m, ArrayRef<Value> args) {
      return m.mul(buildLog64(m, args[0]), m.real(factor));
    });
  };
  Value result =
      llvm::TypeSwitch<Operation *, Value>(op)
          .Case([&](math::ExpOp) { return m.isF64() ? buildExp64(m, x) : buildExp32(m, x); })
          .Case([&](math::Exp2Op) { return m.isF64() ? buildExp64(m, m.mul(x, m.real(M_LN2))) : buildExp232(m, x); })
          .Case([&](math::TanhOp) { return m.isF64() ? buildTanh64(m, x) : buildTanh32(m, x); })
          .Case([&](math::ErfOp) { return m.isF64() ? buildErf64(m, x) : buildErfOf32(m, op, x); })
          .Case([&](math::LogOp) { return wide(buildLog64); })
          .Case([&](math::Log2Op) { return scaledLog(M_LOG2E); })
          .Case([&](math::Log10Op) { return scaledLog(M_LOG10E); })
          .Case([&](math::Log1pOp) { return wide(buildLog1p64); })
          .Case([&](math::ExpM1Op) { return wide(buildExpm164); })
          .Case([&](math::SinOp) { return wide([](const FloatMath &m, Value x) { return buildSine64(m, x, false); }); })
          .Case([&](math::CosOp) { return wide([](const FloatMath &m, Value x) { return buildSine64(m, x, true); }); })
          .Case([&](math::RsqrtOp) { return m.div(m.real(1.0), m.sqrt(x)); })
          .Case([&](math::PowFOp) { return buildPower(b, op, operands); })
          .Case([&](arith::RemFOp) {
            return inDouble(b, loc, operands, [](const FloatMath &m, ArrayRef<Value> args) {
              return buildRemainder64(m, args[0], args[1]);
            });
          })
          .Default([](Operation *) { return Value(); });
  if (!result) {
    op->emitOpError("has no expansion on this target");
    return failure();
  }
  return result;
}

} // namespace heddle::cpu
