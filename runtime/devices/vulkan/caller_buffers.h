// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs and outputs in buffers of the caller's: copied into the arena before a run's recordings and out of it behind
// them. Recordings are kept and know of the arena alone, so these copies are recorded anew for each run.

#pragma once

#include "runtime/core/device.h"
#include "runtime/devices/vulkan/arena.h"
#include "runtime/devices/vulkan/submission.h"

namespace heddle::runtime::vulkan {

/// A handle that isn't dispatchable, from its number in the C API.
template <typename Handle> Handle handle_of(uint64_t number) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): no address, though Vulkan's headers make it one on some platforms.
  return reinterpret_cast<Handle>(number);
}

/// Why a run on |device| can't copy |bytes| of |buffer|; "" if it can.
std::string problem_of(const device &device, const heddle_vulkan_buffer_t &buffer, uint64_t bytes,
                       buffer_access access);

/// The copies of one run after the other.
class caller_copies {
public:
  explicit caller_copies(const device &device) : device_(device), before_(device), after_(device) {}

  /// Records those of |request|, in place of the last run's, which is over.
  heddle_status_t record(const run_request &request, const arena_layout &layout, VkBuffer arena);
  /// What is submitted in front of all recordings, and behind them; null: nothing is to be copied.
  VkCommandBuffer before() const { return has_before_ ? before_.handle() : VK_NULL_HANDLE; }
  VkCommandBuffer after() const { return has_after_ ? after_.handle() : VK_NULL_HANDLE; }

private:
  struct copy {
    VkBuffer from, to;
    VkBufferCopy region;
  };
  heddle_status_t record(one_time_commands &commands, const std::vector<copy> &copies);

  const device &device_;
  one_time_commands before_;
  one_time_commands after_;
  bool has_before_ = false;
  bool has_after_ = false;
};

} // namespace heddle::runtime::vulkan
