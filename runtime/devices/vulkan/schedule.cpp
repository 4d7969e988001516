// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a plan to commands. Everything that can fail for a shape fails here, before anything runs.

#include "runtime/devices/vulkan/schedule.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/checked_math.h"
#include "runtime/core/element_type.h"
#include "runtime/devices/vulkan/constants.h"
#include "runtime/devices/vulkan/elements.h"
#include "runtime/devices/vulkan/result.h"
#include "runtime/devices/vulkan/slicing.h"

namespace heddle::runtime::vulkan {

namespace {

/// A slow device to begin with: work is cut too small until the first run has been measured, and never too large.
constexpr double operations_per_second = 20e9;
constexpr double bytes_per_second = 5e9;
constexpr double dispatch_seconds = 5e-6;

/// Shaders number the elements of an operand in 32 bits, some with a sign.
constexpr uint64_t most_elements = INT32_MAX;

/// vkCmdUpdateBuffer takes no more.
constexpr size_t store_words = 16384;

class scheduler {
public:
  scheduler(const scheduled_entry &scheduled, const plan &plan, const arena_layout &arena,
            const schedule_options &options, schedule *out)
      : scheduled_(scheduled), entry_(scheduled.tables->entries[scheduled.index]), plan_(plan), arena_(arena),
        options_(options), out_(*out), slicer_(*options.limits, options.submit_seconds, arena.bytes, out) {}

  heddle_status_t build();

private:
  bool is_on_device(size_t tensor) const { return tensor < options_.on_device.size() && options_.on_device[tensor]; }
  void add_inputs();
  void add_outputs();
  heddle_status_t add(size_t index, const dispatch_step &dispatch);
  heddle_status_t add(size_t index, const store_slots_step &store);
  heddle_status_t add(size_t index, const copy_step &copy);
  slice_operand operand_of(size_t step, const dispatch_step &dispatch, size_t operand) const;
  heddle_status_t check_elements(const dispatch_step &dispatch, const std::vector<slice_operand> &operands) const;
  heddle_status_t sizes_of(const dispatch_step &dispatch, std::vector<uint32_t> *out) const;
  void cut_segments();

  const scheduled_entry &scheduled_;
  const entry_table &entry_;
  const plan &plan_;
  const arena_layout &arena_;
  const schedule_options &options_;
  schedule &out_;
  slicer slicer_;
};

void scheduler::add_inputs() {
  for (size_t i = 0; i < entry_.inputs.size(); ++i) {
    const tensor_place &place = arena_.inputs[i];
    const uint64_t bytes = device_bytes(entry_.inputs[i].type, place.bytes);
    if (options_.is_unified || bytes == 0 || is_on_device(i)) {
      out_.inputs.push_back({place.offset, place.bytes});
      continue;
    }
    out_.inputs.push_back({out_.upload_bytes, place.bytes});
    out_.commands.push_back(
        {copy_command{{upload_buffer, out_.upload_bytes, bytes}, arena_buffer, place.offset}, before_steps, 0});
    out_.upload_bytes += align_up(bytes, tensor_alignment);
  }
}

void scheduler::add_outputs() {
  for (size_t i = 0; i < entry_.outputs.size(); ++i) {
    const tensor_place &place = arena_.outputs[i];
    const uint64_t bytes = device_bytes(entry_.outputs[i].type, place.bytes);
    if (options_.is_unified || bytes == 0 || is_on_device(entry_.inputs.size() + i)) {
      out_.outputs.push_back({place.offset, place.bytes});
      continue;
    }
    out_.outputs.push_back({out_.download_bytes, place.bytes});
    out_.commands.push_back(
        {copy_command{{arena_buffer, place.offset, bytes}, download_buffer, out_.download_bytes}, after_steps, 0});
    out_.download_bytes += align_up(bytes, tensor_alignment);
  }
}

slice_operand scheduler::operand_of(size_t step, const dispatch_step &dispatch, size_t operand) const {
  const shader_table &shader = scheduled_.tables->targets[scheduled_.target].shaders[dispatch.kernel];
  const shader_operand_table &table = shader.operands[operand];
  const binding_table &binding = dispatch.bindings[operand];
  const uint32_t *strides = plan_.axes.data() + plan_.dispatches[dispatch.index].axes + 3 + 3 * operand;
  slice_operand out = {table.binding, arena_buffer, 0, 0, {strides[0], strides[1], strides[2]}};
  if (shader.table == operand)
    out.row_bytes = shader.table_row_bytes;
  if (binding.kind == binding_kind::constant) {
    const constant_place place = scheduled_.constants->place(scheduled_.index, step, operand);
    out.buffer = first_block + place.block;
    out.offset = place.offset;
    out.bytes = place.bytes;
  } else {
    const tensor_place &place = arena_.at(binding);
    out.offset = place.offset;
    out.bytes = device_bytes(table.type, place.bytes);
  }
  return out;
}

/// |operands| are those of |dispatch|, behind its error record if it has one.
heddle_status_t scheduler::check_elements(const dispatch_step &dispatch,
                                          const std::vector<slice_operand> &operands) const {
  const shader_table &shader = scheduled_.tables->targets[scheduled_.target].shaders[dispatch.kernel];
  for (size_t i = 0; i < shader.operands.size(); ++i) {
    const heddle_element_type_t type = shader.operands[i].type;
    const uint64_t bytes = operands[operands.size() - shader.operands.size() + i].bytes;
    const uint64_t elements = bytes / device_bytes(type, heddle_element_type_size(type));
    if (elements > most_elements)
      return beyond_limits(format("operand %zu of kernel '%s' has %llu elements, and shaders count up to %llu", i,
                                  scheduled_.tables->kernels[dispatch.kernel].name,
                                  static_cast<unsigned long long>(elements),
                                  static_cast<unsigned long long>(most_elements)));
  }
  return nullptr;
}

heddle_status_t scheduler::sizes_of(const dispatch_step &dispatch, std::vector<uint32_t> *out) const {
  const int64_t *sizes = plan_.sizes.data() + plan_.dispatches[dispatch.index].sizes;
  for (size_t i = 0; i < dispatch.sizes.size(); ++i) {
    // Negative ones are offsets; they wrap as the shader's sums do.
    if (sizes[i] < INT32_MIN || sizes[i] > UINT32_MAX)
      return fail(error::H0314,
                  format("kernel '%s' gets a size of %lld, and Vulkan devices compute in 32 bits",
                         scheduled_.tables->kernels[dispatch.kernel].name, static_cast<long long>(sizes[i])));
    out->push_back(static_cast<uint32_t>(sizes[i]));
  }
  return nullptr;
}

heddle_status_t scheduler::add(size_t index, const dispatch_step &dispatch) {
  const dispatch_plan &planned = plan_.dispatches[dispatch.index];
  const uint32_t *extents = plan_.axes.data() + planned.axes;
  if (planned.items == 0 || extents[0] == 0 || extents[1] == 0 || extents[2] == 0)
    return nullptr;
  const auto step = static_cast<int64_t>(index);
  const shader_table &shader = scheduled_.tables->targets[scheduled_.target].shaders[dispatch.kernel];
  slice_work work = {scheduled_.tables->kernels[dispatch.kernel].name, nullptr, {}, {}, {}, step, 0};
  std::copy(extents, extents + 3, work.extents);
  HEDDLE_RETURN_IF_ERROR(scheduled_.pipelines->choose(dispatch.kernel, extents, &work.pipeline));
  HEDDLE_RETURN_IF_ERROR(sizes_of(dispatch, &work.sizes));
  // Counts that wrapped, in the artifact, say nothing.
  work.seconds =
      options_.slowness * (dispatch_seconds + std::max({0.0, static_cast<double>(planned.flops) / operations_per_second,
                                                        static_cast<double>(planned.bytes) / bytes_per_second}));
  uint64_t record = 0;
  if (shader.can_fail) {
    const size_t first_result = dispatch.bindings.size() - dispatch.results.size();
    record = arena_.at(dispatch.bindings[first_result]).record;
    work.operands.push_back({shader_binding::results, arena_buffer, record, record_bytes, {}});
    out_.commands.push_back({clear_command{record, record_bytes}, step, 0});
  }
  for (size_t i = 0; i < dispatch.bindings.size(); ++i)
    work.operands.push_back(operand_of(index, dispatch, i));
  HEDDLE_RETURN_IF_ERROR(check_elements(dispatch, work.operands));
  HEDDLE_RETURN_IF_ERROR(slicer_.cut(work));
  if (shader.can_fail) {
    out_.records.push_back({index, out_.download_bytes});
    out_.commands.push_back(
        {copy_command{{arena_buffer, record, record_bytes}, download_buffer, out_.download_bytes}, step, 0});
    out_.download_bytes += record_bytes;
  }
  return nullptr;
}

heddle_status_t scheduler::add(size_t index, const store_slots_step &store) {
  const heddle_element_type_t type = store.type == HEDDLE_ELEMENT_I64   ? HEDDLE_ELEMENT_I32
                                     : store.type == HEDDLE_ELEMENT_U64 ? HEDDLE_ELEMENT_U32
                                                                        : store.type;
  const size_t bytes = store.slots.size() * heddle_element_type_size(type);
  std::vector<uint32_t> words((bytes + 3) / 4);
  for (size_t i = 0; i < store.slots.size(); ++i)
    if (const int64_t value = plan_.slots[store.slots[i]]; !store_integer(type, words.data(), i, value))
      return fail(error::H0314, format("a size of %lld doesn't fit %s, as which a Vulkan device holds the model's %s",
                                       static_cast<long long>(value), heddle_element_type_name(type),
                                       heddle_element_type_name(store.type)));
  const uint64_t offset = arena_.at(store.target).offset;
  for (size_t at = 0; at < words.size(); at += store_words) {
    const auto begin = words.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = words.begin() + static_cast<std::ptrdiff_t>(std::min(words.size(), at + store_words));
    out_.commands.push_back({store_command{offset + at * 4, {begin, end}}, static_cast<int64_t>(index), 0});
  }
  return nullptr;
}

heddle_status_t scheduler::add(size_t index, const copy_step &copy) {
  auto bytes = static_cast<uint64_t>(plan_.slots[copy.bytes]);
  buffer_range source = {arena_buffer, 0, bytes};
  if (copy.source.kind == binding_kind::constant) {
    const constant_place place = scheduled_.constants->place(scheduled_.index, index, 0);
    // Narrowed, it is half as long as the step believes.
    if (place.bytes != scheduled_.tables->constants[copy.source.index].length)
      bytes /= 2;
    source = {first_block + place.block, place.offset, bytes};
  } else {
    source.offset = arena_.at(copy.source).offset;
  }
  if (bytes != 0)
    out_.commands.push_back({copy_command{source, arena_buffer, arena_.at(copy.target).offset},
                             static_cast<int64_t>(index), options_.slowness * double(bytes) / bytes_per_second});
  return nullptr;
}

void scheduler::cut_segments() {
  double total = 0;
  for (const command &command : out_.commands)
    total += command.seconds;
  // The first ones are short, so that a device starts early on long work.
  double budget = total > options_.submit_seconds ? options_.submit_seconds / 8 : options_.submit_seconds;
  for (size_t i = 0; i < out_.commands.size(); ++i) {
    const command &command = out_.commands[i];
    const bool is_new = out_.segments.empty() || out_.segments.back().seconds + command.seconds > budget ||
                        (options_.is_step_by_step && out_.segments.back().last_step != command.step);
    if (is_new) {
      if (!out_.segments.empty())
        budget = std::min(budget * 2, options_.submit_seconds);
      out_.segments.push_back({i, i, command.step, command.step, 0});
    }
    segment &segment = out_.segments.back();
    segment.end = i + 1;
    segment.last_step = command.step;
    segment.seconds += command.seconds;
  }
}

heddle_status_t scheduler::build() {
  add_inputs();
  for (size_t i = 0; i < entry_.steps.size(); ++i)
    HEDDLE_RETURN_IF_ERROR(std::visit([&](const auto &kind) { return add(i, kind); }, entry_.steps[i]));
  add_outputs();
  out_.arena_bytes = slicer_.arena_bytes();
  cut_segments();
  mark_waits(&out_);
  return nullptr;
}

} // namespace

heddle_status_t make_schedule(const scheduled_entry &entry, const plan &plan, const arena_layout &arena,
                              const schedule_options &options, schedule *out) {
  return scheduler(entry, plan, arena, options, out).build();
}

} // namespace heddle::runtime::vulkan
