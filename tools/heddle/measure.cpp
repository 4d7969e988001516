// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timing of runs. Outputs are made by the first run and written in place by the others, which then allocate nothing:
// what is timed is what a service that keeps its tensors would see.

#include "tools/heddle/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>

namespace heddle::cli {

double percentile(const std::vector<double> &sorted, double percent) {
  size_t rank = static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

Measurement measure(const LoadedProgram &loaded, const std::vector<const heddle_tensor_t *> &inputs, double seconds) {
  using Clock = std::chrono::steady_clock;
  heddle_session_t *session = nullptr;
  check(heddle_session_create(loaded.program.get(), &session), loaded.context());
  SessionPtr owner(session);
  std::vector<heddle_tensor_t *> outputs(loaded.entry().output_count);
  std::vector<TensorPtr> outputOwners;
  auto runMicroseconds = [&] {
    Clock::time_point start = Clock::now();
    heddle_status_t status =
        heddle_session_run(session, nullptr, inputs.data(), inputs.size(), outputs.data(), outputs.size());
    double microseconds = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    check(status, loaded.context());
    return microseconds;
  };
  auto runFor = [&](double duration, size_t leastRuns, std::vector<double> &samples) {
    Clock::time_point start = Clock::now();
    while (samples.size() < leastRuns || std::chrono::duration<double>(Clock::now() - start).count() < duration)
      samples.push_back(runMicroseconds());
  };

  runMicroseconds();
  loaded.tellNotes();
  for (heddle_tensor_t *output : outputs)
    outputOwners.emplace_back(output);
  std::vector<double> warmUp;
  runFor(seconds / 10, 3, warmUp);

  Measurement result = {};
  runFor(seconds, 10, result.samples);
  std::vector<double> sorted = result.samples;
  std::sort(sorted.begin(), sorted.end());
  result.min = sorted.front();
  result.p50 = percentile(sorted, 50);
  result.p90 = percentile(sorted, 90);
  result.p99 = percentile(sorted, 99);
  result.max = sorted.back();
  check(heddle_program_plan(loaded.program.get(), nullptr, inputs.data(), inputs.size(), &result.plan),
        loaded.context());
  auto noteCost = [](void *user, const heddle_dispatch_info_t *dispatch) {
    // Names say what is multiplied.
    std::string_view kernel = dispatch->kernel;
    bool multipliesBytes = kernel.rfind("u8s8_", 0) == 0 || kernel.rfind("s8s8_", 0) == 0;
    static_cast<Measurement *>(user)->dispatches.push_back(
        {dispatch->root, dispatch->flops, dispatch->bytes, multipliesBytes});
  };
  // A run of its own, after all that are timed: observing costs.
  heddle_session_set_observer(session, noteCost, &result);
  runMicroseconds();
  return result;
}

} // namespace heddle::cli
