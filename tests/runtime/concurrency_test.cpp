// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One program, several sessions at a time: what ThreadSanitizer watches.

#include <thread>

#include "tests/runtime/test_support.h"

namespace heddle::test {
namespace {

/// Runs |rounds| times with changing shapes and checks each result.
void run_many(const program &program, int64_t seed, int rounds) {
  const session session = make_session(program);
  for (int round = 0; round < rounds; ++round) {
    const tensor x = counting_tensor({1 + (seed + round) % 3, 100 + 37 * ((seed + round) % 11)});
    auto outputs = session.run(nullptr, {&x}, 1);
    ASSERT_TRUE(bool(outputs)) << outputs.error().text();
    ASSERT_EQ(values<float>((*outputs)[0]), values<float>(x));
  }
}

TEST(Concurrency, SessionsOfOneProgramDoNotDisturbEachOther) {
  const artifact_bytes artifact = scale_model().build();
  const thread_pool pool = make_pool(2);
  heddle_program_options_t options = {};
  options.thread_pool = pool.get();
  const program program = load(artifact, options);
  std::thread other([&] { run_many(program, 5, 300); });
  run_many(program, 0, 300);
  other.join();
}

TEST(Concurrency, ProgramsShareThePoolAndMayComeAndGo) {
  const artifact_bytes artifact = scale_model().build();
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < 3; ++i)
    threads.emplace_back([&artifact, i] {
      for (int round = 0; round < 10; ++round) {
        const program program = load(artifact);
        run_many(program, i + round, 5);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Concurrency, CancellingAnotherThreadsRunIsSafeAtAnyTime) {
  const artifact_bytes artifact = scale_model().build();
  const program program = load(artifact);
  const session session = make_session(program);
  std::atomic<bool> done{false};
  std::thread canceller([&] {
    while (!done.load(std::memory_order_relaxed)) {
      session.cancel();
      std::this_thread::yield();
    }
  });
  const tensor x = counting_tensor({4, 500});
  for (int round = 0; round < 500; ++round) {
    auto outputs = session.run(nullptr, {&x}, 1);
    ASSERT_TRUE(outputs || outputs.error().code() == HEDDLE_STATUS_CANCELLED);
    if (outputs) {
      ASSERT_EQ(values<float>((*outputs)[0]), values<float>(x));
    }
  }
  done.store(true);
  canceller.join();
}

} // namespace
} // namespace heddle::test
