// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Greedy by size. In order of time, first fit leaves gaps between buffers that a later, larger buffer can't use;
// largest first stays within some per cent of the least possible (tests/runtime/plan_test.cpp measures it on random
// programs).

#include "runtime/core/memory_planner.h"

#include <algorithm>
#include <numeric>

#include <heddle/executable_abi.h>

#include "runtime/core/checked_math.h"

namespace heddle::runtime {

namespace {

struct placement {
  int64_t begin, end;
  uint32_t first, last;
};

/// The lowest offset where |size| bytes fit beside those of |placed| that live at the same time. |placed| is sorted by
/// begin.
bool first_fit(const std::vector<placement> &placed, const buffer_table &buffer, int64_t size, placement *out) {
  int64_t begin = 0;
  for (const placement &other : placed) {
    if (other.last < buffer.first || buffer.last < other.first)
      continue;
    if (other.begin - begin >= size)
      break;
    begin = std::max(begin, other.end);
  }
  *out = {begin, 0, buffer.first, buffer.last};
  return checked_add(begin, size, &out->end);
}

} // namespace

bool plan_memory(const std::vector<buffer_table> &buffers, const std::vector<int64_t> &bytes,
                 std::vector<int64_t> *out_offsets, int64_t *out_arena_bytes) {
  // Largest first: small buffers then fill the gaps that large ones leave. Ties go by index, for equal plans.
  std::vector<uint32_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return bytes[a] != bytes[b] ? bytes[a] > bytes[b] : a < b; });

  out_offsets->assign(buffers.size(), 0);
  *out_arena_bytes = 0;
  std::vector<placement> placed;
  placed.reserve(buffers.size());
  for (uint32_t index : order) {
    int64_t size = 0;
    if (!checked_add(bytes[index], HEDDLE_BUFFER_ALIGNMENT - 1, &size))
      return false;
    size -= size % HEDDLE_BUFFER_ALIGNMENT;
    placement place;
    if (!first_fit(placed, buffers[index], size, &place))
      return false;
    (*out_offsets)[index] = place.begin;
    *out_arena_bytes = std::max(*out_arena_bytes, place.end);
    // An empty buffer takes no room; left out, it can't split a gap either.
    if (size != 0)
      placed.insert(std::upper_bound(placed.begin(), placed.end(), place,
                                     [](const placement &a, const placement &b) { return a.begin < b.begin; }),
                    place);
  }
  return true;
}

} // namespace heddle::runtime
