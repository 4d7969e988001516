// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Halving until it fits. Slices are at most twice as many as they need be, and no division of strides can be wrong.

#include "runtime/devices/vulkan/slicing.h"

#include <algorithm>

#include "runtime/core/checked_math.h"
#include "runtime/devices/vulkan/result.h"

namespace heddle::runtime::vulkan {

namespace {

/// Ranges end at a multiple of this: shaders that see a buffer as vectors load 16 bytes, and every tensor is followed
/// by that many bytes of the arena or block.
constexpr uint64_t range_granularity = 16;

/// Nothing that fits within a submission is cut for its time alone: it must be longer than the estimate may err.
constexpr double least_slice_seconds = 1e-3;

/// Nor below this share of a dispatch: what it may take is an artifact's word, times a measured factor.
constexpr double least_share = 1.0 / 4096;

/// Commands of one schedule; each takes some 300 bytes.
constexpr size_t most_commands = 1 << 18;

/// Rows of a table; a last one may lack bytes. As many as shaders can count.
uint32_t row_count(const slice_operand &table) {
  const uint64_t count = table.bytes / table.row_bytes + (table.bytes % table.row_bytes != 0);
  return static_cast<uint32_t>(std::clamp<uint64_t>(count, 1, UINT32_MAX));
}

} // namespace

slicer::span slicer::span_of(const slice_work &work, const slice_operand &operand, const box &box) const {
  if (operand.row_bytes != 0) {
    const uint64_t end = std::min((uint64_t(box.first[rows]) + box.count[rows]) * operand.row_bytes, operand.bytes);
    return {std::min(uint64_t(box.first[rows]) * operand.row_bytes, end), end};
  }
  uint64_t begin = 0;
  uint64_t reach = 0;
  uint64_t unit = 0; // bytes of one: the smallest stride
  for (int axis = 0; axis < 3; ++axis) {
    const uint64_t stride = operand.strides[axis];
    if (stride == 0)
      continue;
    const uint64_t tile = work.pipeline->tile[static_cast<size_t>(axis)];
    const uint64_t first = box.first[axis] * tile;
    const uint64_t units = std::min<uint64_t>(work.extents[axis] - first, box.count[axis] * tile);
    begin += first * stride;
    reach += (units - 1) * stride;
    unit = unit == 0 ? stride : std::min(unit, stride);
  }
  if (unit == 0)
    return {0, operand.bytes};
  const uint64_t end = std::min(begin + reach + unit, operand.bytes);
  return {std::min(begin, end), end};
}

/// Finds one range for all operands of |binding|: as they lie, or copied side by side. Returns false if there is none
/// within the limit.
bool slicer::place(const slice_work &work, const box &box, shader_binding binding, std::vector<placement> *placements,
                   buffer_range *out_range, uint64_t *scratch) const {
  uint64_t low = UINT64_MAX;
  uint64_t high = 0;
  uint32_t buffer = UINT32_MAX;
  bool is_together = true;
  for (size_t i = 0; i < work.operands.size(); ++i) {
    const slice_operand &operand = work.operands[i];
    if (operand.binding != binding)
      continue;
    const span bytes = span_of(work, operand, box);
    (*placements)[i] = {operand.offset, bytes};
    if (bytes.begin == bytes.end)
      continue;
    is_together = is_together && (buffer == UINT32_MAX || buffer == operand.buffer);
    buffer = operand.buffer;
    low = std::min(low, operand.offset + bytes.begin);
    high = std::max(high, operand.offset + bytes.end);
  }
  *out_range = {};
  if (buffer == UINT32_MAX)
    return true;
  low -= low % limits_.offset_alignment;
  high = align_up(high, range_granularity);
  if (is_together && high - low <= limits_.range) {
    *out_range = {buffer, low, high - low};
    return true;
  }
  // Aside, each keeps its place modulo the alignment, and so its elements stay aligned.
  const uint64_t begin = *scratch;
  for (size_t i = 0; i < work.operands.size(); ++i) {
    placement &placement = (*placements)[i];
    if (work.operands[i].binding != binding || placement.bytes.begin == placement.bytes.end)
      continue;
    placement.copy = *scratch + placement.bytes.begin % tensor_alignment;
    placement.element0 = placement.copy - placement.bytes.begin;
    *scratch = align_up(placement.copy + placement.bytes.end - placement.bytes.begin, tensor_alignment);
  }
  *out_range = {arena_buffer, begin, *scratch - begin};
  return *scratch - begin <= limits_.range;
}

int slicer::axis_for(const slice_work &work, const slice_operand &operand, const box &box) {
  if (operand.row_bytes != 0)
    return box.count[rows] > 1 ? rows : -1;
  int best = -1;
  uint64_t most = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const uint64_t reach =
        uint64_t(box.count[axis] - 1) * work.pipeline->tile[static_cast<size_t>(axis)] * operand.strides[axis];
    if (reach > most) {
      best = axis;
      most = reach;
    }
  }
  return best;
}

/// The axis to halve because of counts or time; -1 if neither asks for it.
int slicer::axis_to_cut(const slice_work &work, const box &box) const {
  int longest = 0;
  double share = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (box.count[axis] > limits_.groups[axis])
      return axis;
    if (box.count[axis] > box.count[longest])
      longest = axis;
    const uint32_t tile = work.pipeline->tile[static_cast<size_t>(axis)];
    share *= std::min(1.0, double(box.count[axis]) * tile / work.extents[axis]);
  }
  const bool is_long = share > least_share && work.seconds * share > std::max(submit_seconds_, least_slice_seconds);
  return is_long && box.count[longest] > 1 ? longest : -1;
}

heddle_status_t slicer::too_large(const slice_work &work, const box &box, shader_binding binding) const {
  uint64_t bytes = 0;
  for (const slice_operand &operand : work.operands)
    if (operand.binding == binding) {
      const span span = span_of(work, operand, box);
      bytes += span.end - span.begin;
    }
  return beyond_limits(format("kernel '%s' needs %llu bytes at once, and the device binds at most %llu", work.kernel,
                              static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(limits_.range)));
}

heddle_status_t slicer::halve(const slice_work &work, const box &whole, int axis) {
  box half = whole;
  half.count[axis] = whole.count[axis] / 2;
  HEDDLE_RETURN_IF_ERROR(cut(work, half));
  half.first[axis] += half.count[axis];
  half.count[axis] = whole.count[axis] - half.count[axis];
  return cut(work, half);
}

/// Recurses at most 128 deep: each call halves one of four counts of 32 bits.
heddle_status_t slicer::cut(const slice_work &work, const box &box) {
  if (const int axis = axis_to_cut(work, box); axis >= 0)
    return halve(work, box, axis);
  std::vector<placement> placements(work.operands.size());
  buffer_range ranges[binding_count];
  uint64_t scratch = scratch_;
  for (uint32_t i = 0; i < binding_count; ++i) {
    const auto binding = static_cast<shader_binding>(i);
    if (place(work, box, binding, &placements, &ranges[i], &scratch))
      continue;
    // The largest operand that halving makes smaller.
    int axis = -1;
    uint64_t most = 0;
    for (const slice_operand &operand : work.operands) {
      const span bytes = span_of(work, operand, box);
      const int candidate = operand.binding == binding ? axis_for(work, operand, box) : -1;
      if (candidate >= 0 && bytes.end - bytes.begin > most) {
        axis = candidate;
        most = bytes.end - bytes.begin;
      }
    }
    return axis < 0 ? too_large(work, box, binding) : halve(work, box, axis);
  }
  if (out_.commands.size() >= most_commands)
    return beyond_limits(
        format("kernel '%s' has to be cut into more than %zu pieces on this device", work.kernel, most_commands));
  scratch_bytes_ = std::max(scratch_bytes_, scratch - scratch_);
  emit(work, box, placements, ranges);
  return nullptr;
}

void slicer::emit(const slice_work &work, const box &box, const std::vector<placement> &placements,
                  const buffer_range *ranges) {
  dispatch_command dispatch = {work.pipeline, {}, {}, {}};
  double share = 1;
  for (int axis = 0; axis < 3; ++axis) {
    dispatch.groups[axis] = box.count[axis];
    dispatch.words.push_back(box.first[axis]);
    share *=
        std::min(1.0, double(box.count[axis]) * work.pipeline->tile[static_cast<size_t>(axis)] / work.extents[axis]);
  }
  const auto table = std::find_if(work.operands.begin(), work.operands.end(),
                                  [](const slice_operand &operand) { return operand.row_bytes != 0; });
  if (table != work.operands.end()) {
    dispatch.words.insert(dispatch.words.end(), {box.first[rows], box.count[rows]});
    share *= double(box.count[rows]) / row_count(*table);
  }
  std::copy(ranges, ranges + binding_count, dispatch.bindings);
  // What lies aside is copied there even if it is only written: a slice need not write all bytes between its first and
  // its last.
  for (size_t i = 0; i < work.operands.size(); ++i) {
    const slice_operand &operand = work.operands[i];
    const placement &placed = placements[i];
    const uint64_t base = ranges[static_cast<size_t>(operand.binding)].offset;
    dispatch.words.push_back(static_cast<uint32_t>(static_cast<int64_t>(placed.element0 - base) / 4));
    if (placed.copy)
      out_.commands.push_back(
          {copy_command{{operand.buffer, operand.offset + placed.bytes.begin, placed.bytes.end - placed.bytes.begin},
                        arena_buffer,
                        placed.copy},
           work.step, 0});
  }
  dispatch.words.insert(dispatch.words.end(), work.sizes.begin(), work.sizes.end());
  out_.commands.push_back({std::move(dispatch), work.step, work.seconds * share});
  for (size_t i = 0; i < work.operands.size(); ++i) {
    const slice_operand &operand = work.operands[i];
    const placement &placed = placements[i];
    if (placed.copy && operand.binding == shader_binding::results)
      out_.commands.push_back({copy_command{{arena_buffer, placed.copy, placed.bytes.end - placed.bytes.begin},
                                            operand.buffer,
                                            operand.offset + placed.bytes.begin},
                               work.step, 0});
  }
}

heddle_status_t slicer::cut(const slice_work &work) {
  box all = {};
  for (int axis = 0; axis < 3; ++axis)
    all.count[axis] = (work.extents[axis] - 1) / work.pipeline->tile[static_cast<size_t>(axis)] + 1;
  for (const slice_operand &operand : work.operands)
    if (operand.row_bytes != 0)
      all.count[rows] = row_count(operand);
  return cut(work, all);
}

} // namespace heddle::runtime::vulkan
