// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of an artifact with the time of each dispatch, and what they add up to: rows by kernel or by layer.

#pragma once

#include "tools/heddle/limits.h"

#include <string>
#include <vector>

namespace heddle::cli {

/// One run with the spans of its threads. Nanoseconds of CLOCK_MONOTONIC.
struct TracedRun {
  int64_t begin, end;
  std::vector<heddle_span_t> spans;
};

/// All times are in microseconds.
struct Profile {
  std::vector<DispatchCost> dispatches;
  std::vector<double> walls;              ///< of each run
  std::vector<std::vector<double>> times; ///< of each run, of each dispatch: while some thread was at it
  TracedRun traced;                       ///< of some further runs the one whose time is nearest the median
  heddle_plan_info_t plan;

  double medianWall() const;
};

/// Warms up for a tenth of |seconds|, then runs for |seconds|; at least 3 and 10 runs.
Profile takeProfile(const LoadedProgram &loaded, const std::vector<const heddle_tensor_t *> &inputs, double seconds);

enum class ProfileBy { Kernel, Layer };

struct ProfileRow {
  std::string name; ///< of the kernel or layer; "" for nodes outside of all layers
  std::string root; ///< of the kernel; "" for a layer
  std::vector<std::string> nodes;
  size_t dispatches = 0;
  double time = 0;   ///< microseconds a run
  double median = 0; ///< the same over all runs
  double share = 0;  ///< of the wall, 0 to 1
  double operations = 0, bytes = 0;
  double leastTime = 0;   ///< at the roofline; NaN where that isn't known
  std::string boundBy;    ///< as BoundFinder says; "" where it isn't known
  bool isRuntime = false; ///< what is no dispatch's: checks, hand-over to threads or device, copies, transfers

  double gflops() const { return operations / time / 1e3; }
  double gbs() const { return bytes / time / 1e3; }
  double percentOfRoofline() const { return 100 * leastTime / time; }
};

/// Rows that add up. Kernels come by time, layers in the model's order; the runtime's row comes last.
struct ProfileRows {
  double wall; ///< microseconds a run: the sum of all rows
  std::vector<ProfileRow> rows;
};

/// |limits| is null where nothing is known of the device's. Times are means over the half of the runs in the middle by
/// their wall: so they add up, as medians don't, and a neighbour's turn disturbs neither.
ProfileRows rowsOf(const Profile &profile, ProfileBy by, const Limits *limits);

/// Microseconds during which some thread was at each of |dispatches| dispatches.
std::vector<double> dispatchTimes(std::vector<heddle_span_t> spans, size_t dispatches);

} // namespace heddle::cli
