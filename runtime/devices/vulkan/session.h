// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One user of a program on a Vulkan device: its arena, its recordings, and the runs.

#pragma once

#include "runtime/core/device.h"
#include "runtime/core/memory_block.h"
#include "runtime/core/observation.h"
#include "runtime/devices/vulkan/caller_buffers.h"
#include "runtime/devices/vulkan/program.h"
#include "runtime/devices/vulkan/recording.h"
#include "runtime/devices/vulkan/submission.h"

namespace heddle::runtime::vulkan {

/// The recordings of a session's last shapes, each with where its tensors lie.
class recording_cache {
public:
  static constexpr size_t capacity() { return 16; }

  /// In which form a run is recorded: cut by time alone, with the clock read between steps, or a segment for each step.
  enum class form { whole, timed, step_by_step };

  struct entry {
    uint64_t plan;
    form recorded_as;
    std::vector<bool> on_device; ///< schedule_options::on_device
    uint64_t last_use;
    double slowness; ///< that its schedule was made with
    arena_layout layout;
    std::unique_ptr<recording> commands;
  };

  /// Null if there is none.
  entry *find(uint64_t plan, form recorded_as, const std::vector<bool> &on_device);
  /// Takes the place of the one that wasn't used for longest, if the cache is full.
  entry *insert(entry made);
  void erase(const entry *made);
  void clear() { entries_.clear(); }
  size_t size() const { return entries_.size(); }

private:
  std::vector<entry> entries_;
  uint64_t clock_ = 0;
};

/// Whether another thread has asked for the end of the run, and the status for that.
bool is_cancelled(const run_request &request);
heddle_status_t cancelled();

/// Serves one run at a time. A lost device fails all further runs.
class vulkan_session final : public device_session {
public:
  explicit vulkan_session(const vulkan_program &program)
      : program_(program), copies_(program.device()), observed_(program.device()) {}
  ~vulkan_session() override;

  heddle_status_t run(const run_request &request) override;
  std::string problem_of(const heddle_vulkan_buffer_t &buffer, uint64_t bytes, buffer_access access) const override {
    return vulkan::problem_of(program_.device(), buffer, bytes, access);
  }
  heddle_status_t submit(const run_request &request, const heddle_vulkan_sync_t &sync) override;
  heddle_status_t finish() override;

private:
  heddle_status_t create_objects();
  heddle_status_t prepare(const run_request &request, recording_cache::form form, recording_cache::entry **out);
  heddle_status_t record(const run_request &request, recording_cache::form form, recording_cache::entry *out);
  heddle_status_t reserve(const schedule &schedule);
  heddle_status_t clear_arena();

  /// All that comes before the first submission of a run, and behind the last one's end. The longest submission took
  /// |longest| seconds.
  heddle_status_t begin_run(const run_request &request, recording_cache::entry **out);
  heddle_status_t end_run(const run_request &request, recording_cache::entry *entry, double longest);
  heddle_status_t upload(const run_request &request, const schedule &schedule);
  void download(const run_request &request, const schedule &schedule);
  heddle_status_t find_failure(const run_request &request, const schedule &schedule, int64_t first_step,
                               int64_t last_step);

  submission submission_of(const recording_cache::entry &entry, size_t segment, VkFence fence) const;
  heddle_status_t run_all(const run_request &request, const recording_cache::entry &entry, double *out_longest);
  heddle_status_t submit_segment(size_t segment, const submission &work);
  heddle_status_t finish(const run_request &request, const recording_cache::entry &entry, size_t segment,
                         double *out_seconds);
  void append_spans(const run_request &request, const recording_cache::entry &entry, size_t segment);
  heddle_status_t measure(const recording_cache::entry &entry, size_t segment, double *out_seconds);
  heddle_status_t submit_all(const run_request &request, const recording_cache::entry &entry,
                             const heddle_vulkan_sync_t &sync);
  heddle_status_t run_alone(VkCommandBuffer commands);
  heddle_status_t run_observed(const run_request &request, const recording_cache::entry &entry);
  heddle_status_t observe(const run_request &request, const arena_layout &layout, const dispatch_step &dispatch,
                          double seconds);
  heddle_status_t fetch(const tensor_place &place, heddle_element_type_t type, uint64_t bytes, std::byte *to);

  const vulkan_program &program_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkFence fences_[2] = {}; ///< of the submissions on their way
  size_t on_their_way_ = 0;
  int64_t submitted_nanoseconds_ = 0; ///< when the run's first segment was
  uint64_t first_tick_ = 0;           ///< the device's clock as it began that one
  std::vector<step_time> step_times_;
  buffer arena_;
  buffer upload_;
  buffer download_;
  // After the buffers and the pool, which recordings refer to: so they go first.
  recording_cache recordings_;
  std::vector<bool> on_device_; ///< of the run in progress
  caller_copies copies_;
  run_request submitted_ = {};
  recording_cache::entry *submitted_entry_ = nullptr; ///< null: no run was submitted
  buffer observed_results_;
  one_time_commands observed_;
  std::vector<memory_block> result_data_;
  observation observation_;
};

} // namespace heddle::runtime::vulkan
