// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cases that shaders are tested with. They say how much memory a device takes and what is compared, so every number is
// bounded here; the values themselves can only be right or wrong.

#include <cmath>

#include <heddle/self_test.h>

#include "runtime/core/element_type.h"
#include "runtime/core/table_reader.h"

namespace heddle::runtime {

namespace {

constexpr size_t axis_count = 3;

/// Whether inputs come first among |operands|, |inputs| of them, and then results.
bool are_in_order(const std::vector<shader_operand_table> &operands, size_t inputs) {
  for (size_t i = 0; i < operands.size(); ++i)
    if ((operands[i].binding == shader_binding::results) != (i >= inputs))
      return false;
  return true;
}

/// Whether |input| is packed in a way that makes sense, or not at all.
bool is_packing(const self_test_input &input) {
  const bool is_plain = (input.columns | input.depth | input.width | input.group) == 0;
  return is_plain || (input.columns != 0 && input.depth != 0 && input.width != 0 && input.group != 0);
}

/// Whether the grid has work, and no more than a case can have.
bool are_extents(const std::vector<uint32_t> &axes) {
  uint64_t units = 1;
  for (size_t axis = 0; axis < axis_count; ++axis) {
    if (axes[axis] == 0 || axes[axis] > HEDDLE_SELF_TEST_MAX_BYTES)
      return false;
    units *= axes[axis]; // at most 2^52
    if (units > HEDDLE_SELF_TEST_MAX_BYTES)
      return false;
  }
  return true;
}

} // namespace

heddle_status_t table_reader::read_self_test_output(const fb::SelfTestOutput &output, const char *kernel,
                                                    size_t element_bytes, self_test_output *out) {
  out->bytes = output.bytes();
  out->tolerance = output.tolerance();
  out->values = output.values() ? output.values()->Data() : nullptr;
  if (!std::isfinite(out->tolerance) || out->tolerance < 0)
    return damaged(format("the self-test of kernel '%s' has no tolerance", kernel));
  HEDDLE_RETURN_IF_ERROR(charge(count(output.runs()), sizeof(uint32_t)));
  uint64_t compared = 0;
  uint64_t end = 0; // in order and apart, so that nothing is compared twice
  for (size_t i = 0; i + 1 < count(output.runs()); i += 2) {
    const self_test_run run = {output.runs()->Get(i), output.runs()->Get(i + 1)};
    if (uint64_t(run.first) + run.count > out->bytes / element_bytes)
      return damaged(format("the self-test of kernel '%s' compares elements behind the end", kernel));
    if (run.first < end || run.count == 0)
      return damaged(format("the self-test of kernel '%s' compares elements in no order", kernel));
    end = uint64_t(run.first) + run.count;
    compared += run.count;
    out->runs.push_back(run);
  }
  if (count(output.runs()) % 2 != 0 || compared * element_bytes != count(output.values()))
    return damaged(format("the self-test of kernel '%s' has %zu bytes of values for %llu elements", kernel,
                          count(output.values()), static_cast<unsigned long long>(compared)));
  return nullptr;
}

heddle_status_t table_reader::read_self_test_operands(const fb::SelfTest &test, const char *kernel,
                                                      const std::vector<shader_operand_table> &operands,
                                                      self_test_table *out) {
  const size_t inputs = count(test.inputs());
  const size_t outputs = count(test.outputs());
  if (inputs + outputs != operands.size() || outputs == 0 || !are_in_order(operands, inputs))
    return damaged(format("the self-test of kernel '%s' has %zu inputs and %zu outputs", kernel, inputs, outputs));
  HEDDLE_RETURN_IF_ERROR(charge(inputs, sizeof(self_test_input)));
  HEDDLE_RETURN_IF_ERROR(charge(outputs, sizeof(self_test_output)));
  uint64_t left = HEDDLE_SELF_TEST_MAX_BYTES;
  for (size_t i = 0; i < operands.size(); ++i) {
    const size_t element_bytes = heddle_element_type_size(operands[i].type);
    const uint64_t bytes = i < inputs ? test.inputs()->Get(i)->bytes() : test.outputs()->Get(i - inputs)->bytes();
    if (bytes % element_bytes != 0 || bytes > left)
      return damaged(format("operand %zu of the self-test of kernel '%s' has %llu bytes", i, kernel,
                            static_cast<unsigned long long>(bytes)));
    left -= bytes;
    if (i < inputs) {
      const fb::SelfTestInput &input = *test.inputs()->Get(i);
      out->inputs.push_back(
          {bytes, input.seed(), input.limit(), input.columns(), input.depth(), input.width(), input.group()});
      if (!is_packing(out->inputs.back()))
        return damaged(format("operand %zu of the self-test of kernel '%s' is packed in no way", i, kernel));
    } else {
      HEDDLE_RETURN_IF_ERROR(
          read_self_test_output(*test.outputs()->Get(i - inputs), kernel, element_bytes, &out->outputs.emplace_back()));
    }
  }
  return nullptr;
}

heddle_status_t table_reader::read_self_test(const fb::SelfTest &test, const kernel_table &kernel,
                                             const std::vector<shader_operand_table> &operands, self_test_table *out) {
  if (!is_aligned(test.sizes(), sizeof(int64_t)) || !is_aligned(test.inputs(), alignof(fb::SelfTestInput)))
    return damaged(format("the self-test of kernel '%s' isn't aligned", kernel.name));
  if (count(test.sizes()) != kernel.size_count || count(test.axes()) != axis_count + axis_count * operands.size())
    return damaged(format("the self-test of kernel '%s' has %zu sizes and %zu axes", kernel.name, count(test.sizes()),
                          count(test.axes())));
  HEDDLE_RETURN_IF_ERROR(charge(count(test.sizes()), sizeof(int64_t)));
  for (size_t i = 0; i < count(test.sizes()); ++i)
    out->sizes.push_back(test.sizes()->Get(i));
  HEDDLE_RETURN_IF_ERROR(charge(count(test.axes()), sizeof(uint32_t)));
  for (size_t i = 0; i < count(test.axes()); ++i)
    out->axes.push_back(test.axes()->Get(i));
  if (!are_extents(out->axes))
    return damaged(format("the self-test of kernel '%s' has no work, or too much", kernel.name));
  return read_self_test_operands(test, kernel.name, operands, out);
}

} // namespace heddle::runtime
