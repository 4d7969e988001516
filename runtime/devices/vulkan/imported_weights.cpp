// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// VK_EXT_external_memory_host takes whole pages, which sections are made of: they begin at multiples of 64 KiB, and a
// mapping ends with a page.

#include "runtime/devices/vulkan/imported_weights.h"

#include "runtime/core/checked_math.h"
#include "runtime/devices/vulkan/arena.h"

namespace heddle::runtime::vulkan {

namespace {

constexpr VkExternalMemoryHandleTypeFlagBits host_allocation = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;

/// The first memory type of |bits|; without any, false.
bool first_type(uint32_t bits, uint32_t *out) {
  for (*out = 0; *out < VK_MAX_MEMORY_TYPES; ++*out)
    if (bits & (1u << *out))
      return true;
  return false;
}

} // namespace

imported_weights::~imported_weights() {
  if (handle_)
    device_->api().vkDestroyBuffer(device_->handle(), handle_, nullptr);
  if (memory_)
    device_->api().vkFreeMemory(device_->handle(), memory_, nullptr);
}

VkResult imported_weights::bind(const void *address, uint64_t bytes, std::string *out_problem) {
  const VolkDeviceTable &api = device_->api();
  auto external = tagged<VkExternalMemoryBufferCreateInfo>(VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
  external.handleTypes = host_allocation;
  auto buffer = tagged<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  buffer.pNext = &external;
  buffer.size = bytes;
  buffer.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
  VkResult result = api.vkCreateBuffer(device_->handle(), &buffer, nullptr, &handle_);
  if (result < 0)
    return result;
  VkMemoryRequirements needs = {};
  api.vkGetBufferMemoryRequirements(device_->handle(), handle_, &needs);
  auto pointer = tagged<VkMemoryHostPointerPropertiesEXT>(VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT);
  result = api.vkGetMemoryHostPointerPropertiesEXT(device_->handle(), host_allocation, address, &pointer);
  if (result < 0)
    return result;
  auto source = tagged<VkImportMemoryHostPointerInfoEXT>(VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
  source.handleType = host_allocation;
  source.pHostPointer = const_cast<void *>(address); // shaders only read it
  auto info = tagged<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  info.pNext = &source;
  info.allocationSize = bytes;
  if (needs.size > bytes || !first_type(needs.memoryTypeBits & pointer.memoryTypeBits, &info.memoryTypeIndex)) {
    *out_problem = "the driver has no memory type for them";
    return VK_SUCCESS;
  }
  result = api.vkAllocateMemory(device_->handle(), &info, nullptr, &memory_);
  return result < 0 ? result : api.vkBindBufferMemory(device_->handle(), handle_, memory_, 0);
}

bool imported_weights::create(const device &device, const artifact &loaded, const section_table &section,
                              std::string *out_problem) {
  device_ = &device;
  const uint64_t alignment = device.gpu().import_alignment;
  const std::byte *address = loaded.source.data() + section.offset;
  const uint64_t bytes = alignment == 0 ? 0 : align_up(section.length, alignment);
  // Behind the end of a mapped file its last page goes on with zeros; the caller's memory just ends.
  const bool has_pages = loaded.source.descriptor() >= 0 || section.offset + bytes <= loaded.source.length();
  if (!device.imports_weights())
    *out_problem = "the device lacks VK_EXT_external_memory_host, or it isn't the host's memory";
  else if (reinterpret_cast<uintptr_t>(address) % alignment != 0 || !has_pages)
    *out_problem = format("they don't lie in pages of %llu bytes", static_cast<unsigned long long>(alignment));
  else if (bytes > device.limits().allocation)
    *out_problem = "they are more than the device allocates at once";
  else if (const VkResult result = bind(address, bytes, out_problem); result < 0)
    *out_problem = "the driver refuses them: " + result_name(result);
  if (out_problem->empty()) {
    begin_ = section.offset;
    length_ = section.length;
    return true;
  }
  *this = imported_weights();
  return false;
}

bool imported_weights::find(const constant_table &constant, uint64_t *out_offset) const {
  if (constant.offset < begin_ || constant.offset - begin_ > length_ ||
      constant.length > length_ - (constant.offset - begin_))
    return false;
  *out_offset = constant.offset - begin_;
  return true;
}

} // namespace heddle::runtime::vulkan
