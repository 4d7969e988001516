// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A schedule recorded into command buffers, which a session submits again and again.

#pragma once

#include "runtime/devices/vulkan/constants.h"
#include "runtime/devices/vulkan/memory.h"
#include "runtime/devices/vulkan/schedule.h"

namespace heddle::runtime::vulkan {

/// What the buffer numbers of commands mean.
struct recorded_buffers {
  VkBuffer arena;
  VkBuffer upload;
  VkBuffer download;
  const constant_store *constants;

  VkBuffer at(uint32_t buffer) const;
};

/// Never submitted while a submission of it is pending. Its buffers outlive it.
class recording {
public:
  recording() = default;
  recording(const recording &) = delete;
  recording &operator=(const recording &) = delete;
  ~recording();

  /// Records |schedule|, keeping all of it but its commands.
  heddle_status_t create(const device &device, VkCommandPool pool, const pipeline_set &pipelines,
                         const recorded_buffers &buffers, schedule schedule);

  const schedule &scheduled() const { return schedule_; }
  VkCommandBuffer commands(size_t segment) const { return commands_[segment]; }
  /// Seconds that the device took for segment |segment|, which has ended; 0 where it has no clock.
  heddle_status_t measure(size_t segment, double *out_seconds) const;

private:
  heddle_status_t create_sets(const pipeline_set &pipelines, const recorded_buffers &buffers);
  heddle_status_t record(size_t segment, const pipeline_set &pipelines, const recorded_buffers &buffers);
  void record(VkCommandBuffer commands, const command &command, const pipeline_set &pipelines,
              const recorded_buffers &buffers);

  const device *device_ = nullptr;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkDescriptorPool sets_pool_ = VK_NULL_HANDLE;
  VkQueryPool times_ = VK_NULL_HANDLE;
  std::vector<VkDescriptorSet> sets_; ///< in the order of dispatches
  size_t next_set_ = 0;               ///< while recording
  std::vector<VkCommandBuffer> commands_;
  schedule schedule_;
};

/// Seconds from timestamp |begin| to |end|, which may have wrapped once; 0 if that can't be.
double seconds_between(const limits &limits, uint64_t begin, uint64_t end);

} // namespace heddle::runtime::vulkan
