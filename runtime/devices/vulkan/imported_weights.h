// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The artifact's own pages as memory of the device, where host and device share one: weights are then bound where the
// file is mapped and nothing is copied. `HEDDLE_VULKAN_WEIGHTS=import` asks for it, and takes groups of constants that
// lie in one section, within one range of it, without integers of 64 bits; a note of the program has the bytes.
// BERT-base on lavapipe: 340 of 435 MB, loaded in 0.15 s for 0.48, 113 MB of its own for 437, equal bits. Not the
// default: some drivers refuse or pin pages of files, and no GPU was there to try.

#pragma once

#include "runtime/core/artifact_reader.h"
#include "runtime/devices/vulkan/device.h"

namespace heddle::runtime::vulkan {

/// A section of weights as a buffer. Empty until create() succeeds; the device and the artifact outlive it.
class imported_weights {
public:
  imported_weights() = default;
  imported_weights(const imported_weights &) = delete;
  imported_weights &operator=(const imported_weights &) = delete;
  imported_weights(imported_weights &&other) noexcept { swap(other); }
  imported_weights &operator=(imported_weights &&other) noexcept {
    swap(other);
    return *this;
  }
  ~imported_weights();

  /// Imports |section| of |loaded|. Where the device can't, |out_problem| says why, and nothing is held.
  bool create(const device &device, const artifact &loaded, const section_table &section, std::string *out_problem);

  VkBuffer handle() const { return handle_; }
  uint64_t bytes() const { return length_; }
  /// Where |constant| begins in it, if all of it is there.
  bool find(const constant_table &constant, uint64_t *out_offset) const;

private:
  void swap(imported_weights &other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    std::swap(memory_, other.memory_);
    std::swap(begin_, other.begin_);
    std::swap(length_, other.length_);
  }
  VkResult bind(const void *address, uint64_t bytes, std::string *out_problem);

  const device *device_ = nullptr;
  VkBuffer handle_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  uint64_t begin_ = 0; ///< in the file
  uint64_t length_ = 0;
};

} // namespace heddle::runtime::vulkan
