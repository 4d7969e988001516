// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one core can do at most, measured beside what it does: benches alternate short windows of this loop with their
// own, so that a busy neighbour or a changed clock hits both alike.

#pragma once

#include <functional>

namespace heddle::conformance {

double seconds_of(const std::function<void()> &action);

/// Operations per second of one window (about 0.1 ms) of fused multiply-adds, counted as two, on 512 or 256 bits.
double measure_fma_peak(bool is_wide);

} // namespace heddle::conformance
