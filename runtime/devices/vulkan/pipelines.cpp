// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines are made when a dispatch first asks for one: of a kernel's variants most runs need one or two, and drivers
// take milliseconds for each.

#include "runtime/devices/vulkan/pipelines.h"

#include <cstring>

#include <heddle/artifact_format.h>

#include "runtime/devices/vulkan/cache_file.h"
#include "runtime/devices/vulkan/features.h"
#include "runtime/devices/vulkan/result.h"
#include "runtime/devices/vulkan/self_test.h"
#include "runtime/devices/vulkan/spirv.h"

namespace heddle::runtime::vulkan {

pipeline_set::~pipeline_set() {
  if (!device_)
    return;
  const VolkDeviceTable &api = device_->api();
  for (kernel_variants &kernel : kernels_)
    for (variant &variant : kernel.variants)
      destroy(&variant);
  if (cache_)
    api.vkDestroyPipelineCache(device_->handle(), cache_, nullptr);
}

heddle_status_t pipeline_set::create(const device &device, const artifact &loaded, size_t target,
                                     const std::vector<std::byte> &cache_bytes) {
  device_ = &device;
  loaded_ = &loaded;
  target_ = &loaded.tables.targets[target];
  for (const shader_table &shader : target_->shaders)
    kernels_.emplace_back().variants.resize(shader.variants.size());
  // Modules are a few hundred kilobytes, and drivers crash on changed ones.
  HEDDLE_RETURN_IF_ERROR(loaded.source.check_length());
  HEDDLE_RETURN_IF_ERROR(check_section_checksum(loaded, target_->section));
  // Every device has 128 bytes of push constants, and no shader asks for more.
  HEDDLE_RETURN_IF_ERROR(layouts_.create(device, binding_count, HEDDLE_MAX_PUSH_CONSTANTS * 4));
  auto info = tagged<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  const size_t verdict_bytes = take_verdicts(cache_bytes);
  info.initialDataSize = cache_bytes.size() - verdict_bytes;
  info.pInitialData = cache_bytes.data() + verdict_bytes;
  VkResult result = device.api().vkCreatePipelineCache(device.handle(), &info, nullptr, &cache_);
  // Data that the driver doesn't like is no reason to fail: it begins with none.
  if (result < 0 && result != VK_ERROR_DEVICE_LOST && info.initialDataSize != 0) {
    info.initialDataSize = 0;
    result = device.api().vkCreatePipelineCache(device.handle(), &info, nullptr, &cache_);
  }
  return device.check(result, "make a pipeline cache");
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

heddle_status_t pipeline_set::make_module(uint32_t kernel, const shader_variant_table &table,
                                          const std::vector<uint32_t> &constants, VkShaderModule *out) const {
  const char *name = loaded_->tables.kernels[kernel].name;
  const shader_module_table &module = target_->modules[table.module];
  const uint64_t offset = loaded_->tables.sections[target_->section].offset + module.offset;
  std::vector<uint32_t> words(module.length / sizeof(uint32_t));
  HEDDLE_RETURN_IF_ERROR(loaded_->source.read(offset, module.length, reinterpret_cast<std::byte *>(words.data())));
  module_claims claims = {0, target_->shaders[kernel].word_count, table.workgroup, constants, table.shared_bytes};
  for (const char *feature : table.features)
    claims.features |= feature_bit(feature, std::strlen(feature));
  if (const std::string fault = fault_of_module(words, claims); !fault.empty())
    return damaged(format("shader of kernel '%s': %s", name, fault.c_str()));
  auto info = tagged<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  info.codeSize = module.length;
  info.pCode = words.data();
  return device_->check(device_->api().vkCreateShaderModule(device_->handle(), &info, nullptr, out),
                        format("take the shader of kernel '%s'", name).c_str());
}

namespace {

/// A shader module for as long as a pipeline is made of it.
struct module_holder {
  const device &owner;
  VkShaderModule handle = VK_NULL_HANDLE;

  explicit module_holder(const device &device) : owner(device) {}
  module_holder(const module_holder &) = delete;
  module_holder &operator=(const module_holder &) = delete;
  ~module_holder() {
    if (handle)
      owner.api().vkDestroyShaderModule(owner.handle(), handle, nullptr);
  }
};

} // namespace

/// Makes the pipeline of a variant. |out_result| is what the driver says of it; an error is of anything else.
heddle_status_t pipeline_set::make(uint32_t kernel, size_t index, VkResult *out_result) const {
  const shader_variant_table &table = target_->shaders[kernel].variants[index];
  std::vector<uint32_t> values(table.workgroup.begin(), table.workgroup.end());
  values.insert(values.end(), table.constants.begin(), table.constants.end());
  module_holder module(*device_);
  HEDDLE_RETURN_IF_ERROR(make_module(kernel, table, values, &module.handle));
  std::vector<VkSpecializationMapEntry> entries;
  for (uint32_t i = 0; i < values.size(); ++i)
    entries.push_back({i, i * 4, 4});
  const VkSpecializationInfo constants = {static_cast<uint32_t>(entries.size()), entries.data(), values.size() * 4,
                                          values.data()};
  auto info = tagged<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  info.layout = layouts_.pipeline();
  info.stage = tagged<VkPipelineShaderStageCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module.handle;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &constants;
  pipeline &made = kernels_[kernel].variants[index].made;
  made.tile = table.tile;
  *out_result = device_->api().vkCreateComputePipelines(device_->handle(), cache_, 1, &info, nullptr, &made.handle);
  return nullptr;
}

void pipeline_set::destroy(variant *variant) const {
  if (variant->made.handle)
    device_->api().vkDestroyPipeline(device_->handle(), variant->made.handle, nullptr);
  variant->made = {};
}

/// Notes that a variant isn't used, and returns what to fail with if there is no other.
heddle_status_t pipeline_set::reject(uint32_t kernel, size_t index, const std::string &reason) const {
  kernels_[kernel].variants[index].fault = reason;
  add_note(format("variant %zu of kernel '%s' isn't used on '%s', which fails its self-test: %s", index,
                  loaded_->tables.kernels[kernel].name, device_->gpu().properties.deviceName, reason.c_str()));
  return all_wrong(kernel, reason);
}

heddle_status_t pipeline_set::all_wrong(uint32_t kernel, const std::string &reason) const {
  return fail(error::H0409,
              format("kernel '%s' fails its self-test on '%s' in each variant that the device can run: %s",
                     loaded_->tables.kernels[kernel].name, device_->gpu().properties.deviceName, reason.c_str()),
              "an update of the driver may help; --device cpu computes rightly");
}

/// Whether |wish|, a part of a kernel's name or that, "/" and a number, means this variant.
static bool names_variant(const std::string &wish, const char *kernel, size_t index) {
  const size_t slash = wish.find('/');
  return std::strstr(kernel, wish.substr(0, slash).c_str()) &&
         (slash == std::string::npos || wish.substr(slash + 1) == std::to_string(index));
}

heddle_status_t pipeline_set::test(uint32_t kernel, size_t index, variant *tested) const {
  const char *name = loaded_->tables.kernels[kernel].name;
  const options &settings = device_->settings();
  for (const std::string &wish : settings.wrong_shaders)
    if (names_variant(wish, name, index))
      return reject(kernel, index, "HEDDLE_VULKAN_SELF_TEST says so"); // and nobody remembers it
  const shader_table &shader = target_->shaders[kernel];
  if (tested->result == verdict::unknown && shader.self_test && settings.tests_shaders) {
    std::string fault;
    heddle_status_t status =
        run_self_test(*device_, *this, {name, &shader, &shader.variants[index], &tested->made}, &fault);
    // A case beyond the device's limits says nothing of the shader. Real work has limits of its own, and says so.
    if (status && std::strcmp(heddle_status_error_code(status), "H0406") == 0)
      return heddle_status_release(status), nullptr;
    HEDDLE_RETURN_IF_ERROR(status);
    tested->result = fault.empty() ? verdict::right : verdict::wrong;
    if (!fault.empty())
      return reject(kernel, index, fault);
  }
  return tested->result == verdict::wrong ? reject(kernel, index, "it did when it was first used here") : nullptr;
}

/// Notes what the driver said of a variant that it doesn't take, and returns what to fail with if there is no other.
heddle_status_t pipeline_set::refuse(uint32_t kernel, size_t index, VkResult result) const {
  variant &variant = kernels_[kernel].variants[index];
  const char *name = loaded_->tables.kernels[kernel].name;
  if (result != VK_ERROR_DEVICE_LOST && !variant.is_refused) {
    add_note(format("variant %zu of kernel '%s' isn't used on '%s', whose driver doesn't take it: %s", index, name,
                    device_->gpu().properties.deviceName, result_name(result).c_str()));
    variant.is_refused = true;
  }
  return device_->check(result, format("make a pipeline of kernel '%s'", name).c_str());
}

/// Makes a variant ready that the device can run by all that it says.
heddle_status_t pipeline_set::prepare(uint32_t kernel, size_t index) const {
  variant &variant = kernels_[kernel].variants[index];
  destroy(&variant); // what memory didn't suffice to test
  heddle_status_t status = nullptr;
  // What is known to be wrong may crash the driver when it is compiled.
  if (variant.result != verdict::wrong) {
    VkResult result = VK_SUCCESS;
    status = make(kernel, index, &result);
    has_pipelines_ = true;
    if (!status && result < 0)
      status = refuse(kernel, index, result);
  }
  if (!status)
    status = test(kernel, index, &variant);
  if (status)
    destroy(&variant);
  return status;
}

/// Makes a variant ready unless it is, or says why it can't be used: each time the same.
heddle_status_t pipeline_set::take(uint32_t kernel, size_t index) const {
  variant &variant = kernels_[kernel].variants[index];
  const char *name = loaded_->tables.kernels[kernel].name;
  if (variant.state == variant_state::untried) {
    variant.missing = obstacle(target_->shaders[kernel].variants[index]);
    owned_status status(*variant.missing ? nullptr : prepare(kernel, index));
    // What memory or a damaged file stood in the way of may be there next time.
    if (status && heddle_status_code(status.get()) != HEDDLE_STATUS_DEVICE_UNAVAILABLE)
      return status.release();
    if (status)
      variant.message = heddle_status_message(status.get());
    variant.state = status || *variant.missing ? variant_state::unavailable : variant_state::ready;
    if (status)
      return status.release();
  }
  if (variant.state == variant_state::ready)
    return nullptr;
  if (*variant.missing)
    return beyond_limits(
        format("kernel '%s' needs %s on '%s'", name, variant.missing, device_->gpu().properties.deviceName));
  if (!variant.fault.empty())
    return all_wrong(kernel, variant.fault);
  return fail(error::H0408, variant.message);
}

heddle_status_t pipeline_set::choose(uint32_t kernel, const uint32_t *extents, const pipeline **out) const {
  const shader_table &shader = target_->shaders[kernel];
  owned_status last;
  const std::lock_guard<std::mutex> lock(kernels_[kernel].mutex);
  for (size_t i = 0; i < shader.variants.size(); ++i) {
    const shader_variant_table &table = shader.variants[i];
    bool allows = true;
    for (size_t axis = 0; axis < 3; ++axis)
      allows = allows && (table.most[axis] == 0 || extents[axis] <= table.most[axis]);
    if (!allows)
      continue;
    owned_status status(take(kernel, i));
    const variant &variant = kernels_[kernel].variants[i];
    if (!status) {
      *out = &variant.made;
      return nullptr;
    }
    // A driver that refuses one variant gets the next, whatever it calls the reason: some name memory for all that they
    // can't compile. A lost device or no memory for anything else gets nothing.
    const bool may_go_on = heddle_status_code(status.get()) == HEDDLE_STATUS_DEVICE_UNAVAILABLE || variant.is_refused;
    // What failed says more than what the device was known to lack.
    if (!last || !*variant.missing)
      last = std::move(status);
    if (!may_go_on || device_->is_lost())
      return last.release();
  }
  return last ? last.release()
              : beyond_limits(format("kernel '%s' has no shader for such extents on '%s'",
                                     loaded_->tables.kernels[kernel].name, device_->gpu().properties.deviceName));
}

void pipeline_set::add_note(std::string text) const {
  const std::lock_guard<std::mutex> lock(notes_mutex_);
  notes_.push_back(std::move(text));
}

const char *pipeline_set::note(size_t index) const {
  const std::lock_guard<std::mutex> lock(notes_mutex_);
  return index < notes_.size() ? notes_[index].c_str() : nullptr;
}

/// The cache begins with a byte for each variant and one that says that they are there.
constexpr auto has_verdicts = std::byte(0x5a);

/// Takes what |cache_bytes| says of earlier tests, and returns how many of them that is.
size_t pipeline_set::take_verdicts(const std::vector<std::byte> &cache_bytes) {
  size_t count = 1;
  for (const kernel_variants &kernel : kernels_)
    count += kernel.variants.size();
  if (cache_bytes.size() < count || cache_bytes[0] != has_verdicts)
    return cache_bytes.size();
  size_t next = 1;
  for (kernel_variants &kernel : kernels_)
    for (variant &variant : kernel.variants) {
      const auto result = static_cast<verdict>(cache_bytes[next++]);
      if (!device_->settings().repeats_tests && (result == verdict::right || result == verdict::wrong))
        variant.result = result;
    }
  return count;
}

heddle_status_t pipeline_set::read_cache(std::vector<std::byte> *out) const {
  out->assign(1, has_verdicts);
  for (kernel_variants &kernel : kernels_) {
    const std::lock_guard<std::mutex> lock(kernel.mutex);
    for (const variant &variant : kernel.variants)
      out->push_back(static_cast<std::byte>(variant.result));
  }
  const VolkDeviceTable &api = device_->api();
  const size_t verdict_bytes = out->size();
  size_t bytes = 0;
  HEDDLE_RETURN_IF_ERROR(device_->check(api.vkGetPipelineCacheData(device_->handle(), cache_, &bytes, nullptr),
                                        "hand out its pipeline cache"));
  if (bytes > most_cache_bytes)
    return nullptr; // the verdicts alone
  out->resize(verdict_bytes + bytes);
  HEDDLE_RETURN_IF_ERROR(
      device_->check(api.vkGetPipelineCacheData(device_->handle(), cache_, &bytes, out->data() + verdict_bytes),
                     "hand out its pipeline cache"));
  out->resize(verdict_bytes + bytes);
  return nullptr;
}

} // namespace heddle::runtime::vulkan
