// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The devices that Vulkan's drivers offer, what each can do, and which one a name means.

#pragma once

#include <vector>

#include "runtime/devices/vulkan/instance.h"

namespace heddle::runtime::vulkan {

/// What shapes of work a device takes, after the environment has lowered it.
struct limits {
  uint64_t range;               ///< bytes of one binding
  uint64_t allocation;          ///< bytes of one allocation or buffer
  uint32_t shared_bytes;        ///< of one workgroup
  uint32_t invocations;         ///< of one workgroup
  uint32_t workgroup[3];        ///< invocations of one workgroup, along each axis
  uint32_t groups[3];           ///< workgroups of one dispatch, along each axis
  uint32_t offset_alignment;    ///< of a binding's first byte; at most 256
  double timestamp_nanoseconds; ///< one tick; 0: the queue has no timestamps
  uint64_t timestamp_mask;      ///< the bits of a timestamp that count
};

/// A physical device.
struct gpu {
  VkPhysicalDevice handle;
  VkPhysicalDeviceProperties properties;
  VkPhysicalDeviceIDProperties id;
  std::string driver;     ///< "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)"
  uint32_t driver_id = 0; ///< VkDriverId; 0 where the driver doesn't say
  uint32_t subgroup_size = 0;
  VkPhysicalDeviceMemoryProperties memory;
  uint32_t queue_family = 0;
  uint32_t features = 0; ///< bits of features.h, without those disabled
  struct limits limits;
  bool has_memory_budget = false;
  uint64_t import_alignment = 0; ///< of host memory that the device imports; 0: it imports none
  const char *unfit = "";        ///< why it can't be used; "" if it can

  bool is_software() const { return properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU; }
  /// Whether the host and the device share one memory, so that copies between them are a waste.
  bool is_unified() const { return is_software() || properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU; }
  /// Bytes of the largest heap of its own.
  uint64_t memory_bytes() const;
};

/// All devices, hardware first, large memories first; one GPU under two drivers once. Not for concurrent use.
heddle_status_t list_gpus(const instance &instance, const options &settings, std::vector<gpu> *out);

/// All about one device.
heddle_status_t describe_gpu(VkPhysicalDevice handle, const options &settings, gpu *out);

/// Makes |family| the one whose queue is used, or returns false if it doesn't compute.
bool use_queue_family(uint32_t family, const options &settings, gpu *out);

/// The index in |gpus| of what |selector| means: "" for the best, a number, or a part of a name. Fails if there is
/// none, or if that one can't be used.
heddle_status_t choose_gpu(const std::vector<gpu> &gpus, const std::string &selector, size_t *out);

/// "discrete", "integrated", "virtual", "software" or "other".
const char *kind_of(const gpu &gpu);

} // namespace heddle::runtime::vulkan
