// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spans of time as people write them: 90s, 10m, 1h30m.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heddle::cli {

/// Seconds of "90s", "10m", "1h30m", or of a plain number; nothing for what is no span above 0.
std::optional<double> parseDuration(std::string_view text);

/// "4m12s", "12s", "1h05m"; parts of seconds are cut off.
std::string formatDuration(double seconds);

} // namespace heddle::cli
