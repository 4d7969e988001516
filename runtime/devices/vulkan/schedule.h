// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run as a list of commands, each within the device's limits: dispatches cut into slices, copies, and which commands
// must wait for those before them. Made once for a plan, without any call of Vulkan.

#pragma once

#include <variant>

#include "runtime/devices/vulkan/arena.h"
#include "runtime/devices/vulkan/gpu.h"
#include "runtime/devices/vulkan/pipelines.h"

namespace heddle::runtime::vulkan {

/// Numbers of buffers in commands; blocks of constants follow.
enum : uint32_t { arena_buffer, upload_buffer, download_buffer, first_block };

struct buffer_range {
  uint32_t buffer = arena_buffer;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct dispatch_command {
  const struct pipeline *pipeline;
  buffer_range bindings[binding_count]; ///< bytes 0: the shader doesn't use it
  uint32_t groups[3];
  std::vector<uint32_t> words; ///< push constants
};
struct copy_command {
  buffer_range source;
  uint32_t target;
  uint64_t offset; ///< in the target
};
/// Zeros part of the arena.
struct clear_command {
  uint64_t offset;
  uint64_t bytes; ///< a multiple of 4, as is the offset
};
/// Writes words that the plan knows into the arena.
struct store_command {
  uint64_t offset;
  std::vector<uint32_t> words;
};

struct command {
  std::variant<dispatch_command, copy_command, clear_command, store_command> kind;
  int64_t step;       ///< of the entry that it belongs to; before_steps or after_steps for transfers
  double seconds;     ///< what it may take
  bool waits = false; ///< for all before it, because it touches what they wrote or writes what they read
};

constexpr int64_t before_steps = -1;
constexpr int64_t after_steps = INT64_MAX;

/// Commands from one to the next boundary are one submission.
struct segment {
  size_t begin, end;
  int64_t first_step, last_step;
  double seconds;
};

/// An error record in the download buffer.
struct record_place {
  size_t step;
  uint64_t offset;
};

/// A tensor on its way between host and device.
struct transfer {
  uint64_t offset; ///< in the arena if the host sees that, else in the upload or download buffer
  uint64_t bytes;  ///< in the declared type
};

struct schedule {
  std::vector<command> commands;
  std::vector<segment> segments;
  std::vector<record_place> records;
  std::vector<transfer> inputs;  ///< by input
  std::vector<transfer> outputs; ///< by output
  uint64_t arena_bytes = 0;
  uint64_t upload_bytes = 0;
  uint64_t download_bytes = 0;
};

/// What a schedule is made for, besides the run.
struct schedule_options {
  const struct limits *limits;
  bool is_unified;       ///< the host reads and writes the arena itself
  bool is_step_by_step;  ///< a segment for each step
  double slowness;       ///< device::slowness
  double submit_seconds; ///< of work in one submission at most
  /// Which inputs, then outputs, are copied on the device, before and behind the schedule; empty: none.
  std::vector<bool> on_device = {};
};

class constant_store;

/// The entry and the program it belongs to.
struct scheduled_entry {
  const program_tables *tables;
  size_t target;
  size_t index; ///< of the entry
  const pipeline_set *pipelines;
  const constant_store *constants;
};

/// Schedules a run of |entry| by |plan|. Fails where the work can't be cut small enough, or a size doesn't fit 32 bits.
heddle_status_t make_schedule(const scheduled_entry &entry, const plan &plan, const arena_layout &arena,
                              const schedule_options &options, schedule *out);

/// Sets |waits| of each command of |schedule|: a command waits if it and one since the last that waits, or since its
/// segment's begin, touch a byte and one of them writes it. All behind a segment's begin waits for all before it.
void mark_waits(schedule *schedule);

} // namespace heddle::runtime::vulkan
