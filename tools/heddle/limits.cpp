// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits of dispatches.

#include "tools/heddle/limits.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace heddle::cli {

namespace {

/// Of the time that a limit must explain to be called the one that binds.
constexpr double kExplained = 0.25;

} // namespace

double Limit::seconds() const { return std::max(computeSeconds, readSeconds); }

std::optional<Limits> limitsOf(const Roofline &roofline, const LoadedProgram &loaded, const heddle_plan_info_t &plan) {
  for (size_t i = 0; i < loaded.info().option_count; ++i)
    if (loaded.info().options[i].key == std::string_view("precision"))
      return std::nullopt;
  return Limits(roofline, loaded.info().constant_bytes + static_cast<uint64_t>(plan.arena_bytes));
}

Limit Limits::of(const DispatchCost &cost) const {
  // Products read weights, which come from the level that holds all the run's data: each layer evicts the one before.
  // Other kernels read what was written just before them.
  uint64_t footprint = cost.root == "contract" ? allBytes : static_cast<uint64_t>(cost.bytes);
  Arithmetic arithmetic = cost.multipliesBytes ? Arithmetic::Bytes : Arithmetic::Floats;
  return {static_cast<double>(cost.flops) / roofline.rateOf(arithmetic),
          static_cast<double>(cost.bytes) / roofline.bandwidthFor(footprint), roofline.levelFor(footprint)};
}

double Limits::leastSeconds(const std::vector<DispatchCost> &costs) const {
  return std::accumulate(costs.begin(), costs.end(), 0.0,
                         [this](double sum, const DispatchCost &cost) { return sum + of(cost).seconds(); });
}

void BoundFinder::add(const Limit &limit) {
  (limit.computeSeconds >= limit.readSeconds ? compute : levels[static_cast<int>(limit.level)]) += limit.seconds();
}

double BoundFinder::leastSeconds() const { return std::accumulate(std::begin(levels), std::end(levels), compute); }

const char *BoundFinder::boundOf(double seconds) const {
  if (leastSeconds() < kExplained * seconds)
    return "latency";
  const double *most = std::max_element(std::begin(levels), std::end(levels));
  return compute >= *most ? "compute" : levelName(static_cast<Level>(most - levels));
}

} // namespace heddle::cli
