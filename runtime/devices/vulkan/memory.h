// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A VkBuffer with memory of its own. There are few: blocks of constants, and for each session an arena and two for
// transfers; so nothing is gained by sharing an allocation.

#pragma once

#include <utility>

#include "runtime/devices/vulkan/device.h"

namespace heddle::runtime::vulkan {

/// Empty until create() succeeds. The device outlives it.
class buffer {
public:
  buffer() = default;
  buffer(const buffer &) = delete;
  buffer &operator=(const buffer &) = delete;
  buffer(buffer &&other) noexcept { swap(other); }
  buffer &operator=(buffer &&other) noexcept {
    swap(other);
    return *this;
  }
  ~buffer() { reset(); }

  /// Takes |bytes|, at least one, in place of what it held, which goes first. |what| says for what: "weights".
  heddle_status_t create(const device &device, memory_use use, uint64_t bytes, const char *what);
  void reset();

  VkBuffer handle() const { return handle_; }
  uint64_t bytes() const { return bytes_; }
  /// The content as the host sees it; null where it doesn't.
  std::byte *mapped() const { return mapped_; }

private:
  void swap(buffer &other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    std::swap(memory_, other.memory_);
    std::swap(mapped_, other.mapped_);
    std::swap(bytes_, other.bytes_);
    std::swap(counted_, other.counted_);
    std::swap(type_, other.type_);
  }
  heddle_status_t allocate(memory_use use, const char *what);

  const device *device_ = nullptr;
  VkBuffer handle_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  std::byte *mapped_ = nullptr;
  uint64_t bytes_ = 0;
  int64_t counted_ = 0; ///< of the heap
  uint32_t type_ = 0;
};

} // namespace heddle::runtime::vulkan
