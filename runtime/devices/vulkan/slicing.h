// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts one dispatch into slices that the device takes: bindings within their greatest range, workgroups within their
// counts, work within the time of one submission. A table that is too large is bound by rows: each slice does the same
// workgroups, whose invocations skip what isn't of their rows.

#pragma once

#include "runtime/devices/vulkan/schedule.h"

namespace heddle::runtime::vulkan {

/// An operand of a dispatch, or its error record.
struct slice_operand {
  shader_binding binding;
  uint32_t buffer;
  uint64_t offset; ///< of element 0
  uint64_t bytes;
  uint32_t strides[3]; ///< bytes from one unit to the next along each axis; all 0: needed whole
  /// Of a table that may be bound by rows: bytes of one. Such an operand has no strides.
  uint32_t row_bytes = 0;
};

/// A dispatch before it is cut.
struct slice_work {
  const char *kernel;
  const struct pipeline *pipeline;
  uint32_t extents[3];                 ///< in units; none is 0
  std::vector<slice_operand> operands; ///< in the order of their words of push constants
  std::vector<uint32_t> sizes;         ///< the words behind those
  int64_t step;
  double seconds; ///< that all of it may take
};

/// Appends commands to a schedule.
class slicer {
public:
  /// |scratch| is where in the arena operands are copied to that lie too far apart for one binding.
  slicer(const limits &limits, double submit_seconds, uint64_t scratch, schedule *out)
      : limits_(limits), submit_seconds_(submit_seconds), scratch_(scratch), out_(*out) {}

  heddle_status_t cut(const slice_work &work);

  /// Bytes of the arena from its begin to the end of what was copied aside.
  uint64_t arena_bytes() const { return scratch_ + scratch_bytes_; }

private:
  /// Workgroups of a slice along each axis, and behind them its rows of the table, if the kernel has one.
  struct box {
    uint32_t first[4];
    uint32_t count[4];
  };
  static constexpr int rows = 3;
  /// Bytes of an operand, from its element 0.
  struct span {
    uint64_t begin, end;
  };
  /// Where a slice finds an operand, and a copy of it if that is elsewhere than the operand itself.
  struct placement {
    uint64_t element0; ///< within the binding's buffer, modulo 2^64
    span bytes;
    uint64_t copy = 0; ///< in the arena; 0: none
  };

  heddle_status_t cut(const slice_work &work, const box &box);
  span span_of(const slice_work &work, const slice_operand &operand, const box &box) const;
  bool place(const slice_work &work, const box &box, shader_binding binding, std::vector<placement> *placements,
             buffer_range *out_range, uint64_t *scratch) const;
  /// What to halve to make |operand| smallest: an axis, or rows; -1 if nothing does.
  static int axis_for(const slice_work &work, const slice_operand &operand, const box &box);
  int axis_to_cut(const slice_work &work, const box &box) const;
  heddle_status_t halve(const slice_work &work, const box &box, int axis);
  void emit(const slice_work &work, const box &box, const std::vector<placement> &placements,
            const buffer_range *ranges);
  heddle_status_t too_large(const slice_work &work, const box &box, shader_binding binding) const;

  const limits &limits_;
  double submit_seconds_;
  uint64_t scratch_;
  uint64_t scratch_bytes_ = 0;
  schedule &out_;
};

} // namespace heddle::runtime::vulkan
