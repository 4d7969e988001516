// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timing of runs, for `heddle bench`.

#pragma once

#include "tools/heddle/program.h"

#include <string>
#include <vector>

namespace heddle::cli {

/// What a dispatch takes, as the artifact states it for the shape.
struct DispatchCost {
  std::string root;
  int64_t flops, bytes;
  bool multipliesBytes; ///< products of bytes, which have a peak of their own
};

/// The times of one artifact at one shape, in microseconds.
struct Measurement {
  std::vector<double> samples; ///< in the order of the runs
  double min, p50, p90, p99, max;
  heddle_plan_info_t plan;
  std::vector<DispatchCost> dispatches;
};

/// Warms up for a tenth of |seconds|, then measures runs one by one for |seconds|; at least 3 and 10 runs.
Measurement measure(const LoadedProgram &loaded, const std::vector<const heddle_tensor_t *> &inputs, double seconds);

/// The nearest-rank percentile, 0 < |percent| <= 100, of sorted samples.
double percentile(const std::vector<double> &sorted, double percent);

} // namespace heddle::cli
