// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The thread pool: hands the chunks of one parallel region at a time to the calling thread and its workers.
//
// A region costs well under 2 us while the workers spin between regions, which they do for a bounded time only. Chunks
// come from one counter, so a worker that the system has taken off its core delays nobody but the chunk it holds.

#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include <pthread.h>

#include "runtime/core/status.h"

namespace heddle::runtime {

/// Threads: run() may be called by any number of threads at a time; one of them gets the workers.
class thread_pool {
public:
  /// |worker| is 0 for the calling thread and below thread_count() for the others.
  using chunk_fn_t = void (*)(void *context, unsigned worker, uint32_t chunk);

  thread_pool() = default;
  thread_pool(const thread_pool &) = delete;
  thread_pool &operator=(const thread_pool &) = delete;
  /// Joins the workers. No run() may be in progress.
  ~thread_pool();

  /// Starts |thread_count| - 1 workers; call once. On failure those that started are left to the destructor.
  heddle_status_t start(unsigned thread_count);

  unsigned thread_count() const { return static_cast<unsigned>(threads_.size()) + 1; }

  /// Calls |fn| once for each chunk 0 <= chunk < |chunk_count| and returns when all calls have returned. If the workers
  /// serve another run(), the calling thread does all chunks itself.
  void run(uint32_t chunk_count, chunk_fn_t fn, void *context);

private:
  struct worker_start {
    thread_pool *pool;
    unsigned index;
  };

  static void *worker_main(void *start);
  void take_chunks(unsigned worker);
  void wait_for_region(uint32_t seen);

  // Written by the caller of run() while no chunk is left, read only by who has taken a chunk of it: never a race.
  chunk_fn_t fn_ = nullptr;
  void *context_ = nullptr;
  uint32_t chunk_count_ = 0;

  /// Region number in the upper half, chunks not yet taken in the lower. The number makes a taker that woke late fail
  /// its exchange instead of taking a chunk by the count it remembers from an earlier region.
  alignas(64) std::atomic<uint64_t> tickets_{0};
  alignas(64) std::atomic<uint32_t> done_{0};
  /// Counts regions; what idle workers watch and sleep on.
  alignas(64) std::atomic<uint32_t> wake_word_{0};
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<bool> busy_{false};

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
