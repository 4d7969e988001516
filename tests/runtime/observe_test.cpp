// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run while it is in progress: observers, cancellation, and a second run of the same session.

#include <atomic>
#include <thread>

#include "runtime/devices/cpu/span_clock.h"
#include "tests/runtime/test_support.h"

namespace heddle::test {
namespace {

struct observation {
  std::vector<std::string> kernels;
  std::vector<std::string> paths;
  std::vector<std::string> results;
  std::vector<float> first_sum;
  int64_t nanoseconds = 0;
};

TEST(Observer, SeesEachDispatchWithItsResults) {
  const artifact_bytes artifact = scale_model().build();
  const program program = load(artifact);
  const session session = make_session(program);
  observation seen;
  heddle_session_set_observer(
      session.get(),
      [](void *user, const heddle_dispatch_info_t *dispatch) {
        auto &seen = *static_cast<observation *>(user);
        EXPECT_EQ(dispatch->index, seen.kernels.size());
        ASSERT_EQ(dispatch->node_count, 1u);
        seen.paths.push_back(dispatch->paths[0]);
        ASSERT_EQ(dispatch->result_count, 1u);
        const heddle_result_info_t &result = dispatch->results[0];
        EXPECT_EQ(result.rank, 2u);
        EXPECT_EQ(result.permutation[1], 1);
        if (seen.kernels.empty())
          for (int64_t i = 0; i < result.dims[0] * result.dims[1]; ++i)
            seen.first_sum.push_back(static_cast<const float *>(result.data)[i]);
        seen.kernels.push_back(dispatch->kernel);
        seen.results.push_back(result.name);
        seen.nanoseconds += dispatch->nanoseconds;
      },
      &seen);
  const tensor x = counting_tensor({2, 2});
  ASSERT_TRUE(bool(session.run(nullptr, {&x}, 1)));
  EXPECT_EQ(seen.kernels, (std::vector<std::string>{"test_add", "test_scale"}));
  EXPECT_EQ(seen.paths, (std::vector<std::string>{"", "layer.0/scale"})) << "of modules, where the artifact has some";
  EXPECT_EQ(seen.results, (std::vector<std::string>{"add_result", "scale_result"}));
  EXPECT_EQ(seen.first_sum, (std::vector<float>{0, 2, 4, 6}));
  EXPECT_GT(seen.nanoseconds, 0);
  heddle_session_set_observer(session.get(), nullptr, nullptr);
  ASSERT_TRUE(bool(session.run(nullptr, {&x}, 1)));
  EXPECT_EQ(seen.kernels.size(), 2u);
}

std::vector<heddle_span_t> spans_of(const session &session) {
  size_t count = 0;
  const heddle_span_t *spans = heddle_session_spans(session.get(), &count);
  return {spans, spans + count};
}

int64_t nanoseconds_now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

TEST(Spans, AreTimedAsTheSystemDoes) {
  runtime::cpu::span_clock clock;
  const int64_t before = nanoseconds_now();
  clock.start();
  const int64_t first = clock.ticks();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const int64_t last = clock.ticks();
  clock.stop();
  const int64_t after = nanoseconds_now();
  EXPECT_LE(before, clock.nanoseconds(first));
  EXPECT_LE(clock.nanoseconds(last), after);
  // Half of it for the system's taking the core away between two reads; a wrong rate is off by more.
  EXPECT_GT(clock.nanoseconds(last) - clock.nanoseconds(first), 10'000'000);
  EXPECT_EQ(clock.nanoseconds(first - 1'000'000'000), clock.nanoseconds(first - 2'000'000'000)) << "before the run";
}

TEST(Spans, HoldEachItemOnceAndOneThreadsFollowEachOther) {
  const artifact_bytes artifact = scale_model().build();
  for (const unsigned threads : {1u, 3u}) {
    const thread_pool pool = make_pool(threads);
    heddle_program_options_t options = {};
    options.thread_pool = pool.get();
    const program program = load(artifact, options);
    const session session = make_session(program);
    EXPECT_TRUE(spans_of(session).empty());
    heddle_session_record_spans(session.get(), 1);
    const tensor x = counting_tensor({16, 100});
    for (int run = 0; run < 20; ++run) {
      const int64_t begin = nanoseconds_now();
      ASSERT_TRUE(bool(session.run(nullptr, {&x}, 1)));
      const int64_t end = nanoseconds_now();
      int64_t items[2] = {};
      const heddle_span_t *before = nullptr;
      const std::vector<heddle_span_t> spans = spans_of(session);
      for (const heddle_span_t &span : spans) {
        ASSERT_LT(span.dispatch, 2u);
        ASSERT_LT(span.thread, threads);
        items[span.dispatch] += span.items;
        EXPECT_GT(span.items, 0);
        EXPECT_GE(span.first_item, 0);
        EXPECT_LE(span.items, span.end_item - span.first_item);
        EXPECT_LE(begin, span.begin_nanoseconds);
        EXPECT_LE(span.begin_nanoseconds, span.end_nanoseconds);
        EXPECT_LE(span.end_nanoseconds, end);
        if (before && before->thread == span.thread) {
          EXPECT_LT(before->dispatch, span.dispatch);
          EXPECT_LE(before->end_nanoseconds, span.begin_nanoseconds);
        }
        before = &span;
      }
      EXPECT_EQ(items[0], 100);
      EXPECT_EQ(items[1], 100);
    }
    heddle_session_record_spans(session.get(), 0);
    ASSERT_TRUE(bool(session.run(nullptr, {&x}, 1)));
    EXPECT_TRUE(spans_of(session).empty());
  }
}

TEST(Spans, AreNoneOfARunThatFails) {
  const artifact_bytes artifact = scale_model().build();
  const program program = load(artifact);
  const session session = make_session(program);
  heddle_session_record_spans(session.get(), 1);
  const tensor x = counting_tensor({2, 2});
  ASSERT_TRUE(bool(session.run(nullptr, {&x}, 1)));
  EXPECT_FALSE(spans_of(session).empty());
  heddle_session_set_observer(
      session.get(),
      [](void *user, const heddle_dispatch_info_t *) { heddle_session_cancel(static_cast<heddle_session_t *>(user)); },
      session.get());
  ASSERT_FALSE(bool(session.run(nullptr, {&x}, 1)));
  EXPECT_TRUE(spans_of(session).empty());
  heddle_session_set_observer(session.get(), nullptr, nullptr);
  const tensor wrong = counting_tensor({2});
  ASSERT_FALSE(bool(session.run(nullptr, {&wrong}, 1)));
  EXPECT_TRUE(spans_of(session).empty());
}

/// One dispatch of |items| work items that take a millisecond each.
artifact_builder slow_model(int64_t items) {
  artifact_builder builder;
  const uint32_t kernel = builder.kernel("test_slow", 1, 0);
  entry_builder entry = builder.add_entry("main");
  const uint32_t count = entry.constant(items);
  const fb::Binding y = entry.output("y", fb::ElementType::f32, {std::to_string(items)}, {count});
  entry_builder::dispatch_options options;
  options.grid = count;
  options.grain = entry.constant(1);
  options.scratch = entry.constant(0);
  options.result_dims = {count};
  entry.dispatch(kernel, {y}, {}, options);
  return builder;
}

TEST(Cancel, StopsTheRunInProgressAndNoLaterOne) {
  const artifact_bytes artifact = slow_model(4000).build();
  const program program = load(artifact);
  const session session = make_session(program);
  std::atomic<bool> done{false};
  std::thread canceller([&] {
    // Until it has worked: the run may not have begun yet.
    while (!done.load()) {
      session.cancel();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  auto outputs = session.run(nullptr, {}, 1);
  done.store(true);
  canceller.join();
  ASSERT_FALSE(bool(outputs));
  EXPECT_EQ(outputs.error().code(), HEDDLE_STATUS_CANCELLED);

  const artifact_bytes quick = scale_model().build();
  const heddle::program quick_program = load(quick);
  const heddle::session quick_session = make_session(quick_program);
  quick_session.cancel(); // nothing in progress: nothing happens
  const tensor x = counting_tensor({1, 1});
  EXPECT_TRUE(bool(quick_session.run(nullptr, {&x}, 1)));
}

TEST(Cancel, WorksFromAnObserver) {
  const artifact_bytes artifact = scale_model().build();
  const program program = load(artifact);
  const session session = make_session(program);
  heddle_session_set_observer(
      session.get(),
      [](void *user, const heddle_dispatch_info_t *dispatch) {
        EXPECT_EQ(dispatch->index, 0u);
        heddle_session_cancel(static_cast<heddle_session_t *>(user));
      },
      session.get());
  const tensor x = counting_tensor({1, 1});
  auto outputs = session.run(nullptr, {&x}, 1);
  ASSERT_FALSE(bool(outputs));
  EXPECT_EQ(outputs.error().error_code(), "H0312");
}

TEST(Run, ASecondRunOfABusySessionIsRefused) {
  const artifact_bytes artifact = scale_model().build();
  const program program = load(artifact);
  const session session = make_session(program);
  std::string message;
  std::pair<const heddle::session *, std::string *> user = {&session, &message};
  heddle_session_set_observer(
      session.get(),
      [](void *user, const heddle_dispatch_info_t *) {
        auto [session, message] = *static_cast<std::pair<const heddle::session *, std::string *> *>(user);
        *message = status(heddle_session_run(session->get(), nullptr, nullptr, 0, nullptr, 0)).message();
      },
      &user);
  const tensor x = counting_tensor({1, 1});
  ASSERT_TRUE(bool(session.run(nullptr, {&x}, 1)));
  EXPECT_EQ(message, "the session is in the middle of another run");
}

} // namespace
} // namespace heddle::test
