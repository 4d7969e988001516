// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One descriptor set for each dispatch, from a pool of exactly so many: sets are cheap, and a pool that is too small
// fails on some drivers only.

#include "runtime/devices/vulkan/recording.h"

#include "runtime/devices/vulkan/submission.h"

namespace heddle::runtime::vulkan {

VkBuffer recorded_buffers::at(uint32_t buffer) const {
  switch (buffer) {
  case arena_buffer:
    return arena;
  case upload_buffer:
    return upload;
  case download_buffer:
    return download;
  default:
    return constants->block(buffer - first_block);
  }
}

double seconds_between(const limits &limits, uint64_t begin, uint64_t end) {
  const uint64_t ticks = (end - begin) & limits.timestamp_mask;
  // Half of what the clock can count, hours at least: it went backwards.
  return ticks > limits.timestamp_mask / 2 ? 0 : static_cast<double>(ticks) * limits.timestamp_nanoseconds * 1e-9;
}

recording::~recording() {
  if (!device_)
    return;
  const VolkDeviceTable &api = device_->api();
  if (!commands_.empty())
    api.vkFreeCommandBuffers(device_->handle(), pool_, static_cast<uint32_t>(commands_.size()), commands_.data());
  if (times_)
    api.vkDestroyQueryPool(device_->handle(), times_, nullptr);
  if (sets_pool_)
    api.vkDestroyDescriptorPool(device_->handle(), sets_pool_, nullptr);
}

heddle_status_t recording::create_sets(const pipeline_set &pipelines, const recorded_buffers &buffers) {
  const VolkDeviceTable &api = device_->api();
  std::vector<const dispatch_command *> dispatches;
  for (const command &command : schedule_.commands)
    if (const auto *dispatch = std::get_if<dispatch_command>(&command.kind))
      dispatches.push_back(dispatch);
  if (dispatches.empty())
    return nullptr;
  const auto count = static_cast<uint32_t>(dispatches.size());
  const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count * binding_count};
  auto pool = tagged<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  pool.maxSets = count;
  pool.poolSizeCount = 1;
  pool.pPoolSizes = &size;
  HEDDLE_RETURN_IF_ERROR(device_->check(api.vkCreateDescriptorPool(device_->handle(), &pool, nullptr, &sets_pool_),
                                        "make a descriptor pool"));
  const std::vector<VkDescriptorSetLayout> layouts(count, pipelines.set_layout());
  auto info = tagged<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  info.descriptorPool = sets_pool_;
  info.descriptorSetCount = count;
  info.pSetLayouts = layouts.data();
  sets_.resize(count);
  HEDDLE_RETURN_IF_ERROR(
      device_->check(api.vkAllocateDescriptorSets(device_->handle(), &info, sets_.data()), "make descriptor sets"));
  for (uint32_t i = 0; i < count; ++i) {
    VkDescriptorBufferInfo ranges[binding_count];
    for (uint32_t binding = 0; binding < binding_count; ++binding) {
      const buffer_range &range = dispatches[i]->bindings[binding];
      // What a shader doesn't use needs a buffer all the same: the arena's first bytes, which belong to no tensor.
      ranges[binding] = range.bytes != 0 ? VkDescriptorBufferInfo{buffers.at(range.buffer), range.offset, range.bytes}
                                         : VkDescriptorBufferInfo{buffers.arena, 0, tensor_alignment};
    }
    auto write = tagged<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
    write.dstSet = sets_[i];
    write.descriptorCount = binding_count; // goes on from binding 0 to the next ones
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = ranges;
    api.vkUpdateDescriptorSets(device_->handle(), 1, &write, 0, nullptr);
  }
  return nullptr;
}

void recording::record(VkCommandBuffer commands, const command &command, const pipeline_set &pipelines,
                       const recorded_buffers &buffers) {
  const VolkDeviceTable &api = device_->api();
  if (command.waits)
    full_barrier(api, commands, false);
  if (const auto *dispatch = std::get_if<dispatch_command>(&command.kind)) {
    api.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, dispatch->pipeline->handle);
    api.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines.layout(), 0, 1, &sets_[next_set_++],
                                0, nullptr);
    api.vkCmdPushConstants(commands, pipelines.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                           static_cast<uint32_t>(dispatch->words.size() * 4), dispatch->words.data());
    api.vkCmdDispatch(commands, dispatch->groups[0], dispatch->groups[1], dispatch->groups[2]);
  } else if (const auto *copy = std::get_if<copy_command>(&command.kind)) {
    const VkBufferCopy region = {copy->source.offset, copy->offset, copy->source.bytes};
    api.vkCmdCopyBuffer(commands, buffers.at(copy->source.buffer), buffers.at(copy->target), 1, &region);
  } else if (const auto *clear = std::get_if<clear_command>(&command.kind)) {
    api.vkCmdFillBuffer(commands, buffers.arena, clear->offset, clear->bytes, 0);
  } else if (const auto *store = std::get_if<store_command>(&command.kind)) {
    api.vkCmdUpdateBuffer(commands, buffers.arena, store->offset, store->words.size() * 4, store->words.data());
  }
}

heddle_status_t recording::record(size_t segment, const pipeline_set &pipelines, const recorded_buffers &buffers) {
  const VolkDeviceTable &api = device_->api();
  VkCommandBuffer commands = commands_[segment];
  auto time = static_cast<uint32_t>(first_query(segment));
  size_t mark = first_mark_[segment];
  const auto info = tagged<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  HEDDLE_RETURN_IF_ERROR(device_->check(api.vkBeginCommandBuffer(commands, &info), "begin recording"));
  // What was submitted before, this recording's last run included, is over before anything here begins.
  full_barrier(api, commands, false);
  if (times_) {
    api.vkCmdResetQueryPool(commands, times_, time, static_cast<uint32_t>(first_query(segment + 1)) - time);
    api.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, times_, time);
  }
  for (size_t i = schedule_.segments[segment].begin; i < schedule_.segments[segment].end; ++i) {
    record(commands, schedule_.commands[i], pipelines, buffers);
    if (i + 1 == schedule_.segments[segment].end)
      full_barrier(api, commands, true);
    if (times_ && i + 1 == marks_[mark].end) {
      api.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, times_, ++time);
      ++mark;
    }
  }
  return device_->check(api.vkEndCommandBuffer(commands), "end recording");
}

heddle_status_t recording::create(const device &device, VkCommandPool pool, const pipeline_set &pipelines,
                                  const recorded_buffers &buffers, schedule schedule, bool times_steps) {
  device_ = &device;
  pool_ = pool;
  schedule_ = std::move(schedule);
  const VolkDeviceTable &api = device.api();
  HEDDLE_RETURN_IF_ERROR(create_sets(pipelines, buffers));
  const auto count = static_cast<uint32_t>(schedule_.segments.size());
  if (count == 0)
    return nullptr;
  place_marks(times_steps);
  if (device.limits().timestamp_nanoseconds > 0)
    HEDDLE_RETURN_IF_ERROR(create_clock());
  auto info = tagged<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  info.commandPool = pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = count;
  std::vector<VkCommandBuffer> made(count);
  HEDDLE_RETURN_IF_ERROR(
      device.check(api.vkAllocateCommandBuffers(device.handle(), &info, made.data()), "make command buffers"));
  commands_ = std::move(made);
  for (size_t i = 0; i < count; ++i)
    HEDDLE_RETURN_IF_ERROR(record(i, pipelines, buffers));
  // Recorded, they are the driver's to keep.
  schedule_.commands = {};
  return nullptr;
}

void recording::place_marks(bool times_steps) {
  for (const segment &segment : schedule_.segments) {
    first_mark_.push_back(marks_.size());
    for (size_t i = segment.begin; i < segment.end; ++i)
      if (i + 1 == segment.end || (times_steps && schedule_.commands[i + 1].step != schedule_.commands[i].step))
        marks_.push_back({i + 1, schedule_.commands[i].step});
  }
  first_mark_.push_back(marks_.size());
}

heddle_status_t recording::create_clock() {
  auto queries = tagged<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
  queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
  queries.queryCount = static_cast<uint32_t>(first_query(schedule_.segments.size()));
  return device_->check(device_->api().vkCreateQueryPool(device_->handle(), &queries, nullptr, &times_),
                        "make a query pool");
}

heddle_status_t recording::measure(size_t segment, double *out_seconds) {
  *out_seconds = 0;
  if (!times_)
    return nullptr;
  const size_t first = first_query(segment);
  ticks_.resize(first_query(segment + 1) - first);
  HEDDLE_RETURN_IF_ERROR(device_->check(
      device_->api().vkGetQueryPoolResults(device_->handle(), times_, static_cast<uint32_t>(first),
                                           static_cast<uint32_t>(ticks_.size()), ticks_.size() * sizeof(ticks_[0]),
                                           ticks_.data(), sizeof(ticks_[0]), VK_QUERY_RESULT_64_BIT),
      "read its clock"));
  *out_seconds = seconds_between(device_->limits(), ticks_.front(), ticks_.back());
  return nullptr;
}

void recording::append_step_times(size_t segment, uint64_t *origin, std::vector<step_time> *out) const {
  if (!times_)
    return;
  if (segment == 0)
    *origin = ticks_[0];
  double begin = seconds_between(device_->limits(), *origin, ticks_[0]);
  for (size_t i = 1; i < ticks_.size(); ++i) {
    const double end = seconds_between(device_->limits(), *origin, ticks_[i]);
    out->push_back({marks_[first_mark_[segment] + i - 1].step, begin, end});
    begin = end;
  }
}

} // namespace heddle::runtime::vulkan
