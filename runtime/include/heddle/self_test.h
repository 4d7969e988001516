// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs of the self-tests that artifacts carry for their shaders. Their elements are a function of a seed and a place,
// so that a case takes a few numbers, however large the weights of a kernel are; the compiler computes from it what
// must come out, the runtime what goes in. Plain C99, integers only: the same numbers everywhere.

#ifndef HEDDLE_SELF_TEST_H
#define HEDDLE_SELF_TEST_H

#include <stdint.h>

/// Bytes of all operands of one case at most.
#define HEDDLE_SELF_TEST_MAX_BYTES (UINT64_C(64) << 20)

// Who includes this needs not all of it.
#define HEDDLE_SELF_TEST_FUNCTION static inline __attribute__((unused))

/// 32 well mixed bits for element |i|.
HEDDLE_SELF_TEST_FUNCTION uint32_t heddle_self_test_bits(uint32_t seed, uint64_t i) {
  uint32_t x = (uint32_t)i * UINT32_C(0x9E3779B9) + (uint32_t)(i >> 32) + seed * UINT32_C(0x85EBCA6B);
  x = (x ^ (x >> 16)) * UINT32_C(0x7FEB352D);
  x = (x ^ (x >> 15)) * UINT32_C(0x846CA68B);
  return x ^ (x >> 16);
}

/// Element |i| of floats, in units of 2^-|fraction_bits|: an odd number whose magnitude is at least a quarter and less
/// than 1. With 8 bits bf16 and f16 hold it exactly, with 16 bits f32. Odd numbers are no ties when codes are rounded,
/// and far from 0 they are good divisors.
HEDDLE_SELF_TEST_FUNCTION int32_t heddle_self_test_fraction(uint32_t seed, uint64_t i, unsigned fraction_bits) {
  const uint32_t bits = heddle_self_test_bits(seed, i);
  const uint32_t quarter = UINT32_C(1) << (fraction_bits - 2);
  // The 3 * quarter / 2 odd numbers from a quarter to 1.
  const uint32_t odd = quarter + 1 + 2 * (uint32_t)(((uint64_t)(bits >> 1) * (3 * quarter / 2)) >> 31);
  return (bits & 1) ? -(int32_t)odd : (int32_t)odd;
}

/// Element |i| of integers. With |limit| 0 any bits. Else from 0 to |limit| - 1, and 0 or 1 half of the time: what
/// integers may mean, masks and lengths and indices of tables, has to occur.
HEDDLE_SELF_TEST_FUNCTION uint32_t heddle_self_test_integer(uint32_t seed, uint64_t i, uint32_t limit) {
  const uint32_t bits = heddle_self_test_bits(seed, i);
  if (limit == 0)
    return bits;
  const uint32_t below = (bits & 1) && limit > 2 ? 2 : limit;
  return (uint32_t)(((uint64_t)(bits >> 1) * below) >> 31);
}

/// Whether element |i| of packed weights lies beyond their |columns| or their |depth|, so that it is zero. |width|, the
/// columns of a panel, and |group|, how many neighbours along the depth lie side by side, aren't 0.
HEDDLE_SELF_TEST_FUNCTION int heddle_self_test_is_padding(uint64_t i, uint32_t columns, uint32_t depth, uint32_t width,
                                                          uint32_t group) {
  const uint64_t groups = ((uint64_t)depth + group - 1) / group;
  const uint64_t row = i / group / width;
  return (row / groups) * width + i / group % width >= columns || (row % groups) * group + i % group >= depth;
}

/// Whether the units below |extents| compute the element at byte |offset| of a result with |strides|, both along the
/// axes x, y, z. Along an axis with stride 0 the result isn't cut: there all units must run.
HEDDLE_SELF_TEST_FUNCTION int heddle_self_test_reaches(uint64_t offset, const uint32_t *extents,
                                                       const uint32_t *strides) {
  unsigned seen = 0;
  for (int round = 0; round < 3; ++round) {
    int largest = -1;
    for (int axis = 0; axis < 3; ++axis)
      if (!(seen >> axis & 1u) && (largest < 0 || strides[axis] > strides[largest]))
        largest = axis;
    seen |= 1u << largest;
    if (strides[largest] == 0)
      return 1;
    if (offset / strides[largest] >= extents[largest])
      return 0;
    offset %= strides[largest];
  }
  return 1;
}

#endif // HEDDLE_SELF_TEST_H
