// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the fastest of many candidates by successive halving: all are measured a little, the better half twice as much,
// and so on. Every measurement is a pair with the baseline, so that a busy machine disturbs both.

#pragma once

#include "tools/heddle/tune_statistics.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace heddle::cli {

/// Where the search has its measurements from: a device, a journal, or a test's simulation.
class PairSource {
public:
  virtual ~PairSource() = default;

  /// The ratio of |candidate|'s time by the baseline's from one further pair. Nothing if the candidate is out: it
  /// crashed, or it computes something else.
  virtual std::optional<double> measure(size_t candidate, bool baselineFirst) = 0;

  /// Seconds that are left; a pair that has begun may take longer. At most 0: stop, and take nothing more.
  virtual double secondsLeft() = 0;

  /// Seconds that a further pair takes, about; 0 before the first. What a candidate's first one needs beside, to load
  /// it and to check it, doesn't count, and neither do pairs that take no time.
  virtual double secondsAPair() = 0;

  /// Told of the lowest median so far when it changes.
  virtual void tellBest(double) {}
};

/// The candidate that was proven faster, and by how much.
struct Win {
  size_t candidate;
  Comparison proof;
};

/// What a search came to.
struct SearchResult {
  std::optional<Win> win; ///< nothing: none was proven faster
  bool ranOut = false;    ///< there may be one: time ended before all were measured, or before the proof
};

/// How often the candidates that are left have been measured after round |round|, 0, 1, ...
size_t pairsAfterRound(size_t round);

/// Searches candidates 1 to |count| - 1 for one that is faster than candidate 0. The likely ones come first: the last
/// ones aren't measured where time is short. The proof's pairs are its own: those that a candidate was chosen by
/// flatter it.
SearchResult findFastest(size_t count, PairSource &source);

} // namespace heddle::cli
