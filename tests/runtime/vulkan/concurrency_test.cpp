// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sessions of one program, and programs of one device, in several threads at once.

#include <thread>

#include "tests/runtime/vulkan/shader_builder.h"

namespace heddle::test {
namespace {

class VulkanConcurrency : public VulkanTest {};

/// Runs |program| with shapes of its own, in a session of its own. Threads may not use GoogleTest's fatal assertions.
void run_some(const program &program, int64_t seed, bool *out_fine) {
  const session session = make_session(program);
  *out_fine = true;
  for (int64_t i = 0; i < 20; ++i) {
    const tensor x = counting_tensor({seed, 1 + i * 37 % 50});
    auto outputs = session.run(nullptr, {&x}, 1);
    *out_fine = *out_fine && bool(outputs) && values<float>((*outputs)[0]) == values<float>(x);
  }
}

TEST_F(VulkanConcurrency, SessionsShareAProgram) {
  const artifact_bytes artifact = scale_shaders().build();
  const program program = load(artifact);
  bool fine[4] = {};
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] { run_some(program, i + 1, &fine[i]); });
  for (std::thread &thread : threads)
    thread.join();
  for (bool one : fine)
    EXPECT_TRUE(one);
}

TEST_F(VulkanConcurrency, ProgramsComeAndGo) {
  const artifact_bytes artifact = scale_shaders().build();
  bool fine[3] = {};
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      fine[i] = true;
      for (int round = 0; round < 4; ++round) {
        bool one = false;
        const program program = load(artifact);
        run_some(program, i + 1, &one);
        fine[i] = fine[i] && one;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (bool one : fine)
    EXPECT_TRUE(one);
}

TEST_F(VulkanConcurrency, CancelStopsBetweenSubmissions) {
  // Each of 300 submissions takes its time; cancelled, the run ends long before the last.
  const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", "submit=1000,groups=4");
  const artifact_bytes artifact = product_shaders(1000, 1000).build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor a = product_input(1000, 1000);
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    session.cancel();
  });
  auto outputs = session.run(nullptr, {&a}, 1);
  canceller.join();
  ASSERT_FALSE(bool(outputs));
  EXPECT_EQ(outputs.error().code(), HEDDLE_STATUS_CANCELLED);
  // Nothing of it is left for the next run.
  const tensor small = product_input(1, 1000);
  auto fine = session.run(nullptr, {&small}, 1);
  ASSERT_TRUE(bool(fine)) << fine.error().text();
  EXPECT_EQ(values<float>((*fine)[0]), expected_product(1, 1000, 1000));
}

} // namespace
} // namespace heddle::test
