// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What pipelines of one kind agree on: storage buffers at bindings 0, 1, 2 ... of set 0, and push constants.

#pragma once

#include "runtime/devices/vulkan/device.h"

namespace heddle::runtime::vulkan {

class layouts {
public:
  layouts() = default;
  layouts(const layouts &) = delete;
  layouts &operator=(const layouts &) = delete;
  ~layouts();

  /// |device| outlives this. To be called once.
  heddle_status_t create(const device &device, uint32_t buffer_count, uint32_t push_bytes);

  VkDescriptorSetLayout set() const { return set_; }
  VkPipelineLayout pipeline() const { return pipeline_; }

private:
  const device *device_ = nullptr;
  VkDescriptorSetLayout set_ = VK_NULL_HANDLE;
  VkPipelineLayout pipeline_ = VK_NULL_HANDLE;
};

} // namespace heddle::runtime::vulkan
