// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/devices/vulkan/layouts.h"

#include <vector>

namespace heddle::runtime::vulkan {

layouts::~layouts() {
  if (pipeline_)
    device_->api().vkDestroyPipelineLayout(device_->handle(), pipeline_, nullptr);
  if (set_)
    device_->api().vkDestroyDescriptorSetLayout(device_->handle(), set_, nullptr);
}

heddle_status_t layouts::create(const device &device, uint32_t buffer_count, uint32_t push_bytes) {
  device_ = &device;
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (uint32_t i = 0; i < buffer_count; ++i)
    bindings.push_back({i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  auto set = tagged<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  set.bindingCount = buffer_count;
  set.pBindings = bindings.data();
  HEDDLE_RETURN_IF_ERROR(device.check(device.api().vkCreateDescriptorSetLayout(device.handle(), &set, nullptr, &set_),
                                      "make a descriptor layout"));
  const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes};
  auto layout = tagged<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &set_;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &range;
  return device.check(device.api().vkCreatePipelineLayout(device.handle(), &layout, nullptr, &pipeline_),
                      "make a pipeline layout");
}

} // namespace heddle::runtime::vulkan
