// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers, one for all that came before: what is saved by naming ranges is less than what drivers make of it. So the
// only question is where one is needed.

#include <vector>

#include "runtime/devices/vulkan/schedule.h"

namespace heddle::runtime::vulkan {

namespace {

struct touched {
  uint32_t buffer;
  uint64_t begin, end;
};

/// Calls |use| with each range that |command| reads or writes.
template <typename Use> void for_each_range(const command &command, Use use) {
  if (const auto *dispatch = std::get_if<dispatch_command>(&command.kind)) {
    for (uint32_t i = 0; i < binding_count; ++i)
      use(dispatch->bindings[i], i == static_cast<uint32_t>(shader_binding::results));
  } else if (const auto *copy = std::get_if<copy_command>(&command.kind)) {
    use(copy->source, false);
    use(buffer_range{copy->target, copy->offset, copy->source.bytes}, true);
  } else if (const auto *clear = std::get_if<clear_command>(&command.kind)) {
    use(buffer_range{arena_buffer, clear->offset, clear->bytes}, true);
  } else if (const auto *store = std::get_if<store_command>(&command.kind)) {
    use(buffer_range{arena_buffer, store->offset, store->words.size() * 4}, true);
  }
}

/// Looking through more ranges costs more than a barrier that wasn't needed.
constexpr size_t most_ranges = 1024;

bool overlaps(const std::vector<touched> &list, const buffer_range &range) {
  for (const touched &other : list)
    if (other.buffer == range.buffer && other.begin < range.offset + range.bytes && range.offset < other.end)
      return true;
  return false;
}

} // namespace

void mark_waits(schedule *schedule) {
  std::vector<touched> reads;
  std::vector<touched> writes;
  for (const segment &segment : schedule->segments) {
    reads.clear();
    writes.clear();
    for (size_t i = segment.begin; i < segment.end; ++i) {
      command &command = schedule->commands[i];
      command.waits = reads.size() + writes.size() > most_ranges;
      for_each_range(command, [&](const buffer_range &range, bool is_write) {
        command.waits = command.waits || overlaps(writes, range) || (is_write && overlaps(reads, range));
      });
      if (command.waits) {
        reads.clear();
        writes.clear();
      }
      for_each_range(command, [&](const buffer_range &range, bool is_write) {
        // Blocks of constants are never written.
        if (range.bytes != 0 && range.buffer < first_block)
          (is_write ? writes : reads).push_back({range.buffer, range.offset, range.offset + range.bytes});
      });
    }
  }
}

} // namespace heddle::runtime::vulkan
