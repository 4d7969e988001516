// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A caller's buffers may be touched by whatever it does on the queue, so the barriers around these copies wait for all
// kinds of work, where those of recordings wait for kernels and copies.

#include "runtime/devices/vulkan/caller_buffers.h"

#include "runtime/devices/vulkan/elements.h"

namespace heddle::runtime::vulkan {

std::string problem_of(const device &device, const heddle_vulkan_buffer_t &buffer, uint64_t bytes,
                       buffer_access access) {
  if (buffer.device != device.handle())
    return "lies in a VkBuffer of another VkDevice than the program's";
  const bool is_read = access == buffer_access::read;
  if (!(buffer.usage & (is_read ? VK_BUFFER_USAGE_TRANSFER_SRC_BIT : VK_BUFFER_USAGE_TRANSFER_DST_BIT)))
    return format("lies in a VkBuffer that was made without VK_BUFFER_USAGE_TRANSFER_%s_BIT", is_read ? "SRC" : "DST");
  // A little more than the buffer has, but all that can be asked for.
  VkMemoryRequirements needs = {};
  device.api().vkGetBufferMemoryRequirements(device.handle(), handle_of<VkBuffer>(buffer.buffer), &needs);
  if (bytes <= needs.size && buffer.offset <= needs.size - bytes)
    return "";
  return format("takes %llu bytes from byte %llu on of a VkBuffer that has no more than %llu",
                static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(buffer.offset),
                static_cast<unsigned long long>(needs.size));
}

namespace {

/// All that was submitted before is over and seen by all that comes behind, the host included.
void outer_barrier(const VolkDeviceTable &api, VkCommandBuffer commands) {
  auto barrier = tagged<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  api.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                           VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr,
                           0, nullptr);
}

} // namespace

heddle_status_t caller_copies::record(one_time_commands &commands, const std::vector<copy> &copies) {
  HEDDLE_RETURN_IF_ERROR(commands.begin());
  outer_barrier(device_.api(), commands.handle());
  for (const copy &copy : copies)
    device_.api().vkCmdCopyBuffer(commands.handle(), copy.from, copy.to, 1, &copy.region);
  outer_barrier(device_.api(), commands.handle());
  return commands.end();
}

heddle_status_t caller_copies::record(const run_request &request, const arena_layout &layout, VkBuffer arena) {
  std::vector<copy> before;
  std::vector<copy> after;
  for (size_t i = 0; i < layout.inputs.size(); ++i) {
    const heddle_vulkan_buffer_t *buffer = request.input_buffers[i];
    const uint64_t bytes = device_bytes(request.entry->inputs[i].type, layout.inputs[i].bytes);
    if (buffer && bytes != 0)
      before.push_back({handle_of<VkBuffer>(buffer->buffer), arena, {buffer->offset, layout.inputs[i].offset, bytes}});
  }
  for (size_t i = 0; i < layout.outputs.size(); ++i) {
    const heddle_vulkan_buffer_t *buffer = request.output_buffers[i];
    const uint64_t bytes = device_bytes(request.entry->outputs[i].type, layout.outputs[i].bytes);
    if (buffer && bytes != 0)
      after.push_back({arena, handle_of<VkBuffer>(buffer->buffer), {layout.outputs[i].offset, buffer->offset, bytes}});
  }
  has_before_ = has_after_ = false;
  if (!before.empty())
    HEDDLE_RETURN_IF_ERROR(record(before_, before));
  has_before_ = !before.empty();
  if (!after.empty())
    HEDDLE_RETURN_IF_ERROR(record(after_, after));
  has_after_ = !after.empty();
  return nullptr;
}

} // namespace heddle::runtime::vulkan
