// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain tables.

#include "tools/heddle/table.h"

#include <algorithm>

namespace heddle::cli {

Table::Table(std::vector<std::string> columnTitles) : titles(std::move(columnTitles)) {
  for (std::string &title : titles) {
    flushLeft.push_back(!title.empty() && title[0] == '<');
    if (flushLeft.back())
      title.erase(0, 1);
  }
}

std::string Table::aligned() const {
  std::vector<size_t> widths;
  for (size_t column = 0; column < titles.size(); ++column) {
    widths.push_back(titles[column].size());
    for (const auto &row : rows)
      widths[column] = std::max(widths[column], row[column].size());
  }
  std::string out;
  auto addLine = [&](const std::vector<std::string> &cells) {
    std::string line;
    for (size_t column = 0; column < cells.size(); ++column) {
      std::string padding(widths[column] - cells[column].size(), ' ');
      line += (column ? "  " : "") + (flushLeft[column] ? cells[column] + padding : padding + cells[column]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  addLine(titles);
  for (const auto &row : rows)
    addLine(row);
  return out;
}

static std::string quoted(const std::string &cell) {
  if (cell.find_first_of(",\"\n\r") == std::string::npos)
    return cell;
  std::string text = "\"";
  for (char c : cell)
    text.append(c == '"' ? 2 : 1, c);
  return text + "\"";
}

std::string Table::csv() const {
  std::string out;
  auto addLine = [&](const std::vector<std::string> &cells) {
    for (size_t column = 0; column < cells.size(); ++column)
      out += (column ? "," : "") + quoted(cells[column]);
    out += "\n";
  };
  addLine(titles);
  for (const auto &row : rows)
    addLine(row);
  return out;
}

} // namespace heddle::cli
