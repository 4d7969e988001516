// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/common/FloatMath.h"

#include <cmath>

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace heddle {

static Type integerTypeOf(Type type) {
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  Type integer = IntegerType::get(type.getContext(), width);
  if (auto vector = dyn_cast<VectorType>(type))
    return VectorType::get(vector.getShape(), integer);
  return integer;
}

static Value splat(OpBuilder &b, Location loc, Type type, Attribute value) {
  if (auto vector = dyn_cast<VectorType>(type))
    return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(vector, value));
  return b.create<arith::ConstantOp>(loc, cast<TypedAttr>(value));
}

Value FloatMath::real(double value) const {
  return splat(b, loc, type, b.getFloatAttr(getElementTypeOrSelf(type), value));
}

Value FloatMath::integer(int64_t value) const {
  Type integers = integerTypeOf(type);
  return splat(b, loc, integers, b.getIntegerAttr(getElementTypeOrSelf(integers), value));
}

Value FloatMath::fma(Value x, Value y, Value z) const { return b.create<math::FmaOp>(loc, x, y, z); }
Value FloatMath::abs(Value x) const { return b.create<math::AbsFOp>(loc, x); }
Value FloatMath::sqrt(Value x) const { return b.create<math::SqrtOp>(loc, x); }
Value FloatMath::floor(Value x) const { return b.create<math::FloorOp>(loc, x); }
Value FloatMath::roundEven(Value x) const { return b.create<math::RoundEvenOp>(loc, x); }
Value FloatMath::trunc(Value x) const { return b.create<math::TruncOp>(loc, x); }
Value FloatMath::copySign(Value magnitude, Value sign) const {
  return b.create<math::CopySignOp>(loc, magnitude, sign);
}
Value FloatMath::select(Value condition, Value x, Value y) const {
  return b.create<arith::SelectOp>(loc, condition, x, y);
}

Value FloatMath::polynomial(Value x, ArrayRef<double> coefficients) const {
  Value sum = real(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, real(coefficient));
  return sum;
}

Value FloatMath::toBits(Value x) const { return b.create<arith::BitcastOp>(loc, integerTypeOf(type), x); }
Value FloatMath::fromBits(Value x) const { return b.create<arith::BitcastOp>(loc, type, x); }
Value FloatMath::shiftLeft(Value x, int64_t amount) const { return b.create<arith::ShLIOp>(loc, x, integer(amount)); }
Value FloatMath::shiftRight(Value x, int64_t amount) const { return b.create<arith::ShRSIOp>(loc, x, integer(amount)); }
Value FloatMath::equalBits(Value x, Value y) const {
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, x, y);
}
Value FloatMath::lessBits(Value x, Value y) const {
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, y);
}

static int64_t mantissaBits(const FloatMath &m) { return m.isF64() ? 52 : 23; }

FloatMath::Rounded FloatMath::round(Value x) const {
  Value magic = real(std::ldexp(1.5, mantissaBits(*this)));
  Value shifted = add(x, magic);
  return {sub(shifted, magic), toBits(shifted)};
}

Value FloatMath::scaleByPowerOfTwo(Value x, Value n) const {
  return fromBits(addBits(toBits(x), shiftLeft(n, mantissaBits(*this))));
}

Value FloatMath::scalePortably(Value kept, Value x, Value n) const {
  Value scaled = scaleByPowerOfTwo(x, round(n).bits);
  if (!kept)
    return scaled;
  scaled = select(compare(arith::CmpFPredicate::UNO, n, n), n, scaled);
  return select(kept, scaled, real(0.0));
}

} // namespace heddle
