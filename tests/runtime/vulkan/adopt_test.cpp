// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs on a device of the application's own: nothing of it is destroyed, its queue is locked around submissions,
// and only features that it was made with are used.

#include <thread>

#include "tests/runtime/vulkan/application.h"

namespace heddle::test {
namespace {

class VulkanAdopt : public VulkanApplication {};

TEST_F(VulkanAdopt, ProgramsRunOnTheCallersDevice) {
  const artifact_bytes artifact = scale_shaders().build();
  const tensor x = counting_tensor({3, 5});
  for (int round = 0; round < 2; ++round) {
    const program program = load(artifact, options_);
    const session session = make_session(program);
    auto outputs = session.run(nullptr, {&x}, 1);
    ASSERT_TRUE(bool(outputs)) << outputs.error().text();
    EXPECT_EQ(values<float>((*outputs)[0]), values<float>(x));
  }
  EXPECT_GE(locks_, 2);
  EXPECT_TRUE(queue_mutex_.try_lock());
  queue_mutex_.unlock();
}

TEST_F(VulkanAdopt, StandsBesideADeviceOfTheRuntimes) {
  const artifact_bytes artifact = scale_shaders().build();
  const program adopted = load(artifact, options_);
  const program own = load(artifact);
  const tensor x = counting_tensor({2, 2});
  for (const program *program : {&adopted, &own, &adopted}) {
    auto outputs = make_session(*program).run(nullptr, {&x}, 1);
    ASSERT_TRUE(bool(outputs)) << outputs.error().text();
    EXPECT_EQ(values<float>((*outputs)[0]), values<float>(x));
  }
}

TEST_F(VulkanAdopt, TwoProgramsShareAQueueThatNobodyElseUses) {
  // Without functions that lock it; the validation layer reports a queue that two threads use at once.
  theirs_.lock_queue = theirs_.unlock_queue = nullptr;
  const artifact_bytes artifact = scale_shaders().build();
  const program programs[] = {load(artifact, options_), load(artifact, options_)};
  const tensor x = counting_tensor({3, 5});
  std::vector<std::thread> threads;
  for (const program &program : programs)
    threads.emplace_back([&x, &program] {
      const session session = make_session(program);
      for (int run = 0; run < 50; ++run) {
        auto outputs = session.run(nullptr, {&x}, 1);
        ASSERT_TRUE(bool(outputs)) << outputs.error().text();
        EXPECT_EQ(values<float>((*outputs)[0]), values<float>(x));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(VulkanAdopt, FeaturesThatWereNotEnabledAreNotUsed) {
  // lavapipe has float16; this device was made without. The first variant would be taken if it were thought to have it,
  // and leaves three quarters of its tiles unwritten.
  shader_builder shaders = product_shaders(20, 8);
  fb::ShaderVariantT &wrong = shaders.add_variant(0, {4, 4, 1});
  wrong.features = {"float16"};
  wrong.tile = {8, 8, 1};
  const artifact_bytes artifact = shaders.build();
  const program program = load(artifact, options_);
  const tensor a = product_input(2, 8);
  auto outputs = make_session(program).run(nullptr, {&a}, 1);
  ASSERT_TRUE(bool(outputs)) << outputs.error().text();
  EXPECT_EQ(values<float>((*outputs)[0]), expected_product(2, 20, 8));
}

TEST_F(VulkanAdopt, HalfADeviceIsRefused) {
  const artifact_bytes artifact = scale_shaders().build();
  const heddle_vulkan_device_t whole = theirs_;
  theirs_.queue = nullptr;
  EXPECT_EQ(error_of(artifact), "H0101: a Vulkan device needs its instance, physical device, device and queue");
  theirs_ = whole;
  theirs_.unlock_queue = nullptr;
  EXPECT_EQ(error_of(artifact), "H0101: a queue is locked and unlocked, or neither");
  theirs_ = whole;
  theirs_.queue_family = 99;
  EXPECT_EQ(error_of(artifact), "H0101: queue family 99 of the given device doesn't compute");
  theirs_ = whole;
  const char *const features[] = {"flaot16"};
  theirs_.features = features;
  theirs_.feature_count = 1;
  EXPECT_EQ(error_of(artifact), "H0101: there is no feature 'flaot16'");
  theirs_.features = nullptr;
  EXPECT_EQ(error_of(artifact), "H0101: 1 features of a Vulkan device are given, and no names");
  theirs_ = whole;
  for (const char *device : {"cpu", "vulkan:0"}) {
    options_.device = device;
    EXPECT_EQ(error_of(artifact),
              std::string("H0101: a Vulkan device was given to run on, and '") + device + "' was named");
  }
}

} // namespace
} // namespace heddle::test
