// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interpreter of the shape program: some hundred instructions for a model, evaluated once per new shape.

#include "runtime/core/shape_program.h"

#include <algorithm>

#include "runtime/core/checked_math.h"
#include "runtime/core/element_type.h"
#include "runtime/core/tensor.h"

namespace heddle::runtime {

namespace {

/// The element that an input_value instruction reads. False if the tensor has no such element or it exceeds i64.
bool read_value(const shape_instruction &instruction, const heddle_tensor_t *const *inputs, int64_t *out) {
  const heddle_tensor_t &tensor = *inputs[instruction.a];
  return instruction.b < tensor.element_count && load_integer(tensor.type, tensor.data, instruction.b, out);
}

bool compute(const shape_instruction &instruction, const heddle_tensor_t *const *inputs, const int64_t *slots,
             int64_t *out) {
  switch (instruction.opcode) {
  case shape_opcode::constant:
    *out = instruction.value;
    return true;
  case shape_opcode::input_dim:
    *out = inputs[instruction.a]->dims[instruction.b];
    return true;
  case shape_opcode::input_value:
    return read_value(instruction, inputs, out);
  default:
    break;
  }
  // The reader has seen to it that both are earlier slots, so they have their values.
  const int64_t a = slots[instruction.a];
  const int64_t b = slots[instruction.b];
  switch (instruction.opcode) {
  case shape_opcode::add:
    return checked_add(a, b, out);
  case shape_opcode::sub:
    return checked_sub(a, b, out);
  case shape_opcode::mul:
    return checked_mul(a, b, out);
  case shape_opcode::floor_div:
    return checked_floor_div(a, b, out);
  case shape_opcode::ceil_div:
    return checked_ceil_div(a, b, out);
  case shape_opcode::mod:
    return checked_mod(a, b, out);
  case shape_opcode::min:
    *out = std::min(a, b);
    return true;
  case shape_opcode::max:
    *out = std::max(a, b);
    return true;
  case shape_opcode::equal:
    *out = a == b;
    return true;
  case shape_opcode::less:
    *out = a < b;
    return true;
  case shape_opcode::select:
    *out = a != 0 ? b : slots[instruction.c];
    return true;
  default:
    return false;
  }
}

/// Puts the values into a check's message: `{a}` and `{b}` stand for them.
std::string fill_message(std::string message, int64_t a, int64_t b) {
  for (auto [placeholder, value] : {std::pair("{a}", a), std::pair("{b}", b)})
    for (size_t at = 0; (at = message.find(placeholder, at)) != std::string::npos;) {
      const std::string number = std::to_string(value);
      message.replace(at, 3, number);
      at += number.size();
    }
  return message;
}

/// Runs the checks whose operands are among the first |valid| slots.
heddle_status_t run_checks(const entry_table &entry, const std::vector<int64_t> &slots, size_t valid) {
  for (const shape_check_table &check : entry.checks) {
    if (check.a >= valid || check.b >= valid)
      continue;
    const int64_t a = slots[check.a];
    const int64_t b = slots[check.b];
    if (check.is_equal ? a == b : a <= b)
      continue;
    const std::string message = fill_message(check.message, a, b);
    return fail(error::H0307, *check.node ? format("node '%s': ", check.node) + message : message);
  }
  return nullptr;
}

} // namespace

std::string describe_shapes(const entry_table &entry, const heddle_tensor_t *const *inputs) {
  std::string text;
  for (size_t i = 0; i < entry.inputs.size(); ++i)
    text += (i ? ", " : "") + std::string(entry.inputs[i].name) + " " + format_dims(inputs[i]->dims, inputs[i]->rank);
  return text;
}

heddle_status_t check_values_are_readable(const entry_table &entry, const heddle_tensor_t *const *inputs) {
  for (const shape_instruction &instruction : entry.shape_program)
    if (instruction.opcode == shape_opcode::input_value && inputs[instruction.a]->buffer)
      return fail(error::H0315,
                  format("shapes depend on the values of input '%s', which lie in a VkBuffer",
                         entry.inputs[instruction.a].name),
                  "give this input as a tensor in host memory");
  return nullptr;
}

heddle_status_t append_shape_key(const entry_table &entry, const heddle_tensor_t *const *inputs,
                                 std::vector<int64_t> *key) {
  for (size_t i = 0; i < entry.inputs.size(); ++i)
    key->insert(key->end(), inputs[i]->dims, inputs[i]->dims + inputs[i]->rank);
  for (const shape_instruction &instruction : entry.shape_program) {
    // All other instructions follow from the sizes, which are in the key already.
    if (instruction.opcode != shape_opcode::input_value)
      continue;
    int64_t value = 0;
    if (!read_value(instruction, inputs, &value))
      return fail(
          error::H0307,
          format("the model reads element %u of input '%s', which %s", instruction.b, entry.inputs[instruction.a].name,
                 instruction.b < inputs[instruction.a]->element_count ? "exceeds 64 signed bits" : "isn't there"));
    key->push_back(value);
  }
  return nullptr;
}

heddle_status_t evaluate_shapes(const entry_table &entry, const heddle_tensor_t *const *inputs,
                                std::vector<int64_t> *slots) {
  const size_t count = entry.shape_program.size();
  slots->assign(count, 0);
  size_t valid = 0; // slots that have a value
  while (valid < count && compute(entry.shape_program[valid], inputs, slots->data(), slots->data() + valid))
    ++valid;
  HEDDLE_RETURN_IF_ERROR(run_checks(entry, *slots, valid));
  if (valid != count)
    return fail(error::H0308, "a size overflows or is divided by zero, for " + describe_shapes(entry, inputs));
  return nullptr;
}

} // namespace heddle::runtime
