// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waiting for the device, and commands that run once.

#pragma once

#include "runtime/devices/vulkan/device.h"

namespace heddle::runtime::vulkan {

/// Waits until |fence| is signalled. If that fails, nothing is on its way any more either.
heddle_status_t wait_for(const device &device, VkFence fence);

/// Commands recorded now and run to their end: uploads and the like. Not for concurrent use.
class one_time_commands {
public:
  explicit one_time_commands(const device &device) : device_(device) {}
  one_time_commands(const one_time_commands &) = delete;
  one_time_commands &operator=(const one_time_commands &) = delete;
  ~one_time_commands();

  /// Begins recording; handle() may be recorded into.
  heddle_status_t begin();
  VkCommandBuffer handle() const { return commands_; }
  /// Ends recording, for commands that others submit; no begin() before that is over.
  heddle_status_t end();
  /// Ends recording, submits and waits. What was copied to the host's memory can be read then.
  heddle_status_t run();

private:
  heddle_status_t create();

  const device &device_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
};

/// The barrier of this room: all that kernels and copies wrote before is seen by kernels, copies and, if |to_host|, the
/// host behind it.
void full_barrier(const VolkDeviceTable &api, VkCommandBuffer commands, bool to_host);

} // namespace heddle::runtime::vulkan
