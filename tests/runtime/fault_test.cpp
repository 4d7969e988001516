// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the system refuses: each allocation in turn, executable mappings, the file's length. Every refusal is a status
// of its own code, nothing leaks (a sanitized build says so), and the next call works. A program of its own, because it
// puts its own operator new and, without a sanitizer, its own aligned_alloc and mmap before those of the C library.

#include <cerrno>

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/runtime/failing_new.h"
#include "tests/runtime/sanitizers.h"
#include "tests/runtime/test_support.h"

namespace {

/// Set: mappings of a file that are to be executed are refused, as on a file system mounted noexec.
bool is_noexec = false;
/// Set: no memory becomes executable at all, as under a strict security policy.
bool is_wx_forbidden = false;

} // namespace

// A sanitizer has its own of these, which must stay.
#ifndef HEDDLE_TEST_SANITIZED
#pragma GCC visibility push(default)
extern "C" {
void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset) noexcept {
  if (is_noexec && (protection & PROT_EXEC) && descriptor >= 0) {
    errno = EPERM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void *>(syscall(SYS_mmap, address, length, protection, flags, descriptor, offset));
}
int mprotect(void *address, size_t length, int protection) noexcept {
  if (is_wx_forbidden && (protection & PROT_EXEC)) {
    errno = EACCES;
    return -1;
  }
  return static_cast<int>(syscall(SYS_mprotect, address, length, protection));
}
}
#pragma GCC visibility pop
#endif

namespace heddle::test {
namespace {

class Fault : public testing::TestWithParam<bool> {
protected:
  /// Whether all allocations after the first that fails do too.
  bool on() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(OneOrAll, Fault, testing::Bool(), [](const auto &info) { return info.param ? "All" : "One"; });

TEST_P(Fault, LoadingReportsThatMemoryIsOut) {
  const artifact_bytes artifact = embedding_model().build();
  const std::string path = write_file("fault", artifact.data(), artifact.size);
  const thread_pool pool = make_pool(2);
  for (int variant = 0; variant < 4; ++variant) {
    heddle_program_options_t options = {};
    options.weights = variant == 1 ? HEDDLE_WEIGHTS_COPY : HEDDLE_WEIGHTS_MAP;
    options.inspect_only = variant == 2;
    options.thread_pool = variant == 3 ? nullptr : pool.get();
    heddle_program_t *program = nullptr;
    EXPECT_GT(fail_at_each([&] { return heddle_program_load(path.c_str(), &options, &program); }, on()), 20);
    heddle_program_release(program);
    program = nullptr;
    fail_at_each(
        [&] {
          return heddle_program_load_memory(artifact.data(), artifact.size, nullptr, nullptr, &options, &program);
        },
        on());
    heddle_program_release(program);
  }
  std::remove(path.c_str());
}

TEST_P(Fault, RefusingAFileReportsThatMemoryIsOut) {
  const std::string path = write_file("fault.txt", "hello", 5);
  heddle_program_t *program = nullptr;
  fail_at_each([&] { return heddle_program_load(path.c_str(), nullptr, &program); }, on(), "H0502");
  fail_at_each([&] { return heddle_program_load("/nowhere", nullptr, &program); }, on(), "H0501");
  fail_at_each([&] { return heddle_program_load(nullptr, nullptr, &program); }, on(), "H0101");
  EXPECT_EQ(program, nullptr);
  std::remove(path.c_str());
}

TEST_P(Fault, PlanningAndRunningReportThatMemoryIsOut) {
  const artifact_bytes artifact = embedding_model().build();
  const thread_pool pool = make_pool(2);
  heddle_program_options_t options = {};
  options.thread_pool = pool.get();
  const program program = load(artifact, options);
  const tensor ids = make_tensor<int32_t>(HEDDLE_ELEMENT_I32, {2, 40}, std::vector<int32_t>(80, 3));
  const tensor mask = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {2, 40}, std::vector<int64_t>(80, 1));
  const heddle_tensor_t *inputs[] = {ids.get(), mask.get()};
  heddle_plan_info_t info;
  EXPECT_GT(fail_at_each([&] { return heddle_program_plan(program.get(), nullptr, inputs, 2, &info); }, on()), 2);
  heddle_memory_info_t memory;
  EXPECT_GT(fail_at_each([&] { return heddle_program_memory(program.get(), nullptr, inputs, 2, &memory); }, on()), 2);

  heddle_session_t *session = nullptr;
  EXPECT_GT(fail_at_each([&] { return heddle_session_create(program.get(), &session); }, on()), 1);
  heddle_session_set_observer(session, [](void *, const heddle_dispatch_info_t *) {}, nullptr);
  heddle_session_record_spans(session, 1);
  heddle_tensor_t *output = nullptr;
  // Vectors that have grown keep their memory, so each attempt here gets one step further than the one before.
  EXPECT_GT(fail_at_each([&] { return heddle_session_run(session, "main", inputs, 2, &output, 1); }, on()), 5);
  ASSERT_NE(output, nullptr);
  EXPECT_EQ(static_cast<const float *>(heddle_tensor_data(output))[0], 12.0f);
  heddle_tensor_release(output);

  // A refused run, and after all of this a fine one.
  output = nullptr;
  fail_at_each([&] { return heddle_session_run(session, "main", inputs, 1, &output, 1); }, on(), "H0302");
  const heddle_tensor_t *swapped[] = {mask.get(), nullptr};
  fail_at_each([&] { return heddle_session_run(session, "main", swapped, 2, &output, 1); }, on(), "H0101");
  EXPECT_EQ(output, nullptr);
  EXPECT_OK(heddle_session_run(session, "main", inputs, 2, &output, 1));
  heddle_tensor_release(output);
  heddle_session_release(session);
}

TEST_P(Fault, TensorsAndPoolsReportThatMemoryIsOut) {
  const int64_t dims[] = {3, 5};
  float data[15] = {};
  heddle_tensor_t *tensor = nullptr;
  fail_at_each([&] { return heddle_tensor_create(HEDDLE_ELEMENT_F32, 2, dims, &tensor); }, on());
  heddle_tensor_release(tensor);
  fail_at_each(
      [&] { return heddle_tensor_wrap(HEDDLE_ELEMENT_F32, 2, dims, data, sizeof(data), nullptr, nullptr, &tensor); },
      on());
  heddle_tensor_release(tensor);
  heddle_thread_pool_t *pool = nullptr;
  EXPECT_GT(fail_at_each([&] { return heddle_thread_pool_create(3, &pool); }, on()), 1);
  heddle_thread_pool_release(pool);
  EXPECT_GT(fail_at_each([&] { return heddle_thread_pool_create(0, &pool); }, on()), 1);
  heddle_thread_pool_release(pool);
}

TEST(Fault, TheHostIsDescribedWithoutMemory) {
  faults = {0, true, false, 0};
  const heddle_host_info_t *info = heddle_host_info();
  const unsigned threads = heddle_default_thread_count();
  faults.budget = -1;
  EXPECT_NE(info->feature_count, 0u);
  EXPECT_STRNE(info->cpu_name, "");
  EXPECT_EQ(threads, 1u);
}

#ifndef HEDDLE_TEST_SANITIZED

TEST(Fault, CodeIsCopiedWhereTheFileMustNotBeExecuted) {
  const artifact_bytes artifact = scale_model().build();
  const std::string path = write_file("noexec", artifact.data(), artifact.size);
  is_noexec = true;
  auto program = program::load(path);
  is_noexec = false;
  ASSERT_TRUE(bool(program)) << program.error().text();
  const tensor x = counting_tensor({2, 3});
  auto outputs = make_session(*program).run(nullptr, {&x}, 1);
  ASSERT_TRUE(bool(outputs)) << outputs.error().text();
  EXPECT_EQ(values<float>((*outputs)[0]), values<float>(x));

  is_noexec = is_wx_forbidden = true;
  auto refused = program::load(path);
  is_noexec = is_wx_forbidden = false;
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(refused.error().message(), "the system refuses to make the artifact's code executable: Permission denied");
  EXPECT_EQ(refused.error().error_code(), "H0404");
  std::remove(path.c_str());
}

#endif

TEST(Fault, APipeIsRefusedAtOnce) {
  // Opening one to read waits for a writer, unless told otherwise.
  const std::string path = testing::TempDir() + "fault.pipe";
  std::remove(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  heddle_program_t *program = nullptr;
  expect_failure(heddle_program_load(path.c_str(), nullptr, &program), "H0501",
                 "cannot open '" + path + "': it is no regular file");
  std::remove(path.c_str());
}

} // namespace
} // namespace heddle::test
