// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why it is built this way (the measurements are in cpu-codegen.md, section 8): static halves with pure spinning fall
// to a third of the peak when another process takes one of the cores; chunks from a counter and yielding in the wait
// keep most of it. A sleeping worker costs 22-48 us to wake, a spinning one 0.14 us.

#include "runtime/core/thread_pool.h"

#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/core/border.h"
#include "runtime/core/thread_count.h"

namespace heddle::runtime {

namespace {

/// How long a thread spins, then yields, before it sleeps: longer than the gaps between the dispatches of a run, short
/// enough that an idle process is idle.
constexpr auto spin_time = std::chrono::microseconds(100);
constexpr auto yield_time = std::chrono::microseconds(100);

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits until |ready| or |limit| has passed, spinning or, with |yield|, letting others run; returns whether ready.
template <typename Ready> bool poll(Ready ready, std::chrono::microseconds limit, bool yield) {
  const auto end = std::chrono::steady_clock::now() + limit;
  do {
    // A clock read costs as much as a pause: ask rarely.
    for (int round = 0; round < (yield ? 1 : 32); ++round) {
      if (ready())
        return true;
      if (yield)
        sched_yield();
      else
        pause_cpu();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

uint32_t remaining(uint64_t ticket) { return static_cast<uint32_t>(ticket); }

void futex_wait(std::atomic<uint32_t> &word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t> &word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

} // namespace

heddle_status_t thread_pool::start(unsigned thread_count) {
  starts_.resize(thread_count);
  threads_.reserve(thread_count);
  // Signals are the application's: workers block them all, so that handlers run on threads it knows.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failure = 0;
  for (unsigned index = 1; index < thread_count && failure == 0; ++index) {
    starts_[index] = {this, index};
    pthread_t thread;
    failure = pthread_create(&thread, nullptr, worker_main, &starts_[index]);
    if (failure == 0)
      threads_.push_back(thread);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failure != 0)
    return fail(error::H0313, format("the system refused to start thread %zu of %u", threads_.size() + 2, thread_count),
                "ask for fewer threads");
  return nullptr;
}

thread_pool::~thread_pool() {
  stop_.store(true, std::memory_order_release);
  wake_word_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake(wake_word_, INT_MAX);
  for (pthread_t thread : threads_)
    pthread_join(thread, nullptr);
}

void *thread_pool::worker_main(void *start) {
  auto [pool, index] = *static_cast<worker_start *>(start);
  char name[16];
  std::snprintf(name, sizeof(name), "heddle-%u", index);
  pthread_setname_np(pthread_self(), name);
  for (;;) {
    // Read before taking chunks: a region that starts meanwhile then changes the word, and the wait ends at once.
    uint32_t seen = pool->wake_word_.load(std::memory_order_acquire);
    if (pool->stop_.load(std::memory_order_acquire))
      return nullptr;
    pool->take_chunks(index);
    pool->wait_for_region(seen);
  }
}

void thread_pool::take_chunks(unsigned worker) {
  uint64_t ticket = tickets_.load(std::memory_order_acquire);
  while (remaining(ticket) != 0) {
    if (!tickets_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel, std::memory_order_acquire))
      continue;
    // The region can't end before this chunk is done, so its fields are stable from here on.
    fn_(context_, worker, chunk_count_ - remaining(ticket));
    done_.fetch_add(1, std::memory_order_release);
    ticket = tickets_.load(std::memory_order_acquire);
  }
}

void thread_pool::wait_for_region(uint32_t seen) {
  auto changed = [&] { return wake_word_.load(std::memory_order_acquire) != seen; };
  if (poll(changed, spin_time, /*yield=*/false) || poll(changed, yield_time, /*yield=*/true))
    return;
  // run() raises the word and then reads the sleepers; we count ourselves and then read the word: one sees the other.
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  while (wake_word_.load(std::memory_order_seq_cst) == seen)
    futex_wait(wake_word_, seen);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void thread_pool::run(uint32_t chunk_count, chunk_fn_t fn, void *context) {
  if (chunk_count <= 1 || threads_.empty() || busy_.exchange(true, std::memory_order_acquire)) {
    for (uint32_t chunk = 0; chunk < chunk_count; ++chunk)
      fn(context, 0, chunk);
    return;
  }
  fn_ = fn;
  context_ = context;
  chunk_count_ = chunk_count;
  done_.store(0, std::memory_order_relaxed);
  const uint64_t region = (tickets_.load(std::memory_order_relaxed) >> 32) + 1;
  tickets_.store(region << 32 | chunk_count, std::memory_order_release);
  wake_word_.fetch_add(1, std::memory_order_seq_cst);
  if (uint32_t sleepers = sleepers_.load(std::memory_order_seq_cst))
    futex_wake(wake_word_, static_cast<int>(sleepers < chunk_count ? sleepers : chunk_count - 1));

  take_chunks(0);
  // What is left are chunks that workers hold, a fraction of the region each.
  auto all_done = [&] { return done_.load(std::memory_order_acquire) == chunk_count; };
  if (!poll(all_done, spin_time, /*yield=*/false))
    while (!all_done())
      sched_yield();
  busy_.store(false, std::memory_order_release);
}

namespace {

// Guards the pointer, and the last release of the pool that it points to.
std::mutex default_pool_mutex;
heddle_thread_pool_t *default_pool = nullptr;

} // namespace

heddle_status_t retain_default_thread_pool(heddle_thread_pool_t **out_pool) {
  std::lock_guard<std::mutex> lock(default_pool_mutex);
  if (!default_pool)
    HEDDLE_RETURN_IF_ERROR(heddle_thread_pool_create(0, &default_pool));
  else
    heddle_thread_pool_retain(default_pool);
  *out_pool = default_pool;
  return nullptr;
}

namespace {

heddle_status_t create(unsigned thread_count, heddle_thread_pool_t **out_pool) {
  if (!out_pool)
    return fail(error::H0101, "out_pool is null");
  if (thread_count > max_thread_count)
    return fail(error::H0101, format("expects at most %u threads, got %u", max_thread_count, thread_count));
  if (thread_count == 0)
    HEDDLE_RETURN_IF_ERROR(default_thread_count(&thread_count));
  auto pool = std::make_unique<heddle_thread_pool_t>();
  HEDDLE_RETURN_IF_ERROR(pool->pool.start(thread_count));
  *out_pool = pool.release();
  return nullptr;
}

} // namespace
} // namespace heddle::runtime

using namespace heddle::runtime;

heddle_status_t heddle_thread_pool_create(unsigned thread_count, heddle_thread_pool_t **out_pool) {
  return at_border([&] { return create(thread_count, out_pool); });
}

void heddle_thread_pool_retain(heddle_thread_pool_t *pool) { pool->references.fetch_add(1, std::memory_order_relaxed); }

void heddle_thread_pool_release(heddle_thread_pool_t *pool) {
  if (!pool)
    return;
  {
    // Under the lock: else a load could retain the default pool between our last count and its end.
    std::lock_guard<std::mutex> lock(default_pool_mutex);
    if (pool->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
      return;
    if (pool == default_pool)
      default_pool = nullptr;
  }
  delete pool;
}

unsigned heddle_thread_pool_thread_count(const heddle_thread_pool_t *pool) { return pool->pool.thread_count(); }
