// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything about a run that depends on the inputs' shapes alone. Computed once per shape, then kept.

#pragma once

#include "runtime/core/program_tables.h"
#include "runtime/core/status.h"

namespace heddle::runtime {

/// A dispatch with its slots read.
struct dispatch_plan {
  int64_t items; ///< work items; 0: nothing to do
  int64_t grain; ///< fewest items worth a thread; at least 1
  int64_t flops;
  int64_t bytes;
  size_t sizes; ///< where its sizes begin in plan::sizes
  size_t axes;  ///< where its axes begin in plan::axes: on shaders 3 extents, then 3 strides for each operand
};

/// Immutable once made.
struct plan {
  uint64_t id = 0; ///< no other plan of the process has it, not even where this one lay before
  std::vector<int64_t> slots;
  std::vector<int64_t> input_bytes; ///< in the declared types
  std::vector<int64_t> output_bytes;
  std::vector<int64_t> buffer_bytes;
  std::vector<int64_t> buffer_offsets; ///< within the arena
  int64_t arena_bytes = 0;
  int64_t scratch_bytes = 0; ///< per thread: the most of any dispatch
  std::vector<dispatch_plan> dispatches;
  std::vector<int64_t> sizes;
  std::vector<uint32_t> axes; ///< empty on a CPU
  int64_t flops = 0;
  int64_t bytes = 0;
};

/// Plans a run of |entry| on target |target| with |inputs|, which have passed check_inputs. |tables| own |entry|. A
/// program without targets, opened to look into it, is planned without work items.
heddle_status_t make_plan(const program_tables &tables, const entry_table &entry, size_t target,
                          const heddle_tensor_t *const *inputs, plan *out);

/// Reads the |slots| of a shape into |dims|, which has room for HEDDLE_MAX_RANK.
inline void read_dims(const plan &plan, const std::vector<uint32_t> &slots, int64_t *dims) {
  for (size_t i = 0; i < slots.size(); ++i)
    dims[i] = plan.slots[slots[i]];
}

} // namespace heddle::runtime
