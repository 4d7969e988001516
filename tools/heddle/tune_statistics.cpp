// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Medians and signs rather than means: a timing that another process disturbed is off by any factor.

#include "tools/heddle/tune_statistics.h"

#include <algorithm>
#include <cmath>

namespace heddle::cli {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1)
    return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double signTest(unsigned wins, unsigned losses) {
  const double n = wins + losses;
  // Sum of n choose k for k from |wins| to n, over 2^n; by logarithms, since both overflow.
  double probability = 0;
  for (unsigned count = wins; count <= wins + losses; ++count) {
    const double k = count;
    probability += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) - n * std::log(2.0));
  }
  return std::min(probability, 1.0);
}

Comparison compare(const std::vector<double> &ratios) {
  const auto wins = std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio < 1; });
  const auto losses = std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio > 1; });
  return {median(ratios), signTest(static_cast<unsigned>(wins), static_cast<unsigned>(losses)),
          static_cast<unsigned>(ratios.size())};
}

bool isProven(const Comparison &comparison, double bound) {
  return comparison.pairs >= kLeastPairs && comparison.medianRatio < bound && comparison.probability < 0.01;
}

} // namespace heddle::cli
