// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text helpers. std::from_chars and snprintf only, so that no locale changes what is read or printed.

#include "tools/heddle/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace heddle::cli {

std::string join(const std::vector<std::string> &parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i)
      text += separator;
    text += parts[i];
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t end; (end = text.find(separator)) != std::string_view::npos; text.remove_prefix(end + 1))
    parts.push_back(text.substr(0, end));
  parts.push_back(text);
  return parts;
}

std::vector<std::string_view> splitLines(std::string_view text) {
  std::vector<std::string_view> lines = split(text, '\n');
  if (lines.back().empty())
    lines.pop_back();
  return lines;
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (char &c : out)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f)
      c = '?';
  return out;
}

std::string_view trim(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::string lowered(std::string_view text) {
  std::string result(text);
  for (char &c : result)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return result;
}

bool startsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

bool endsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

size_t editDistance(std::string_view a, std::string_view b) {
  // Optimal string alignment: rows i-2, i-1 and i of the table over prefixes of |a| and |b|.
  std::vector<size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substitution = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        current[j] = std::min(current[j], before[j - 2] + 1);
    }
    before.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

std::string nearestName(std::string_view given, const std::vector<std::string> &known) {
  // Names longer than this are no typing mistakes, and the distance costs their product.
  constexpr size_t longest = 256;
  std::string best;
  size_t bestDistance = std::max<size_t>(given.size() / 3, 1) + 1;
  for (const std::string &name : known) {
    if (given.size() > longest || name.size() > longest)
      continue;
    size_t distance = editDistance(lowered(given), lowered(name));
    if (distance < bestDistance && distance < name.size()) {
      bestDistance = distance;
      best = name;
    }
  }
  return best;
}

std::optional<int64_t> parseCount(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || text.front() == '-')
    return std::nullopt;
  return value;
}

std::string formatBytes(uint64_t bytes) {
  if (bytes < 1000)
    return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  const char *units[] = {"kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  while (value >= 999.95 && unit + 1 < std::size(units)) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, units[unit]);
  return text;
}

std::string formatNumber(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

std::string formatFixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return std::isfinite(value) ? text : "-";
}

std::string formatShape(const std::vector<int64_t> &dims) {
  std::string text;
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? "x" : "") + std::to_string(dims[i]);
  return text;
}

} // namespace heddle::cli
