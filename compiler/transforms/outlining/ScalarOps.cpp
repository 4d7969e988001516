// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar forms of nn's element-wise ops; the formulas are those of dialects/nn/NnElementwiseOps.td.

#include "compiler/transforms/outlining/ScalarOps.h"

#include "compiler/transforms/outlining/KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/ErrorHandling.h"

#include <cmath>

using namespace mlir;
using namespace heddle;

namespace {
/// Short names for the ops that formulas are made of.
struct Scalars {
  OpBuilder &b;
  Location loc = UnknownLoc::get(b.getContext());

  template <typename Op> Value un(Value x) { return b.create<Op>(loc, x); }
  template <typename Op> Value bin(Value x, Value y) { return b.create<Op>(loc, x, y); }
  Value add(Value x, Value y) { return bin<arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return bin<arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return bin<arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return bin<arith::DivFOp>(x, y); }
  Value cmpf(arith::CmpFPredicate p, Value x, Value y) { return b.create<arith::CmpFOp>(loc, p, x, y); }
  Value cmpi(arith::CmpIPredicate p, Value x, Value y) { return b.create<arith::CmpIOp>(loc, p, x, y); }
  Value select(Value c, Value x, Value y) { return b.create<arith::SelectOp>(loc, c, x, y); }
  Value number(Type type, double value) { return emitNumber(b, type, value); }
};
} // namespace

static bool isUnsigned(Type type) { return type.isUnsignedInteger() || type.isInteger(1); }
static bool isSmallFloat(Type type) { return type.isF16() || type.isBF16(); }

Value heddle::emitNumber(OpBuilder &builder, Type type, double value) {
  Type element = kernelElementType(type);
  TypedAttr attr = isa<FloatType>(element) ? TypedAttr(builder.getFloatAttr(element, value))
                                           : TypedAttr(builder.getIntegerAttr(element, static_cast<int64_t>(value)));
  return builder.create<arith::ConstantOp>(UnknownLoc::get(builder.getContext()), attr);
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

/// 1 / (1 + exp(-x * factor))
static Value emitSigmoid(Scalars &s, Value x, Type type, double factor) {
  Value scaled = s.mul(x, s.number(type, -factor));
  return s.div(s.number(type, 1), s.add(s.number(type, 1), s.un<math::ExpOp>(scaled)));
}

/// x/2 (1 + tail)
static Value emitGelu(Scalars &s, Value x, Type type, Value tail) {
  return s.mul(s.mul(x, s.number(type, 0.5)), s.add(tail, s.number(type, 1)));
}

/// sqrt(2/pi) (x + 0.044715 x^3)
static Value emitGeluTanhArgument(Scalars &s, Value x, Type type) {
  Value cube = s.mul(s.mul(x, x), x);
  return s.mul(s.number(type, std::sqrt(2.0 / M_PI)), s.add(x, s.mul(s.number(type, 0.044715), cube)));
}

/// log(1 + exp(x)) as max(x, 0) + log1p(exp(-|x|)), which neither overflows nor loses small results.
static Value emitSoftplus(Scalars &s, Value x, Type type) {
  Value tail = s.un<math::ExpOp>(s.un<arith::NegFOp>(s.un<math::AbsFOp>(x)));
  return s.add(s.bin<arith::MaximumFOp>(x, s.number(type, 0)), s.un<math::Log1pOp>(tail));
}

/// -1, 0 or 1; a NaN stays one.
static Value emitSign(Scalars &s, Value x, Type type) {
  Value one = s.number(type, 1);
  Value signedOne = s.bin<math::CopySignOp>(one, x);
  Value isZeroOrNan = s.cmpf(arith::CmpFPredicate::UEQ, x, s.number(type, 0));
  return s.select(isZeroOrNan, x, signedOne);
}

static Value emitFloatUnary(Scalars &s, nn::UnaryKind kind, Value x, Type type) {
  using Kind = nn::UnaryKind;
  switch (kind) {
  case Kind::Abs:
    return s.un<math::AbsFOp>(x);
  case Kind::Neg:
    return s.un<arith::NegFOp>(x);
  case Kind::Sign:
    return emitSign(s, x, type);
  case Kind::Relu:
    return s.bin<arith::MaximumFOp>(x, s.number(type, 0));
  case Kind::Sqrt:
    return s.un<math::SqrtOp>(x);
  case Kind::Reciprocal:
    return s.div(s.number(type, 1), x);
  case Kind::Exp:
    return s.un<math::ExpOp>(x);
  case Kind::Log:
    return s.un<math::LogOp>(x);
  case Kind::Sin:
    return s.un<math::SinOp>(x);
  case Kind::Cos:
    return s.un<math::CosOp>(x);
  case Kind::Tanh:
    return s.un<math::TanhOp>(x);
  case Kind::Erf:
    return s.un<math::ErfOp>(x);
  case Kind::Floor:
    return s.un<math::FloorOp>(x);
  case Kind::Ceil:
    return s.un<math::CeilOp>(x);
  case Kind::Round:
    return s.un<math::RoundEvenOp>(x);
  case Kind::Sigmoid:
    return emitSigmoid(s, x, type, 1.0);
  case Kind::Softplus:
    return emitSoftplus(s, x, type);
  case Kind::Silu:
    return s.mul(x, emitSigmoid(s, x, type, 1.0));
  case Kind::GeluErf:
    return emitGelu(s, x, type, s.un<math::ErfOp>(s.mul(x, s.number(type, M_SQRT1_2))));
  case Kind::GeluTanh:
    return emitGelu(s, x, type, s.un<math::TanhOp>(emitGeluTanhArgument(s, x, type)));
  case Kind::QuickGelu:
    return s.mul(x, emitSigmoid(s, x, type, 1.702));
  default:
    llvm_unreachable("nn.unary's verifier admits no other kind on floats");
  }
}

static Value emitIntegerUnary(Scalars &s, nn::UnaryKind kind, Value x, Type type) {
  using Kind = nn::UnaryKind;
  Value zero = s.number(type, 0);
  switch (kind) {
  case Kind::Abs:
    return isUnsigned(type) ? x : s.un<math::AbsIOp>(x);
  case Kind::Neg:
    return s.bin<arith::SubIOp>(zero, x);
  case Kind::Relu:
    return isUnsigned(type) ? x : s.bin<arith::MaxSIOp>(x, zero);
  case Kind::Not:
  case Kind::BitwiseNot:
    return s.bin<arith::XOrIOp>(x, s.number(type, -1));
  case Kind::Sign: {
    Value positive = s.cmpi(isUnsigned(type) ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt, x, zero);
    Value one = s.select(positive, s.number(type, 1), zero);
    return isUnsigned(type) ? one : s.select(s.cmpi(arith::CmpIPredicate::slt, x, zero), s.number(type, -1), one);
  }
  default:
    llvm_unreachable("nn.unary's verifier admits no other kind on integers");
  }
}

/// |x| of a small float as f32, so that one op rounds once.
static Value widen(Scalars &s, Value x, Type type) {
  return isSmallFloat(type) ? s.b.create<arith::ExtFOp>(s.loc, s.b.getF32Type(), x).getResult() : x;
}
static Value narrow(Scalars &s, Value x, Type type) {
  return isSmallFloat(type) ? s.b.create<arith::TruncFOp>(s.loc, type, x).getResult() : x;
}
static Type computeType(Scalars &s, Type type) { return isSmallFloat(type) ? s.b.getF32Type() : type; }

Value heddle::emitUnary(OpBuilder &builder, nn::UnaryKind kind, Value x, Type type) {
  Scalars s{builder};
  if (!isa<FloatType>(type))
    return emitIntegerUnary(s, kind, x, type);
  Value wide = widen(s, x, type);
  Type wideType = computeType(s, type);
  if (kind == nn::UnaryKind::IsNan)
    return s.cmpf(arith::CmpFPredicate::UNO, wide, wide);
  if (kind == nn::UnaryKind::IsInf)
    return s.cmpf(arith::CmpFPredicate::OEQ, s.un<math::AbsFOp>(wide), s.number(wideType, INFINITY));
  return narrow(s, emitFloatUnary(s, kind, wide, wideType), type);
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

static Value emitFloatBinary(Scalars &s, nn::BinaryKind kind, Value x, Value y) {
  using Kind = nn::BinaryKind;
  switch (kind) {
  case Kind::Add:
    return s.add(x, y);
  case Kind::Sub:
    return s.sub(x, y);
  case Kind::Mul:
    return s.mul(x, y);
  case Kind::Div:
    return s.div(x, y);
  case Kind::Pow:
    return s.bin<math::PowFOp>(x, y);
  case Kind::Fmod:
    return s.bin<arith::RemFOp>(x, y);
  case Kind::Min:
    return s.bin<arith::MinimumFOp>(x, y);
  case Kind::Max:
    return s.bin<arith::MaximumFOp>(x, y);
  default:
    llvm_unreachable("nn.binary's verifier admits no other kind on floats");
  }
}

/// Quotient (truncated) or remainder that never traps: a/0 is 0, least/-1 wraps, a mod 0 is 0.
static Value emitDivision(Scalars &s, Value x, Value y, Type type, bool remainder) {
  Value zero = s.number(type, 0), one = s.number(type, 1);
  Value isZero = s.cmpi(arith::CmpIPredicate::eq, y, zero);
  if (isUnsigned(type)) {
    Value divisor = s.select(isZero, one, y);
    Value value = remainder ? s.bin<arith::RemUIOp>(x, divisor) : s.bin<arith::DivUIOp>(x, divisor);
    return s.select(isZero, zero, value);
  }
  Value isMinusOne = s.cmpi(arith::CmpIPredicate::eq, y, s.number(type, -1));
  Value divisor = s.select(s.bin<arith::OrIOp>(isZero, isMinusOne), one, y);
  if (remainder) // by 1, as by -1, nothing is left
    return s.select(isZero, zero, s.bin<arith::RemSIOp>(x, divisor));
  Value quotient = s.bin<arith::DivSIOp>(x, divisor);
  quotient = s.select(isMinusOne, s.bin<arith::SubIOp>(zero, x), quotient);
  return s.select(isZero, zero, quotient);
}

/// a - floor(a/b) b: the C remainder, moved by b where its sign differs from b's.
static Value emitFloorMod(Scalars &s, Value x, Value y, Type type) {
  Value remainder = emitDivision(s, x, y, type, /*remainder=*/true);
  if (isUnsigned(type))
    return remainder;
  Value zero = s.number(type, 0);
  Value differs = s.cmpi(arith::CmpIPredicate::slt, s.bin<arith::XOrIOp>(remainder, y), zero);
  Value moves = s.bin<arith::AndIOp>(differs, s.cmpi(arith::CmpIPredicate::ne, remainder, zero));
  return s.select(moves, s.bin<arith::AddIOp>(remainder, y), remainder);
}

static Value emitIntegerBinary(Scalars &s, nn::BinaryKind kind, Value x, Value y, Type type) {
  using Kind = nn::BinaryKind;
  bool isU = isUnsigned(type);
  switch (kind) {
  case Kind::Add:
    return s.bin<arith::AddIOp>(x, y);
  case Kind::Sub:
    return s.bin<arith::SubIOp>(x, y);
  case Kind::Mul:
    return s.bin<arith::MulIOp>(x, y);
  case Kind::Div:
    return emitDivision(s, x, y, type, /*remainder=*/false);
  case Kind::Mod:
    return emitFloorMod(s, x, y, type);
  case Kind::Fmod:
    return emitDivision(s, x, y, type, /*remainder=*/true);
  case Kind::Min:
    return isU ? s.bin<arith::MinUIOp>(x, y) : s.bin<arith::MinSIOp>(x, y);
  case Kind::Max:
    return isU ? s.bin<arith::MaxUIOp>(x, y) : s.bin<arith::MaxSIOp>(x, y);
  case Kind::And:
  case Kind::BitwiseAnd:
    return s.bin<arith::AndIOp>(x, y);
  case Kind::Or:
  case Kind::BitwiseOr:
    return s.bin<arith::OrIOp>(x, y);
  case Kind::Xor:
  case Kind::BitwiseXor:
    return s.bin<arith::XOrIOp>(x, y);
  case Kind::Pow:
    break;
  }
  llvm_unreachable("integer pow goes through f64");
}

/// A power with a constant small integer exponent as products, exact where powf would only be close.
static Value emitConstantPower(Scalars &s, Value x, Value exponent) {
  APFloat value(0.0);
  if (!matchPattern(exponent, m_ConstantFloat(&value)))
    return nullptr;
  if (value.isExactlyValue(2.0))
    return s.mul(x, x);
  if (value.isExactlyValue(3.0))
    return s.mul(s.mul(x, x), x);
  if (value.isExactlyValue(1.0))
    return x;
  if (value.isExactlyValue(0.5))
    return s.un<math::SqrtOp>(x);
  return nullptr;
}

static Value emitPower(Scalars &s, Value x, Value y, Type type, Type exponentType) {
  // Integers take the way through f64: exact up to 2^53.
  Type wide = isa<FloatType>(type) && !type.isF64() ? Type(s.b.getF32Type()) : Type(s.b.getF64Type());
  Value base = emitCast(s.b, x, type, wide);
  Value exponent = emitCast(s.b, y, exponentType, wide);
  Value power = emitConstantPower(s, base, exponent);
  if (!power)
    power = s.bin<math::PowFOp>(base, exponent);
  // 3^6 may come out a unit in the last place below 729, which truncation would make 728.
  if (!isa<FloatType>(type)) {
    Value whole = s.un<math::RoundEvenOp>(power);
    Value distance = s.un<math::AbsFOp>(s.sub(power, whole));
    Value isWhole = s.cmpf(arith::CmpFPredicate::OLE, distance,
                           s.mul(s.un<math::AbsFOp>(whole), s.number(wide, std::ldexp(1.0, -46))));
    power = s.select(isWhole, whole, power);
  }
  return emitCast(s.b, power, wide, type);
}

Value heddle::emitBinary(OpBuilder &builder, nn::BinaryKind kind, Value lhs, Value rhs, Type type, Type exponentType) {
  Scalars s{builder};
  if (kind == nn::BinaryKind::Pow)
    return emitPower(s, lhs, rhs, type, exponentType);
  if (!isa<FloatType>(type))
    return emitIntegerBinary(s, kind, lhs, rhs, type);
  return narrow(s, emitFloatBinary(s, kind, widen(s, lhs, type), widen(s, rhs, type)), type);
}

Value heddle::emitOrdered(OpBuilder &builder, Value x, Type type) {
  if (!type.isUnsignedInteger())
    return x;
  Scalars s{builder};
  Value sign = builder.create<arith::ConstantOp>(
      s.loc, builder.getIntegerAttr(kernelElementType(type), APInt::getSignMask(type.getIntOrFloatBitWidth())));
  return s.bin<arith::XOrIOp>(x, sign);
}

Value heddle::emitCompare(OpBuilder &builder, nn::CompareKind kind, Value lhs, Value rhs, Type type) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  // In the order of nn::CompareKind. A NaN compares false, but for `ne`.
  static constexpr F floats[] = {F::OEQ, F::UNE, F::OLT, F::OLE, F::OGT, F::OGE};
  static constexpr I signedInts[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  static constexpr I unsignedInts[] = {I::eq, I::ne, I::ult, I::ule, I::ugt, I::uge};
  Scalars s{builder};
  unsigned i = static_cast<unsigned>(kind);
  if (isa<FloatType>(type))
    return s.cmpf(floats[i], widen(s, lhs, type), widen(s, rhs, type));
  return s.cmpi(isUnsigned(type) ? unsignedInts[i] : signedInts[i], lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Cast
//===----------------------------------------------------------------------===//

/// Truncation toward zero, saturating, NaN to 0. arith.fptosi is undefined out of range, so what is out of range is
/// replaced before and selected after.
static Value emitFloatToInteger(Scalars &s, Value x, Type from, Type to) {
  unsigned width = to.getIntOrFloatBitWidth();
  bool isU = isUnsigned(to);
  // 2^high is exact in every float type; results are below it and at or above low.
  double high = std::ldexp(1.0, isU ? width : width - 1);
  double low = isU ? 0.0 : -high;
  Value isHigh = s.cmpf(arith::CmpFPredicate::OGE, x, s.number(from, high));
  Value isLow = s.cmpf(arith::CmpFPredicate::OLT, x, s.number(from, low));
  Value isNan = s.cmpf(arith::CmpFPredicate::UNO, x, x);
  Value isOut = s.bin<arith::OrIOp>(s.bin<arith::OrIOp>(isHigh, isLow), isNan);
  Value safe = s.select(isOut, s.number(from, 0), x);
  Type target = kernelElementType(to);
  Value value = isU ? s.b.create<arith::FPToUIOp>(s.loc, target, safe).getResult()
                    : s.b.create<arith::FPToSIOp>(s.loc, target, safe).getResult();
  auto limit = [&](const APInt &number) -> Value {
    return s.b.create<arith::ConstantOp>(s.loc, s.b.getIntegerAttr(target, number));
  };
  value = s.select(isHigh, limit(isU ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width)), value);
  return s.select(isLow, limit(isU ? APInt::getMinValue(width) : APInt::getSignedMinValue(width)), value);
}

static Value emitIntegerCast(Scalars &s, Value x, Type from, Type to) {
  Type target = kernelElementType(to);
  unsigned fromWidth = from.getIntOrFloatBitWidth(), toWidth = to.getIntOrFloatBitWidth();
  if (fromWidth == toWidth)
    return x;
  if (fromWidth > toWidth)
    return s.b.create<arith::TruncIOp>(s.loc, target, x);
  return isUnsigned(from) ? s.b.create<arith::ExtUIOp>(s.loc, target, x).getResult()
                          : s.b.create<arith::ExtSIOp>(s.loc, target, x).getResult();
}

/// f64 |x| as an f32 toward zero whose last bit is set where digits were lost: a second rounding then sees whether x
/// lies above, below or on the middle between two neighbours.
static Value emitRoundToOdd(Scalars &s, Value x) {
  Type f32 = s.b.getF32Type(), f64 = s.b.getF64Type(), i32 = s.b.getI32Type();
  Value near = s.b.create<arith::TruncFOp>(s.loc, f32, x);
  Value back = s.b.create<arith::ExtFOp>(s.loc, f64, near);
  Value isAway = s.cmpf(arith::CmpFPredicate::OGT, s.un<math::AbsFOp>(back), s.un<math::AbsFOp>(x));
  Value isInexact = s.cmpf(arith::CmpFPredicate::ONE, back, x); // not for a NaN
  Value bits = s.b.create<arith::BitcastOp>(s.loc, i32, near);
  bits = s.select(isAway, s.bin<arith::SubIOp>(bits, s.number(i32, 1)), bits);
  bits = s.select(isInexact, s.bin<arith::OrIOp>(bits, s.number(i32, 1)), bits);
  return s.b.create<arith::BitcastOp>(s.loc, f32, bits);
}

static Value emitFloatCast(Scalars &s, Value x, Type from, Type to) {
  unsigned fromWidth = from.getIntOrFloatBitWidth(), toWidth = to.getIntOrFloatBitWidth();
  if (fromWidth < toWidth)
    return s.b.create<arith::ExtFOp>(s.loc, to, x);
  // Rounding twice is right where the first rounding keeps the odd last bit of what was inexact.
  if (from.isF64() && isSmallFloat(to))
    return s.b.create<arith::TruncFOp>(s.loc, to, emitRoundToOdd(s, x));
  if (fromWidth > toWidth)
    return s.b.create<arith::TruncFOp>(s.loc, to, x);
  // f16 and bf16 meet in f32.
  return s.b.create<arith::TruncFOp>(s.loc, to, s.b.create<arith::ExtFOp>(s.loc, s.b.getF32Type(), x));
}

static Value emitIntegerToFloat(Scalars &s, Value x, Type from, Type to) {
  return isUnsigned(from) ? s.b.create<arith::UIToFPOp>(s.loc, to, x).getResult()
                          : s.b.create<arith::SIToFPOp>(s.loc, to, x).getResult();
}

Value heddle::emitCast(OpBuilder &builder, Value x, Type from, Type to) {
  Scalars s{builder};
  if (from == to)
    return x;
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  if (to.isInteger(1)) {
    if (!fromFloat)
      return s.cmpi(arith::CmpIPredicate::ne, x, s.number(from, 0));
    return s.cmpf(arith::CmpFPredicate::UNE, x, s.number(from, 0)); // a NaN is true
  }
  if (fromFloat && toFloat)
    return emitFloatCast(s, x, from, to);
  if (fromFloat)
    return emitFloatToInteger(s, widen(s, x, from), computeType(s, from), to);
  if (toFloat)
    return narrow(s, emitIntegerToFloat(s, x, from, computeType(s, to)), to);
  return emitIntegerCast(s, x, from, to);
}
