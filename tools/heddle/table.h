// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain tables for standard output: a line of column titles and rows, either aligned with blanks or as CSV.

#pragma once

#include <string>
#include <vector>

namespace heddle::cli {

class Table {
public:
  /// A title that starts with '<' makes its column flush left (the sign isn't shown); others are flush right.
  explicit Table(std::vector<std::string> titles);

  /// |cells| are as many as there are titles.
  void addRow(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }

  std::string aligned() const;
  /// RFC 4180, with plain line feeds.
  std::string csv() const;

private:
  std::vector<std::string> titles;
  std::vector<bool> flushLeft;
  std::vector<std::vector<std::string>> rows;
};

} // namespace heddle::cli
