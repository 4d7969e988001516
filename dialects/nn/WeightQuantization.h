// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arithmetic of nn.quantize_weight, shared by the evaluator and by whoever writes weights, so that both find the
// same codes. All of it is f32, and inline: it runs once for each weight of a model.

#ifndef HEDDLE_DIALECTS_NN_WEIGHTQUANTIZATION_H
#define HEDDLE_DIALECTS_NN_WEIGHTQUANTIZATION_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace heddle::nn {

/// What the weights under one scale have in common. Gather it over all of them, in any order.
struct WeightRange {
  /// max |w|; NaN as soon as one isn't finite.
  float greatest = 0;
  /// max |a + b| over pairs; 0 where pairs don't matter.
  float greatestPair = 0;

  void add(float weight) {
    float size = std::fabs(weight);
    // False for a NaN on either side, which therefore stays.
    if (!(size <= greatest))
      greatest = std::isinf(size) || std::isnan(greatest) ? std::numeric_limits<float>::quiet_NaN() : size;
  }
  void addPair(float first, float second) {
    add(first);
    add(second);
    // |a| + |b| where signs are equal; where they aren't it is no more than the greater one, which counts more.
    greatestPair = std::max(greatestPair, std::fabs(first + second));
  }
};

/// The scale for codes from -|limit| to |limit|.
inline float getWeightScale(WeightRange range, int limit) {
  if (std::isnan(range.greatest))
    return range.greatest;
  float scale = std::max(range.greatest / static_cast<float>(limit), range.greatestPair / 128);
  return scale < std::numeric_limits<float>::min() ? 1.0f : scale;
}

/// The code of |weight|; 0 under a scale that is NaN.
inline int8_t getWeightCode(float weight, float scale, int limit) {
  float steps = weight / scale, bound = static_cast<float>(limit);
  steps = std::isnan(steps) ? 0.0f : std::clamp(steps, -bound, bound);
  // Half to even: where a step is the last bit. Loops of this become vectors, which std::nearbyint would prevent.
  constexpr float kWholeSteps = 0x1.8p23f;
  return static_cast<int8_t>(static_cast<int32_t>((steps + kWholeSteps) - kWholeSteps));
}

/// Makes of the codes of a pair ones whose sum of products with any two u8 fits 16 bits.
inline void makePairSafe(int8_t first, int8_t &second) {
  // 255 * 128 = 32640 fits; codes of unequal sign always do.
  int sum = first + second;
  second = static_cast<int8_t>(second - (sum > 128) + (sum < -128));
}

} // namespace heddle::nn

#endif // HEDDLE_DIALECTS_NN_WEIGHTQUANTIZATION_H
