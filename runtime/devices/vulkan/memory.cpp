// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A buffer has an allocation of its own: the few that there are stay far below what drivers count.

#include "runtime/devices/vulkan/memory.h"

#include "runtime/devices/vulkan/result.h"

namespace heddle::runtime::vulkan {

void buffer::reset() {
  if (handle_)
    device_->api().vkDestroyBuffer(device_->handle(), handle_, nullptr);
  // Freeing unmaps.
  if (memory_) {
    device_->api().vkFreeMemory(device_->handle(), memory_, nullptr);
    device_->count_memory(type_, -counted_);
  }
  handle_ = VK_NULL_HANDLE;
  memory_ = VK_NULL_HANDLE;
  mapped_ = nullptr;
  bytes_ = 0;
  counted_ = 0;
}

heddle_status_t buffer::create(const device &device, memory_use use, uint64_t bytes, const char *what) {
  reset();
  device_ = &device;
  if (bytes > device.limits().allocation)
    return beyond_limits(format("%llu bytes for %s are more than '%s' allocates at once, %llu",
                                static_cast<unsigned long long>(bytes), what, device.gpu().properties.deviceName,
                                static_cast<unsigned long long>(device.limits().allocation)));
  auto info = tagged<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if (use == memory_use::device)
    info.usage |= VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  HEDDLE_RETURN_IF_ERROR(
      device.check(device.api().vkCreateBuffer(device.handle(), &info, nullptr, &handle_), "make a buffer"));
  heddle_status_t status = allocate(use, what);
  if (status)
    reset();
  else
    bytes_ = bytes; // only now: an exception must leave nothing that looks like memory
  return status;
}

heddle_status_t buffer::allocate(memory_use use, const char *what) {
  const VolkDeviceTable &api = device_->api();
  VkMemoryRequirements needs = {};
  api.vkGetBufferMemoryRequirements(device_->handle(), handle_, &needs);
  HEDDLE_RETURN_IF_ERROR(device_->choose_memory(use, needs.memoryTypeBits, needs.size, &type_));
  auto info = tagged<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  info.allocationSize = needs.size;
  info.memoryTypeIndex = type_;
  const std::string tried = format("allocate %llu bytes for %s", static_cast<unsigned long long>(needs.size), what);
  HEDDLE_RETURN_IF_ERROR(
      device_->check(api.vkAllocateMemory(device_->handle(), &info, nullptr, &memory_), tried.c_str()));
  counted_ = static_cast<int64_t>(needs.size);
  device_->count_memory(type_, counted_);
  HEDDLE_RETURN_IF_ERROR(
      device_->check(api.vkBindBufferMemory(device_->handle(), handle_, memory_, 0), "bind a buffer's memory"));
  if (use == memory_use::device && !device_->is_unified())
    return nullptr;
  void *address = nullptr;
  HEDDLE_RETURN_IF_ERROR(
      device_->check(api.vkMapMemory(device_->handle(), memory_, 0, VK_WHOLE_SIZE, 0, &address), "map memory"));
  mapped_ = static_cast<std::byte *>(address);
  return nullptr;
}

} // namespace heddle::runtime::vulkan
