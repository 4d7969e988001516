// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The thread pool: hands the units of one parallel region at a time to the calling thread and its workers.
//
// A region costs well under 2 us while the workers spin between regions, which they do for a bounded time only. Each
// thread has a share of the units and takes ranges of it that grow smaller; when its own share is empty it takes from
// the others'. So a thread finds in its cache what it wrote in the last region, and a worker that the system has taken
// off its core delays nobody but the range it holds.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <pthread.h>

#include "runtime/core/status.h"

namespace heddle::runtime {

/// Threads: run() may be called by any number of threads at a time; one of them gets the workers.
class thread_pool {
public:
  /// Does the units begin <= i < end. |worker| is 0 for the calling thread and below thread_count() for the others.
  using range_fn_t = void (*)(void *context, unsigned worker, uint32_t begin, uint32_t end);
  /// Called by a thread that has done units of a region and finds no more. It may find some after all, and calls again.
  using finish_fn_t = void (*)(void *context, unsigned worker);

  thread_pool() = default;
  thread_pool(const thread_pool &) = delete;
  thread_pool &operator=(const thread_pool &) = delete;
  /// Joins the workers. No run() may be in progress.
  ~thread_pool();

  /// Starts |thread_count| - 1 workers; call once. On failure those that started are left to the destructor.
  heddle_status_t start(unsigned thread_count);

  unsigned thread_count() const { return thread_count_; }

  /// Has |fn| do each unit 0 <= unit < |unit_count| once, in ranges, and returns when all calls have returned, those of
  /// |finish| too, which may be null. If the workers serve another run(), the calling thread does all units itself.
  void run(uint32_t unit_count, range_fn_t fn, void *context, finish_fn_t finish = nullptr);

private:
  struct worker_start {
    thread_pool *pool;
    unsigned index;
  };

  /// The units of one thread that nobody has taken yet, and what to do with them: on one cache line, which is all that
  /// a worker waits for. Apart by two lines, which adjacent-line prefetchers fetch together.
  struct alignas(128) share {
    bool is_empty() const;

    /// The first unit in the lower half, the end in the upper. The word is all there is to know, so an exchange that a
    /// late taker completes in a later region takes units of that region.
    std::atomic<uint64_t> units{0};
    // Written by the caller of run() while no unit is left, read only by who has taken a unit: never a race.
    range_fn_t fn = nullptr;
    void *context = nullptr;
    finish_fn_t finish = nullptr;
  };

  static void *worker_main(void *start);
  static bool take(share &from, bool is_own, uint32_t *begin, uint32_t *end);
  /// Returns how many units it did.
  uint32_t take_ranges(unsigned worker);
  void wait_for_region(unsigned worker, uint32_t seen);

  /// Counts regions; what idle workers watch and sleep on.
  alignas(128) std::atomic<uint32_t> wake_word_{0};
  std::atomic<bool> stop_{false};
  /// Units of the region that workers have done.
  alignas(128) std::atomic<uint32_t> done_{0};
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<bool> busy_{false};

  // Never changes once the first worker has started.
  alignas(128) unsigned thread_count_ = 1;
  std::unique_ptr<share[]> shares_; ///< one per thread
  std::vector<pthread_t> threads_;
  std::vector<worker_start> starts_;
};

/// Retains and hands out the pool that programs share unless told otherwise; made on first use, gone with its last
/// reference.
heddle_status_t retain_default_thread_pool(heddle_thread_pool_t **out_pool);

} // namespace heddle::runtime

struct heddle_thread_pool_t {
  std::atomic<size_t> references{1};
  heddle::runtime::thread_pool pool;
};
