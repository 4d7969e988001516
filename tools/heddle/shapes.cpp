// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes from the command line.

#include "tools/heddle/shapes.h"

#include "tools/heddle/text.h"

#include <algorithm>
#include <set>

namespace heddle::cli {

std::string listInputs(const heddle_entry_info_t &entry) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < entry.input_count; ++i) {
    const heddle_tensor_info_t &input = entry.inputs[i];
    parts.push_back(std::string(input.name) + " " + heddle_element_type_name(input.type) + describeDims(input));
  }
  return parts.empty() ? "it has no inputs" : "inputs: " + join(parts, ", ");
}

size_t findInput(const heddle_entry_info_t &entry, const std::string &name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < entry.input_count; ++i) {
    if (entry.inputs[i].name == name)
      return i;
    names.push_back(entry.inputs[i].name);
  }
  std::string nearest = nearestName(name, names);
  fail(Exit::Usage, "H0321", "there is no input '" + name + "'", {},
       (nearest.empty() ? "" : "did you mean '" + nearest + "'? ") + listInputs(entry));
}

static std::vector<int64_t> parseShape(std::string_view text, const std::string &argument) {
  std::vector<int64_t> dims;
  for (std::string_view part : split(text, 'x')) {
    std::optional<int64_t> dim = part.empty() ? std::nullopt : parseCount(part);
    if (!dim)
      fail(Exit::Usage, "H0324", "cannot understand the shape '" + argument + "'", {},
           "write --shape NAME=1x128, sizes separated by x");
    dims.push_back(*dim);
  }
  return dims;
}

void ShapeBindings::addArgument(const std::string &argument) {
  size_t equals = argument.rfind('=');
  if (equals == std::string::npos && entry.input_count != 1)
    fail(Exit::Usage, "H0324", "--shape " + argument + " names no input", {}, listInputs(entry));
  size_t index = equals == std::string::npos ? 0 : findInput(entry, argument.substr(0, equals));
  std::string_view text = std::string_view(argument).substr(equals == std::string::npos ? 0 : equals + 1);
  std::vector<int64_t> dims = parseShape(text, argument);

  const heddle_tensor_info_t &input = entry.inputs[index];
  bool fits = dims.size() == input.rank;
  for (size_t i = 0; fits && i < input.rank; ++i)
    fits = input.dims[i].value < 0 || input.dims[i].value == dims[i];
  if (!fits)
    fail(Exit::Usage, "H0324",
         "input '" + std::string(input.name) + "' expects shape " + describeDims(input) + ", got " + describeDims(dims),
         "in --shape " + argument);
  for (size_t i = 0; i < input.rank; ++i) {
    std::string symbol = input.dims[i].symbol;
    if (symbol.empty())
      continue;
    auto [bound, isNew] = symbols.emplace(symbol, dims[i]);
    if (!isNew && bound->second != dims[i])
      fail(Exit::Usage, "H0324",
           "dimension '" + symbol + "' is given as " + std::to_string(bound->second) + " and " +
               std::to_string(dims[i]),
           "in --shape " + argument, listInputs(entry));
  }
  shapes[index] = std::move(dims);
}

void ShapeBindings::addTensor(size_t index, const heddle_tensor_t *tensor) {
  const heddle_tensor_info_t &input = entry.inputs[index];
  std::vector<int64_t> dims = dimsOf(tensor);
  auto requested = shapes.find(index);
  if (requested != shapes.end() && requested->second != dims)
    fail(Exit::Usage, "H0324",
         "--shape gives '" + std::string(input.name) + "' as " + describeDims(requested->second) +
             ", but its tensor is " + describeDims(dims));
  for (size_t i = 0; i < std::min(input.rank, dims.size()); ++i)
    if (*input.dims[i].symbol)
      symbols.emplace(input.dims[i].symbol, dims[i]);
}

std::vector<int64_t> ShapeBindings::shapeOf(size_t index) const {
  if (auto found = shapes.find(index); found != shapes.end())
    return found->second;
  std::set<std::string> leading;
  int64_t batch = 1;
  for (size_t i = 0; i < entry.input_count; ++i) {
    if (entry.inputs[i].rank == 0)
      continue;
    auto bound = symbols.find(entry.inputs[i].dims[0].symbol);
    if (leading.insert(entry.inputs[i].dims[0].symbol).second && bound != symbols.end())
      batch = bound->second;
  }

  std::vector<int64_t> dims;
  const heddle_tensor_info_t &input = entry.inputs[index];
  for (size_t i = 0; i < input.rank; ++i) {
    std::string symbol = input.dims[i].symbol;
    auto bound = symbols.find(symbol);
    bool isBatch = symbol.empty() ? i == 0 : leading.count(symbol) != 0;
    dims.push_back(input.dims[i].value >= 0 ? input.dims[i].value
                   : bound != symbols.end() ? bound->second
                   : isBatch                ? batch
                                            : 128);
  }
  return dims;
}

std::vector<std::vector<std::string>> shapeRows(const std::vector<std::string> &arguments) {
  std::vector<std::vector<std::string>> rows(1);
  std::set<std::string> inRow;
  for (const std::string &argument : arguments) {
    for (std::string_view part : split(argument, ',')) {
      size_t equals = part.rfind('=');
      std::string name(part.substr(0, equals == std::string_view::npos ? 0 : equals));
      if (!inRow.insert(name).second) {
        rows.emplace_back();
        inRow = {name};
      }
      rows.back().emplace_back(part);
    }
  }
  return rows;
}

} // namespace heddle::cli
