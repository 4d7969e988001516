// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/runtime/fuzz_artifact.h"

#include <cstring>
#include <vector>

#include <heddle/heddle.hpp>

namespace heddle::test {

namespace {

/// Touches a string's bytes to its end.
size_t touch(const char *text) { return std::strlen(text); }

size_t touch(const heddle_tensor_info_t *tensors, size_t count) {
  size_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    sum += touch(tensors[i].name) + touch(heddle_element_type_name(tensors[i].type));
    for (size_t dim = 0; dim < tensors[i].rank; ++dim)
      sum += touch(tensors[i].dims[dim].symbol) + static_cast<size_t>(tensors[i].dims[dim].value != 0);
  }
  return sum;
}

size_t touch(const heddle_program_info_t &info) {
  size_t sum = touch(info.producer) + touch(info.model);
  for (size_t i = 0; i < info.option_count; ++i)
    sum += touch(info.options[i].key) + touch(info.options[i].value);
  for (size_t i = 0; i < info.target_count; ++i) {
    sum += touch(info.targets[i].name) + touch(info.targets[i].missing_feature);
    for (size_t j = 0; j < info.targets[i].feature_count; ++j)
      sum += touch(info.targets[i].features[j]);
  }
  for (size_t i = 0; i < info.kernel_count; ++i) {
    sum += touch(info.kernels[i].name) + touch(info.kernels[i].root);
    for (size_t j = 0; j < info.kernels[i].node_count; ++j)
      sum += touch(info.kernels[i].nodes[j]);
  }
  for (size_t i = 0; i < info.entry_count; ++i)
    sum += touch(info.entries[i].name) + touch(info.entries[i].inputs, info.entries[i].input_count) +
           touch(info.entries[i].outputs, info.entries[i].output_count);
  return sum;
}

/// Plans |entry| with each dynamic dimension of |size|.
void plan_entry(const program &program, const heddle_entry_info_t &entry, int64_t size) {
  std::vector<tensor> inputs;
  for (size_t i = 0; i < entry.input_count; ++i) {
    std::vector<int64_t> dims;
    int64_t elements = 1;
    for (size_t dim = 0; dim < entry.inputs[i].rank; ++dim) {
      dims.push_back(entry.inputs[i].dims[dim].value < 0 ? size : entry.inputs[i].dims[dim].value);
      if (dims.back() > 1000 || (elements *= dims.back()) > 100000)
        return;
    }
    auto input = tensor::create(entry.inputs[i].type, dims);
    if (!input)
      return;
    inputs.push_back(std::move(*input));
  }
  std::vector<const heddle_tensor_t *> handles;
  for (const tensor &input : inputs)
    handles.push_back(input.get());
  heddle_plan_info_t plan;
  const status status{heddle_program_plan(program.get(), entry.name, handles.data(), handles.size(), &plan)};
}

} // namespace

bool explore_artifact(const void *data, size_t size) {
  heddle_program_options_t options = {};
  options.inspect_only = 1;
  auto inspected = program::load_memory(data, size, options);
  if (!inspected)
    return false;
  volatile size_t seen = touch(inspected->info());
  (void)seen;
  for (size_t i = 0; i < inspected->info().entry_count; ++i)
    for (int64_t extent : {0, 1, 7})
      plan_entry(*inspected, inspected->info().entries[i], extent);
  // Mapping code is part of loading; calling it is not.
  return bool(program::load_memory(data, size));
}

} // namespace heddle::test
