// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory over time: a warm run allocates nothing, and a long life of changing shapes doesn't grow. A program of its
// own, because it puts its own malloc in front of the C library's.

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include <unistd.h>

#include "runtime/core/thread_pool.h"
#include "tests/runtime/sanitizers.h"
#include "tests/runtime/test_support.h"

#ifdef HEDDLE_TEST_SANITIZED
#include <sanitizer/allocator_interface.h>
#endif

namespace {
std::atomic<size_t> allocations{0};
} // namespace

// A sanitizer brings its own malloc, which must stay, and tells of each call.
#ifndef HEDDLE_TEST_SANITIZED
// Visible, so that the C++ library's operator new finds them as well.
#pragma GCC visibility push(default)
extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) { return ++allocations, __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return ++allocations, __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return ++allocations, __libc_realloc(memory, size); }
void *aligned_alloc(size_t alignment, size_t size) { return ++allocations, __libc_memalign(alignment, size); }
void *memalign(size_t alignment, size_t size) { return ++allocations, __libc_memalign(alignment, size); }
int posix_memalign(void **out, size_t alignment, size_t size) {
  ++allocations;
  *out = __libc_memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}
}
#pragma GCC visibility pop
#else
namespace {
const int hooks_installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void *, size_t) { ++allocations; }, [](const volatile void *) {});
} // namespace
#endif

namespace heddle::test {
namespace {

TEST(Allocation, TheCounterCounts) {
  const size_t before = allocations.load();
  // Called by its name: a compiler may leave out a new expression whose object goes unused.
  ::operator delete(::operator new(100));
  EXPECT_EQ(allocations.load(), before + 1);
}

/// Returns when both threads of |pool| have started: a thread allocates as it starts.
void wait_for_both(const thread_pool &pool) {
  std::atomic<int> arrived{0};
  pool.get()->pool.run(
      2,
      [](void *context, unsigned, uint32_t, uint32_t) {
        auto &arrived = *static_cast<std::atomic<int> *>(context);
        arrived.fetch_add(1);
        while (arrived.load() < 2)
          std::this_thread::yield();
      },
      &arrived);
}

TEST(Allocation, AWarmRunAllocatesNothing) {
  const artifact_bytes artifact = embedding_model().build();
  const thread_pool pool = make_pool(2);
  wait_for_both(pool);
  heddle_program_options_t options = {};
  options.thread_pool = pool.get();
  const program program = load(artifact, options);
  const session session = make_session(program);
  // i32 ids, so that widening is part of it.
  const tensor ids = make_tensor<int32_t>(HEDDLE_ELEMENT_I32, {2, 40}, std::vector<int32_t>(80, 3));
  const tensor mask = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {2, 40}, std::vector<int64_t>(80, 1));
  auto y = tensor::create(HEDDLE_ELEMENT_F32, {2, 40, 4});
  ASSERT_TRUE(bool(y));
  const heddle_tensor_t *inputs[] = {ids.get(), mask.get()};
  heddle_tensor_t *outputs[] = {y->get()};
  size_t observed = 0;
  heddle_session_set_observer(
      session.get(), [](void *user, const heddle_dispatch_info_t *) { ++*static_cast<size_t *>(user); }, &observed);
  heddle_session_record_spans(session.get(), 1);
  EXPECT_OK(heddle_session_run(session.get(), "main", inputs, 2, outputs, 1));
  const size_t before = allocations.load();
  heddle_status_t status = nullptr;
  for (int i = 0; i < 100 && !status; ++i)
    status = heddle_session_run(session.get(), "main", inputs, 2, outputs, 1);
  const size_t after = allocations.load();
  EXPECT_OK(status);
  EXPECT_EQ(after - before, 0u);
  EXPECT_EQ(observed, 101u);
}

size_t resident_bytes() {
  size_t total = 0;
  size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

/// What this process holds. A sanitizer keeps freed memory for a while, but knows what is in use.
size_t held_bytes() {
#ifdef HEDDLE_TEST_SANITIZED
  return __sanitizer_get_current_allocated_bytes();
#else
  return resident_bytes();
#endif
}

TEST(Allocation, TwoThousandShapesDoNotGrow) {
  const artifact_bytes artifact = scale_model().build();
  const program program = load(artifact);
  const session session = make_session(program);
  std::mt19937 random(3);
  auto run = [&](int64_t batch, int64_t width) {
    const tensor x = counting_tensor({batch, width});
    auto outputs = session.run(nullptr, {&x}, 1);
    ASSERT_TRUE(bool(outputs)) << outputs.error().text();
    ASSERT_EQ((*outputs)[0].data<float>()[batch * width - 1], static_cast<float>(batch * width - 1));
  };
  // The largest shape first: what a session takes is what its largest run takes.
  run(16, 600);
  for (int i = 0; i < 200; ++i)
    run(1 + random() % 16, 1 + random() % 600);
  const size_t before = held_bytes();
  for (int i = 0; i < 2000; ++i)
    run(1 + random() % 16, 1 + random() % 600);
  EXPECT_LT(held_bytes(), before + (size_t(1) << 20));
}

TEST(Allocation, MappedWeightsAreNotCopied) {
  // 64 MiB of weights, of which a run reads one row.
  const artifact_bytes artifact = embedding_model(4 << 20).build();
  const std::string path = write_file("large", artifact.data(), artifact.size);
  const size_t before = resident_bytes();
  auto program = program::load(path);
  ASSERT_TRUE(bool(program)) << program.error().text();
  const session session = make_session(*program);
  const tensor ids = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {1, 1}, {1 << 20});
  auto outputs = session.run(nullptr, {&ids, &ids}, 1);
  ASSERT_TRUE(bool(outputs)) << outputs.error().text();
  EXPECT_EQ((*outputs)[0].data<float>()[0], 4.0f * (1 << 20));
  EXPECT_LT(resident_bytes(), before + (size_t(8) << 20));
  std::remove(path.c_str());
}

} // namespace
} // namespace heddle::test
