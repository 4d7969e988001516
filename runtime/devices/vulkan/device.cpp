// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Devices are made on demand and shared: making one takes 30 ms, and two of them would not know of each other's memory.

#include "runtime/devices/vulkan/device.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "runtime/devices/vulkan/features.h"

namespace heddle::runtime::vulkan {

void (*on_device_created)(VolkDeviceTable *api) = nullptr;

namespace {

/// What is in use in this process; weak, so that the last user destroys it.
struct registry {
  std::mutex mutex;
  std::weak_ptr<instance> instances[2]; ///< without validation, and with
  std::vector<std::weak_ptr<device>> devices;
  /// Of queues that are the callers': each program that is loaded with one has a device of its own around it.
  std::map<VkQueue, std::weak_ptr<std::mutex>> queue_mutexes;
};

/// Never destroyed: no order at exit is right for a driver.
registry &the_registry() {
  static auto *made = new registry;
  return *made;
}

/// The one lock of all that submit to |queue|. The registry's lock is held.
std::shared_ptr<std::mutex> share_queue_mutex(registry &registry, VkQueue queue) {
  auto &known = registry.queue_mutexes;
  for (auto next = known.begin(); next != known.end();)
    next = next->second.expired() ? known.erase(next) : std::next(next);
  if (const auto found = known.find(queue); found != known.end())
    if (std::shared_ptr<std::mutex> shared = found->second.lock())
      return shared;
  auto made = std::make_shared<std::mutex>();
  known[queue] = made;
  return made;
}

/// The instance in use, or a new one. The registry's lock is held.
heddle_status_t acquire_instance(registry &registry, const options &settings, std::shared_ptr<instance> *out) {
  std::weak_ptr<instance> &shared = registry.instances[settings.is_validated ? 1 : 0];
  *out = shared.lock();
  if (*out)
    return nullptr;
  auto made = std::make_shared<instance>();
  HEDDLE_RETURN_IF_ERROR(made->create(settings));
  shared = made;
  *out = std::move(made);
  return nullptr;
}

/// Whether two programs with these settings may share a device.
bool is_same(const options &a, const options &b) {
  return a.range == b.range && a.shared == b.shared && a.groups == b.groups && a.invocations == b.invocations &&
         a.submit_microseconds == b.submit_microseconds && a.uses_staging == b.uses_staging &&
         a.is_clockless == b.is_clockless && a.disabled_features == b.disabled_features &&
         a.is_serialized == b.is_serialized && a.uses_cache == b.uses_cache && a.tests_shaders == b.tests_shaders &&
         a.repeats_tests == b.repeats_tests && a.wrong_shaders == b.wrong_shaders &&
         a.imports_weights == b.imports_weights;
}

} // namespace

heddle_status_t device::acquire(const std::string &selector, std::shared_ptr<device> *out) {
  options settings;
  HEDDLE_RETURN_IF_ERROR(read_options(&settings));
  registry &registry = the_registry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  std::shared_ptr<instance> shared;
  HEDDLE_RETURN_IF_ERROR(acquire_instance(registry, settings, &shared));
  std::vector<struct gpu> gpus;
  HEDDLE_RETURN_IF_ERROR(list_gpus(*shared, settings, &gpus));
  size_t index = 0;
  HEDDLE_RETURN_IF_ERROR(choose_gpu(gpus, selector, &index));
  auto &devices = registry.devices;
  devices.erase(std::remove_if(devices.begin(), devices.end(), [](const auto &weak) { return weak.expired(); }),
                devices.end());
  for (const std::weak_ptr<device> &weak : devices)
    if (std::shared_ptr<device> known = weak.lock();
        known && known->gpu_.handle == gpus[index].handle && !known->is_lost_ && is_same(known->settings_, settings)) {
      *out = std::move(known);
      return nullptr;
    }
  auto made = std::make_shared<device>();
  HEDDLE_RETURN_IF_ERROR(made->create(std::move(shared), gpus[index], settings));
  devices.push_back(made);
  *out = std::move(made);
  return nullptr;
}

heddle_status_t list_devices(std::vector<gpu> *out) {
  options settings;
  HEDDLE_RETURN_IF_ERROR(read_options(&settings));
  registry &registry = the_registry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  std::shared_ptr<instance> shared;
  HEDDLE_RETURN_IF_ERROR(acquire_instance(registry, settings, &shared));
  return list_gpus(*shared, settings, out);
}

device::~device() {
  if (handle_ && instance_ && api_.vkDestroyDevice)
    api_.vkDestroyDevice(handle_, nullptr);
}

heddle_status_t device::create(std::shared_ptr<instance> instance, const struct gpu &gpu, const options &settings) {
  instance_ = std::move(instance);
  gpu_ = gpu;
  settings_ = settings;
  is_unified_ = gpu.is_unified() && !settings.uses_staging;
  HEDDLE_RETURN_IF_ERROR(create_handle());
  load_functions();
  api_.vkGetDeviceQueue(handle_, gpu_.queue_family, 0, &queue_);
  return nullptr;
}

void device::load_functions() {
  memory_properties_ = vkGetPhysicalDeviceMemoryProperties2;
  volkLoadDeviceTable(&api_, handle_);
  if (on_device_created)
    on_device_created(&api_);
}

heddle_status_t device::adopt(const heddle_vulkan_device_t &theirs, std::shared_ptr<device> *out) {
  if (!theirs.instance || !theirs.physical_device || !theirs.device || !theirs.queue)
    return fail(error::H0101, "a Vulkan device needs its instance, physical device, device and queue");
  if (!theirs.lock_queue != !theirs.unlock_queue)
    return fail(error::H0101, "a queue is locked and unlocked, or neither");
  if (!theirs.features && theirs.feature_count != 0)
    return fail(error::H0101, format("%zu features of a Vulkan device are given, and no names", theirs.feature_count));
  const std::lock_guard<std::mutex> lock(the_registry().mutex);
  auto made = std::make_shared<device>();
  HEDDLE_RETURN_IF_ERROR(read_options(&made->settings_));
  HEDDLE_RETURN_IF_ERROR(made->take(theirs));
  made->queue_mutex_ = share_queue_mutex(the_registry(), made->queue_);
  *out = std::move(made);
  return nullptr;
}

heddle_status_t device::take(const heddle_vulkan_device_t &theirs) {
  if (!vkGetInstanceProcAddr && volkInitialize() != VK_SUCCESS)
    return fail(error::H0401, "libvulkan.so.1 can't be opened, though a device of it was given");
  // Pointers of the loader's, which serve every instance.
  volkLoadInstanceOnly(static_cast<VkInstance>(theirs.instance));
  HEDDLE_RETURN_IF_ERROR(describe_gpu(static_cast<VkPhysicalDevice>(theirs.physical_device), settings_, &gpu_));
  if (*gpu_.unfit)
    return fail(error::H0401, format("device '%s' can't be used: %s", gpu_.properties.deviceName, gpu_.unfit));
  if (!use_queue_family(theirs.queue_family, settings_, &gpu_))
    return fail(error::H0101, format("queue family %u of the given device doesn't compute", theirs.queue_family));
  uint32_t enabled = 0;
  for (size_t i = 0; i < theirs.feature_count; ++i) {
    const uint32_t bit = feature_bit(theirs.features[i], std::strlen(theirs.features[i]));
    if (!bit)
      return fail(error::H0101, format("there is no feature '%s'", theirs.features[i]));
    enabled |= bit;
  }
  // The rest are properties, which a device has without being asked.
  constexpr uint32_t asked_for = feature_float16 | feature_int8 | feature_storage_8bit | feature_storage_16bit |
                                 feature_dot | feature_dot_accelerated | feature_subgroup_size;
  enabled |= enabled & feature_dot ? feature_dot_accelerated : 0u;
  gpu_.features &= enabled | ~asked_for;
  is_unified_ = gpu_.is_unified() && !settings_.uses_staging;
  gpu_.import_alignment = 0; // nobody says whether the extension was enabled
  theirs_ = theirs;
  handle_ = static_cast<VkDevice>(theirs.device);
  queue_ = static_cast<VkQueue>(theirs.queue);
  load_functions();
  return nullptr;
}

namespace {

/// Holds a queue that is the caller's, if it is.
class queue_lock {
public:
  explicit queue_lock(const heddle_vulkan_device_t &theirs) : theirs_(theirs) {
    if (theirs_.lock_queue)
      theirs_.lock_queue(theirs_.user);
  }
  queue_lock(const queue_lock &) = delete;
  queue_lock &operator=(const queue_lock &) = delete;
  ~queue_lock() {
    if (theirs_.unlock_queue)
      theirs_.unlock_queue(theirs_.user);
  }

private:
  const heddle_vulkan_device_t &theirs_;
};

} // namespace

/// Enables just what shaders may ask for.
heddle_status_t device::create_handle() {
  const uint32_t has = gpu_.features;
  std::vector<const char *> extensions;
  auto storage16 =
      tagged<VkPhysicalDevice16BitStorageFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
  storage16.storageBuffer16BitAccess = (has & feature_storage_16bit) != 0;
  auto storage8 = tagged<VkPhysicalDevice8BitStorageFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES);
  storage8.storageBuffer8BitAccess = VK_TRUE;
  auto small =
      tagged<VkPhysicalDeviceShaderFloat16Int8Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
  small.shaderFloat16 = (has & feature_float16) != 0;
  small.shaderInt8 = (has & feature_int8) != 0;
  auto dot = tagged<VkPhysicalDeviceShaderIntegerDotProductFeatures>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES);
  dot.shaderIntegerDotProduct = VK_TRUE;
  auto size = tagged<VkPhysicalDeviceSubgroupSizeControlFeatures>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
  size.subgroupSizeControl = size.computeFullSubgroups = VK_TRUE;
  const void *chain = &storage16;
  auto enable = [&](auto &features, bool wanted, const char *extension) {
    if (!wanted)
      return;
    features.pNext = const_cast<void *>(chain);
    chain = &features;
    extensions.push_back(extension);
  };
  enable(storage8, has & feature_storage_8bit, VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
  enable(small, has & (feature_float16 | feature_int8), VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
  enable(dot, has & feature_dot, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
  enable(size, has & feature_subgroup_size, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  // The 8-bit storage and float16 extensions stand on nothing else in Vulkan 1.1.
  if (gpu_.has_memory_budget)
    extensions.push_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  if (imports_weights())
    extensions.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  const float priority = 1;
  auto queue = tagged<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = gpu_.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  auto info = tagged<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.pNext = chain;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  return check_result(vkCreateDevice(gpu_.handle, &info, nullptr, &handle_), "make a device");
}

heddle_status_t device::check(VkResult result, const char *what) const {
  if (result == VK_ERROR_DEVICE_LOST)
    is_lost_.store(true);
  return check_result(result, what);
}

heddle_status_t device::check_alive() const {
  return is_lost_.load() ? check_result(VK_ERROR_DEVICE_LOST, "go on after an earlier failure") : nullptr;
}

heddle_status_t device::submit(VkCommandBuffer commands, VkFence fence) const {
  submission work;
  work.add(commands);
  work.fence = fence;
  return submit(work);
}

heddle_status_t device::submit(const submission &work) const {
  const std::vector<VkPipelineStageFlags> stages(work.waits.size(), VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  auto info = tagged<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.waitSemaphoreCount = static_cast<uint32_t>(work.waits.size());
  info.pWaitSemaphores = work.waits.data();
  info.pWaitDstStageMask = stages.data();
  info.commandBufferCount = work.command_count;
  info.pCommandBuffers = work.commands;
  info.signalSemaphoreCount = static_cast<uint32_t>(work.signals.size());
  info.pSignalSemaphores = work.signals.data();
  if (work.fence)
    HEDDLE_RETURN_IF_ERROR(check(api_.vkResetFences(handle_, 1, &work.fence), "reset a fence"));
  const queue_lock their_lock(theirs_); // first: their thread may hold it while it runs a program of ours
  const std::lock_guard<std::mutex> lock(*queue_mutex_);
  HEDDLE_RETURN_IF_ERROR(check(api_.vkQueueSubmit(queue_, 1, &info, work.fence), "submit work"));
  if (!work.callers_fence)
    return nullptr;
  // A submission has one fence, and theirs may have been reset for other work by the time that we want to know.
  return check(api_.vkQueueSubmit(queue_, 0, nullptr, work.callers_fence), "submit a fence");
}

void device::drain() const {
  const queue_lock their_lock(theirs_);
  const std::lock_guard<std::mutex> lock(*queue_mutex_);
  // Nothing of ours is on its way then, or the device is lost. Where even that fails, for want of memory, no other call
  // could wait either.
  if (api_.vkQueueWaitIdle(queue_) == VK_ERROR_DEVICE_LOST)
    is_lost_.store(true);
}

void device::measure_heaps(uint64_t *out_left) const {
  auto budget =
      tagged<VkPhysicalDeviceMemoryBudgetPropertiesEXT>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
  if (gpu_.has_memory_budget) {
    VkPhysicalDeviceMemoryProperties2 memory = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, &budget, {}};
    memory_properties_(gpu_.handle, &memory);
  }
  for (uint32_t heap = 0; heap < gpu_.memory.memoryHeapCount; ++heap) {
    uint64_t all = budget.heapBudget[heap];
    uint64_t used = budget.heapUsage[heap];
    if (!gpu_.has_memory_budget) {
      // Others live in the heap too, and a full one makes drivers swap in silence or lose the device.
      all = gpu_.memory.memoryHeaps[heap].size / 10 * 7;
      used = static_cast<uint64_t>(std::max<int64_t>(0, used_[heap].load()));
    }
    out_left[heap] = all - std::min(all, used);
  }
}

bool device::find_type(VkMemoryPropertyFlags flags, uint32_t type_bits, const uint64_t *left, uint64_t bytes,
                       uint32_t *out) const {
  // By the heap's size, not the first that fits: a window of 256 MiB into the device's memory is no place for weights.
  bool found = false;
  for (uint32_t i = 0; i < gpu_.memory.memoryTypeCount; ++i) {
    const VkMemoryType &type = gpu_.memory.memoryTypes[i];
    if (!(type_bits & (1u << i)) || (type.propertyFlags & flags) != flags || left[type.heapIndex] < bytes)
      continue;
    if (type.propertyFlags & (VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT))
      continue;
    const auto &heaps = gpu_.memory.memoryHeaps;
    if (!found || heaps[type.heapIndex].size > heaps[gpu_.memory.memoryTypes[*out].heapIndex].size)
      *out = i;
    found = true;
  }
  return found;
}

heddle_status_t device::choose_memory(memory_use use, uint32_t type_bits, uint64_t bytes, uint32_t *out_type) const {
  constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  // Coherent everywhere: what the host writes is then there without a flush.
  constexpr VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  const bool is_mapped = use != memory_use::device || is_unified_;
  VkMemoryPropertyFlags wish = is_mapped ? host : local;
  if (use == memory_use::device && is_unified_)
    wish |= local;
  else if (use == memory_use::download)
    wish |= VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  uint64_t left[VK_MAX_MEMORY_HEAPS] = {};
  measure_heaps(left);
  // Where host and device share memory, the part that is called the device's may be small. A GPU's own memory has no
  // such substitute: kernels would be many times slower, and nobody would know why.
  if (find_type(wish, type_bits, left, bytes, out_type) ||
      (is_mapped && find_type(host, type_bits, left, bytes, out_type)))
    return nullptr;
  // The wish, then what it can't do without.
  if (!find_type(wish, type_bits, left, 0, out_type) && !find_type(is_mapped ? host : 0, type_bits, left, 0, out_type))
    return fail(error::H0408, "the Vulkan driver has no memory of the type that is needed");
  const uint64_t rest = left[gpu_.memory.memoryTypes[*out_type].heapIndex];
  if (bytes > rest)
    return fail(error::H0407, format("not enough device memory: %llu bytes are needed, and '%s' has %llu left",
                                     static_cast<unsigned long long>(bytes), gpu_.properties.deviceName,
                                     static_cast<unsigned long long>(rest)));
  return nullptr;
}

void device::count_memory(uint32_t type, int64_t bytes) const {
  used_[gpu_.memory.memoryTypes[type].heapIndex].fetch_add(bytes);
}

void device::learn(double expected, double measured) const {
  // Short work measures what submissions cost, not how fast the device is. Without a clock nothing was measured.
  if (expected <= 0 || measured <= 0 || std::max(expected, measured) < 1e-3)
    return;
  // Slow to be convinced: one run beside another one takes twice as long. Races lose a sample and no more.
  const double ratio = std::min(std::max(measured / expected, 1e-3), 1e3);
  slowness_.store(slowness() * 0.75 + ratio * 0.25, std::memory_order_relaxed);
}

} // namespace heddle::runtime::vulkan
