// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why it is built this way: static halves with pure spinning fall to a third of the peak when another process takes one
// of the cores; taking from the others' shares keeps most of it. A sleeping worker costs 22-48 us to wake, a spinning
// one 0.14 us.

#include "runtime/core/thread_pool.h"

#include <algorithm>
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

uint64_t pack(uint32_t begin, uint32_t end) { return uint64_t(end) << 32 | begin; }

/// A third of what is left of a share at a time: the first ranges are long, for data that stream, and the last ones
/// short, so that threads end together. On two threads halves and quarters are within 1 % of it (MiniLM, 16 tokens).
constexpr uint32_t range_divisor = 3;
/// Ranges of a region that the calling thread does alone: between them a run may be cancelled.
constexpr uint32_t lone_ranges = 8;

void futex_wait(std::atomic<uint32_t> &word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t> &word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

} // namespace

heddle_status_t thread_pool::start(unsigned thread_count) {
  // Before the first worker, which reads both.
  thread_count_ = thread_count;
  shares_ = std::make_unique<share[]>(thread_count);
  starts_.resize(thread_count);
  threads_.reserve(thread_count);
  // Signals are the application's: workers block them all, so that handlers run on threads it knows. But for a worker's
  // own faults (a page that a truncated file no longer has): blocked, they end the process with no handler asked.
  sigset_t blocked;
  sigset_t before;
  sigfillset(&blocked);
  for (int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP})
    sigdelset(&blocked, fault);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
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
    // Read before taking units: a region that starts meanwhile then changes the word, and the wait ends at once.
    uint32_t seen = pool->wake_word_.load(std::memory_order_acquire);
    if (pool->stop_.load(std::memory_order_acquire))
      return nullptr;
    if (const uint32_t finished = pool->take_ranges(index))
      pool->done_.fetch_add(finished, std::memory_order_release);
    pool->wait_for_region(index, seen);
  }
}

bool thread_pool::share::is_empty() const {
  const uint64_t word = units.load(std::memory_order_relaxed);
  return static_cast<uint32_t>(word) >= static_cast<uint32_t>(word >> 32);
}

bool thread_pool::take(share &from, bool is_own, uint32_t *begin, uint32_t *end) {
  uint64_t word = from.units.load(std::memory_order_acquire);
  for (;;) {
    const auto first = static_cast<uint32_t>(word);
    const auto last = static_cast<uint32_t>(word >> 32);
    if (first >= last)
      return false;
    const uint32_t count = (last - first - 1) / range_divisor + 1;
    // The owner takes from the front and the others from the back, so that both keep to neighbouring units.
    const uint64_t rest = is_own ? pack(first + count, last) : pack(first, last - count);
    if (!from.units.compare_exchange_weak(word, rest, std::memory_order_acq_rel, std::memory_order_acquire))
      continue;
    *begin = is_own ? first : last - count;
    *end = *begin + count;
    return true;
  }
}

uint32_t thread_pool::take_ranges(unsigned worker) {
  uint32_t finished = 0;
  const share *last = nullptr;
  for (unsigned i = 0; i < thread_count_; ++i) {
    uint32_t begin = 0;
    uint32_t end = 0;
    share &from = shares_[(worker + i) % thread_count_];
    // The region can't end before these units are done, so what to do with them is stable once they are taken.
    while (take(from, i == 0, &begin, &end)) {
      from.fn(from.context, worker, begin, end);
      finished += end - begin;
      last = &from;
    }
  }
  // All units were of one region, which waits for them to be counted.
  if (last && last->finish)
    last->finish(last->context, worker);
  return finished;
}

void thread_pool::wait_for_region(unsigned worker, uint32_t seen) {
  // The share comes before the word, and with what to do: seen first, it spares the worker two trips to another core.
  auto changed = [&] { return !shares_[worker].is_empty() || wake_word_.load(std::memory_order_acquire) != seen; };
  if (poll(changed, spin_time, /*yield=*/false) || poll(changed, yield_time, /*yield=*/true))
    return;
  // run() raises the word and then reads the sleepers; we count ourselves and then read the word: one sees the other.
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  while (wake_word_.load(std::memory_order_seq_cst) == seen)
    futex_wait(wake_word_, seen);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void thread_pool::run(uint32_t unit_count, range_fn_t fn, void *context, finish_fn_t finish) {
  if (unit_count <= 1 || thread_count_ == 1 || busy_.exchange(true, std::memory_order_acquire)) {
    const uint32_t step = unit_count / lone_ranges + 1;
    for (uint32_t begin = 0; begin < unit_count; begin += std::min(step, unit_count - begin))
      fn(context, 0, begin, begin + std::min(step, unit_count - begin));
    if (finish && unit_count != 0)
      finish(context, 0);
    return;
  }
  done_.store(0, std::memory_order_relaxed);
  // No more shares than units, and each of equal length but for one.
  const unsigned sharers = std::min(thread_count_, unit_count);
  auto border = [&](unsigned i) { return static_cast<uint32_t>(uint64_t(unit_count) * i / sharers); };
  for (unsigned i = 0; i < sharers; ++i) {
    shares_[i].fn = fn;
    shares_[i].context = context;
    shares_[i].finish = finish;
    shares_[i].units.store(pack(border(i), border(i + 1)), std::memory_order_release);
  }
  wake_word_.fetch_add(1, std::memory_order_seq_cst);
  if (uint32_t sleepers = sleepers_.load(std::memory_order_seq_cst))
    futex_wake(wake_word_, static_cast<int>(std::min(sleepers, sharers - 1)));

  const uint32_t left_to_workers = unit_count - take_ranges(0);
  // What they still hold are ranges, a small part of the region each. Yielding rather than sleeping: the system brings
  // a worker that has lost its core over to a sleeping caller's only after milliseconds.
  auto is_done = [&] { return done_.load(std::memory_order_acquire) == left_to_workers; };
  if (!poll(is_done, spin_time, /*yield=*/false))
    while (!is_done())
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
