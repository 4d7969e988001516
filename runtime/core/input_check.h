// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares what a caller gave to a run with what the entry point declares. Messages are in the user's words: names,
// expected and given shapes.

#pragma once

#include "runtime/core/plan.h"

namespace heddle::runtime {

/// "input_ids i64 [batch,seq]".
std::string describe_input(const input_table &input);

/// Puts |inputs| with those of |defaults| for which they have null into |out|, and checks number, types, ranks and
/// sizes of the result, and that dimensions of one name agree. |defaults| has an element an input.
heddle_status_t complete_inputs(const entry_table &entry, const std::vector<heddle_tensor_t *> &defaults,
                                const heddle_tensor_t *const *inputs, size_t input_count,
                                std::vector<const heddle_tensor_t *> *out);

/// Checks the tensors given for outputs (null: none given) against the shapes of |plan|, and that none shares memory
/// with an input or another output.
heddle_status_t check_outputs(const entry_table &entry, const plan &plan, const heddle_tensor_t *const *inputs,
                              const heddle_tensor_t *const *outputs);

} // namespace heddle::runtime
