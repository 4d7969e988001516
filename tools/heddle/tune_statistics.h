// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What pairs of timings prove. A pair is one run of each of two programs, right after each other, so that what else the
// machine does touches both; its ratio is the second's time by the first's.

#pragma once

#include <vector>

namespace heddle::cli {

/// The mean of the middle two where the count is even. Of at least one value.
double median(std::vector<double> values);

/// How probable it is that two equally fast programs come to |wins| or more out of |wins| + |losses| pairs: the exact
/// sign test, one-sided.
double signTest(unsigned wins, unsigned losses);

/// What ratios of pairs come to. Below 1 the second program is the faster one; pairs with ratio 1 say nothing.
struct Comparison {
  double medianRatio;
  double probability; ///< of so many wins by chance
  unsigned pairs;
};

Comparison compare(const std::vector<double> &ratios);

/// Whether |comparison| is a win: at least 15 pairs, a median ratio below |bound|, and chance below 1 %.
bool isProven(const Comparison &comparison, double bound);

constexpr unsigned kLeastPairs = 15;
/// What a candidate must reach to be taken over what is there.
constexpr double kKernelBound = 0.98;

} // namespace heddle::cli
