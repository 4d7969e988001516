// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures pairs in a child process, one at a parent's request: two candidates of a kernel, or two artifacts of a
// model.

#pragma once

#include "tools/heddle/child_process.h"
#include "tools/heddle/program.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle::cli {

/// What is measured, in the child. |row| counts kernels or shapes, |candidate| what is compared with the baseline.
class PairBench {
public:
  virtual ~PairBench() = default;

  /// "" if |candidate| computes what the baseline does, else how it differs.
  virtual std::string check(size_t row, size_t candidate) = 0;
  /// The ratio of their times.
  virtual double measure(size_t row, size_t candidate, bool baselineFirst) = 0;
};

/// Candidates of an artifact for measurements; row and candidate are its indices.
std::unique_ptr<PairBench> makeCandidateBench(const std::string &artifact, const ExecutionOptions &execution);

/// Two artifacts of a model, the second being candidate 1; row r has inputs of |shapes|[r].
std::unique_ptr<PairBench> makeModelBench(const std::string &baseline, const std::string &candidate,
                                          const std::vector<std::vector<std::string>> &shapes,
                                          const ExecutionOptions &execution);

/// The parent's side. A child is started when it is first needed, and again after one has died.
class PairServer {
public:
  explicit PairServer(std::function<std::unique_ptr<PairBench>()> makeBench) : makeBench(std::move(makeBench)) {}

  /// Nothing if all is well, else why |candidate| can't be used: it crashes, or it computes something else. Throws what
  /// the making of the bench throws.
  std::optional<std::string> check(size_t row, size_t candidate);
  /// The ratio of the times; nothing, and in |failure| the reason, if |candidate| crashes.
  std::optional<double> measure(size_t row, size_t candidate, bool baselineFirst, std::string &failure);

private:
  void start();
  std::optional<std::string> ask(const std::string &request, std::string &failure);

  std::function<std::unique_ptr<PairBench>()> makeBench;
  std::optional<Child> child;
};

} // namespace heddle::cli
