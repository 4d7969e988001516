// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on sizes that come from files and callers: it says when a result doesn't fit, and never wraps or traps.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace heddle::runtime {

inline bool checked_add(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }
inline bool checked_sub(int64_t a, int64_t b, int64_t *out) { return !__builtin_sub_overflow(a, b, out); }
inline bool checked_mul(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }

/// Rounds towards minus infinity.
inline bool checked_floor_div(int64_t a, int64_t b, int64_t *out) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min()))
    return false;
  *out = a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
  return true;
}

/// Rounds towards plus infinity.
inline bool checked_ceil_div(int64_t a, int64_t b, int64_t *out) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min()))
    return false;
  *out = a / b + ((a % b != 0 && (a < 0) == (b < 0)) ? 1 : 0);
  return true;
}

/// What checked_floor_div leaves over: zero, or of the divisor's sign.
inline bool checked_mod(int64_t a, int64_t b, int64_t *out) {
  if (b == 0)
    return false;
  // The remainder of -1 is 0 for every dividend, but INT64_MIN / -1 traps on x86.
  int64_t remainder = b == -1 ? 0 : a % b;
  *out = remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
  return true;
}

/// The product of |count| sizes, none of them negative.
inline bool checked_product(const int64_t *sizes, size_t count, int64_t *out) {
  // A zero anywhere makes the product zero, whatever the others would give.
  int64_t product = 1;
  bool overflow = false;
  bool zero = false;
  for (size_t i = 0; i < count; ++i) {
    if (sizes[i] < 0)
      return false;
    zero |= sizes[i] == 0;
    overflow |= !checked_mul(product, sizes[i], &product);
  }
  *out = zero ? 0 : product;
  return zero || !overflow;
}

/// Whether the range |offset|, |size| lies within |length|: in subtraction form, since a sum could wrap.
inline bool range_fits(uint64_t offset, uint64_t size, uint64_t length) {
  return size <= length && offset <= length - size;
}

/// |value| rounded up to a multiple of |alignment|, a power of two. The caller knows that it doesn't wrap.
inline uint64_t align_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }

} // namespace heddle::runtime
