// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory planner's promises over random programs, and the cache of plans.

#include <algorithm>
#include <random>

#include "runtime/core/memory_planner.h"
#include "runtime/core/plan_cache.h"
#include "tests/runtime/test_support.h"

namespace heddle::test {
namespace {

using runtime::buffer_table;
using runtime::plan;
using runtime::plan_cache;

struct arena {
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
};

arena plan_of(const std::vector<buffer_table> &buffers, const std::vector<int64_t> &bytes) {
  arena arena;
  EXPECT_TRUE(runtime::plan_memory(buffers, bytes, &arena.offsets, &arena.bytes));
  return arena;
}

/// The most bytes alive at one step: no arena can be smaller.
int64_t peak(const std::vector<buffer_table> &buffers, const std::vector<int64_t> &bytes, uint32_t steps) {
  int64_t peak = 0;
  for (uint32_t step = 0; step < steps; ++step) {
    int64_t alive = 0;
    for (size_t i = 0; i < buffers.size(); ++i)
      alive += buffers[i].first <= step && step <= buffers[i].last ? (bytes[i] + 63) / 64 * 64 : 0;
    peak = std::max(peak, alive);
  }
  return peak;
}

TEST(MemoryPlanner, BuffersAliveTogetherNeverOverlap) {
  std::mt19937 random(7);
  double worst = 1;
  for (int round = 0; round < 300; ++round) {
    const uint32_t steps = 1 + random() % 40;
    std::vector<buffer_table> buffers(random() % 60);
    std::vector<int64_t> bytes;
    for (buffer_table &buffer : buffers) {
      buffer.first = random() % steps;
      buffer.last = std::min(steps - 1, buffer.first + static_cast<uint32_t>(random() % 5));
      bytes.push_back(random() % 4 == 0 ? 0 : random() % 5000);
    }
    const arena arena = plan_of(buffers, bytes);
    for (size_t i = 0; i < buffers.size(); ++i) {
      ASSERT_EQ(arena.offsets[i] % 64, 0);
      ASSERT_GE(arena.offsets[i], 0);
      ASSERT_LE(arena.offsets[i] + bytes[i], arena.bytes);
      for (size_t j = 0; j < i; ++j) {
        const bool together = buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
        const bool overlap = arena.offsets[i] < arena.offsets[j] + bytes[j] &&
                             arena.offsets[j] < arena.offsets[i] + bytes[i] && bytes[i] != 0 && bytes[j] != 0;
        ASSERT_FALSE(together && overlap) << i << " and " << j << " in round " << round;
      }
    }
    const int64_t lower_bound = peak(buffers, bytes, steps);
    ASSERT_GE(arena.bytes, lower_bound);
    worst = std::max(worst, lower_bound == 0 ? 1.0 : double(arena.bytes) / double(lower_bound));
  }
  EXPECT_LT(worst, 1.5) << "far from the least memory possible";
}

TEST(MemoryPlanner, AChainNeedsTwoBuffers) {
  std::vector<buffer_table> buffers;
  for (uint32_t i = 0; i < 50; ++i)
    buffers.push_back({0, i, i + 1});
  EXPECT_EQ(plan_of(buffers, std::vector<int64_t>(50, 1000)).bytes, 2 * 1024);
}

TEST(MemoryPlanner, SmallBuffersFillGaps) {
  // a and c live throughout, b only at the start: d goes where b was.
  const std::vector<buffer_table> buffers = {{0, 0, 3}, {0, 0, 1}, {0, 0, 3}, {0, 2, 3}};
  EXPECT_EQ(plan_of(buffers, {640, 320, 640, 64}).bytes, 640 + 640 + 320);
}

TEST(MemoryPlanner, NothingTakesNothing) {
  EXPECT_EQ(plan_of({}, {}).bytes, 0);
  EXPECT_EQ(plan_of({{0, 0, 0}, {0, 0, 0}}, {0, 0}).bytes, 0);
}

TEST(MemoryPlanner, AnArenaThatOverflowsIsRefused) {
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
  const std::vector<buffer_table> buffers = {{0, 0, 1}, {0, 0, 1}};
  EXPECT_FALSE(runtime::plan_memory(buffers, {INT64_MAX, 1}, &offsets, &bytes));
  EXPECT_FALSE(runtime::plan_memory(buffers, {INT64_MAX / 2 + 1, INT64_MAX / 2 + 1}, &offsets, &bytes));
}

std::unique_ptr<plan> make_plan_of(int64_t arena_bytes) {
  auto made = std::make_unique<plan>();
  made->arena_bytes = arena_bytes;
  return made;
}

TEST(PlanCache, FindsWhatWasPutIn) {
  plan_cache cache;
  EXPECT_EQ(cache.find({1, 2}), nullptr);
  cache.insert({1, 2}, make_plan_of(10));
  cache.insert({2, 1}, make_plan_of(20));
  EXPECT_EQ(cache.find({1, 2})->arena_bytes, 10);
  EXPECT_EQ(cache.find({2, 1})->arena_bytes, 20);
  EXPECT_EQ(cache.find({1}), nullptr);
}

TEST(PlanCache, DropsWhatWasNotUsedForLongest) {
  plan_cache cache;
  for (int64_t i = 0; i < 64; ++i)
    cache.insert({i}, make_plan_of(i));
  EXPECT_NE(cache.find({0}), nullptr);
  cache.insert({64}, make_plan_of(64));
  EXPECT_EQ(cache.size(), 64u);
  EXPECT_NE(cache.find({0}), nullptr) << "used just now";
  EXPECT_EQ(cache.find({1}), nullptr) << "used longest ago";
  EXPECT_NE(cache.find({2}), nullptr);
  EXPECT_NE(cache.find({64}), nullptr);
}

} // namespace
} // namespace heddle::test
