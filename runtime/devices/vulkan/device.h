// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A VkDevice with its one queue, shared by all programs of the process that run on it.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include <heddle/vulkan.h>

#include "runtime/devices/vulkan/gpu.h"

namespace heddle::runtime::vulkan {

/// What memory is for, which decides its type.
enum class memory_use {
  device,   ///< kernels read and write it; mapped where host and device share memory
  upload,   ///< the host writes, the device copies from it
  download, ///< the device copies into it, the host reads
};

/// What goes to the queue at once.
struct submission {
  VkCommandBuffer commands[3] = {}; ///< in their order
  uint32_t command_count = 0;
  VkFence fence = VK_NULL_HANDLE; ///< in no submission; signalled at the end; may be null
  std::vector<VkSemaphore> waits; ///< the caller's, as the next two
  std::vector<VkSemaphore> signals;
  VkFence callers_fence = VK_NULL_HANDLE;

  /// Null adds nothing.
  void add(VkCommandBuffer more) {
    if (more)
      commands[command_count++] = more;
  }
};

/// Any thread may use it; destroyed with its last user.
class device {
public:
  device() = default;
  device(const device &) = delete;
  device &operator=(const device &) = delete;
  ~device();

  /// The device that |selector| means, which other programs may be using already.
  static heddle_status_t acquire(const std::string &selector, std::shared_ptr<device> *out);
  /// The caller's device, which outlives this.
  static heddle_status_t adopt(const heddle_vulkan_device_t &theirs, std::shared_ptr<device> *out);

  const VolkDeviceTable &api() const { return api_; }
  VkDevice handle() const { return handle_; }
  const struct gpu &gpu() const { return gpu_; }
  const struct limits &limits() const { return gpu_.limits; }
  const options &settings() const { return settings_; }
  /// Whether the host maps the device's memory and no copies are made.
  bool is_unified() const { return is_unified_; }
  /// Whether it is the caller's, who may then know its fences and semaphores.
  bool is_adopted() const { return theirs_.device != nullptr; }

  /// Whether weights are bound where they are mapped, as far as the driver takes them.
  bool imports_weights() const { return settings_.imports_weights && is_unified_ && gpu_.import_alignment != 0; }

  /// check_result, and a lost device is lost for everybody.
  heddle_status_t check(VkResult result, const char *what) const;
  heddle_status_t check_alive() const;
  bool is_lost() const { return is_lost_.load(); }

  /// Hands |work| to the queue. Where that fails, the caller's fence alone may be what was refused: who gets the error
  /// waits by drain().
  heddle_status_t submit(const submission &work) const;
  heddle_status_t submit(VkCommandBuffer commands, VkFence fence) const;

  /// Waits for all that was submitted by anybody: for when waiting for one's own has failed.
  void drain() const;

  /// Chooses the memory type for |use| among |type_bits|, and refuses |bytes| that its heap hasn't left.
  heddle_status_t choose_memory(memory_use use, uint32_t type_bits, uint64_t bytes, uint32_t *out_type) const;
  /// Keeps count of what this process holds, for drivers that don't.
  void count_memory(uint32_t type, int64_t bytes) const;

  /// Reports of the validation layer, where it is on.
  heddle_status_t take_validation_error() const { return instance_ ? instance_->take_validation_error() : nullptr; }

  /// How many times as long as assumed work takes here, measured.
  double slowness() const { return slowness_.load(std::memory_order_relaxed); }
  /// Learns from work that was assumed to take |expected| seconds and took |measured|; 0: nobody knows.
  void learn(double expected, double measured) const;

private:
  heddle_status_t create(std::shared_ptr<instance> instance, const struct gpu &gpu, const options &settings);
  heddle_status_t create_handle();
  heddle_status_t take(const heddle_vulkan_device_t &theirs);
  void load_functions();
  /// Bytes that each heap has left for this process.
  void measure_heaps(uint64_t *out_left) const;
  /// The type with |flags| of the largest heap among those that have |bytes| left.
  bool find_type(VkMemoryPropertyFlags flags, uint32_t type_bits, const uint64_t *left, uint64_t bytes,
                 uint32_t *out) const;

  std::shared_ptr<instance> instance_; ///< null where it is the caller's
  struct gpu gpu_ = {};
  options settings_;
  VkDevice handle_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VolkDeviceTable api_ = {};
  PFN_vkGetPhysicalDeviceMemoryProperties2 memory_properties_ = nullptr; ///< volk's own changes with each instance
  heddle_vulkan_device_t theirs_ = {}; ///< of an adopted device: the functions to lock
  bool is_unified_ = false;
  /// A VkQueue is for one thread at a time; of all devices that adopted the same.
  std::shared_ptr<std::mutex> queue_mutex_ = std::make_shared<std::mutex>();
  mutable std::atomic<bool> is_lost_{false};
  mutable std::atomic<double> slowness_{1};
  mutable std::atomic<int64_t> used_[VK_MAX_MEMORY_HEAPS] = {}; ///< bytes of each heap
};

/// Called with the functions of each device that is made, before any is used. Null but in tests, which put failing
/// functions in place of a driver's.
extern void (*on_device_created)(VolkDeviceTable *api);

/// Lists the devices of this machine as `heddle devices` shows them.
heddle_status_t list_devices(std::vector<gpu> *out);

} // namespace heddle::runtime::vulkan
