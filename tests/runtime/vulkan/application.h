// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An application that uses Vulkan itself, with programs on its device: for tests of what goes from one to the other.

#pragma once

#include <cstring>
#include <functional>
#include <mutex>

#include <volk.h>

#include <heddle/vulkan.h>

#include "tests/runtime/vulkan/shader_builder.h"

namespace heddle::test {

/// A VkBuffer of the application's, which its CPU sees too.
class application_buffer {
public:
  application_buffer(const VolkDeviceTable &api, VkPhysicalDevice physical, VkDevice device, size_t bytes);
  application_buffer(const application_buffer &) = delete;
  application_buffer &operator=(const application_buffer &) = delete;
  ~application_buffer();

  VkBuffer handle() const { return handle_; }
  /// Its bytes from |offset| on, for heddle_vulkan_tensor_wrap.
  heddle_vulkan_buffer_t part(uint64_t offset) const;
  /// A tensor of |dims| at |offset|.
  tensor wrap(heddle_element_type_t type, const std::vector<int64_t> &dims, uint64_t offset = 0) const;

  template <typename T> std::vector<T> read(size_t offset, size_t count) const {
    std::vector<T> values(count);
    std::memcpy(values.data(), data_ + offset, count * sizeof(T));
    return values;
  }
  template <typename T> void write(size_t offset, const std::vector<T> &values) {
    std::memcpy(data_ + offset, values.data(), values.size() * sizeof(T));
  }

private:
  const VolkDeviceTable &api_;
  VkDevice device_;
  size_t bytes_;
  VkBuffer handle_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  uint8_t *data_ = nullptr;
};

/// Made with the least that there is: Vulkan 1.1 and no feature. Validation is an error, synchronisation included.
class VulkanApplication : public VulkanTest {
protected:
  void SetUp() override;
  void TearDown() override;

  /// The error of loading |artifact| with what |theirs_| says.
  std::string error_of(const artifact_bytes &artifact) { return load_error(artifact, options_); }

  application_buffer make_buffer(size_t bytes) { return {api_, physical_, device_, bytes}; }
  VkFence make_fence();
  VkSemaphore make_semaphore();
  /// Waits for |fence| and resets it.
  void wait(VkFence fence);
  /// Submits what |record| records, without waiting for it.
  void submit(const std::function<void(VkCommandBuffer)> &record, VkSemaphore wait = VK_NULL_HANDLE,
              VkSemaphore signal = VK_NULL_HANDLE, VkFence fence = VK_NULL_HANDLE);

  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VolkDeviceTable api_ = {};
  heddle_vulkan_device_t theirs_ = {};
  heddle_program_options_t options_ = {};
  std::string messages_; ///< what validation says; a test that expects some clears it
  std::mutex queue_mutex_;
  int locks_ = 0;

private:
  void watch();
  static void lock(void *user);
  static void unlock(void *user);

  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger_ = nullptr;
  PFN_vkDestroyInstance destroy_instance_ = nullptr;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::vector<VkFence> fences_;
  std::vector<VkSemaphore> semaphores_;
};

/// Submits a run of the first entry point. |outputs| are given or, where null, handed out.
status submit_run(const session &session, const std::vector<const tensor *> &inputs,
                  std::vector<heddle_tensor_t *> *outputs, const heddle_vulkan_sync_t &sync = {});
/// Runs the first entry point into |outputs|.
status run_into(const session &session, const std::vector<const tensor *> &inputs,
                std::vector<heddle_tensor_t *> outputs);

} // namespace heddle::test
