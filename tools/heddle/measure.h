// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timing of runs, for `heddle bench`.

#pragma once

#include "tools/heddle/program.h"

#include <vector>

namespace heddle::cli {

/// The times of one artifact at one shape, in microseconds.
struct Measurement {
  std::vector<double> samples; ///< in the order of the runs
  double min, p50, p90, p99, max;
  heddle_plan_info_t plan;
};

/// Warms up for a tenth of |seconds|, then measures runs one by one for |seconds|; at least 3 and 10 runs.
Measurement measure(const LoadedProgram &loaded, const std::vector<const heddle_tensor_t *> &inputs, double seconds);

/// The nearest-rank percentile, 0 < |percent| <= 100, of sorted samples.
double percentile(const std::vector<double> &sorted, double percent);

} // namespace heddle::cli
