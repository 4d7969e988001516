// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Short runs are polled for: to be woken takes some schedulers milliseconds, on phones most of all. Long ones sleep.

#include "runtime/devices/vulkan/submission.h"

#include <chrono>

#include <sched.h>

namespace heddle::runtime::vulkan {

namespace {

constexpr auto polling_time = std::chrono::microseconds(200);
constexpr uint64_t sleep_nanoseconds = 1000000000;

} // namespace

heddle_status_t wait_for(const device &device, VkFence fence) {
  const VolkDeviceTable &api = device.api();
  const auto start = std::chrono::steady_clock::now();
  VkResult result = VK_NOT_READY;
  while (result == VK_NOT_READY && std::chrono::steady_clock::now() - start < polling_time) {
    result = api.vkGetFenceStatus(device.handle(), fence);
    // A software device computes on the CPUs that this thread would keep busy.
    sched_yield();
  }
  // The driver gives up work that hangs, and says so; to give up earlier would free memory that is in use.
  while (result == VK_NOT_READY || result == VK_TIMEOUT)
    result = api.vkWaitForFences(device.handle(), 1, &fence, VK_TRUE, sleep_nanoseconds);
  // Who gets the error frees memory that the device may be writing to.
  if (result < 0)
    device.drain();
  return device.check(result, "finish work");
}

void full_barrier(const VolkDeviceTable &api, VkCommandBuffer commands, bool to_host) {
  constexpr VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  auto barrier = tagged<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                          VK_ACCESS_TRANSFER_WRITE_BIT | VkAccessFlags(to_host ? VK_ACCESS_HOST_READ_BIT : 0);
  api.vkCmdPipelineBarrier(commands, stages, stages | VkPipelineStageFlags(to_host ? VK_PIPELINE_STAGE_HOST_BIT : 0), 0,
                           1, &barrier, 0, nullptr, 0, nullptr);
}

one_time_commands::~one_time_commands() {
  const VolkDeviceTable &api = device_.api();
  if (fence_)
    api.vkDestroyFence(device_.handle(), fence_, nullptr);
  if (pool_)
    api.vkDestroyCommandPool(device_.handle(), pool_, nullptr);
}

/// What an earlier call has made stays.
heddle_status_t one_time_commands::create() {
  const VolkDeviceTable &api = device_.api();
  if (!pool_) {
    auto pool = tagged<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT | VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = device_.gpu().queue_family;
    HEDDLE_RETURN_IF_ERROR(
        device_.check(api.vkCreateCommandPool(device_.handle(), &pool, nullptr, &pool_), "make a command pool"));
  }
  if (!fence_) {
    const auto fence = tagged<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
    HEDDLE_RETURN_IF_ERROR(
        device_.check(api.vkCreateFence(device_.handle(), &fence, nullptr, &fence_), "make a fence"));
  }
  auto info = tagged<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  info.commandPool = pool_;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  HEDDLE_RETURN_IF_ERROR(
      device_.check(api.vkAllocateCommandBuffers(device_.handle(), &info, &commands), "make a command buffer"));
  commands_ = commands;
  return nullptr;
}

heddle_status_t one_time_commands::begin() {
  if (!commands_)
    HEDDLE_RETURN_IF_ERROR(create());
  auto info = tagged<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  HEDDLE_RETURN_IF_ERROR(device_.check(device_.api().vkBeginCommandBuffer(commands_, &info), "begin recording"));
  full_barrier(device_.api(), commands_, false);
  return nullptr;
}

heddle_status_t one_time_commands::end() {
  full_barrier(device_.api(), commands_, true);
  return device_.check(device_.api().vkEndCommandBuffer(commands_), "end recording");
}

heddle_status_t one_time_commands::run() {
  HEDDLE_RETURN_IF_ERROR(end());
  HEDDLE_RETURN_IF_ERROR(device_.submit(commands_, fence_));
  return wait_for(device_, fence_);
}

} // namespace heddle::runtime::vulkan
