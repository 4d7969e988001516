// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages and comparisons. Each message names the tensor, what was expected in the model's own names, and what came.

#include "runtime/core/input_check.h"

#include <cstring>

#include "runtime/core/element_type.h"
#include "runtime/core/tensor.h"

namespace heddle::runtime {

namespace {

/// "[batch,384]"; an unnamed dynamic dimension is "?".
std::string describe_dims(const std::vector<heddle_dimension_t> &dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    text += i ? "," : "";
    text += dims[i].value >= 0 ? std::to_string(dims[i].value) : *dims[i].symbol ? dims[i].symbol : "?";
  }
  return text + "]";
}

/// Widening to i64 loses nothing; anything else might, or hides a mistake.
bool is_accepted(heddle_element_type_t given, heddle_element_type_t declared) {
  return given == declared || (given == HEDDLE_ELEMENT_I32 && declared == HEDDLE_ELEMENT_I64);
}

/// A buffer holds just what shaders read and write there.
heddle_status_t check_buffer_type(const char *what, const char *name, heddle_element_type_t declared,
                                  const heddle_tensor_t &tensor) {
  const heddle_element_type_t held = device_element_type(declared);
  if (tensor.type == held)
    return nullptr;
  return fail(error::H0303, format("%s '%s' expects %s in a VkBuffer, got %s", what, name,
                                   heddle_element_type_name(held), heddle_element_type_name(tensor.type)));
}

heddle_status_t check_input(const input_table &input, const heddle_tensor_t &tensor) {
  if (tensor.buffer)
    HEDDLE_RETURN_IF_ERROR(check_buffer_type("input", input.name, input.type, tensor));
  else if (!is_accepted(tensor.type, input.type))
    return fail(
        error::H0303,
        format("input '%s' expects %s, got %s", input.name, heddle_element_type_name(input.type),
               heddle_element_type_name(tensor.type)),
        format("convert it to %s first; only i32 for i64 is converted here", heddle_element_type_name(input.type)));
  // Rank and sizes are shown whole either way: one wrong number is found faster beside the right ones.
  auto mismatch = [&](error code) {
    return fail(code, format("input '%s' expects %s, got %s", input.name, describe_dims(input.dims).c_str(),
                             format_dims(tensor.dims, tensor.rank).c_str()));
  };
  if (tensor.rank != input.dims.size())
    return mismatch(error::H0304);
  for (size_t i = 0; i < tensor.rank; ++i)
    if (input.dims[i].value >= 0 && input.dims[i].value != tensor.dims[i])
      return mismatch(error::H0305);
  return nullptr;
}

/// As numbers: pointers into different objects have no order of their own. Nothing overlaps an empty tensor.
bool overlap(const heddle_tensor_t &a, const heddle_tensor_t &b) {
  // Whether host memory and a buffer are the same, or two buffers, nobody can tell.
  if ((a.buffer ? a.buffer->buffer : 0) != (b.buffer ? b.buffer->buffer : 0))
    return false;
  const uint64_t begin_a = a.buffer ? a.buffer->offset : reinterpret_cast<uintptr_t>(a.data);
  const uint64_t begin_b = b.buffer ? b.buffer->offset : reinterpret_cast<uintptr_t>(b.data);
  return a.byte_length != 0 && b.byte_length != 0 && begin_a < begin_b + b.byte_length &&
         begin_b < begin_a + a.byte_length;
}

heddle_status_t check_output(const output_table &output, const plan &plan, const heddle_tensor_t &tensor) {
  int64_t dims[HEDDLE_MAX_RANK] = {};
  read_dims(plan, output.slots, dims);
  const size_t rank = output.slots.size();
  if (tensor.buffer)
    HEDDLE_RETURN_IF_ERROR(check_buffer_type("output", output.name, output.type, tensor));
  else if (tensor.type != output.type)
    return fail(error::H0303, format("output '%s' has type %s, but the given tensor has %s", output.name,
                                     heddle_element_type_name(output.type), heddle_element_type_name(tensor.type)));
  if (tensor.rank == rank && (rank == 0 || std::memcmp(tensor.dims, dims, rank * sizeof(int64_t)) == 0))
    return nullptr;
  return fail(tensor.rank != rank ? error::H0304 : error::H0305,
              format("output '%s' has shape %s, but the given tensor has %s", output.name,
                     format_dims(dims, rank).c_str(), format_dims(tensor.dims, tensor.rank).c_str()));
}

} // namespace

std::string describe_input(const input_table &input) {
  return format("%s %s %s%s", input.name, heddle_element_type_name(input.type), describe_dims(input.dims).c_str(),
                input.default_constant >= 0 ? " (optional)" : "");
}

heddle_status_t complete_inputs(const entry_table &entry, const std::vector<heddle_tensor_t *> &defaults,
                                const heddle_tensor_t *const *inputs, size_t input_count,
                                std::vector<const heddle_tensor_t *> *out) {
  if (input_count != entry.inputs.size()) {
    // Which one is missing can't be known here, but the list shows it.
    std::string list;
    for (const input_table &input : entry.inputs)
      list += (list.empty() ? "" : ", ") + describe_input(input);
    return fail(error::H0302, format("expects %zu inputs, got %zu", entry.inputs.size(), input_count),
                "the inputs are: " + list);
  }
  out->resize(input_count);
  for (size_t i = 0; i < input_count; ++i) {
    (*out)[i] = inputs && inputs[i] ? inputs[i] : defaults[i];
    if (!(*out)[i])
      return fail(error::H0101, format("input '%s' is null", entry.inputs[i].name));
    HEDDLE_RETURN_IF_ERROR(check_input(entry.inputs[i], *(*out)[i]));
  }
  // Who disagrees with whom was found at load; here it is one comparison a dimension.
  for (const shared_dimension &shared : entry.shared_dims) {
    const int64_t value = (*out)[shared.input]->dims[shared.dim];
    const int64_t first = (*out)[shared.first_input]->dims[shared.first_dim];
    if (value != first)
      return fail(error::H0306, format("inputs '%s' and '%s' disagree on dimension '%s': %lld and %lld",
                                       entry.inputs[shared.first_input].name, entry.inputs[shared.input].name,
                                       entry.inputs[shared.input].dims[shared.dim].symbol,
                                       static_cast<long long>(first), static_cast<long long>(value)));
  }
  return nullptr;
}

heddle_status_t check_outputs(const entry_table &entry, const plan &plan, const heddle_tensor_t *const *inputs,
                              const heddle_tensor_t *const *outputs) {
  for (size_t i = 0; i < entry.outputs.size(); ++i) {
    if (!outputs[i])
      continue;
    HEDDLE_RETURN_IF_ERROR(check_output(entry.outputs[i], plan, *outputs[i]));
    for (size_t j = 0; j < entry.inputs.size(); ++j)
      if (overlap(*outputs[i], *inputs[j]))
        return fail(error::H0311, format("the tensor given for output '%s' shares memory with input '%s'",
                                         entry.outputs[i].name, entry.inputs[j].name));
    for (size_t j = 0; j < i; ++j)
      if (outputs[j] && overlap(*outputs[i], *outputs[j]))
        return fail(error::H0311, format("the tensors given for outputs '%s' and '%s' share memory",
                                         entry.outputs[j].name, entry.outputs[i].name));
  }
  return nullptr;
}

} // namespace heddle::runtime
