// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floats are fractions that each of their types holds exactly.

#include "runtime/core/self_test_elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace heddle::runtime {

namespace {

template <typename T> T read(const void *from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

float from_bits(uint32_t bits) { return read<float>(&bits); }

/// |value| is exact in f16 and no denormal there.
uint16_t to_half(float value) {
  const auto bits = read<uint32_t>(&value);
  return static_cast<uint16_t>((bits >> 16 & 0x8000u) | (((bits & 0x7fffffffu) >> 13) - (112u << 10)));
}

double from_half(uint16_t half) {
  const double sign = half & 0x8000u ? -1 : 1;
  const int exponent = half >> 10 & 31;
  const int mantissa = half & 1023;
  if (exponent == 31)
    return mantissa ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(mantissa + 1024, exponent - 25) : std::ldexp(mantissa, -24));
}

/// Writes |count| elements of type T, each what |make| has for its number; what pads packed weights is zero.
template <typename T, typename Make>
void write_all(const self_test_input &input, uint64_t count, std::byte *to, Make make) {
  for (uint64_t i = 0; i < count; ++i) {
    const bool is_padding =
        input.columns != 0 && heddle_self_test_is_padding(i, input.columns, input.depth, input.width, input.group);
    const auto value = is_padding ? T() : static_cast<T>(make(i));
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
}

void make_floats(heddle_element_type_t type, const self_test_input &input, uint64_t count, std::byte *to) {
  auto fraction = [&](unsigned bits) {
    return [&input, bits](uint64_t i) {
      return static_cast<float>(heddle_self_test_fraction(input.seed, i, bits)) / static_cast<float>(1u << bits);
    };
  };
  auto narrow = [&](uint64_t i) { return fraction(8)(i); };
  if (type == HEDDLE_ELEMENT_F16)
    write_all<uint16_t>(input, count, to, [&](uint64_t i) { return to_half(narrow(i)); });
  else if (type == HEDDLE_ELEMENT_BF16)
    write_all<uint16_t>(input, count, to, [&](uint64_t i) {
      const float value = narrow(i);
      return read<uint32_t>(&value) >> 16;
    });
  else if (type == HEDDLE_ELEMENT_F64)
    write_all<double>(input, count, to, fraction(16));
  else
    write_all<float>(input, count, to, fraction(16));
}

} // namespace

bool is_float(heddle_element_type_t type) {
  return type == HEDDLE_ELEMENT_F32 || type == HEDDLE_ELEMENT_F64 || type == HEDDLE_ELEMENT_F16 ||
         type == HEDDLE_ELEMENT_BF16;
}

double read_float(heddle_element_type_t type, const void *from) {
  switch (type) {
  case HEDDLE_ELEMENT_F64:
    return read<double>(from);
  case HEDDLE_ELEMENT_F16:
    return from_half(read<uint16_t>(from));
  case HEDDLE_ELEMENT_BF16:
    return static_cast<double>(from_bits(uint32_t(read<uint16_t>(from)) << 16));
  default:
    return static_cast<double>(read<float>(from));
  }
}

void make_elements(heddle_element_type_t type, const self_test_input &input, std::byte *to) {
  const size_t size = heddle_element_type_size(type);
  const uint64_t count = input.bytes / size;
  if (is_float(type))
    return make_floats(type, input, count, to);
  const uint32_t limit = type == HEDDLE_ELEMENT_BOOL ? 2 : input.limit;
  auto integer = [&](uint64_t i) { return heddle_self_test_integer(input.seed, i, limit); };
  switch (size) {
  case 1:
    return write_all<uint8_t>(input, count, to, integer);
  case 2:
    return write_all<uint16_t>(input, count, to, integer);
  case 4:
    return write_all<uint32_t>(input, count, to, integer);
  default:
    return write_all<uint64_t>(input, count, to, integer);
  }
}

double largest_magnitude(heddle_element_type_t type, const self_test_output &expected) {
  double largest = 0;
  if (!is_float(type))
    return largest;
  const uint8_t *value = expected.values;
  for (const self_test_run &run : expected.runs)
    for (uint32_t i = 0; i < run.count; ++i, value += heddle_element_type_size(type))
      if (const double magnitude = std::fabs(read_float(type, value)); std::isfinite(magnitude))
        largest = std::max(largest, magnitude);
  return largest;
}

double difference_of(heddle_element_type_t type, const void *actual, const void *expected, double allowed) {
  if (!is_float(type))
    return std::memcmp(actual, expected, heddle_element_type_size(type)) == 0 ? 0 : INFINITY;
  const double wanted = read_float(type, expected);
  // Shaders need not keep what isn't finite.
  if (!std::isfinite(wanted))
    return 0;
  const double difference = std::fabs(read_float(type, actual) - wanted);
  if (difference == 0)
    return 0;
  // So written, a NaN is wrong where a number is wanted.
  return std::isfinite(difference) && allowed > 0 ? difference / allowed : INFINITY;
}

} // namespace heddle::runtime
