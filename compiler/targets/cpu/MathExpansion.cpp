// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expansions of math functions. exp, exp2, tanh and erf, which sit in hot loops, are written in single precision; the
// others take the double precision functions of FloatMath.cpp and round once, so they are correct to the last digit
// but for rare ties.

#include "compiler/targets/cpu/MathExpansion.h"

#include <cmath>

#include "compiler/targets/common/SingleMath.h"
#include "compiler/targets/cpu/FloatMath.h"
#include "dialects/kernel/KernelOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle::cpu {

namespace {

//===----------------------------------------------------------------------===//
// Single precision, for hot loops
//===----------------------------------------------------------------------===//

/// erf(x) with an absolute error of 2e-5 and, unlike buildErf32, no better relative one near 0, for a third of the
/// instructions. Exactly +-1 from 3.02 on; NaN stays.
Value buildErfBesideOne32(const FloatMath &m, Value x) {
  constexpr double kEnd = 3.02;
  Value low = m.select(m.greater(x, m.real(kEnd)), m.real(kEnd), x);
  Value bounded = m.select(m.less(low, m.real(-kEnd)), m.real(-kEnd), low);
  // x p(x^2), minimax in the absolute error among those that are 1 at the end, where erf lacks as much of it. p varies
  // by powers of e over [0, kEnd^2]; in the middle of it, as a polynomial in y from -1 to 1, its terms don't cancel.
  // The coefficients, as rounded, give 1 at the end: whatever comes after it stays exact.
  Value y = m.fma(m.mul(bounded, bounded), m.real(2 / (kEnd * kEnd)), m.real(-1.0));
  Value p = m.polynomial(y, {0.467095762, -0.227566317, 0.157376334, -0.111819603, 0.0731648505, -0.0401923731,
                             0.0245906953, -0.0190069582, 0.00748341717});
  return m.mul(bounded, p);
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

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

/// Whether all that is ever seen of |op| is its sum with 1.
bool isAddedToOne(Operation *op) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    auto sum = dyn_cast<arith::AddFOp>(user);
    return sum && (matchPattern(sum.getLhs(), m_OneFloat()) || matchPattern(sum.getRhs(), m_OneFloat()));
  });
}

/// Whether |op| finishes a product of codes, whose steps are 1/255 of a row's range.
bool finishesCodes(Operation *op) {
  auto product = dyn_cast_if_present<kernel::ContractOp>(op->getParentOp());
  return product && product.getForm() == kernel::ContractOp::Form::Integer;
}

/// In a GELU after a product of codes the absolute error is what counts: x (1 + erf(x)). 2e-5 of it are 1e-5 |x| of the
/// GELU: a 200th of a step of 8 bits where codes follow, which is at least 1/510 of the row's largest |x|, and a
/// hundredth of what one rounded factor of the product has already changed. Between floats it would be seen.
Value buildErf(const FloatMath &m, Operation *op, Value x) {
  if (m.isF64())
    return buildErf64(m, x);
  return finishesCodes(op) && isAddedToOne(op) ? buildErfBesideOne32(m, x) : buildErf32(m, x);
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
          .Case([&](math::ErfOp) { return buildErf(m, op, x); })
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
