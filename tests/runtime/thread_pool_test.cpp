// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The thread pool, and how many threads a process takes.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <signal.h>
#include <time.h>

#include "runtime/core/thread_count.h"
#include "runtime/core/thread_pool.h"
#include "tests/runtime/sanitizers.h"
#include "tests/runtime/test_support.h"

namespace heddle::test {
namespace {

struct tally {
  std::vector<std::atomic<int>> calls;
  std::atomic<unsigned> highest_worker{0};

  explicit tally(size_t units) : calls(units) {}
};

void count_call(void *context, unsigned worker, uint32_t begin, uint32_t end) {
  auto &counts = *static_cast<tally *>(context);
  for (uint32_t unit = begin; unit < end; ++unit)
    counts.calls[unit].fetch_add(1, std::memory_order_relaxed);
  unsigned highest = counts.highest_worker.load(std::memory_order_relaxed);
  while (worker > highest && !counts.highest_worker.compare_exchange_weak(highest, worker))
    ;
}

TEST(ThreadPool, RunsEachUnitOnce) {
  for (unsigned threads : {1, 2, 5}) {
    const thread_pool pool = make_pool(threads);
    EXPECT_EQ(pool.thread_count(), threads);
    for (uint32_t units : {0, 1, 2, 3, 4, 5, 17, 1000}) {
      tally counts(units);
      for (int round = 1; round <= 20; ++round) {
        pool.get()->pool.run(units, count_call, &counts);
        for (uint32_t i = 0; i < units; ++i)
          ASSERT_EQ(counts.calls[i].load(), round) << "unit " << i << " of " << units;
      }
      EXPECT_LT(counts.highest_worker.load(), threads);
    }
  }
}

TEST(ThreadPool, WhatUnitsWroteIsVisibleAfterwards) {
  const thread_pool pool = make_pool(3);
  std::vector<int> plain(64);
  for (int round = 1; round <= 2000; ++round) {
    pool.get()->pool.run(
        64,
        [](void *context, unsigned, uint32_t begin, uint32_t end) {
          for (uint32_t unit = begin; unit < end; ++unit)
            ++(*static_cast<std::vector<int> *>(context))[unit];
        },
        &plain);
    ASSERT_EQ(std::count(plain.begin(), plain.end(), round), 64);
  }
}

TEST(ThreadPool, TellsEachThreadThatWorkedOfItsEnd) {
  struct ends {
    std::vector<int> units, told; ///< of each worker
  };
  for (unsigned threads : {1, 3}) {
    const thread_pool pool = make_pool(threads);
    for (uint32_t units : {0, 1, 2, 64}) {
      for (int round = 0; round < 200; ++round) {
        ends seen = {std::vector<int>(threads), std::vector<int>(threads)};
        pool.get()->pool.run(
            units,
            [](void *context, unsigned worker, uint32_t begin, uint32_t end) {
              auto &seen = *static_cast<ends *>(context);
              seen.units[worker] += static_cast<int>(end - begin);
            },
            &seen, [](void *context, unsigned worker) { ++static_cast<ends *>(context)->told[worker]; });
        for (unsigned worker = 0; worker < threads; ++worker)
          ASSERT_EQ(seen.told[worker] != 0, seen.units[worker] != 0);
      }
    }
  }
}

TEST(ThreadPool, ServesSeveralCallersAtOnce) {
  const thread_pool pool = make_pool(3);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        tally counts(20);
        pool.get()->pool.run(20, count_call, &counts);
        for (const auto &calls : counts.calls)
          ASSERT_EQ(calls.load(), 1);
      }
    });
  for (std::thread &caller : callers)
    caller.join();
}

TEST(ThreadPool, WakesWorkersThatSleep) {
  const thread_pool pool = make_pool(2);
  struct shared {
    std::atomic<int> arrived{0};
  } both;
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // long past the spinning
    both.arrived = 0;
    // Each unit waits for the other, so a worker must come.
    pool.get()->pool.run(
        2,
        [](void *context, unsigned, uint32_t, uint32_t) {
          auto &both = *static_cast<shared *>(context);
          both.arrived.fetch_add(1);
          while (both.arrived.load() < 2)
            std::this_thread::yield();
        },
        &both);
    EXPECT_EQ(both.arrived.load(), 2);
  }
}

TEST(ThreadPool, EachThreadTakesItsOwnShareFirst) {
  constexpr unsigned threads = 4;
  const thread_pool pool = make_pool(threads);
  struct shared {
    std::atomic<unsigned> arrived{0};
    unsigned worker[threads] = {};
  } all;
  constexpr int rounds = 20;
  int own = 0;
  for (int round = 0; round < rounds; ++round) {
    all.arrived = 0;
    // Each unit waits for the others, so that each thread gets one; which one is what is asked here.
    pool.get()->pool.run(
        threads,
        [](void *context, unsigned worker, uint32_t begin, uint32_t) {
          auto &all = *static_cast<shared *>(context);
          all.worker[begin] = worker;
          all.arrived.fetch_add(1);
          while (all.arrived.load() < threads)
            std::this_thread::yield();
        },
        &all);
    for (unsigned i = 0; i < threads; ++i)
      own += all.worker[i] == i;
  }
  // Not always: a thread that still looks for units of the last region meets some of this one with another's share.
  EXPECT_GT(own, rounds * int(threads) * 3 / 4);
}

TEST(ThreadPool, WorkersLeaveSignalsToTheApplicationButForTheirOwnFaults) {
  const thread_pool pool = make_pool(2);
  struct shared {
    std::atomic<unsigned> arrived{0};
    sigset_t blocked;
  } all;
  pool.get()->pool.run(
      2,
      [](void *context, unsigned worker, uint32_t, uint32_t) {
        auto &all = *static_cast<shared *>(context);
        if (worker == 1)
          pthread_sigmask(SIG_SETMASK, nullptr, &all.blocked);
        all.arrived.fetch_add(1);
        while (all.arrived.load() < 2) // so that the worker gets one
          std::this_thread::yield();
      },
      &all);
  for (int signal : {SIGTERM, SIGINT, SIGUSR1})
    EXPECT_EQ(sigismember(&all.blocked, signal), 1) << signal;
  for (int signal : {SIGBUS, SIGSEGV, SIGFPE, SIGILL})
    EXPECT_EQ(sigismember(&all.blocked, signal), 0) << signal;
}

TEST(ThreadPool, TheOthersDoTheShareOfAThreadThatIsHeldUp) {
  constexpr uint32_t units = 200;
  const thread_pool pool = make_pool(2);
  struct shared {
    std::atomic<uint32_t> done{0};
  } all;
  // Whoever takes the first unit of the second share ends only when all units outside that range are done.
  pool.get()->pool.run(
      units,
      [](void *context, unsigned, uint32_t begin, uint32_t end) {
        auto &all = *static_cast<shared *>(context);
        if (begin <= units / 2 && units / 2 < end)
          while (all.done.load() < units - (end - begin))
            std::this_thread::yield();
        all.done.fetch_add(end - begin);
      },
      &all);
  EXPECT_EQ(all.done.load(), units);
}

TEST(ThreadPool, AloneItStillWorksInRanges) {
  const thread_pool pool = make_pool(1);
  std::vector<uint32_t> ends;
  pool.get()->pool.run(
      1000,
      [](void *context, unsigned worker, uint32_t begin, uint32_t end) {
        auto &ends = *static_cast<std::vector<uint32_t> *>(context);
        EXPECT_EQ(worker, 0u);
        EXPECT_EQ(begin, ends.empty() ? 0 : ends.back());
        ends.push_back(end);
      },
      &ends);
  EXPECT_GT(ends.size(), 1u) << "a run can't be cancelled within a range";
  EXPECT_EQ(ends.back(), 1000u);
}

double process_cpu_seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

TEST(ThreadPool, IsIdleWhenNothingIsToBeDone) {
  const thread_pool pool = make_pool(4);
  tally counts(16);
  pool.get()->pool.run(16, count_call, &counts);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double before = process_cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(process_cpu_seconds() - before, 0.05);
}

TEST(ThreadPool, ManyShortDispatchesRunEveryUnit) {
  const thread_pool pool = make_pool(2);
  std::atomic<int64_t> units{0};
  auto count = [](void *user, unsigned, uint32_t begin, uint32_t end) {
    static_cast<std::atomic<int64_t> *>(user)->fetch_add(end - begin);
  };
  // The best of many short series: on a machine that others use, only the best says what the pool costs. It is
  // recorded, not asserted.
  auto best = std::chrono::nanoseconds::max();
  for (int series = 0; series < 200; ++series) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i)
      pool.get()->pool.run(16, count, &units);
    best = std::min(best, std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin) / 100);
  }
  RecordProperty("nanoseconds_per_dispatch", static_cast<int>(best.count()));
  EXPECT_EQ(units.load(), 200 * 100 * 16);
}

TEST(ThreadPool, CountIsChecked) {
  heddle_thread_pool_t *pool = nullptr;
  expect_failure(heddle_thread_pool_create(5000, &pool), "H0101", "expects at most 1024 threads, got 5000");
}

TEST(ThreadPool, TheDefaultOneIsSharedAndEndsWithItsLastUser) {
  heddle_thread_pool_t *first = nullptr;
  heddle_thread_pool_t *second = nullptr;
  EXPECT_OK(runtime::retain_default_thread_pool(&first));
  EXPECT_OK(runtime::retain_default_thread_pool(&second));
  EXPECT_EQ(first, second);
  heddle_thread_pool_release(first);
  heddle_thread_pool_release(second);
  EXPECT_OK(runtime::retain_default_thread_pool(&first));
  EXPECT_EQ(heddle_thread_pool_thread_count(first), heddle_default_thread_count());
  heddle_thread_pool_release(first);
}

TEST(ThreadCount, FollowsTheEnvironment) {
  setenv("HEDDLE_THREADS", "3", 1);
  EXPECT_EQ(heddle_default_thread_count(), 3u);
  for (const char *wrong : {"0", "many", "2x", "-1", "99999999999999999999"}) {
    setenv("HEDDLE_THREADS", wrong, 1);
    EXPECT_GE(heddle_default_thread_count(), 1u);
    heddle_thread_pool_t *pool = nullptr;
    expect_failure(heddle_thread_pool_create(0, &pool), "H0101",
                   std::string("HEDDLE_THREADS expects a number between 1 and 1024, got '") + wrong + "'");
  }
  unsetenv("HEDDLE_THREADS");
}

/// A folder that looks like the root of a system with the given cgroup files.
class fake_root {
public:
  explicit fake_root(const std::vector<std::pair<std::string, std::string>> &files)
      : path_(testing::TempDir() + "fake_root") {
    std::filesystem::remove_all(path_);
    for (const auto &[name, content] : files) {
      std::filesystem::create_directories(std::filesystem::path(path_ + name).parent_path());
      std::ofstream(path_ + name) << content;
    }
  }
  ~fake_root() { std::filesystem::remove_all(path_); }

  unsigned limit() const { return runtime::cgroup_cpu_limit(path_); }

private:
  std::string path_;
};

TEST(ThreadCount, ReadsCgroupsOfVersion2) {
  const std::string group = "0::/user/job\n";
  EXPECT_EQ(fake_root({{"/proc/self/cgroup", group}}).limit(), 0u) << "no file, no limit";
  EXPECT_EQ(fake_root({{"/proc/self/cgroup", group}, {"/sys/fs/cgroup/user/job/cpu.max", "max 100000\n"}}).limit(), 0u);
  EXPECT_EQ(fake_root({{"/proc/self/cgroup", group}, {"/sys/fs/cgroup/user/job/cpu.max", "150000 100000\n"}}).limit(),
            2u);
  EXPECT_EQ(fake_root({{"/proc/self/cgroup", group},
                       {"/sys/fs/cgroup/user/job/cpu.max", "400000 100000\n"},
                       {"/sys/fs/cgroup/user/cpu.max", "300000 100000\n"}})
                .limit(),
            3u)
      << "a parent binds its children";
  EXPECT_EQ(fake_root({{"/proc/self/cgroup", group}, {"/sys/fs/cgroup/cpu.max", "50000 100000\n"}}).limit(), 1u)
      << "in a container only the mount's root is there";
}

TEST(ThreadCount, ReadsCgroupsOfVersion1) {
  const std::string groups = "4:memory:/job\n3:cpu,cpuacct:/job\n1:cpuset:/job\n";
  EXPECT_EQ(fake_root({{"/proc/self/cgroup", groups},
                       {"/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "200000\n"},
                       {"/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"}})
                .limit(),
            2u);
  EXPECT_EQ(fake_root({{"/proc/self/cgroup", groups},
                       {"/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n"},
                       {"/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"}})
                .limit(),
            0u);
}

} // namespace
} // namespace heddle::test
