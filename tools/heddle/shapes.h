// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What --shape says: sizes of inputs, and through the names of dimensions also of inputs that aren't mentioned.

#pragma once

#include "tools/heddle/handles.h"

#include <map>
#include <string>
#include <vector>

namespace heddle::cli {

/// Sizes for the inputs of one entry point. Sizes that nothing fixes are those of another batch, else 1, for a batch (a
/// dimension that leads some input: exporters name one batch differently in each input), and 128 for any other.
class ShapeBindings {
public:
  explicit ShapeBindings(const heddle_entry_info_t &entry) : entry(entry) {}

  /// Takes "NAME=1x128", or "1x128" where there is one input. Throws if it doesn't fit the input.
  void addArgument(const std::string &argument);

  /// Whether an argument names input number |input|.
  bool has(size_t input) const { return shapes.count(input) != 0; }

  /// Takes the sizes of a given tensor. What doesn't fit is left alone: the runtime refuses such a tensor itself.
  void addTensor(size_t input, const heddle_tensor_t *tensor);

  /// The shape that input number |input| is generated with.
  std::vector<int64_t> shapeOf(size_t input) const;

private:
  const heddle_entry_info_t &entry;
  std::map<size_t, std::vector<int64_t>> shapes;
  std::map<std::string, int64_t> symbols;
};

/// Splits the values of --shape into rows, one for each measurement: within a value commas separate inputs, and a name
/// that the row already has starts the next row. Always at least one row.
std::vector<std::vector<std::string>> shapeRows(const std::vector<std::string> &arguments);

/// Index of the entry's input called |name|; throws a message that lists the inputs.
size_t findInput(const heddle_entry_info_t &entry, const std::string &name);

/// "inputs: input_ids i64[batch,sequence], ...".
std::string listInputs(const heddle_entry_info_t &entry);

} // namespace heddle::cli
