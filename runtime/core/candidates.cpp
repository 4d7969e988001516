// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle/candidates.h. The reader has seen to it that groups, entry points and cases fit each other.

#include <algorithm>
#include <cmath>
#include <cstring>

#include <heddle/candidates.h>

#include "runtime/core/border.h"
#include "runtime/core/program.h"
#include "runtime/core/self_test_elements.h"

namespace heddle::runtime {

namespace {

/// Tensors until they are handed out.
class tensor_list {
public:
  tensor_list() = default;
  tensor_list(const tensor_list &) = delete;
  tensor_list &operator=(const tensor_list &) = delete;
  ~tensor_list() {
    for (heddle_tensor_t *tensor : tensors_)
      heddle_tensor_release(tensor);
  }

  heddle_status_t add(heddle_element_type_t type, int64_t elements) {
    tensors_.push_back(nullptr);
    return heddle_tensor_create(type, 1, &elements, &tensors_.back());
  }
  void *last_data() const { return heddle_tensor_data(tensors_.back()); }
  void hand_out(heddle_tensor_t **out) {
    std::copy(tensors_.begin(), tensors_.end(), out);
    tensors_.clear();
  }

private:
  std::vector<heddle_tensor_t *> tensors_;
};

heddle_status_t find_group(const heddle_program_t *program, size_t index, const candidate_group_table **out) {
  if (!program)
    return fail(error::H0101, "program is null");
  const std::vector<candidate_group_table> &groups = program->loaded.tables.candidates;
  if (index >= groups.size())
    return fail(error::H0101, format("group %zu of %zu is asked for", index, groups.size()));
  *out = &groups[index];
  return nullptr;
}

heddle_status_t find_case(const candidate_group_table &group, int kind, const candidate_case **out) {
  if (kind == HEDDLE_CANDIDATE_TIMING)
    *out = &group.timing;
  else if (kind == HEDDLE_CANDIDATE_CHECK && group.check)
    *out = &*group.check;
  else
    return fail(error::H0101, format("group '%s' has no case of kind %d", group.signature, kind));
  return nullptr;
}

const entry_table &entry_of(const heddle_program_t &program, const candidate_group_table &group) {
  return program.loaded.tables.entries[group.candidates.front().entry];
}

void fill(heddle_element_type_t type, const candidate_input &input, std::byte *to) {
  const size_t size = heddle_element_type_size(type);
  if (!input.is_filled) {
    make_elements(type, {input.elements * size, input.seed, input.limit, 0, 0, 0, 0}, to);
    return;
  }
  // Little-endian, as all that is written here.
  for (uint64_t i = 0; i < input.elements; ++i)
    std::memcpy(to + i * size, &input.fill, size);
}

heddle_status_t make_inputs(const heddle_program_t *program, size_t index, int kind, heddle_tensor_t **out_inputs,
                            size_t input_count) {
  const candidate_group_table *group = nullptr;
  const candidate_case *made = nullptr;
  HEDDLE_RETURN_IF_ERROR(find_group(program, index, &group));
  HEDDLE_RETURN_IF_ERROR(find_case(*group, kind, &made));
  const entry_table &entry = entry_of(*program, *group);
  if (!out_inputs || input_count != entry.inputs.size())
    return fail(error::H0101, out_inputs
                                  ? format("expects room for %zu inputs, got %zu", entry.inputs.size(), input_count)
                                  : "out_inputs is null");
  tensor_list tensors;
  HEDDLE_RETURN_IF_ERROR(tensors.add(HEDDLE_ELEMENT_I64, static_cast<int64_t>(made->sizes.size())));
  std::copy(made->sizes.begin(), made->sizes.end(), static_cast<int64_t *>(tensors.last_data()));
  for (size_t i = 0; i < made->inputs.size(); ++i) {
    const heddle_element_type_t type = entry.inputs[i + 1].type;
    HEDDLE_RETURN_IF_ERROR(tensors.add(type, static_cast<int64_t>(made->inputs[i].elements)));
    fill(type, made->inputs[i], static_cast<std::byte *>(tensors.last_data()));
  }
  tensors.hand_out(out_inputs);
  return nullptr;
}

/// The largest difference of |actual| from |expected|.
double compare(heddle_element_type_t type, const self_test_output &expected, const std::byte *actual) {
  const size_t size = heddle_element_type_size(type);
  const double allowed = static_cast<double>(expected.tolerance) * largest_magnitude(type, expected);
  const uint8_t *value = expected.values;
  double largest = 0;
  for (const self_test_run &run : expected.runs)
    for (uint64_t i = run.first; i < uint64_t(run.first) + run.count; ++i, value += size)
      largest = std::max(largest, difference_of(type, actual + i * size, value, allowed));
  return largest;
}

heddle_status_t compare_outputs(const heddle_program_t *program, size_t index, const heddle_tensor_t *const *outputs,
                                size_t output_count, double *out_difference) {
  const candidate_group_table *group = nullptr;
  const candidate_case *known = nullptr;
  HEDDLE_RETURN_IF_ERROR(find_group(program, index, &group));
  HEDDLE_RETURN_IF_ERROR(find_case(*group, HEDDLE_CANDIDATE_CHECK, &known));
  if (!outputs || !out_difference || output_count != known->outputs.size())
    return fail(error::H0101, !outputs ? "outputs is null"
                              : !out_difference
                                  ? "out_difference is null"
                                  : format("expects %zu outputs, got %zu", known->outputs.size(), output_count));
  const entry_table &entry = entry_of(*program, *group);
  double largest = 0;
  for (size_t i = 0; i < output_count; ++i) {
    const heddle_element_type_t type = entry.outputs[i].type;
    if (!outputs[i] || heddle_tensor_type(outputs[i]) != type ||
        heddle_tensor_byte_length(outputs[i]) != known->outputs[i].bytes)
      return fail(error::H0101, format("output %zu isn't what the case gives", i));
    largest = std::max(
        largest, compare(type, known->outputs[i], static_cast<const std::byte *>(heddle_tensor_data(outputs[i]))));
  }
  *out_difference = largest;
  return nullptr;
}

} // namespace
} // namespace heddle::runtime

size_t heddle_candidate_group_count(const heddle_program_t *program) {
  return program->description.candidate_groups.size();
}

const heddle_candidate_group_t *heddle_candidate_group(const heddle_program_t *program, size_t index) {
  const std::vector<heddle_candidate_group_t> &groups = program->description.candidate_groups;
  return index < groups.size() ? &groups[index] : nullptr;
}

heddle_status_t heddle_candidate_inputs_create(const heddle_program_t *program, size_t group,
                                               heddle_candidate_case_t kind, heddle_tensor_t **out_inputs,
                                               size_t input_count) {
  return heddle::runtime::at_border(
      [&] { return heddle::runtime::make_inputs(program, group, kind, out_inputs, input_count); });
}

heddle_status_t heddle_candidate_compare(const heddle_program_t *program, size_t group,
                                         const heddle_tensor_t *const *outputs, size_t output_count,
                                         double *out_difference) {
  return heddle::runtime::at_border(
      [&] { return heddle::runtime::compare_outputs(program, group, outputs, output_count, out_difference); });
}
