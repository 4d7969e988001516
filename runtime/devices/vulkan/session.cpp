// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a session holds: made at its first run, grown by shapes that need more, recorded once for each shape.

#include "runtime/devices/vulkan/session.h"

#include <algorithm>
#include <cstring>

namespace heddle::runtime::vulkan {

recording_cache::entry *recording_cache::find(uint64_t plan, form recorded_as, const std::vector<bool> &on_device) {
  for (entry &entry : entries_)
    if (entry.plan == plan && entry.recorded_as == recorded_as && entry.on_device == on_device) {
      entry.last_use = ++clock_;
      return &entry;
    }
  return nullptr;
}

recording_cache::entry *recording_cache::insert(entry made) {
  made.last_use = ++clock_;
  if (entries_.size() < capacity())
    return &entries_.emplace_back(std::move(made));
  entry &oldest = *std::min_element(entries_.begin(), entries_.end(),
                                    [](const entry &a, const entry &b) { return a.last_use < b.last_use; });
  oldest = std::move(made);
  return &oldest;
}

void recording_cache::erase(const entry *made) {
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
    if (&*entry == made) {
      entries_.erase(entry);
      return;
    }
}

vulkan_session::~vulkan_session() {
  const device &device = program_.device();
  // A run that was submitted and not finished has a fence; one that was left by an exception has waited for nothing.
  const bool is_over =
      submitted_entry_ && device.api().vkWaitForFences(device.handle(), 1, fences_, VK_TRUE, UINT64_MAX) == VK_SUCCESS;
  if (on_their_way_ != 0 && !is_over)
    device.drain();
  recordings_.clear();
  for (VkFence fence : fences_)
    if (fence)
      device.api().vkDestroyFence(device.handle(), fence, nullptr);
  if (pool_)
    device.api().vkDestroyCommandPool(device.handle(), pool_, nullptr);
}

heddle_status_t vulkan_session::create_objects() {
  const device &device = program_.device();
  if (!pool_) {
    auto info = tagged<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    info.queueFamilyIndex = device.gpu().queue_family;
    HEDDLE_RETURN_IF_ERROR(
        device.check(device.api().vkCreateCommandPool(device.handle(), &info, nullptr, &pool_), "make a command pool"));
  }
  for (VkFence &fence : fences_) {
    const auto info = tagged<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
    if (!fence)
      HEDDLE_RETURN_IF_ERROR(
          device.check(device.api().vkCreateFence(device.handle(), &info, nullptr, &fence), "make a fence"));
  }
  return nullptr;
}

/// Zeros, so that the first run reads nothing that another process left. Later ones find other tensors' bytes behind
/// the ends of theirs, so shaders mask what they load there.
heddle_status_t vulkan_session::clear_arena() {
  if (arena_.mapped()) {
    std::memset(arena_.mapped(), 0, arena_.bytes());
    return nullptr;
  }
  one_time_commands commands(program_.device());
  HEDDLE_RETURN_IF_ERROR(commands.begin());
  program_.device().api().vkCmdFillBuffer(commands.handle(), arena_.handle(), 0, VK_WHOLE_SIZE, 0);
  return commands.run();
}

heddle_status_t vulkan_session::reserve(const schedule &schedule) {
  const device &device = program_.device();
  // Recordings name buffers, so they go when one is replaced; no run is on its way here.
  auto grow = [&](buffer &held, memory_use use, uint64_t bytes, const char *what) -> heddle_status_t {
    if (bytes <= held.bytes())
      return nullptr;
    recordings_.clear();
    return held.create(device, use, bytes, what);
  };
  HEDDLE_RETURN_IF_ERROR(grow(upload_, memory_use::upload, schedule.upload_bytes, "inputs"));
  HEDDLE_RETURN_IF_ERROR(grow(download_, memory_use::download, schedule.download_bytes, "outputs"));
  if (schedule.arena_bytes <= arena_.bytes())
    return nullptr;
  HEDDLE_RETURN_IF_ERROR(grow(arena_, memory_use::device, schedule.arena_bytes, "intermediate results"));
  heddle_status_t status = clear_arena();
  // An arena that wasn't cleared must not be taken for one that was.
  if (status)
    arena_.reset();
  return status;
}

heddle_status_t vulkan_session::record(const run_request &request, recording_cache::form form,
                                       recording_cache::entry *out) {
  const program_tables &tables = program_.tables();
  const device &device = program_.device();
  out->plan = request.run_plan->id;
  out->recorded_as = form;
  out->on_device = on_device_;
  out->slowness = device.slowness();
  HEDDLE_RETURN_IF_ERROR(lay_out_arena(*request.entry, *request.run_plan, &out->layout));
  const scheduled_entry entry = {&tables, program_.target(), static_cast<size_t>(request.entry - tables.entries.data()),
                                 &program_.pipelines(), &program_.constants()};
  const schedule_options options = {&device.limits(),
                                    device.is_unified(),
                                    form == recording_cache::form::step_by_step,
                                    out->slowness,
                                    static_cast<double>(device.settings().submit_microseconds) * 1e-6,
                                    on_device_};
  schedule schedule;
  HEDDLE_RETURN_IF_ERROR(make_schedule(entry, *request.run_plan, out->layout, options, &schedule));
  HEDDLE_RETURN_IF_ERROR(reserve(schedule));
  out->commands = std::make_unique<recording>();
  return out->commands->create(device, pool_, program_.pipelines(),
                               {arena_.handle(), upload_.handle(), download_.handle(), &program_.constants()},
                               std::move(schedule), form == recording_cache::form::timed);
}

heddle_status_t vulkan_session::prepare(const run_request &request, recording_cache::form form,
                                        recording_cache::entry **out) {
  // Where the arena is mapped, a schedule copies nothing that the caller's buffers could stand for.
  const bool is_unified = program_.device().is_unified();
  on_device_.assign(is_unified ? 0 : request.entry->inputs.size() + request.entry->outputs.size(), false);
  for (size_t i = 0; i < on_device_.size(); ++i) {
    const size_t inputs = request.entry->inputs.size();
    on_device_[i] = i < inputs ? request.input_buffers[i] != nullptr : request.output_buffers[i - inputs] != nullptr;
  }
  *out = recordings_.find(request.run_plan->id, form, on_device_);
  if (*out)
    return nullptr;
  HEDDLE_RETURN_IF_ERROR(create_objects());
  recording_cache::entry made = {};
  HEDDLE_RETURN_IF_ERROR(record(request, form, &made));
  *out = recordings_.insert(std::move(made));
  return nullptr;
}

} // namespace heddle::runtime::vulkan
