// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each limit is the best of several short windows in which all threads work at once: a neighbour's turn spoils some
// windows, but seldom all of them.

#include "tools/heddle/roofline.h"

#include "heddle/heddle.h"
#include "tools/heddle/error.h"
#include "tools/heddle/peak_loops.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace heddle::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWindows = 16;
/// A limit's windows end after this, whatever their number: slow machines measure in the same time.
constexpr std::chrono::milliseconds kBudget(25);
/// Work of a window: about a millisecond of a current core.
constexpr int64_t kFlopsPerWindow = int64_t(1) << 27;
constexpr size_t kBytesPerWindow = size_t(1) << 27;

/// All threads pass together. They yield while they wait, since there may be more of them than free cores.
class Barrier {
public:
  explicit Barrier(unsigned count) : count(count) {}
  void pass() {
    unsigned generation = passed.load();
    if (arrived.fetch_add(1) + 1 == count) {
      arrived.store(0);
      passed.store(generation + 1);
      return;
    }
    while (passed.load() == generation)
      std::this_thread::yield();
  }

private:
  const unsigned count;
  std::atomic<unsigned> arrived = 0, passed = 0;
};

/// Calls |run| with 0 to |threads| - 1, each on a thread of its own and 0 on this one. |run| must not throw, and none
/// of it runs if a thread can't be started: the others would wait for it.
void runTogether(unsigned threads, const std::function<void(unsigned)> &run) {
  enum class Gate { Closed, Open, CalledOff };
  std::atomic<Gate> gate = Gate::Closed;
  std::vector<std::thread> helpers;
  helpers.reserve(threads);
  try {
    for (unsigned thread = 1; thread < threads; ++thread)
      helpers.emplace_back([&, thread] {
        while (gate == Gate::Closed)
          std::this_thread::yield();
        if (gate == Gate::Open)
          run(thread);
      });
    gate = Gate::Open;
    run(0);
  } catch (const std::exception &) {
    gate = Gate::CalledOff;
  }
  for (std::thread &helper : helpers)
    helper.join();
  if (gate == Gate::CalledOff)
    fail(Exit::Device, "H0313",
         "the system refused to start thread " + std::to_string(helpers.size() + 2) + " of " + std::to_string(threads) +
             " to measure the roofline with",
         {}, "ask for fewer threads");
}

/// The best window's rate of |threads| threads that call |work| together; |work| takes its thread's number and returns
/// how much it did.
double bestRate(unsigned threads, const std::function<double(unsigned)> &work) {
  struct Window {
    Clock::time_point begin, end;
    double amount;
  };
  std::vector<std::vector<Window>> windows(threads);
  for (auto &of : windows)
    of.reserve(kWindows);
  Barrier barrier(threads);
  std::atomic<bool> isOver = false;
  runTogether(threads, [&](unsigned thread) {
    Clock::time_point limit = Clock::now() + kBudget;
    for (int i = 0; !isOver; ++i) {
      barrier.pass();
      Window window = {Clock::now(), {}, 0};
      window.amount = work(thread);
      window.end = Clock::now();
      windows[thread].push_back(window);
      // One decides for all, between two barriers.
      if (thread == 0 && (i + 1 == kWindows || (i > 0 && window.end > limit)))
        isOver = true;
      barrier.pass();
    }
  });

  double best = 0;
  for (size_t i = 0; i < windows[0].size(); ++i) {
    Clock::time_point begin = windows[0][i].begin, end = windows[0][i].end;
    double amount = 0;
    for (const auto &of : windows) {
      begin = std::min(begin, of[i].begin);
      end = std::max(end, of[i].end);
      amount += of[i].amount;
    }
    best = std::max(best, amount / std::chrono::duration<double>(end - begin).count());
  }
  return best;
}

double measureFlops(unsigned threads) {
  const PeakLoops &loops = peakLoops().front();
  int64_t rounds = kFlopsPerWindow / loops.flopsPerRound;
  return bestRate(threads, [&](unsigned) {
    // The optimiser must not know the seed, or it computes the sums itself.
    volatile float sink, seed = 0.5f;
    sink = loops.multiplyAdd(rounds, seed);
    (void)sink;
    return static_cast<double>(rounds * loops.flopsPerRound);
  });
}

/// 0 where the CPU has no instructions for it.
double measureByteOps(unsigned threads) {
  const PeakLoops &loops = peakLoops().front();
  auto multiply = loops.multiplyBytesVnni ? loops.multiplyBytesVnni : loops.multiplyBytes;
  if (!multiply)
    return 0;
  constexpr int64_t kBytesOfFloat = 4;
  int64_t operations = kBytesOfFloat * loops.flopsPerRound, rounds = kFlopsPerWindow / loops.flopsPerRound;
  return bestRate(threads, [&](unsigned) {
    volatile int32_t sink, seed = 77;
    sink = multiply(rounds, seed);
    (void)sink;
    return static_cast<double>(rounds * operations);
  });
}

/// Memory for floats; on huge pages where the system has them, since touching a small page costs as much as reading it
/// ten times, and address translation would be part of what is measured.
class Buffer {
public:
  explicit Buffer(size_t count) : count(count) {
    size_t bytes = (count * sizeof(float) + kPage - 1) / kPage * kPage;
    data = static_cast<float *>(::operator new(bytes, std::align_val_t(kPage)));
#if defined(MADV_HUGEPAGE)
    (void)madvise(data, bytes, MADV_HUGEPAGE);
#endif
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  ~Buffer() { ::operator delete(data, std::align_val_t(kPage)); }

  /// Its floats. The first caller writes them, and has them near: pages that nobody wrote to would all be one of zeros.
  const float *get() {
    if (!isFilled)
      std::fill_n(data, count, 1.0f);
    isFilled = true;
    return data;
  }

private:
  static constexpr size_t kPage = size_t(2) << 20;
  size_t count;
  float *data;
  bool isFilled = false;
};

/// Reads of |bytes| that each thread has for itself.
double measureReads(unsigned threads, uint64_t bytes) {
  size_t count = std::max<size_t>(bytes / sizeof(float) / kReadGranule, 1) * kReadGranule;
  const PeakLoops &loops = peakLoops().front();
  // Here, where the command hears of memory that is out.
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (unsigned thread = 0; thread < threads; ++thread)
    buffers.push_back(std::make_unique<Buffer>(count));
  // At least one pass; small data are read many times.
  size_t passes = std::max<size_t>(kBytesPerWindow / (count * sizeof(float)), 1);
  return bestRate(threads, [&](unsigned thread) {
    volatile float sink;
    for (size_t pass = 0; pass < passes; ++pass)
      sink = loops.read(buffers[thread]->get(), count);
    (void)sink;
    return static_cast<double>(passes * count * sizeof(float));
  });
}

} // namespace

const char *levelName(Level level) {
  constexpr const char *kNames[] = {"L1", "L2", "L3", "cache", "DRAM"};
  return kNames[static_cast<int>(level)];
}

Level Roofline::levelFor(uint64_t bytes) const {
  const uint64_t sizes[] = {l1Bytes, l2Bytes, l3Bytes, cacheBytes};
  int level = 0;
  // A level that the device doesn't tell of holds nothing, not even nothing.
  while (level < kLevels - 1 && (sizes[level] == 0 || bytes > sizes[level]))
    ++level;
  return static_cast<Level>(level);
}

double Roofline::bandwidthOf(Level level) const {
  const double rates[] = {l1, l2, l3, cache, memory};
  return rates[static_cast<int>(level)];
}

Roofline measureRoofline(unsigned threads) {
  const heddle_host_info_t &host = *heddle_host_info();
  Roofline result = {};
  result.device = "cpu";
  result.name = host.cpu_name;
  result.threads = threads;
  result.l1Bytes = host.l1d_bytes * threads;
  result.l2Bytes = host.l2_bytes * threads;
  result.l3Bytes = host.l3_bytes;
  result.flops = measureFlops(threads);
  result.byteOps = std::max(measureByteOps(threads), result.flops);
  // Twice the caches, so that nothing of one pass is left for the next, within the memory that we promise.
  uint64_t beyond = std::clamp<uint64_t>(2 * std::max(host.l3_bytes, result.l2Bytes), 48u << 20, 240u << 20);
  result.memory = measureReads(threads, beyond / threads);
  // Half a cache: the rest is for whoever shares it.
  result.l3 = host.l3_bytes ? measureReads(threads, std::max(host.l3_bytes / 2 / threads, host.l2_bytes)) : 0;
  result.l2 = host.l2_bytes ? measureReads(threads, host.l2_bytes / 2) : 0;
  result.l1 = host.l1d_bytes ? measureReads(threads, host.l1d_bytes / 2) : 0;
  // No level is slower than the one behind it; one that was, or that is unknown, takes that one's rate.
  result.cache = result.memory;
  result.l3 = std::max(result.l3, result.memory);
  result.l2 = std::max(result.l2, result.l3);
  result.l1 = std::max(result.l1, result.l2);
  return result;
}

void writeMembers(JsonWriter &json, const Roofline &roofline) {
  json.key("device").string(roofline.device).key("name").string(roofline.name).key("threads");
  if (roofline.threads)
    json.number(uint64_t(roofline.threads));
  else
    json.null();
  json.key("f32_gflops").number(roofline.flops * 1e-9).key("int8_gops").number(roofline.byteOps * 1e-9);
  auto level = [&](const char *key, double rate, uint64_t bytes) {
    json.key(key).number(bytes ? rate * 1e-9 : std::nan(""));
  };
  level("l1_gbs", roofline.l1, roofline.l1Bytes);
  level("l2_gbs", roofline.l2, roofline.l2Bytes);
  level("l3_gbs", roofline.l3, roofline.l3Bytes);
  level("cache_gbs", roofline.cache, roofline.cacheBytes);
  json.key("dram_gbs").number(roofline.memory * 1e-9);
}

} // namespace heddle::cli
