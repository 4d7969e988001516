// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The number formats of tensor elements.

#include "compiler/reference/Numbers.h"

#include <cmath>
#include <limits>

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle::reference {

IntFormat IntFormat::of(Type type) {
  auto integer = cast<IntegerType>(type);
  return {integer.getWidth(), integer.isUnsigned() || integer.getWidth() == 1};
}

int64_t IntFormat::wrap(int64_t value) const {
  if (width == 64)
    return value;
  if (isUnsigned)
    return value & llvm::maskTrailingOnes<uint64_t>(width);
  return llvm::SignExtend64(static_cast<uint64_t>(value), width);
}

int64_t IntFormat::least() const { return isUnsigned ? 0 : llvm::minIntN(width); }

int64_t IntFormat::greatest() const {
  return isUnsigned ? static_cast<int64_t>(llvm::maxUIntN(width)) : llvm::maxIntN(width);
}

double IntFormat::toDouble(int64_t value) const {
  return isUnsigned ? static_cast<double>(static_cast<uint64_t>(value)) : static_cast<double>(value);
}

int64_t IntFormat::fromDouble(double value) const {
  if (std::isnan(value))
    return 0;
  // The bounds are compared as powers of two: the greatest 64-bit integers aren't doubles.
  double bound = std::ldexp(1.0, isUnsigned ? width : width - 1);
  double whole = std::trunc(value);
  if (whole >= bound)
    return greatest();
  if (whole < (isUnsigned ? 0.0 : -bound))
    return least();
  return isUnsigned ? static_cast<int64_t>(static_cast<uint64_t>(whole)) : static_cast<int64_t>(whole);
}

double roundToType(double value, Type type) {
  if (type.isF64())
    return value;
  if (type.isF32())
    return static_cast<float>(value);
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(cast<FloatType>(type).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

double decodeHalf(uint16_t bits) {
  int exponent = (bits >> 10) & 31;
  int fraction = bits & 1023;
  double magnitude;
  if (exponent == 31)
    magnitude = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(fraction, -24);
  else
    magnitude = std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -magnitude : magnitude;
}

uint16_t encodeHalf(double value, Type type) {
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(cast<FloatType>(type).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.bitcastToAPInt().getZExtValue();
}

} // namespace heddle::reference
