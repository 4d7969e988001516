// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks each physical device once for all that matters later. What can be known is asked, nothing is concluded from a
// vendor's name.

#include "runtime/devices/vulkan/gpu.h"

#include <algorithm>
#include <cstring>

#include "runtime/devices/vulkan/features.h"

namespace heddle::runtime::vulkan {

namespace {

/// Whether |list| has the extension |name|.
bool has_extension(const std::vector<VkExtensionProperties> &list, const char *name) {
  for (const VkExtensionProperties &extension : list)
    if (std::strcmp(extension.extensionName, name) == 0)
      return true;
  return false;
}

/// Puts |next|, if the device has |extension| (null: it is part of Vulkan 1.1), at the head of |chain|.
template <typename Struct>
void chain(Struct &next, const char *extension, const std::vector<VkExtensionProperties> &extensions, void **chain) {
  if (extension && !has_extension(extensions, extension))
    return;
  next.pNext = *chain;
  *chain = &next;
}

void read_features(const std::vector<VkExtensionProperties> &extensions, gpu *out) {
  auto storage16 =
      tagged<VkPhysicalDevice16BitStorageFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
  auto storage8 = tagged<VkPhysicalDevice8BitStorageFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES);
  auto small =
      tagged<VkPhysicalDeviceShaderFloat16Int8Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
  auto dot = tagged<VkPhysicalDeviceShaderIntegerDotProductFeatures>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES);
  auto size = tagged<VkPhysicalDeviceSubgroupSizeControlFeatures>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
  void *list = nullptr;
  chain(storage16, nullptr, extensions, &list);
  chain(storage8, VK_KHR_8BIT_STORAGE_EXTENSION_NAME, extensions, &list);
  chain(small, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, extensions, &list);
  chain(dot, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME, extensions, &list);
  chain(size, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, extensions, &list);
  VkPhysicalDeviceFeatures2 features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, list, {}};
  vkGetPhysicalDeviceFeatures2(out->handle, &features);
  auto add = [&](VkBool32 has, uint32_t bit) { out->features |= has ? bit : 0; };
  add(storage16.storageBuffer16BitAccess, feature_storage_16bit);
  add(storage8.storageBuffer8BitAccess, feature_storage_8bit);
  add(small.shaderFloat16, feature_float16);
  add(small.shaderInt8, feature_int8);
  add(dot.shaderIntegerDotProduct, feature_dot);
  add(size.subgroupSizeControl && size.computeFullSubgroups, feature_subgroup_size);
}

void read_properties(const std::vector<VkExtensionProperties> &extensions, gpu *out) {
  auto subgroup = tagged<VkPhysicalDeviceSubgroupProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
  auto sizes =
      tagged<VkPhysicalDeviceMaintenance3Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  auto buffers =
      tagged<VkPhysicalDeviceMaintenance4Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
  auto driver = tagged<VkPhysicalDeviceDriverProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
  auto dot = tagged<VkPhysicalDeviceShaderIntegerDotProductProperties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES);
  out->id = tagged<VkPhysicalDeviceIDProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
  void *list = nullptr;
  chain(subgroup, nullptr, extensions, &list);
  chain(sizes, nullptr, extensions, &list);
  chain(out->id, nullptr, extensions, &list);
  chain(buffers, VK_KHR_MAINTENANCE_4_EXTENSION_NAME, extensions, &list);
  chain(driver, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME, extensions, &list);
  chain(dot, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME, extensions, &list);
  VkPhysicalDeviceProperties2 properties = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, list, {}};
  vkGetPhysicalDeviceProperties2(out->handle, &properties);
  out->id.pNext = nullptr; // the list dies with this function
  out->properties = properties.properties;
  out->driver = std::string(driver.driverName) + " " + driver.driverInfo;
  out->driver_id = driver.driverID;
  out->subgroup_size = subgroup.subgroupSize;
  const bool has_compute = (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  if (has_compute && (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT))
    out->features |= feature_subgroup_arithmetic;
  if (has_compute && (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT))
    out->features |= feature_subgroup_shuffle | (subgroup.subgroupSize >= 8 ? feature_subgroup_of_8 : 0u);
  if (dot.integerDotProduct4x8BitPackedSignedAccelerated)
    out->features |= feature_dot_accelerated;
  const VkPhysicalDeviceType type = out->properties.deviceType;
  if (type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU || type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ||
      type == VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU)
    out->features |= feature_shared_tiles;
  // A driver's word for one allocation may exceed its heap; the heap is asked when memory is allocated.
  out->limits.allocation = sizes.maxMemoryAllocationSize;
  if (buffers.maxBufferSize)
    out->limits.allocation = std::min<uint64_t>(out->limits.allocation, buffers.maxBufferSize);
}

void lower_limits(const options &settings, gpu *out) {
  const VkPhysicalDeviceLimits &has = out->properties.limits;
  auto lower = [](uint32_t limit, uint64_t wish) { return static_cast<uint32_t>(std::min<uint64_t>(limit, wish)); };
  limits &limits = out->limits;
  limits.range = lower(has.maxStorageBufferRange, settings.range);
  limits.shared_bytes = lower(has.maxComputeSharedMemorySize, settings.shared);
  limits.invocations = lower(has.maxComputeWorkGroupInvocations, settings.invocations);
  for (int axis = 0; axis < 3; ++axis) {
    limits.workgroup[axis] = has.maxComputeWorkGroupSize[axis];
    limits.groups[axis] = lower(has.maxComputeWorkGroupCount[axis], settings.groups);
  }
  limits.offset_alignment = static_cast<uint32_t>(std::max<VkDeviceSize>(has.minStorageBufferOffsetAlignment, 16));
  out->features &= ~settings.disabled_features;
}

/// Takes the first family that computes: all that do have the same speed, and one queue is all we use.
bool find_queue(const options &settings, gpu *out) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(out->handle, &count, nullptr);
  for (uint32_t i = 0; i < count; ++i)
    if (use_queue_family(i, settings, out))
      return true;
  return false;
}

} // namespace

bool use_queue_family(uint32_t family, const options &settings, gpu *out) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(out->handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(out->handle, &count, families.data());
  if (family >= count || !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT))
    return false;
  out->queue_family = family;
  const uint32_t bits = families[family].timestampValidBits; // 0, or 36 and more
  out->limits.timestamp_nanoseconds =
      bits && !settings.is_clockless ? static_cast<double>(out->properties.limits.timestampPeriod) : 0;
  out->limits.timestamp_mask = bits < 64 ? (uint64_t(1) << bits) - 1 : UINT64_MAX;
  return true;
}

heddle_status_t describe_gpu(VkPhysicalDevice handle, const options &settings, gpu *out) {
  out->handle = handle;
  vkGetPhysicalDeviceProperties(handle, &out->properties);
  vkGetPhysicalDeviceMemoryProperties(handle, &out->memory);
  if (out->properties.apiVersion < VK_API_VERSION_1_1) {
    out->unfit = "it has Vulkan 1.0, and 1.1 is needed";
    return nullptr;
  }
  uint32_t count = 0;
  HEDDLE_RETURN_IF_ERROR(check_result(vkEnumerateDeviceExtensionProperties(handle, nullptr, &count, nullptr),
                                      "list a device's extensions"));
  std::vector<VkExtensionProperties> extensions(count);
  HEDDLE_RETURN_IF_ERROR(check_result(vkEnumerateDeviceExtensionProperties(handle, nullptr, &count, extensions.data()),
                                      "list a device's extensions"));
  read_features(extensions, out);
  read_properties(extensions, out);
  out->has_memory_budget = has_extension(extensions, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  if (has_extension(extensions, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) {
    auto host = tagged<VkPhysicalDeviceExternalMemoryHostPropertiesEXT>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT);
    VkPhysicalDeviceProperties2 all = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &host, {}};
    vkGetPhysicalDeviceProperties2(handle, &all);
    out->import_alignment = host.minImportedHostPointerAlignment;
  }
  if (!find_queue(settings, out))
    out->unfit = "it has no queue that computes";
  else if (out->properties.limits.maxPerStageDescriptorStorageBuffers < 4)
    out->unfit = "it has fewer storage buffers than Vulkan demands";
  lower_limits(settings, out);
  return nullptr;
}

namespace {

int rank_of(const gpu &gpu) {
  switch (gpu.properties.deviceType) {
  case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
    return 0;
  case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
    return 1;
  case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
    return 2;
  case VK_PHYSICAL_DEVICE_TYPE_CPU:
    return 4;
  default:
    return 3;
  }
}

std::string lower_case(std::string text) {
  for (char &c : text)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

std::string list_names(const std::vector<gpu> &gpus) {
  std::string list;
  for (size_t i = 0; i < gpus.size(); ++i)
    list += format("%svulkan:%zu (%s)", i ? ", " : "", i, gpus[i].properties.deviceName);
  return "devices here: " + (list.empty() ? "cpu" : "cpu, " + list);
}

} // namespace

uint64_t gpu::memory_bytes() const {
  uint64_t most = 0;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i)
    if (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      most = std::max<uint64_t>(most, memory.memoryHeaps[i].size);
  return most;
}

const char *kind_of(const gpu &gpu) {
  static constexpr const char *names[] = {"discrete", "integrated", "virtual", "other", "software"};
  return names[rank_of(gpu)];
}

heddle_status_t list_gpus(const instance &instance, const options &settings, std::vector<gpu> *out) {
  uint32_t count = 0;
  HEDDLE_RETURN_IF_ERROR(
      check_result(vkEnumeratePhysicalDevices(instance.handle(), &count, nullptr), "list the devices"));
  std::vector<VkPhysicalDevice> handles(count);
  HEDDLE_RETURN_IF_ERROR(
      check_result(vkEnumeratePhysicalDevices(instance.handle(), &count, handles.data()), "list the devices"));
  std::vector<gpu> gpus;
  for (uint32_t i = 0; i < count; ++i) {
    gpu found = {};
    // A broken driver hides no other.
    if (heddle_status_t failed = describe_gpu(handles[i], settings, &found)) {
      heddle_status_release(failed);
      found.unfit = "its driver can't list its extensions";
    }
    const bool is_known = std::any_of(gpus.begin(), gpus.end(), [&](const gpu &other) {
      return !*found.unfit && !*other.unfit && std::memcmp(found.id.deviceUUID, other.id.deviceUUID, VK_UUID_SIZE) == 0;
    });
    if (is_known)
      continue;
    // Equal ones stay in the loader's order.
    const auto place = std::upper_bound(gpus.begin(), gpus.end(), found, [](const gpu &a, const gpu &b) {
      if ((*a.unfit != '\0') != (*b.unfit != '\0'))
        return *a.unfit == '\0';
      return rank_of(a) != rank_of(b) ? rank_of(a) < rank_of(b) : a.memory_bytes() > b.memory_bytes();
    });
    gpus.insert(place, std::move(found));
  }
  *out = std::move(gpus);
  return nullptr;
}

heddle_status_t choose_gpu(const std::vector<gpu> &gpus, const std::string &selector, size_t *out) {
  if (gpus.empty())
    return fail(error::H0401, "Vulkan has no device here",
                "install the driver of your GPU (Debian: mesa-vulkan-drivers), or run with --device cpu");
  const bool is_number = !selector.empty() && selector.find_first_not_of("0123456789") == std::string::npos;
  size_t found = gpus.size();
  for (size_t i = 0; i < gpus.size() && found == gpus.size(); ++i) {
    const gpu &candidate = gpus[i];
    const bool matches =
        selector.empty() ? !*candidate.unfit
        : is_number      ? std::to_string(i) == selector
                         : lower_case(candidate.properties.deviceName).find(lower_case(selector)) != std::string::npos;
    if (matches)
      found = i;
  }
  if (found == gpus.size())
    return fail(error::H0401,
                selector.empty() ? std::string("no Vulkan device here can be used: '") + gpus[0].properties.deviceName +
                                       "': " + gpus[0].unfit
                                 : "there is no device 'vulkan:" + selector + "'",
                list_names(gpus));
  if (*gpus[found].unfit)
    return fail(error::H0401,
                format("device '%s' can't be used: %s", gpus[found].properties.deviceName, gpus[found].unfit),
                list_names(gpus));
  *out = found;
  return nullptr;
}

} // namespace heddle::runtime::vulkan
