// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timing of runs, for `heddle bench` and `heddle profile`.

#pragma once

#include "tools/heddle/program.h"

#include <functional>
#include <string>
#include <vector>

namespace heddle::cli {

/// What a dispatch takes, as the artifact states it for the shape.
struct DispatchCost {
  std::string kernel, root;
  std::vector<std::string> nodes; ///< of the model, that it computes
  int64_t flops, bytes;
  bool multipliesBytes; ///< products of bytes, which have a peak of their own
  /// For each node the path of the modules that it comes from, "" where the model file doesn't tell.
  std::vector<std::string> paths = {};
};

/// A session whose outputs are made by its first run and written in place by the others, which then allocate nothing:
/// what is timed is what a service that keeps its tensors would see. |loaded| and the inputs outlive it.
class TimedSession {
public:
  /// Runs once.
  TimedSession(const LoadedProgram &loaded, std::vector<const heddle_tensor_t *> inputs);

  /// Microseconds of a run.
  double run();
  /// Runs for |seconds|, at least |leastRuns| times, and tells |each| the microseconds of each run.
  void runFor(double seconds, size_t leastRuns, const std::function<void(double)> &each);
  /// What each dispatch takes. Observes a run of its own, which costs.
  std::vector<DispatchCost> costs();

  heddle_session_t *get() const { return session.get(); }
  /// The last run on CLOCK_MONOTONIC, in nanoseconds.
  int64_t beginNanoseconds() const { return began; }
  int64_t endNanoseconds() const { return ended; }

private:
  const LoadedProgram &loaded;
  std::vector<const heddle_tensor_t *> inputs;
  SessionPtr session;
  std::vector<heddle_tensor_t *> outputs;
  std::vector<TensorPtr> outputOwners;
  int64_t began = 0, ended = 0;
};

/// The times of one artifact at one shape, in microseconds.
struct Measurement {
  size_t warmUpRuns;
  std::vector<double> samples; ///< in the order of the runs
  double min, p50, p90, p99, max;
  heddle_plan_info_t plan;
  std::vector<DispatchCost> dispatches;
};

/// Warms up for a tenth of |seconds|, then measures runs one by one for |seconds|; at least 3 and 10 runs.
Measurement measure(const LoadedProgram &loaded, const std::vector<const heddle_tensor_t *> &inputs, double seconds);

/// What one run takes, by the plan.
heddle_plan_info_t planOf(const LoadedProgram &loaded, const std::vector<const heddle_tensor_t *> &inputs);

/// The nearest-rank percentile, 0 < |percent| <= 100, of sorted samples.
double percentile(const std::vector<double> &sorted, double percent);

} // namespace heddle::cli
