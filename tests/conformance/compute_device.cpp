// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// volk is its header and one C file, which stands in this unit.
#define VOLK_IMPLEMENTATION
#include "tests/conformance/compute_device.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace heddle::conformance {

static void check(VkResult result, const char *what) {
  if (result == VK_SUCCESS)
    return;
  std::fprintf(stderr, "%s failed: VkResult %d\n", what, result);
  std::exit(1);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

shared_buffer::shared_buffer(VkDevice device, uint32_t memory_type, size_t bytes) : device_(device), size_(bytes) {
  VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  check(vkCreateBuffer(device_, &info, nullptr, &buffer_), "vkCreateBuffer");
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device_, buffer_, &needs);
  VkMemoryAllocateInfo allocate = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex = memory_type;
  check(vkAllocateMemory(device_, &allocate, nullptr, &memory_), "vkAllocateMemory");
  check(vkBindBufferMemory(device_, buffer_, memory_, 0), "vkBindBufferMemory");
  void *data = nullptr;
  check(vkMapMemory(device_, memory_, 0, VK_WHOLE_SIZE, 0, &data), "vkMapMemory");
  data_ = static_cast<std::byte *>(data);
}

shared_buffer::~shared_buffer() {
  vkDestroyBuffer(device_, buffer_, nullptr);
  vkFreeMemory(device_, memory_, nullptr);
}

std::unique_ptr<shared_buffer> compute_device::allocate(size_t bytes) const {
  return std::make_unique<shared_buffer>(device_, memory_type_, bytes);
}

//===----------------------------------------------------------------------===//
// Device
//===----------------------------------------------------------------------===//

compute_device::compute_device() {
  check(volkInitialize(), "opening the Vulkan loader");
  VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.apiVersion = VK_API_VERSION_1_1;
  VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  check(vkCreateInstance(&info, nullptr, &instance_), "vkCreateInstance");
  volkLoadInstance(instance_);
  uint32_t count = 1;
  VkResult listed = vkEnumeratePhysicalDevices(instance_, &count, &physical_);
  check(count == 0                ? VK_ERROR_INITIALIZATION_FAILED
        : listed == VK_INCOMPLETE ? VK_SUCCESS
                                  : listed,
        "vkEnumeratePhysicalDevices");
  VkPhysicalDeviceSubgroupProperties subgroups = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceProperties2 properties = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &subgroups, {}};
  vkGetPhysicalDeviceProperties2(physical_, &properties);
  name_ = properties.properties.deviceName;
  shared_bytes_ = properties.properties.limits.maxComputeSharedMemorySize;
  has_subgroups_of_8_ =
      subgroups.subgroupSize >= 8 && (subgroups.supportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT);
  create_device();
  create_layouts();
}

void compute_device::create_device() {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, families.data());
  while (family_ + 1 < count && !(families[family_].queueFlags & VK_QUEUE_COMPUTE_BIT))
    ++family_;
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(physical_, &memory);
  constexpr VkMemoryPropertyFlags visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  while (memory_type_ + 1 < memory.memoryTypeCount &&
         (memory.memoryTypes[memory_type_].propertyFlags & visible) != visible)
    ++memory_type_;
  constexpr float priority = 1;
  VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  check(vkCreateDevice(physical_, &info, nullptr, &device_), "vkCreateDevice");
  volkLoadDevice(device_);
  vkGetDeviceQueue(device_, family_, 0, &queue_);
}

void compute_device::create_layouts() {
  std::array<VkDescriptorSetLayoutBinding, kBufferCount> bindings = {};
  for (uint32_t i = 0; i < kBufferCount; ++i)
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  VkDescriptorSetLayoutCreateInfo set_info = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  set_info.bindingCount = kBufferCount;
  set_info.pBindings = bindings.data();
  check(vkCreateDescriptorSetLayout(device_, &set_info, nullptr, &set_layout_), "vkCreateDescriptorSetLayout");
  VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 128};
  VkPipelineLayoutCreateInfo layout_info = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout_info.setLayoutCount = 1;
  layout_info.pSetLayouts = &set_layout_;
  layout_info.pushConstantRangeCount = 1;
  layout_info.pPushConstantRanges = &range;
  check(vkCreatePipelineLayout(device_, &layout_info, nullptr, &layout_), "vkCreatePipelineLayout");
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kBufferCount};
  VkDescriptorPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool_info.maxSets = 1;
  pool_info.poolSizeCount = 1;
  pool_info.pPoolSizes = &size;
  check(vkCreateDescriptorPool(device_, &pool_info, nullptr, &pool_), "vkCreateDescriptorPool");
  VkDescriptorSetAllocateInfo set = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  set.descriptorPool = pool_;
  set.descriptorSetCount = 1;
  set.pSetLayouts = &set_layout_;
  check(vkAllocateDescriptorSets(device_, &set, &set_), "vkAllocateDescriptorSets");
  VkCommandPoolCreateInfo commands_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  commands_info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  commands_info.queueFamilyIndex = family_;
  check(vkCreateCommandPool(device_, &commands_info, nullptr, &commands_pool_), "vkCreateCommandPool");
  VkCommandBufferAllocateInfo commands = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  commands.commandPool = commands_pool_;
  commands.commandBufferCount = 1;
  check(vkAllocateCommandBuffers(device_, &commands, &commands_), "vkAllocateCommandBuffers");
  VkFenceCreateInfo fence = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  check(vkCreateFence(device_, &fence, nullptr, &fence_), "vkCreateFence");
}

compute_device::~compute_device() {
  for (const compute_pipeline &pipeline : pipelines_) {
    vkDestroyPipeline(device_, pipeline.pipeline, nullptr);
    vkDestroyShaderModule(device_, pipeline.module, nullptr);
  }
  vkDestroyFence(device_, fence_, nullptr);
  vkDestroyCommandPool(device_, commands_pool_, nullptr);
  vkDestroyDescriptorPool(device_, pool_, nullptr);
  vkDestroyPipelineLayout(device_, layout_, nullptr);
  vkDestroyDescriptorSetLayout(device_, set_layout_, nullptr);
  vkDestroyDevice(device_, nullptr);
  vkDestroyInstance(instance_, nullptr);
}

//===----------------------------------------------------------------------===//
// Shaders
//===----------------------------------------------------------------------===//

compute_pipeline compute_device::create_pipeline(const std::vector<uint32_t> &words,
                                                 const std::vector<uint32_t> &constants) {
  compute_pipeline result;
  VkShaderModuleCreateInfo module = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  module.codeSize = words.size() * sizeof(uint32_t);
  module.pCode = words.data();
  check(vkCreateShaderModule(device_, &module, nullptr, &result.module), "vkCreateShaderModule");
  std::vector<VkSpecializationMapEntry> entries;
  for (uint32_t i = 0; i < constants.size(); ++i)
    entries.push_back({i, static_cast<uint32_t>(i * sizeof(uint32_t)), sizeof(uint32_t)});
  VkSpecializationInfo values = {static_cast<uint32_t>(entries.size()), entries.data(),
                                 constants.size() * sizeof(uint32_t), constants.data()};
  VkComputePipelineCreateInfo info = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = result.module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &values;
  info.layout = layout_;
  check(vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &info, nullptr, &result.pipeline),
        "vkCreateComputePipelines");
  pipelines_.push_back(result);
  return result;
}

void compute_device::record(const compute_pipeline &pipeline, const std::vector<uint32_t> &push,
                            const std::array<uint32_t, 3> &groups) {
  VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  check(vkBeginCommandBuffer(commands_, &begin), "vkBeginCommandBuffer");
  vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
  vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &set_, 0, nullptr);
  vkCmdPushConstants(commands_, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                     static_cast<uint32_t>(push.size() * sizeof(uint32_t)), push.data());
  vkCmdDispatch(commands_, groups[0], groups[1], groups[2]);
  check(vkEndCommandBuffer(commands_), "vkEndCommandBuffer");
}

double compute_device::run(const compute_pipeline &pipeline, const std::array<VkBuffer, kBufferCount> &buffers,
                           const std::vector<uint32_t> &push, const std::array<uint32_t, 3> &groups) {
  std::array<VkDescriptorBufferInfo, kBufferCount> infos;
  std::array<VkWriteDescriptorSet, kBufferCount> writes = {};
  for (uint32_t i = 0; i < kBufferCount; ++i) {
    infos[i] = {buffers[i], 0, VK_WHOLE_SIZE};
    writes[i] = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    writes[i].dstSet = set_;
    writes[i].dstBinding = i;
    writes[i].descriptorCount = 1;
    writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[i].pBufferInfo = &infos[i];
  }
  vkUpdateDescriptorSets(device_, kBufferCount, writes.data(), 0, nullptr);
  record(pipeline, push, groups);
  VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands_;
  auto start = std::chrono::steady_clock::now();
  check(vkQueueSubmit(queue_, 1, &submit, fence_), "vkQueueSubmit");
  check(vkWaitForFences(device_, 1, &fence_, VK_TRUE, UINT64_MAX), "vkWaitForFences");
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  check(vkResetFences(device_, 1, &fence_), "vkResetFences");
  return seconds;
}

} // namespace heddle::conformance
