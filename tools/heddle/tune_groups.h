// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches the kernels of an artifact for measurements one after the other, those that take most time first.

#pragma once

#include "tools/heddle/interrupt.h"
#include "tools/heddle/program.h"
#include "tools/heddle/tune_journal.h"
#include "tools/heddle/tune_search.h"
#include "tools/heddle/tune_work.h"
#include "tools/heddle/tuning_lines.h"

#include <chrono>
#include <string>
#include <vector>

namespace heddle::cli {

/// Seconds of a clock that only goes forward.
class Stopwatch {
public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// What a search takes along.
struct GroupSearch {
  std::string artifact;
  ExecutionOptions execution;
  std::string device; ///< fingerprint
  TuneJournal *journal;
  const InterruptGuard *interrupt;
  double seconds; ///< for all kernels
};

/// What became of one kernel.
struct GroupResult {
  std::string signature, rows, node;
  double share;
  size_t candidates, failed;
  std::string config = {};              ///< of the winner
  std::optional<Comparison> proof = {}; ///< nothing: no gain
  bool ranOut = false;                  ///< with more time there might be one
  std::string problem = {};             ///< why it couldn't be measured; "" if it could
};

/// Throws if the artifact at |path| has no candidates.
void checkCandidates(const std::string &path);

/// Of all kernels, those that there was no time for included. Shows a live line.
std::vector<GroupResult> searchGroups(const GroupSearch &search);

/// The lines of a tuning file for those with a gain.
std::vector<TuningEntry> entriesOf(const std::vector<GroupResult> &results, const std::string &device);

/// How many of |results| more time might improve.
size_t countUnfinished(const std::vector<GroupResult> &results);

/// Ends a search of |results| for the user: says what a further run could still do, for which |folder| stays, or
/// removes |folder|.
void endSearch(const std::vector<GroupResult> &results, bool isInterrupted, const WorkFolder &folder);

/// A table for standard output.
std::string formatResults(const std::vector<GroupResult> &results);

/// "tune 3/8 kernels, best 0.91, 4m12s left".
std::string tuneLine(size_t kernel, size_t kernels, double best, double secondsLeft);

} // namespace heddle::cli
