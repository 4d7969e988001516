// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vulkan's loader, opened at run time, and one VkInstance for all devices of the process that are in use.

#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "runtime/devices/vulkan/options.h"
#include "runtime/devices/vulkan/result.h"

namespace heddle::runtime::vulkan {

/// Destroyed with its last user, explicitly: exit handlers of drivers and ours would come in any order.
class instance {
public:
  instance() = default;
  instance(const instance &) = delete;
  instance &operator=(const instance &) = delete;
  ~instance();

  /// Opens libvulkan.so.1 and makes an instance. Not for concurrent use: volk's pointers are global. |settings| asks
  /// for validation or doesn't.
  heddle_status_t create(const options &settings);

  VkInstance handle() const { return handle_; }

  /// What the validation layer has reported since the last call, as an error; null if nothing. Any thread.
  heddle_status_t take_validation_error();

private:
  heddle_status_t add_messenger();
  static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                   VkDebugUtilsMessageTypeFlagsEXT types,
                                                   const VkDebugUtilsMessengerCallbackDataEXT *data, void *user);

  VkInstance handle_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  // Kept, because volk's own pointers are those of the instance made last, which may lack such a function, and another
  // thread may be setting them while the last user of this one goes.
  PFN_vkDestroyInstance destroy_ = nullptr;
  PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger_ = nullptr;
  std::mutex mutex_; ///< guards message_
  std::string message_;
};

} // namespace heddle::runtime::vulkan
