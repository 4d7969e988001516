// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times and compares entry points. Outputs are written in place, so that nothing is allocated while a clock runs.

#include "tools/heddle/inputs.h"
#include "tools/heddle/text.h"
#include "tools/heddle/tune_server.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <heddle/candidates.h>

namespace heddle::cli {

namespace {

/// Shorter timings see the clock and the waking of threads rather than the kernel.
constexpr double kLeastSeconds = 3e-3;

using Tensors = std::vector<TensorPtr>;

std::vector<const heddle_tensor_t *> pointersTo(const Tensors &tensors) {
  std::vector<const heddle_tensor_t *> pointers;
  for (const TensorPtr &tensor : tensors)
    pointers.push_back(tensor.get());
  return pointers;
}

SessionPtr createSession(const LoadedProgram &loaded) {
  heddle_session_t *session = nullptr;
  check(heddle_session_create(loaded.program.get(), &session), loaded.context());
  return SessionPtr(session);
}

/// An entry point with its inputs.
struct Work {
  const LoadedProgram *loaded;
  heddle_session_t *session;
  const char *entry;
  const Tensors *inputs;
  std::vector<heddle_tensor_t *> outputs; ///< null: the run makes them

  void run() {
    const std::vector<const heddle_tensor_t *> given = pointersTo(*inputs);
    check(heddle_session_run(session, entry, given.data(), given.size(), outputs.data(), outputs.size()),
          loaded->context());
  }

  double secondsOf(size_t runs) {
    const auto start = std::chrono::steady_clock::now();
    for (size_t i = 0; i < runs; ++i)
      run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
};

size_t runsFor(double seconds) {
  return static_cast<size_t>(std::clamp(std::ceil(kLeastSeconds / seconds), 1.0, 1000.0));
}

double ratioOf(Work &baseline, Work &candidate, size_t runs, bool baselineFirst) {
  Work &first = baselineFirst ? baseline : candidate, &second = baselineFirst ? candidate : baseline;
  // Threads may have gone to sleep since the last pair; what runs long doesn't feel it.
  if (runs > 1)
    first.run();
  const double firstSeconds = first.secondsOf(runs), secondSeconds = second.secondsOf(runs);
  return baselineFirst ? secondSeconds / firstSeconds : firstSeconds / secondSeconds;
}

bool haveSameBits(const Tensors &a, const Tensors &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const TensorPtr &x, const TensorPtr &y) {
    return heddle_tensor_byte_length(x.get()) == heddle_tensor_byte_length(y.get()) &&
           std::memcmp(heddle_tensor_data(x.get()), heddle_tensor_data(y.get()), heddle_tensor_byte_length(x.get())) ==
               0;
  });
}

class CandidateBench : public PairBench {
public:
  CandidateBench(const std::string &artifact, const ExecutionOptions &execution)
      : loaded(loadProgram(artifact, execution)), session(createSession(loaded)) {}

  std::string check(size_t row, size_t candidate) override {
    enter(row);
    if (group->has_expected)
      if (double difference = differenceOf(candidate); !(difference <= 1))
        return "its results differ from the reference's by " + formatNumber(difference, 3) + " times what is allowed";
    if (!haveSameBits(outputsOf(candidate, timing), expected))
      return "its results differ from those of the configuration that is there";
    return {};
  }

  double measure(size_t row, size_t candidate, bool baselineFirst) override {
    enter(row);
    Work baseline = workOf(0), other = workOf(candidate);
    return ratioOf(baseline, other, runs, baselineFirst);
  }

private:
  /// Makes what the measurements of a group share.
  void enter(size_t row) {
    if (group && row == entered)
      return;
    entered = row;
    group = heddle_candidate_group(loaded.program.get(), row);
    timing = inputsFor(HEDDLE_CANDIDATE_TIMING);
    outputs = outputsOf(0, timing);
    expected = outputsOf(0, timing);
    runs = runsFor(workOf(0).secondsOf(1));
  }

  Tensors inputsFor(heddle_candidate_case_t kind) const {
    std::vector<heddle_tensor_t *> made(group->input_count);
    heddle::cli::check(heddle_candidate_inputs_create(loaded.program.get(), entered, kind, made.data(), made.size()),
                       loaded.context());
    return {made.begin(), made.end()};
  }

  /// New outputs of one run. A kernel needn't write all of its result, another one may have the rest: so it is run
  /// again over zeros.
  Tensors outputsOf(size_t candidate, const Tensors &inputs) const {
    Work work{&loaded, session.get(), group->candidates[candidate].entry, &inputs,
              std::vector<heddle_tensor_t *>(group->output_count)};
    work.run();
    for (heddle_tensor_t *output : work.outputs)
      std::memset(heddle_tensor_data(output), 0, heddle_tensor_byte_length(output));
    work.run();
    return {work.outputs.begin(), work.outputs.end()};
  }

  Work workOf(size_t candidate) const {
    Work work{&loaded, session.get(), group->candidates[candidate].entry, &timing, {}};
    for (const TensorPtr &output : outputs)
      work.outputs.push_back(output.get());
    return work;
  }

  double differenceOf(size_t candidate) const {
    const Tensors inputs = inputsFor(HEDDLE_CANDIDATE_CHECK);
    const Tensors made = outputsOf(candidate, inputs);
    double difference = 0;
    heddle::cli::check(
        heddle_candidate_compare(loaded.program.get(), entered, pointersTo(made).data(), made.size(), &difference),
        loaded.context());
    return difference;
  }

  LoadedProgram loaded;
  SessionPtr session;
  size_t entered = 0;
  const heddle_candidate_group_t *group = nullptr;
  Tensors timing, outputs, expected; ///< of the entered group; |expected| are the baseline's
  size_t runs = 1;
};

class ModelBench : public PairBench {
public:
  ModelBench(const std::string &baseline, const std::string &candidate,
             const std::vector<std::vector<std::string>> &shapes, const ExecutionOptions &execution)
      : programs{loadProgram(baseline, execution), loadProgram(candidate, execution)},
        sessions{createSession(programs[0]), createSession(programs[1])} {
    for (const std::vector<std::string> &shape : shapes) {
      Row &row = rows.emplace_back();
      row.inputs = prepareInputs(programs[0].entry(), {}, shape, Missing::Generate, defaultInputs(programs[0])).tensors;
      for (size_t side : {0, 1})
        row.outputs[side] = outputsOf(side, row.inputs);
      row.runs = runsFor(workOf(row, 0).secondsOf(1));
    }
  }

  std::string check(size_t row, size_t) override {
    return haveSameBits(rows[row].outputs[0], rows[row].outputs[1]) ? "" : "the model's results differ";
  }

  double measure(size_t row, size_t, bool baselineFirst) override {
    Work baseline = workOf(rows[row], 0), candidate = workOf(rows[row], 1);
    return ratioOf(baseline, candidate, rows[row].runs, baselineFirst);
  }

private:
  struct Row {
    Tensors inputs, outputs[2];
    size_t runs = 1;
  };

  Tensors outputsOf(size_t side, const Tensors &inputs) const {
    Work work{&programs[side], sessions[side].get(), nullptr, &inputs,
              std::vector<heddle_tensor_t *>(programs[side].entry().output_count)};
    work.run();
    return {work.outputs.begin(), work.outputs.end()};
  }

  Work workOf(const Row &row, size_t side) const {
    Work work{&programs[side], sessions[side].get(), nullptr, &row.inputs, {}};
    for (const TensorPtr &output : row.outputs[side])
      work.outputs.push_back(output.get());
    return work;
  }

  LoadedProgram programs[2];
  SessionPtr sessions[2];
  std::vector<Row> rows;
};

} // namespace

std::unique_ptr<PairBench> makeCandidateBench(const std::string &artifact, const ExecutionOptions &execution) {
  return std::make_unique<CandidateBench>(artifact, execution);
}

std::unique_ptr<PairBench> makeModelBench(const std::string &baseline, const std::string &candidate,
                                          const std::vector<std::vector<std::string>> &shapes,
                                          const ExecutionOptions &execution) {
  return std::make_unique<ModelBench>(baseline, candidate, shapes, execution);
}

} // namespace heddle::cli
