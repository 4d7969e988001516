// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a dispatch takes at the machine's roofline, and which limit that is.

#pragma once

#include "tools/heddle/measure.h"
#include "tools/heddle/roofline.h"

#include <optional>
#include <vector>

namespace heddle::cli {

/// What a dispatch takes at least.
struct Limit {
  double computeSeconds;
  double readSeconds; ///< to move its bytes
  Level level;        ///< that they come from

  double seconds() const;
};

/// The limits of one program's dispatches at one shape, on one device.
class Limits {
public:
  /// |allBytes| of data that a run goes through, weights and intermediate results.
  Limits(const Roofline &roofline, uint64_t allBytes) : roofline(roofline), allBytes(allBytes) {}

  Limit of(const DispatchCost &cost) const;
  /// Seconds that the dispatches take one after the other.
  double leastSeconds(const std::vector<DispatchCost> &costs) const;

private:
  Roofline roofline;
  uint64_t allBytes;
};

/// The limits of a run of |loaded| by |plan|, on the device of |roofline|. None for a program of bf16 products, which
/// have a peak of their own that isn't measured.
std::optional<Limits> limitsOf(const Roofline &roofline, const LoadedProgram &loaded, const heddle_plan_info_t &plan);

/// Adds up dispatches and says what most of their least time is for.
class BoundFinder {
public:
  void add(const Limit &limit);
  double leastSeconds() const;
  /// "compute", "L1", "L2", "L3", "cache", "DRAM", or "latency" where no limit explains even a quarter of |seconds|.
  const char *boundOf(double seconds) const;

private:
  double compute = 0, levels[kLevels] = {};
};

} // namespace heddle::cli
