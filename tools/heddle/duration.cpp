// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spans of time, to the second.

#include "tools/heddle/duration.h"

#include "tools/heddle/text.h"

#include <algorithm>
#include <cstdio>

namespace heddle::cli {

std::optional<double> parseDuration(std::string_view text) {
  constexpr int64_t most = 1'000'000; // hours; larger spans don't fit clocks
  double seconds = 0;
  std::string_view units = "hms";
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::optional<int64_t> count = parseCount(text.substr(0, end));
    const bool isPlain = end == text.size() && units == "hms";
    const size_t unit = isPlain ? 2 : end < text.size() ? units.find(text[end]) : std::string_view::npos;
    // Each unit once, the larger ones first.
    if (!count || *count > most || unit == std::string_view::npos)
      return std::nullopt;
    const char letter = isPlain ? 's' : units[unit];
    seconds += static_cast<double>(*count) * (letter == 'h' ? 3600 : letter == 'm' ? 60 : 1);
    units.remove_prefix(std::min(unit + 1, units.size()));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

std::string formatDuration(double seconds) {
  const long long whole = static_cast<long long>(std::max(seconds, 0.0));
  char text[48];
  if (whole < 60)
    std::snprintf(text, sizeof text, "%llds", whole);
  else if (whole < 3600)
    std::snprintf(text, sizeof text, "%lldm%02llds", whole / 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%lldh%02lldm", whole / 3600, whole / 60 % 60);
  return text;
}

} // namespace heddle::cli
