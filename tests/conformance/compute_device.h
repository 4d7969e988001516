// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As much Vulkan as it takes to time one shader after another: a device, memory that the host sees, pipelines with the
// bindings of Heddle's shaders. What users run is the runtime's device; here nothing must stand between shader and
// clock.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <volk.h>

namespace heddle::conformance {

/// Storage buffers of set 0, as every shader of Heddle has them.
inline constexpr unsigned kBufferCount = 4;

/// Memory that shaders and host share; the device that made it outlives it.
class shared_buffer {
public:
  shared_buffer(VkDevice device, uint32_t memory_type, size_t bytes);
  shared_buffer(const shared_buffer &) = delete;
  shared_buffer &operator=(const shared_buffer &) = delete;
  ~shared_buffer();
  std::byte *data() const { return data_; }
  size_t size() const { return size_; }
  VkBuffer handle() const { return buffer_; }

private:
  VkDevice device_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  std::byte *data_ = nullptr;
  size_t size_;
};

/// A shader with values for its specialisation constants from number 0 on: the workgroup's size comes first.
struct compute_pipeline {
  VkShaderModule module = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;
};

/// The first device of the first driver; choose another by VK_ICD_FILENAMES. One thread. A call that fails ends the
/// program with the number of the VkResult.
class compute_device {
public:
  compute_device();
  compute_device(const compute_device &) = delete;
  compute_device &operator=(const compute_device &) = delete;
  ~compute_device();

  const std::string &name() const { return name_; }
  /// Shared memory that a workgroup may have.
  uint32_t shared_bytes() const { return shared_bytes_; }
  /// Whether subgroups have at least 8 invocations, which shuffle.
  bool has_subgroups_of_8() const { return has_subgroups_of_8_; }
  std::unique_ptr<shared_buffer> allocate(size_t bytes) const;
  /// Lives as long as the device.
  compute_pipeline create_pipeline(const std::vector<uint32_t> &words, const std::vector<uint32_t> &constants);
  /// Seconds from submitting |groups| workgroups to their end.
  double run(const compute_pipeline &pipeline, const std::array<VkBuffer, kBufferCount> &buffers,
             const std::vector<uint32_t> &push, const std::array<uint32_t, 3> &groups);

private:
  void create_device();
  void create_layouts();
  void record(const compute_pipeline &pipeline, const std::vector<uint32_t> &push,
              const std::array<uint32_t, 3> &groups);

  std::string name_;
  uint32_t shared_bytes_ = 0;
  bool has_subgroups_of_8_ = false;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  uint32_t family_ = 0, memory_type_ = 0;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkDescriptorPool pool_ = VK_NULL_HANDLE;
  VkDescriptorSet set_ = VK_NULL_HANDLE;
  VkCommandPool commands_pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  std::vector<compute_pipeline> pipelines_;
};

} // namespace heddle::conformance
