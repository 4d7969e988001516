// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From --input and --shape to the tensors of a run.

#pragma once

#include "tools/heddle/handles.h"
#include "tools/heddle/shapes.h"

#include <optional>
#include <string>
#include <vector>

namespace heddle::cli {

/// The tensors of a run, in the entry's order.
struct RunInputs {
  std::vector<TensorPtr> tensors;
  /// What was made up, for the user to know: "input_ids i64[1,128] ids below 8".
  std::vector<std::string> generated;

  std::vector<const heddle_tensor_t *> pointers() const;
};

/// Names of inputs with their shapes, in the entry's order.
using NamedShapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;
NamedShapes shapesOf(const heddle_entry_info_t &entry, const RunInputs &run);

enum class Missing { Refuse, Generate };

/// Makes the inputs of one run. |inputs| are the values of --input, in every form of the manual; |shapes| those of
/// --shape; |missing| says what happens to inputs that nothing names and that |defaults|, which has an element an input
/// or none at all, has nothing for. Throws for unknown, repeated, missing inputs and unreadable values. Whether a
/// tensor fits its input is left to the runtime.
RunInputs prepareInputs(const heddle_entry_info_t &entry, const std::vector<std::string> &inputs,
                        const std::vector<std::string> &shapes, Missing missing, std::vector<TensorPtr> defaults = {});

/// Content for inputs that have none.
enum class Fill { Zeros, Ones, Random, Positions };

/// What suits an input that nothing is known of but its name and type: ones for masks, zeros for segments, positions,
/// small ids, floats in [-1, 1).
Fill naturalFill(const heddle_tensor_info_t &input);

/// Fills a tensor; |seed| matters for Random only, which gives ids below idLimit, booleans, or floats in [-1, 1).
void fillTensor(heddle_tensor_t *tensor, Fill fill, uint64_t seed);

/// "ones", "ids below 8" and so on.
std::string describeFill(heddle_element_type_t type, Fill fill);

} // namespace heddle::cli
