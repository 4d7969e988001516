// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How far two tensors are apart.

#pragma once

#include <heddle/heddle.h>

namespace heddle::cli {

struct Difference {
  bool sameShape = true;
  double largest = 0;  ///< max |a - b|; infinite where only one side is NaN
  double relative = 0; ///< that, divided by max |b|; 0 if nothing differs
};

/// Compares |actual| with |expected|, element by element in double precision. NaN equals NaN, and an infinity itself.
Difference compareTensors(const heddle_tensor_t *actual, const heddle_tensor_t *expected);

} // namespace heddle::cli
