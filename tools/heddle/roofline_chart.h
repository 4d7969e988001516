// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profile as a roofline chart: kernels as points under the device's measured limits.

#pragma once

#include "tools/heddle/profiling.h"

#include <string>

namespace heddle::cli {

/// A self-contained SVG with logarithmic axes: operations a byte, GFLOP/s. Points are the rows of |rows| that compute
/// something, the larger the more time they take; below are the names of the first ones. |title| heads the chart.
std::string rooflineChart(const ProfileRows &rows, const Roofline &roofline, const std::string &title);

} // namespace heddle::cli
