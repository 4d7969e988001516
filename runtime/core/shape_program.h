// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates the shape program of an entry point: i64 arithmetic on the sizes of inputs and on some of their elements.

#pragma once

#include "runtime/core/program_tables.h"
#include "runtime/core/status.h"

namespace heddle::runtime {

/// Fails if the shape program reads elements of an input that the host can't read. Inputs have passed check_inputs.
heddle_status_t check_values_are_readable(const entry_table &entry, const heddle_tensor_t *const *inputs);

/// Appends to |key| all that the plan of |entry| for |inputs| depends on: the inputs' sizes and those of their elements
/// that the shape program reads. Inputs have passed check_values_are_readable. Fails if an element isn't there.
heddle_status_t append_shape_key(const entry_table &entry, const heddle_tensor_t *const *inputs,
                                 std::vector<int64_t> *key);

/// Computes all slots, then the entry's checks. An instruction that overflows or divides by zero fails, unless a check
/// of earlier slots says more clearly what is wrong.
heddle_status_t evaluate_shapes(const entry_table &entry, const heddle_tensor_t *const *inputs,
                                std::vector<int64_t> *slots);

/// "input_ids [1,128], attention_mask [1,128]", for messages.
std::string describe_shapes(const entry_table &entry, const heddle_tensor_t *const *inputs);

} // namespace heddle::runtime
