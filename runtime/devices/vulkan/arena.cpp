// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The core's planner on more tensors than the core plans: with multiples of 256 bytes for sizes, offsets are too.

#include "runtime/devices/vulkan/arena.h"

#include <algorithm>

#include "runtime/core/checked_math.h"
#include "runtime/core/memory_planner.h"

namespace heddle::runtime::vulkan {

namespace {

/// Calls |use| with each binding of |step| that isn't a constant.
template <typename Use> void for_each_binding(const step_table &step, Use use) {
  auto visit = [&](const binding_table &binding) {
    if (binding.kind != binding_kind::constant)
      use(binding);
  };
  if (const auto *dispatch = std::get_if<dispatch_step>(&step))
    std::for_each(dispatch->bindings.begin(), dispatch->bindings.end(), visit);
  else if (const auto *store = std::get_if<store_slots_step>(&step))
    visit(store->target);
  else if (const auto *copy = std::get_if<copy_step>(&step))
    visit(copy->source), visit(copy->target);
}

} // namespace

const tensor_place &arena_layout::at(const binding_table &binding) const {
  const auto &places = binding.kind == binding_kind::input    ? inputs
                       : binding.kind == binding_kind::output ? outputs
                                                              : buffers;
  return places[binding.index];
}

heddle_status_t lay_out_arena(const entry_table &entry, const plan &plan, arena_layout *out) {
  const size_t inputs = entry.inputs.size();
  const size_t outputs = entry.outputs.size();
  const auto last_step = static_cast<uint32_t>(entry.steps.empty() ? 0 : entry.steps.size() - 1);
  // Inputs are there from the start, outputs until the end. One that no step names lives for the first step only.
  std::vector<buffer_table> tensors(inputs, {0, 0, 0});
  tensors.insert(tensors.end(), outputs, {0, last_step, last_step});
  tensors.insert(tensors.end(), entry.buffers.begin(), entry.buffers.end());
  for (uint32_t step = 0; step < entry.steps.size(); ++step)
    for_each_binding(entry.steps[step], [&](const binding_table &binding) {
      if (binding.kind == binding_kind::input)
        tensors[binding.index].last = step;
      else if (binding.kind == binding_kind::output)
        tensors[inputs + binding.index].first = std::min(tensors[inputs + binding.index].first, step);
    });

  std::vector<int64_t> declared = plan.input_bytes;
  declared.insert(declared.end(), plan.output_bytes.begin(), plan.output_bytes.end());
  declared.insert(declared.end(), plan.buffer_bytes.begin(), plan.buffer_bytes.end());
  std::vector<int64_t> reserved;
  for (int64_t bytes : declared) {
    int64_t room = 0;
    if (!checked_add(bytes, 2 * tensor_alignment - 1, &room))
      return fail(error::H0308, "the sizes of a run's tensors overflow");
    reserved.push_back(room - room % static_cast<int64_t>(tensor_alignment));
  }
  std::vector<int64_t> offsets;
  int64_t total = 0;
  if (!plan_memory(tensors, reserved, &offsets, &total) || !checked_add(total, tensor_alignment, &total))
    return fail(error::H0308, "the sizes of a run's tensors overflow");

  for (size_t i = 0; i < declared.size(); ++i) {
    const uint64_t offset = static_cast<uint64_t>(offsets[i]) + tensor_alignment;
    const tensor_place place = {offset, static_cast<uint64_t>(declared[i]),
                                offset + static_cast<uint64_t>(reserved[i]) - tensor_alignment};
    auto &places = i < inputs ? out->inputs : i < inputs + outputs ? out->outputs : out->buffers;
    places.push_back(place);
  }
  out->bytes = static_cast<uint64_t>(total);
  return nullptr;
}

} // namespace heddle::runtime::vulkan
