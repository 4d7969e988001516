// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run as a trace for Perfetto (ui.perfetto.dev) and chrome://tracing.

#pragma once

#include "tools/heddle/profiling.h"

#include <string>

namespace heddle::cli {

/// The traced run of |profile| as Chrome's trace JSON: a track for each thread, or for the caller and the device where
/// |device| is none of the CPU's, spans named by the model's nodes. |title| names the process.
std::string traceJson(const Profile &profile, const std::string &title, const std::string &device);

} // namespace heddle::cli
