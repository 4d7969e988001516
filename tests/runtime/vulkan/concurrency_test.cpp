// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sessions of one program, and programs of one device, in several threads at once.

#include <atomic>
#include <thread>

#include "runtime/devices/vulkan/device.h"
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

namespace vk = heddle::runtime::vulkan;

/// The driver's own functions.
VolkDeviceTable real;
/// Kernels that a driver has begun to compile.
std::atomic<int> begun{0};
/// How many must have begun before one is done.
int awaited = 0;

/// Has each compilation wait for the others, half a minute at most.
void compile_together(VolkDeviceTable *api) {
  real = *api;
  api->vkCreateComputePipelines = [](VkDevice device, VkPipelineCache cache, uint32_t count,
                                     const VkComputePipelineCreateInfo *infos, const VkAllocationCallbacks *callbacks,
                                     VkPipeline *out) {
    ++begun;
    for (int i = 0; begun < awaited && i < 3000; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_GE(begun, awaited) << "another kernel waits for this one";
    return real.vkCreateComputePipelines(device, cache, count, infos, callbacks, out);
  };
}

TEST_F(VulkanConcurrency, KernelsBecomeReadySideBySideAndEachOnce) {
  // An entry point for each of two kernels, y = x + x and y = x * c.
  shader_builder shaders;
  constexpr fb::ElementType f32 = fb::ElementType::f32;
  const uint32_t kernels[] = {shaders.kernel("add", {{f32, 1}, {f32, 2}, {f32, 3}}, 1),
                              shaders.kernel("scale", {{f32, 1}, {f32, 0}, {f32, 3}}, 1)};
  const fb::Binding factor = shaders.constant({2});
  for (size_t i = 0; i < 2; ++i) {
    entry_builder entry = shaders.add_entry(i == 0 ? "add" : "scale");
    const fb::Binding x = entry.input("x", f32, {"n"});
    const uint32_t n = entry.dim(x, 0);
    const uint32_t none = entry.constant(0);
    const uint32_t one = entry.constant(1);
    const std::array<uint32_t, 3> elements = {entry.constant(4), none, none};
    shaders.dispatch(entry, kernels[i],
                     {{x, i == 0 ? x : factor, entry.output("y", f32, {"n"}, {n})},
                      {n},
                      {n, one, one},
                      {elements, i == 0 ? elements : std::array<uint32_t, 3>{none, none, none}, elements},
                      {{n}}});
  }
  const artifact_bytes artifact = shaders.build();
  vk::on_device_created = compile_together;
  begun = 0;
  awaited = 2;
  {
    const program program = load(artifact);
    const tensor x = counting_tensor({3});
    std::vector<std::vector<float>> results(4);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < results.size(); ++i)
      threads.emplace_back([&, i] {
        auto outputs = make_session(program).run(i % 2 == 0 ? "add" : "scale", {&x}, 1);
        results[i] = outputs ? values<float>((*outputs)[0]) : std::vector<float>();
      });
    for (std::thread &thread : threads)
      thread.join();
    for (const std::vector<float> &result : results)
      EXPECT_EQ(result, (std::vector<float>{0, 2, 4}));
  }
  vk::on_device_created = nullptr;
  EXPECT_EQ(begun, 2) << "one for each kernel";
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
