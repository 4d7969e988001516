// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Progress of long work on standard error: on a terminal one line that is rewritten, elsewhere a line for each phase.

#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace heddle::cli {

/// One piece of work, told of its phases from one thread.
class Progress {
public:
  Progress();

  /// |done| of |total| units of |phase|; with a |total| of 0 |phase| is a line to show as it is.
  void update(const std::string &phase, size_t done, size_t total);

  /// Shows |text| where there is a terminal, and elsewhere if it |isStep|.
  void show(const std::string &text, bool isStep);

  /// Clears the line that a terminal shows.
  void finish();

private:
  void write(const std::string &text, bool isAtOnce);

  bool isTerminal;
  bool lineIsShown = false;
  std::string currentPhase;
  std::chrono::steady_clock::time_point phaseStart, lastShown;
};

/// "codegen 31/48 kernels, 12 s left"; |seconds| have passed in this phase.
std::string progressText(const std::string &phase, size_t done, size_t total, double seconds);

} // namespace heddle::cli
