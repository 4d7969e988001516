// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expansions of math functions. exp, exp2, tanh and erf, which sit in hot loops, are written in single precision; the
// others take the double precision functions of FloatMath.cpp and round once, so they are correct to the last digit
// but for rare ties.

#include "compiler/targets/cpu/MathExpansion.h"

#include <cmath>
#include <limits>

#include "compiler/targets/cpu/FloatMath.h"
#include "dialects/kernel/KernelOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle::cpu {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Single precision, for hot loops
//===----------------------------------------------------------------------===//

/// exp(x) for x in [-87, 88]: relative error 1.2e-7, exactly 1 at 0. Where |kept| is given and false 0, and NaN for
/// NaN; anything for any other x.
Value buildBoundedExp32(const FloatMath &m, Value x, Value kept = nullptr) {
  Value n = m.roundEven(m.mul(x, m.real(M_LOG2E)));
  // ln 2 in two parts; fma rounds each product once.
  Value r = m.fma(n, m.real(-0.693145751953125), x);
  r = m.fma(n, m.real(-1.42860682030941723212e-6), r);
  // Minimax fit on [-ln(2)/2, ln(2)/2] with both leading coefficients 1: 3.1e-9.
  Value p = m.polynomial(r, {1.0, 1.0, 0.4999999403953552, 0.1666651964187622, 0.04166839271783829,
                             0.008368780836462975, 0.0013814467238262296});
  return m.scaleWhere(kept, p, n);
}

/// Not below |smallest|: true for NaN.
Value isAtLeast(const FloatMath &m, Value x, double smallest) {
  return m.compare(arith::CmpFPredicate::UGE, x, m.real(smallest));
}

/// exp(x): relative error 1.2e-7. exp(0) is exactly 1, exp(-inf) is 0, results below the normal numbers are 0, NaN
/// stays.
Value buildExp32(const FloatMath &m, Value x) {
  Value result = buildBoundedExp32(m, x, isAtLeast(m, x, -87.33654022216796875));
  return m.select(m.greater(x, m.real(88.72283172607421875)), m.real(kInfinity), result);
}

/// 2^x: relative error 1.7e-7, and as exp at 0, -inf and NaN.
Value buildExp232(const FloatMath &m, Value x) {
  Value n = m.roundEven(x), f = m.sub(x, n);
  Value p = m.polynomial(f, {1.0, 6.931470037e-1, 2.402224243e-1, 5.550733581e-2, 9.671512991e-3, 1.326472731e-3});
  Value result = m.scaleWhere(isAtLeast(m, x, -126.0), p, n);
  return m.select(m.greater(x, m.real(127.99999237060546875)), m.real(kInfinity), result);
}

/// tanh(x): relative error 2e-7; odd, +-1 from 9.1 on.
Value buildTanh32(const FloatMath &m, Value x) {
  Value z = m.mul(x, x);
  // Minimax fit below 0.65: 6.8e-9.
  Value p = m.polynomial(
      z, {-0.3333325982093811, 0.1333083063364029, -0.05368800088763237, 0.020469345152378082, -0.00551508367061615});
  Value small = m.fma(m.mul(z, x), p, x);
  // From 9.1 on the quotient is below half a unit of 1; NaN takes the other way.
  Value magnitude = m.abs(x);
  Value a = m.select(m.greater(magnitude, m.real(9.5)), m.real(9.5), magnitude);
  Value e = buildBoundedExp32(m, m.add(a, a));
  Value large = m.sub(m.real(1.0), m.div(m.real(2.0), m.add(e, m.real(1.0))));
  return m.select(m.greater(magnitude, m.real(0.625)), m.copySign(large, x), small);
}

/// erf(x): relative error 1.2e-7; odd. Coefficients after N. Juffa.
Value buildErf32(const FloatMath &m, Value x) {
  Value magnitude = m.abs(x);
  Value z = m.mul(x, x);
  Value small =
      m.polynomial(z, {1.28379166e-1, -3.76125336e-1, 1.12819925e-1, -2.67681349e-2, 4.99119423e-3, -5.96761703e-4});
  small = m.fma(small, x, x);
  // 1 - exp(-r(|x|)) above 0.921875; from 4 on it is 1, and the polynomial mustn't turn back.
  Value a = m.select(m.greater(magnitude, m.real(4.0)), m.real(4.0), magnitude);
  Value r = m.polynomial(a, {0.0, -1.0 - 1.28717512e-1, -6.34846687e-1, -1.06777877e-1, 2.42546219e-2, -3.88396438e-3,
                             3.83197126e-4, -1.72853470e-5});
  Value large = m.copySign(m.sub(m.real(1.0), buildBoundedExp32(m, r)), x);
  return m.select(m.greater(magnitude, m.real(0.921875)), large, small);
}

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

/// x^y for a constant y that one to three multiplications or a square root give; null for any other.
Value buildConstantPower(const FloatMath &m, Value x, double exponent) {
  if (exponent == 1.0)
    return x;
  if (exponent == 2.0)
    return m.mul(x, x);
  if (exponent == 3.0)
    return m.mul(m.mul(x, x), x);
  if (exponent == -1.0)
    return m.div(m.real(1.0), x);
  if (exponent != 0.5)
    return nullptr;
  // pow(-0, 0.5) is +0 and pow(-inf, 0.5) is +inf, unlike square roots.
  return m.select(m.equal(x, m.real(-kInfinity)), m.real(kInfinity), m.sqrt(m.add(x, m.real(0.0))));
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
