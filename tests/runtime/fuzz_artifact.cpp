// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/runtime/fuzz_artifact.h"

#include <cstring>
#include <vector>

#include <elf.h>

#include <heddle/candidates.h>
#include <heddle/heddle.hpp>

namespace heddle::test {

namespace {

/// The one device that damaged artifacts are loaded on. Without a target for the CPU they would reach a Vulkan driver,
/// and shaders are code too.
constexpr char no_driver[] = "cpu";

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

size_t touch(const heddle_shader_info_t &shader) {
  size_t sum = 0;
  for (size_t i = 0; i < shader.variant_count; ++i) {
    sum += shader.variants[i].module + shader.variants[i].workgroup[2] + shader.variants[i].shared_bytes;
    for (size_t j = 0; j < shader.variants[i].feature_count; ++j)
      sum += touch(shader.variants[i].features[j]);
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
    for (size_t j = 0; j < info.targets[i].shader_count; ++j)
      sum += touch(info.targets[i].shaders[j]);
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

size_t touch_candidates(const program &program) {
  size_t sum = 0;
  for (size_t i = 0; i < heddle_candidate_group_count(program.get()); ++i) {
    const heddle_candidate_group_t &group = *heddle_candidate_group(program.get(), i);
    sum += touch(group.signature) + touch(group.rows) + touch(group.kernel) + group.dispatches;
    for (size_t j = 0; j < group.node_count; ++j)
      sum += touch(group.nodes[j]);
    for (size_t j = 0; j < group.candidate_count; ++j)
      sum += touch(group.candidates[j].entry) + touch(group.candidates[j].config);
  }
  return sum;
}

/// Small inputs for |entry| with each dynamic dimension of |size|; false where the entry wants large ones.
bool make_inputs(const heddle_entry_info_t &entry, int64_t size, std::vector<tensor> *inputs) {
  for (size_t i = 0; i < entry.input_count; ++i) {
    std::vector<int64_t> dims;
    int64_t elements = 1;
    for (size_t dim = 0; dim < entry.inputs[i].rank; ++dim) {
      dims.push_back(entry.inputs[i].dims[dim].value < 0 ? size : entry.inputs[i].dims[dim].value);
      if (dims.back() > 1000 || (elements *= dims.back()) > 100000)
        return false;
    }
    auto input = tensor::create(entry.inputs[i].type, dims);
    if (!input)
      return false;
    inputs->push_back(std::move(*input));
  }
  return true;
}

/// |tensors|, null where |program| has a default for an input of |entry|: its last element must be readable.
std::vector<const heddle_tensor_t *> handles_of(const program &program, const heddle_entry_info_t &entry,
                                                const std::vector<tensor> &tensors) {
  std::vector<const heddle_tensor_t *> handles;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const heddle_tensor_t *standing = program.default_input(i, entry.name);
    handles.push_back(standing ? nullptr : tensors[i].get());
    if (standing && heddle_tensor_byte_length(standing) != 0) {
      volatile char last =
          static_cast<const char *>(heddle_tensor_data(standing))[heddle_tensor_byte_length(standing) - 1];
      (void)last;
    }
  }
  return handles;
}

void plan_entry(const program &program, const heddle_entry_info_t &entry, int64_t size) {
  std::vector<tensor> inputs;
  if (!make_inputs(entry, size, &inputs))
    return;
  const std::vector<const heddle_tensor_t *> handles = handles_of(program, entry, inputs);
  heddle_plan_info_t plan;
  const status status{heddle_program_plan(program.get(), entry.name, handles.data(), handles.size(), &plan)};
  heddle_memory_info_t memory;
  const heddle::status measured{
      heddle_program_memory(program.get(), entry.name, handles.data(), handles.size(), &memory)};
}

/// Overwrites what would be executable of the image at |image| with return instructions.
void disarm_code(std::byte *image, size_t length) {
  constexpr int return_instruction = 0xc3; // x86-64
  Elf64_Ehdr header;
  if (length < sizeof(header))
    return;
  std::memcpy(&header, image, sizeof(header));
  for (size_t i = 0; i < header.e_phnum; ++i) {
    const uint64_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr segment;
    if (at > length || length - at < sizeof(segment))
      return;
    std::memcpy(&segment, image + at, sizeof(segment));
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) && segment.p_offset <= length &&
        segment.p_filesz <= length - segment.p_offset)
      std::memset(image + segment.p_offset, return_instruction, segment.p_filesz);
  }
}

/// Runs |entry|; a failure is as good as a result.
void run_entry(const program &program, const session &session, const heddle_entry_info_t &entry, int64_t size) {
  std::vector<tensor> inputs;
  if (!make_inputs(entry, size, &inputs))
    return;
  const std::vector<const heddle_tensor_t *> handles = handles_of(program, entry, inputs);
  std::vector<heddle_tensor_t *> outputs(entry.output_count, nullptr);
  const status status{
      heddle_session_run(session.get(), entry.name, handles.data(), handles.size(), outputs.data(), outputs.size())};
  for (heddle_tensor_t *output : outputs)
    heddle_tensor_release(output);
}

} // namespace

void run_without_code(void *data, size_t size) {
  heddle_program_options_t options = {};
  options.inspect_only = 1;
  auto inspected = program::load_memory(data, size, options);
  if (!inspected)
    return;
  const heddle_program_info_t &info = inspected->info();
  for (size_t i = 0; i < info.section_count; ++i)
    if (std::strcmp(info.sections[i].kind, "code") == 0)
      disarm_code(static_cast<std::byte *>(data) + info.sections[i].offset, info.sections[i].length);
  // One thread: what a harness reports must repeat.
  auto pool = thread_pool::create(1);
  if (!pool)
    return;
  options.inspect_only = 0;
  options.device = no_driver;
  options.thread_pool = pool->get();
  auto loaded = program::load_memory(data, size, options);
  if (!loaded)
    return;
  auto session = session::create(*loaded);
  for (size_t i = 0; session && i < loaded->info().entry_count; ++i)
    for (int64_t extent : {0, 1, 7})
      run_entry(*loaded, *session, loaded->info().entries[i], extent);
}

bool explore_artifact(const void *data, size_t size) {
  heddle_program_options_t options = {};
  options.inspect_only = 1;
  auto inspected = program::load_memory(data, size, options);
  if (!inspected)
    return false;
  volatile size_t seen = touch(inspected->info()) + touch_candidates(*inspected);
  (void)seen;
  for (size_t i = 0; i < inspected->info().entry_count; ++i)
    for (int64_t extent : {0, 1, 7})
      plan_entry(*inspected, inspected->info().entries[i], extent);
  // Shaders have numbers of their own in plans.
  options.device = "vulkan";
  if (auto shaders = program::load_memory(data, size, options))
    for (size_t i = 0; i < shaders->info().entry_count; ++i)
      plan_entry(*shaders, shaders->info().entries[i], 7);
  // Mapping code is part of loading; calling it is not.
  options = {};
  options.device = no_driver;
  return bool(program::load_memory(data, size, options));
}

} // namespace heddle::test
