// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of tuning: text, a JSON object a line, which says which configuration of a kernel was the fastest on a device.
// Files are sorted, so that two of them differ in the lines that differ, and can be merged by concatenation.

#pragma once

#include "tools/heddle/json_value.h"

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace heddle::cli {

/// One line. |device| and |config| are JSON in its one text (JsonValue::line).
struct TuningEntry {
  std::string device, signature, rows, config;
  double ratio; ///< median of the time by that of the configuration that was there before
  int64_t pairs;
  std::string producer;

  std::string line() const;
};

class TuningLines {
public:
  /// Adds the lines of the file at |path|, over those for the same kernel on the same device. Lines that aren't
  /// understood are left out, each with a sentence in |remarks|. Throws if the file can't be read.
  void read(const std::string &path, std::vector<std::string> &remarks);

  void add(TuningEntry entry);

  size_t size() const { return entries.size(); }
  /// All lines, sorted by device, signature and rows.
  std::string text() const;
  /// Puts the file there whole, or throws and leaves the old one.
  void write(const std::string &path) const;

private:
  std::map<std::tuple<std::string, std::string, std::string>, TuningEntry> entries;
};

/// The entry that |line| is; else nothing, and |reason| says why.
std::optional<TuningEntry> parseTuningLine(std::string_view line, std::string &reason);

} // namespace heddle::cli
