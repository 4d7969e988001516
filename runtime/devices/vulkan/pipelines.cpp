// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines are made when a dispatch first asks for one: of a kernel's variants most runs need one or two, and drivers
// take milliseconds for each.

#include "runtime/devices/vulkan/pipelines.h"

#include <cstring>

#include <heddle/artifact_format.h>

#include "runtime/devices/vulkan/features.h"
#include "runtime/devices/vulkan/spirv.h"

namespace heddle::runtime::vulkan {

pipeline_set::~pipeline_set() {
  if (!device_)
    return;
  const VolkDeviceTable &api = device_->api();
  for (const std::vector<variant> &variants : variants_)
    for (const variant &variant : variants)
      if (variant.made.handle)
        api.vkDestroyPipeline(device_->handle(), variant.made.handle, nullptr);
  if (cache_)
    api.vkDestroyPipelineCache(device_->handle(), cache_, nullptr);
  if (layout_)
    api.vkDestroyPipelineLayout(device_->handle(), layout_, nullptr);
  if (set_layout_)
    api.vkDestroyDescriptorSetLayout(device_->handle(), set_layout_, nullptr);
}

heddle_status_t pipeline_set::create_layouts() {
  const VolkDeviceTable &api = device_->api();
  VkDescriptorSetLayoutBinding bindings[binding_count] = {};
  for (uint32_t i = 0; i < binding_count; ++i)
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  auto set = tagged<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  set.bindingCount = binding_count;
  set.pBindings = bindings;
  HEDDLE_RETURN_IF_ERROR(device_->check(api.vkCreateDescriptorSetLayout(device_->handle(), &set, nullptr, &set_layout_),
                                        "make a descriptor layout"));
  // Every device has 128 bytes, and no shader asks for more.
  const VkPushConstantRange words = {VK_SHADER_STAGE_COMPUTE_BIT, 0, HEDDLE_MAX_PUSH_CONSTANTS * 4};
  auto layout = tagged<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &set_layout_;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &words;
  return device_->check(api.vkCreatePipelineLayout(device_->handle(), &layout, nullptr, &layout_),
                        "make a pipeline layout");
}

heddle_status_t pipeline_set::create(const device &device, const artifact &loaded, size_t target,
                                     const std::vector<std::byte> &cache_bytes) {
  device_ = &device;
  loaded_ = &loaded;
  target_ = &loaded.tables.targets[target];
  for (const shader_table &shader : target_->shaders)
    variants_.emplace_back(shader.variants.size());
  HEDDLE_RETURN_IF_ERROR(create_layouts());
  auto info = tagged<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  info.initialDataSize = cache_bytes.size();
  info.pInitialData = cache_bytes.data();
  return device.check(device.api().vkCreatePipelineCache(device.handle(), &info, nullptr, &cache_),
                      "make a pipeline cache");
}

/// Why the device can't run |table|, "" if it can.
const char *pipeline_set::obstacle(const shader_variant_table &table) const {
  for (const char *name : table.features) {
    const uint32_t bit = feature_bit(name, std::strlen(name));
    if (!bit || !(device_->gpu().features & bit))
      return name;
  }
  const limits &limits = device_->limits();
  uint64_t invocations = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    if (table.workgroup[axis] > limits.workgroup[axis])
      return "larger workgroups";
    invocations *= table.workgroup[axis];
  }
  if (invocations > limits.invocations)
    return "larger workgroups";
  return table.shared_bytes > limits.shared_bytes ? "more shared memory" : "";
}

heddle_status_t pipeline_set::make_module(const shader_variant_table &table, const char *kernel,
                                          VkShaderModule *out) const {
  const shader_module_table &module = target_->modules[table.module];
  const uint64_t offset = loaded_->tables.sections[target_->section].offset + module.offset;
  std::vector<uint32_t> words(module.length / sizeof(uint32_t));
  HEDDLE_RETURN_IF_ERROR(loaded_->source.read(offset, module.length, reinterpret_cast<std::byte *>(words.data())));
  if (const char *fault = fault_of_module(words); *fault)
    return damaged(format("shader of kernel '%s': %s", kernel, fault));
  auto info = tagged<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  info.codeSize = module.length;
  info.pCode = words.data();
  return device_->check(device_->api().vkCreateShaderModule(device_->handle(), &info, nullptr, out),
                        format("take the shader of kernel '%s'", kernel).c_str());
}

heddle_status_t pipeline_set::make(const shader_variant_table &table, const char *kernel, variant *out) const {
  VkShaderModule module = VK_NULL_HANDLE;
  HEDDLE_RETURN_IF_ERROR(make_module(table, kernel, &module));
  std::vector<uint32_t> values(table.workgroup.begin(), table.workgroup.end());
  values.insert(values.end(), table.constants.begin(), table.constants.end());
  std::vector<VkSpecializationMapEntry> entries;
  for (uint32_t i = 0; i < values.size(); ++i)
    entries.push_back({i, i * 4, 4});
  const VkSpecializationInfo constants = {static_cast<uint32_t>(entries.size()), entries.data(), values.size() * 4,
                                          values.data()};
  auto info = tagged<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  info.layout = layout_;
  info.stage = tagged<VkPipelineShaderStageCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &constants;
  const VkResult result =
      device_->api().vkCreateComputePipelines(device_->handle(), cache_, 1, &info, nullptr, &out->made.handle);
  device_->api().vkDestroyShaderModule(device_->handle(), module, nullptr);
  HEDDLE_RETURN_IF_ERROR(device_->check(result, format("make a pipeline of kernel '%s'", kernel).c_str()));
  out->made.tile = table.tile;
  return nullptr;
}

heddle_status_t pipeline_set::choose(uint32_t kernel, const uint32_t *extents, const pipeline **out) const {
  const shader_table &shader = target_->shaders[kernel];
  const char *name = loaded_->tables.kernels[kernel].name;
  heddle_status_t last = nullptr;
  const char *missing = "";
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < shader.variants.size(); ++i) {
    const shader_variant_table &table = shader.variants[i];
    bool allows = true;
    for (size_t axis = 0; axis < 3; ++axis)
      allows = allows && (table.most[axis] == 0 || extents[axis] <= table.most[axis]);
    if (!allows)
      continue;
    variant &variant = variants_[kernel][i];
    if (variant.state == variant_state::untried) {
      variant.state = variant_state::unavailable;
      missing = obstacle(table);
      if (!*missing) {
        heddle_status_release(last);
        last = make(table, name, &variant);
        has_pipelines_ = true;
        // A driver that refuses one variant gets the next; a lost device or no memory gets nothing.
        if (last && heddle_status_code(last) != HEDDLE_STATUS_DEVICE_UNAVAILABLE)
          return variant.state = variant_state::untried, last;
        variant.state = last ? variant_state::unavailable : variant_state::ready;
      }
    }
    if (variant.state == variant_state::ready) {
      heddle_status_release(last);
      *out = &variant.made;
      return nullptr;
    }
  }
  if (last)
    return last;
  return fail(error::H0406, format("kernel '%s' needs %s on '%s'", name, *missing ? missing : "what isn't there",
                                   device_->gpu().properties.deviceName));
}

bool pipeline_set::has_pipelines() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return has_pipelines_;
}

heddle_status_t pipeline_set::read_cache(std::vector<std::byte> *out) const {
  const VolkDeviceTable &api = device_->api();
  size_t bytes = 0;
  HEDDLE_RETURN_IF_ERROR(device_->check(api.vkGetPipelineCacheData(device_->handle(), cache_, &bytes, nullptr),
                                        "hand out its pipeline cache"));
  out->resize(bytes);
  HEDDLE_RETURN_IF_ERROR(device_->check(api.vkGetPipelineCacheData(device_->handle(), cache_, &bytes, out->data()),
                                        "hand out its pipeline cache"));
  out->resize(bytes);
  return nullptr;
}

} // namespace heddle::runtime::vulkan
