// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/measure/NoiseBound.h"

#include <algorithm>

bool heddle::agreesButForCodes(double cosine, llvm::ArrayRef<double> noisy) {
  constexpr double kLeastCosine = 0.9999, kMostOfNoise = 2;
  if (cosine >= kLeastCosine)
    return true;
  double farthest = 0;
  for (double other : noisy)
    farthest = std::max(farthest, 1 - other);
  return 1 - cosine <= kMostOfNoise * farthest;
}
