// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timing of runs.

#include "tools/heddle/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>

namespace heddle::cli {

namespace {

using Clock = std::chrono::steady_clock;

int64_t nanosecondsNow() { return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count(); }

} // namespace

double percentile(const std::vector<double> &sorted, double percent) {
  size_t rank = static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

TimedSession::TimedSession(const LoadedProgram &loaded, std::vector<const heddle_tensor_t *> inputs)
    : loaded(loaded), inputs(std::move(inputs)), outputs(loaded.entry().output_count) {
  heddle_session_t *made = nullptr;
  check(heddle_session_create(loaded.program.get(), &made), loaded.context());
  session.reset(made);
  run();
  loaded.tellNotes();
  for (heddle_tensor_t *output : outputs)
    outputOwners.emplace_back(output);
}

double TimedSession::run() {
  began = nanosecondsNow();
  heddle_status_t status =
      heddle_session_run(session.get(), nullptr, inputs.data(), inputs.size(), outputs.data(), outputs.size());
  ended = nanosecondsNow();
  check(status, loaded.context());
  return static_cast<double>(ended - began) * 1e-3;
}

void TimedSession::runFor(double seconds, size_t leastRuns, const std::function<void(double)> &each) {
  Clock::time_point start = Clock::now();
  for (size_t i = 0; i < leastRuns || std::chrono::duration<double>(Clock::now() - start).count() < seconds; ++i)
    each(run());
}

std::vector<DispatchCost> TimedSession::costs() {
  std::vector<DispatchCost> result;
  auto noteCost = [](void *user, const heddle_dispatch_info_t *dispatch) {
    // Names say what is multiplied.
    std::string_view kernel = dispatch->kernel;
    bool multipliesBytes = kernel.rfind("u8s8_", 0) == 0 || kernel.rfind("s8s8_", 0) == 0;
    static_cast<std::vector<DispatchCost> *>(user)->push_back(
        {dispatch->kernel,
         dispatch->root,
         {dispatch->nodes, dispatch->nodes + dispatch->node_count},
         dispatch->flops,
         dispatch->bytes,
         multipliesBytes,
         {dispatch->paths, dispatch->paths + dispatch->node_count}});
  };
  heddle_session_set_observer(session.get(), noteCost, &result);
  run();
  heddle_session_set_observer(session.get(), nullptr, nullptr);
  return result;
}

heddle_plan_info_t planOf(const LoadedProgram &loaded, const std::vector<const heddle_tensor_t *> &inputs) {
  heddle_plan_info_t plan = {};
  check(heddle_program_plan(loaded.program.get(), nullptr, inputs.data(), inputs.size(), &plan), loaded.context());
  return plan;
}

Measurement measure(const LoadedProgram &loaded, const std::vector<const heddle_tensor_t *> &inputs, double seconds) {
  TimedSession session(loaded, inputs);
  Measurement result = {};
  result.warmUpRuns = 1;
  session.runFor(seconds / 10, 3, [&](double) { ++result.warmUpRuns; });
  session.runFor(seconds, 10, [&](double microseconds) { result.samples.push_back(microseconds); });
  std::vector<double> sorted = result.samples;
  std::sort(sorted.begin(), sorted.end());
  result.min = sorted.front();
  result.p50 = percentile(sorted, 50);
  result.p90 = percentile(sorted, 90);
  result.p99 = percentile(sorted, 99);
  result.max = sorted.back();
  result.plan = planOf(loaded, inputs);
  // After all runs that are timed.
  result.dispatches = session.costs();
  return result;
}

} // namespace heddle::cli
