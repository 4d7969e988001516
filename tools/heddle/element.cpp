// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of tensors. memcpy throughout: elements inside files needn't be aligned.

#include "tools/heddle/element.h"

#include "tools/heddle/text.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace heddle::cli {

/// The two 16-bit float formats: IEEE 754 binary16 and bfloat16.
struct SmallFloat {
  int exponentBits, mantissaBits;
  int minExponent() const { return 2 - (1 << (exponentBits - 1)); }
  uint16_t infinity() const { return static_cast<uint16_t>(((1 << exponentBits) - 1) << mantissaBits); }
};
static constexpr SmallFloat half{5, 10}, brain{8, 7};

static uint16_t encode(SmallFloat format, double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  value = std::fabs(value);
  if (std::isnan(value))
    return sign | format.infinity() | static_cast<uint16_t>(1 << (format.mantissaBits - 1));
  if (std::isinf(value) || value == 0)
    return sign | (value == 0 ? 0 : format.infinity());
  // Below the smallest normal exponent the spacing of values no longer shrinks.
  int exponent = std::max(std::ilogb(value), format.minExponent());
  double units = std::nearbyint(std::ldexp(value, format.mantissaBits - exponent));
  // Normal numbers have 2^mantissaBits <= units, which adds one to the exponent field: so does a carry from rounding.
  double bits = std::ldexp(exponent - format.minExponent(), format.mantissaBits) + units;
  return sign | (bits >= format.infinity() ? format.infinity() : static_cast<uint16_t>(bits));
}

static double decode(SmallFloat format, uint16_t bits) {
  int field = (bits & 0x7FFF) >> format.mantissaBits;
  int mantissa = bits & ((1 << format.mantissaBits) - 1);
  double value;
  if (field == (1 << format.exponentBits) - 1)
    value = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (field == 0)
    value = std::ldexp(mantissa, format.minExponent() - format.mantissaBits);
  else
    value = std::ldexp(mantissa + (1 << format.mantissaBits), format.minExponent() + field - 1 - format.mantissaBits);
  return bits & 0x8000 ? -value : value;
}

template <typename T> static T load(const void *element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

template <typename T> static void store(void *element, T value) { std::memcpy(element, &value, sizeof value); }

bool isFloat(heddle_element_type_t type) { return type <= HEDDLE_ELEMENT_BF16; }

bool isSigned(heddle_element_type_t type) { return type >= HEDDLE_ELEMENT_I8 && type <= HEDDLE_ELEMENT_I64; }

static int64_t loadSigned(heddle_element_type_t type, const void *element) {
  switch (type) {
  case HEDDLE_ELEMENT_I8:
    return load<int8_t>(element);
  case HEDDLE_ELEMENT_I16:
    return load<int16_t>(element);
  case HEDDLE_ELEMENT_I32:
    return load<int32_t>(element);
  default:
    return load<int64_t>(element);
  }
}

static uint64_t loadUnsigned(heddle_element_type_t type, const void *element) {
  switch (heddle_element_type_size(type)) {
  case 1:
    return load<uint8_t>(element);
  case 2:
    return load<uint16_t>(element);
  case 4:
    return load<uint32_t>(element);
  default:
    return load<uint64_t>(element);
  }
}

double loadElement(heddle_element_type_t type, const void *element) {
  switch (type) {
  case HEDDLE_ELEMENT_F32:
    return load<float>(element);
  case HEDDLE_ELEMENT_F64:
    return load<double>(element);
  case HEDDLE_ELEMENT_F16:
    return decode(half, load<uint16_t>(element));
  case HEDDLE_ELEMENT_BF16:
    return decode(brain, load<uint16_t>(element));
  default:
    return isSigned(type) ? static_cast<double>(loadSigned(type, element))
                          : static_cast<double>(loadUnsigned(type, element));
  }
}

void storeFloat(heddle_element_type_t type, void *element, double value) {
  switch (type) {
  case HEDDLE_ELEMENT_F32:
    return store(element, static_cast<float>(value));
  case HEDDLE_ELEMENT_F64:
    return store(element, value);
  case HEDDLE_ELEMENT_F16:
    return store(element, encode(half, value));
  default:
    return store(element, encode(brain, value));
  }
}

bool storeInteger(heddle_element_type_t type, void *element, uint64_t magnitude, bool negative) {
  size_t size = heddle_element_type_size(type);
  unsigned valueBits = type == HEDDLE_ELEMENT_BOOL ? 1 : static_cast<unsigned>(8 * size) - (isSigned(type) ? 1 : 0);
  uint64_t largest = valueBits == 64 ? UINT64_MAX : (uint64_t(1) << valueBits) - 1;
  // Two's complement reaches one further below zero; other types have no negative numbers but zero itself.
  uint64_t limit = !negative ? largest : isSigned(type) ? largest + 1 : 0;
  if (magnitude > limit)
    return false;
  uint64_t bits = negative ? 0 - magnitude : magnitude;
  std::memcpy(element, &bits, size); // little-endian: the low bytes come first
  return true;
}

std::string formatElement(heddle_element_type_t type, const void *element, int digits) {
  if (isFloat(type))
    return formatNumber(loadElement(type, element), digits);
  if (type == HEDDLE_ELEMENT_BOOL)
    return load<uint8_t>(element) ? "true" : "false";
  return isSigned(type) ? std::to_string(loadSigned(type, element)) : std::to_string(loadUnsigned(type, element));
}

} // namespace heddle::cli
