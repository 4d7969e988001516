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

/// When the device had done the commands of a step that lie in one segment, and all before them. Seconds on its clock.
struct step_time {
  int64_t step;
  double begin; ///< the end of what came before it in the segment
  double end;
};

/// Never submitted while a submission of it is pending. Its buffers outlive it.
class recording {
public:
  recording() = default;
  recording(const recording &) = delete;
  recording &operator=(const recording &) = delete;
  ~recording();

  /// Records |schedule|, keeping all of it but its commands. The device's clock is read at the begin and end of each
  /// segment, with |times_steps| also between steps.
  heddle_status_t create(const device &device, VkCommandPool pool, const pipeline_set &pipelines,
                         const recorded_buffers &buffers, schedule schedule, bool times_steps);

  const schedule &scheduled() const { return schedule_; }
  VkCommandBuffer commands(size_t segment) const { return commands_[segment]; }
  /// Reads the clock for segment |segment|, which has ended: seconds that the device took; 0 where it has no clock.
  heddle_status_t measure(size_t segment, double *out_seconds);
  /// Appends the times of segment |segment|, the one measured last, counted from |origin|: the device's clock at the
  /// begin of segment 0, which is set there. Appends nothing where it has no clock.
  void append_step_times(size_t segment, uint64_t *origin, std::vector<step_time> *out) const;

private:
  /// Where the clock is read: behind the commands before |end|, the last of which is of |step|.
  struct clock_mark {
    size_t end;
    int64_t step;
  };

  void place_marks(bool times_steps);
  heddle_status_t create_clock();
  size_t first_query(size_t segment) const { return first_mark_[segment] + segment; }
  heddle_status_t create_sets(const pipeline_set &pipelines, const recorded_buffers &buffers);
  heddle_status_t record(size_t segment, const pipeline_set &pipelines, const recorded_buffers &buffers);
  void record(VkCommandBuffer commands, const command &command, const pipeline_set &pipelines,
              const recorded_buffers &buffers);

  const device *device_ = nullptr;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkDescriptorPool sets_pool_ = VK_NULL_HANDLE;
  VkQueryPool times_ = VK_NULL_HANDLE; ///< for each segment its begin, then its marks
  std::vector<clock_mark> marks_;
  std::vector<size_t> first_mark_;    ///< of each segment, then the number of all
  std::vector<uint64_t> ticks_;       ///< of the segment measured last
  std::vector<VkDescriptorSet> sets_; ///< in the order of dispatches
  size_t next_set_ = 0;               ///< while recording
  std::vector<VkCommandBuffer> commands_;
  schedule schedule_;
};

/// Seconds from timestamp |begin| to |end|, which may have wrapped once; 0 if that can't be.
double seconds_between(const limits &limits, uint64_t begin, uint64_t end);

} // namespace heddle::runtime::vulkan
