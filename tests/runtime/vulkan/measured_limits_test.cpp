// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The limits of a device as they are measured: all are there and in their order, by each clock and within lowered
// limits, the instruction for dot products included, which lavapipe has but no kernel takes there. No test says how
// fast a device must be.

#include <atomic>
#include <thread>

#include "runtime/devices/vulkan/features.h"
#include "runtime/devices/vulkan/measured_limits.h"
#include "runtime/devices/vulkan/rate_meter.h"
#include "tests/runtime/vulkan/shader_builder.h"

namespace heddle::test {
namespace {

namespace vk = heddle::runtime::vulkan;

class VulkanMeasuredLimits : public VulkanTest {
protected:
  static void expect_sane(const heddle_vulkan_limits_t &limits) {
    EXPECT_STRNE(limits.device_name, "");
    EXPECT_GT(limits.f32_rate, 1e6);
    EXPECT_GT(limits.byte_rate, 1e6);
    EXPECT_GT(limits.memory_rate, 1e6);
    EXPECT_GE(limits.cache_rate, limits.memory_rate);
    EXPECT_EQ(limits.cache_bytes == 0, limits.cache_rate == limits.memory_rate);
    for (double rate : {limits.f32_rate, limits.byte_rate, limits.cache_rate})
      EXPECT_LT(rate, 1e16);
  }

  /// Measures under |lowered|.
  static heddle_vulkan_limits_t measure_under(const char *lowered) {
    const scoped_environment environment("HEDDLE_VULKAN_LIMITS", lowered);
    const artifact_bytes artifact = scale_shaders().build();
    const program program = load(artifact);
    heddle_vulkan_limits_t limits = {};
    EXPECT_OK(heddle_vulkan_measure_limits(program.get(), &limits));
    return limits;
  }
};

TEST_F(VulkanMeasuredLimits, AreThereAndInTheirOrder) { expect_sane(measure_under("")); }

TEST_F(VulkanMeasuredLimits, KeepToTheDevices) {
  for (const char *lowered :
       {"staging=1", "range=1048576,groups=7,invocations=128", "range=100000", "groups=1", "clockless=1"}) {
    SCOPED_TRACE(lowered);
    expect_sane(measure_under(lowered));
  }
}

TEST_F(VulkanMeasuredLimits, AreMeasuredWhileTheProgramRuns) {
  const artifact_bytes artifact = scale_shaders().build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor x = counting_tensor({3, 3});
  std::atomic<bool> is_over = false;
  std::thread measuring([&] {
    heddle_vulkan_limits_t limits = {};
    EXPECT_OK(heddle_vulkan_measure_limits(program.get(), &limits));
    is_over = true;
  });
  while (!is_over) {
    auto outputs = session.run(nullptr, {&x}, 1);
    EXPECT_TRUE(bool(outputs));
  }
  measuring.join();
}

TEST_F(VulkanMeasuredLimits, AreOfAProgramThatRuns) {
  const artifact_bytes artifact = scale_shaders().build();
  heddle_program_options_t options = {};
  options.inspect_only = 1;
  const program inspected = load(artifact, options);
  heddle_vulkan_limits_t limits = {};
  expect_failure(heddle_vulkan_measure_limits(inspected.get(), &limits), "H0103",
                 "the program was loaded for inspection only");
  expect_failure(heddle_vulkan_measure_limits(nullptr, &limits), "H0101", "program is null");
  expect_failure(heddle_vulkan_measure_limits(inspected.get(), nullptr), "H0101", "out_limits is null");
  EXPECT_EQ(limits.f32_rate, 0);
}

TEST_F(VulkanMeasuredLimits, CountDotProductsToo) {
  std::shared_ptr<vk::device> device;
  EXPECT_OK(vk::device::acquire("", &device));
  ASSERT_TRUE(device);
  if (!(device->gpu().features & vk::feature_dot))
    GTEST_SKIP() << "the device has no instruction for dot products";
  vk::rate_meter meter(*device);
  EXPECT_OK(meter.create(1 << 20, 1 << 20));
  EXPECT_EQ(meter.bytes(), 1u << 20);
  double rate = 0;
  EXPECT_OK(meter.measure(vk::limit_shader::dot_bytes, meter.bytes(), &rate));
  EXPECT_GT(rate, 1e6);
  EXPECT_OK(device->take_validation_error());
}

TEST(VulkanReadRates, FindWhereTheCachesEnd) {
  heddle_vulkan_limits_t limits = {};
  // A cache of a little more than 4 MiB: a part of the next buffer is in it, and isn't worth the name.
  vk::set_read_rates({{1 << 18, 380}, {1 << 20, 400}, {1 << 22, 390}, {1 << 24, 120}, {1 << 26, 90}, {1 << 28, 100}},
                     &limits);
  EXPECT_EQ(limits.cache_bytes, uint64_t(1) << 22);
  EXPECT_EQ(limits.cache_rate, 400);
  EXPECT_EQ(limits.memory_rate, 100);
}

TEST(VulkanReadRates, NoiseIsNoCache) {
  heddle_vulkan_limits_t limits = {};
  vk::set_read_rates({{1 << 18, 110}, {1 << 20, 124}, {1 << 22, 100}}, &limits);
  EXPECT_EQ(limits.cache_bytes, 0u);
  EXPECT_EQ(limits.cache_rate, 100);
  EXPECT_EQ(limits.memory_rate, 100);
  vk::set_read_rates({{1 << 18, 50}}, &limits);
  EXPECT_EQ(limits.cache_bytes, 0u);
  EXPECT_EQ(limits.cache_rate, 50);
}

} // namespace
} // namespace heddle::test
