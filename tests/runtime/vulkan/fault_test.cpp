// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A driver that fails: each function that may, at each of its calls, with memory, the device or the driver itself as
// the reason. Every failure is a status of its own code, and the next program works. And the proof that validation
// looks: a barrier left out is reported.

#include <algorithm>

#include "runtime/devices/vulkan/device.h"
#include "tests/runtime/vulkan/shader_builder.h"

namespace heddle::test {
namespace {

namespace vk = heddle::runtime::vulkan;

/// The driver's own functions, behind those that fail.
VolkDeviceTable real;
/// Calls until one fails: at 0 it does. Negative: none.
long budget = -1;
/// What the failing call returns.
VkResult failure = VK_ERROR_OUT_OF_DEVICE_MEMORY;
/// How many of a few calls fail at most: 1, or all.
bool fails_on = false;
bool has_failed = false;

bool is_refused() {
  if (budget < 0)
    return false;
  if (budget > 0)
    return --budget, false;
  budget = fails_on ? 0 : -1;
  return has_failed = true;
}

/// A function of Vulkan that fails when its turn has come; |Member| is the driver's.
template <auto Member> struct failing;
template <typename... Arguments, VkResult (VKAPI_PTR *VolkDeviceTable::*Member)(Arguments...)> struct failing<Member> {
  static VKAPI_ATTR VkResult VKAPI_CALL call(Arguments... arguments) {
    return is_refused() ? failure : (real.*Member)(arguments...);
  }
};

template <auto Member> void replace(VolkDeviceTable *api) { api->*Member = failing<Member>::call; }

/// Puts failing functions in place of all that load and run call and that may fail.
void make_all_fail(VolkDeviceTable *api) {
  real = *api;
  replace<&VolkDeviceTable::vkAllocateMemory>(api);
  replace<&VolkDeviceTable::vkCreateBuffer>(api);
  replace<&VolkDeviceTable::vkBindBufferMemory>(api);
  replace<&VolkDeviceTable::vkMapMemory>(api);
  replace<&VolkDeviceTable::vkCreateDescriptorSetLayout>(api);
  replace<&VolkDeviceTable::vkCreatePipelineLayout>(api);
  replace<&VolkDeviceTable::vkCreatePipelineCache>(api);
  replace<&VolkDeviceTable::vkCreateShaderModule>(api);
  replace<&VolkDeviceTable::vkCreateComputePipelines>(api);
  replace<&VolkDeviceTable::vkCreateDescriptorPool>(api);
  replace<&VolkDeviceTable::vkAllocateDescriptorSets>(api);
  replace<&VolkDeviceTable::vkCreateQueryPool>(api);
  replace<&VolkDeviceTable::vkCreateCommandPool>(api);
  replace<&VolkDeviceTable::vkAllocateCommandBuffers>(api);
  replace<&VolkDeviceTable::vkBeginCommandBuffer>(api);
  replace<&VolkDeviceTable::vkEndCommandBuffer>(api);
  replace<&VolkDeviceTable::vkCreateFence>(api);
  replace<&VolkDeviceTable::vkQueueSubmit>(api);
  // Polling takes any number of calls; waiting takes one.
  api->vkGetFenceStatus = [](VkDevice, VkFence) { return VK_NOT_READY; };
  replace<&VolkDeviceTable::vkWaitForFences>(api);
  replace<&VolkDeviceTable::vkResetFences>(api);
  replace<&VolkDeviceTable::vkGetQueryPoolResults>(api);
}

class VulkanFault : public VulkanTest {
protected:
  void SetUp() override {
    VulkanTest::SetUp();
    vk::on_device_created = make_all_fail;
  }
  void TearDown() override {
    budget = -1;
    vk::on_device_created = nullptr;
  }

  /// Loads and runs, with the first failure handed on.
  static status load_and_run(const artifact_bytes &artifact, const tensor &input, std::vector<float> *out) {
    heddle_program_t *program = nullptr;
    if (heddle_status_t failed =
            heddle_program_load_memory(artifact.data(), artifact.size, nullptr, nullptr, nullptr, &program))
      return status(failed);
    heddle_session_t *session = nullptr;
    heddle_status_t failed = heddle_session_create(program, &session);
    const heddle_tensor_t *inputs[] = {input.get()};
    heddle_tensor_t *outputs[] = {nullptr};
    if (!failed)
      failed = heddle_session_run(session, nullptr, inputs, 1, outputs, 1);
    if (!failed)
      *out = values<float>(tensor(outputs[0]));
    heddle_session_release(session);
    heddle_program_release(program);
    return status(failed);
  }

  /// Has load and run fail at their first call, at their second, and so on until they succeed.
  static long fail_at_each(const artifact_bytes &artifact, const tensor &input, const std::vector<float> &expected,
                           const std::string &code, bool checks_on) {
    for (long at = 0; at < 10000; ++at) {
      budget = at;
      has_failed = false;
      std::vector<float> result;
      const status failed = load_and_run(artifact, input, &result);
      budget = -1;
      if (!has_failed) {
        EXPECT_TRUE(failed.ok()) << failed.text();
        EXPECT_EQ(result, expected);
        return at;
      }
      EXPECT_EQ(failed.error_code(), code) << "call " << at << ": " << failed.text();
      if (!checks_on)
        continue;
      // A fresh program works, whatever became of that one.
      const status fine = load_and_run(artifact, input, &result);
      EXPECT_TRUE(fine.ok()) << "after call " << at << ": " << fine.text();
      EXPECT_EQ(result, expected);
    }
    ADD_FAILURE() << "never succeeds";
    return 0;
  }
};

TEST_F(VulkanFault, EveryFailureOfTheDriverIsAStatus) {
  const artifact_bytes artifact = gather_shaders(20, 3).build();
  const tensor ids = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {2}, {1, 19});
  const std::vector<float> expected = {3, 4, 5, 57, 58, 59};
  const std::pair<VkResult, const char *> failures[] = {{VK_ERROR_OUT_OF_DEVICE_MEMORY, "H0407"},
                                                        {VK_ERROR_OUT_OF_HOST_MEMORY, "H0313"},
                                                        {VK_ERROR_DEVICE_LOST, "H0405"},
                                                        {VK_ERROR_UNKNOWN, "H0408"}};
  fails_on = false;
  for (const auto &[result, code] : failures) {
    failure = result;
    EXPECT_GT(fail_at_each(artifact, ids, expected, code, true), 20);
  }
  // All that follow fail too; and uploads and downloads by copies.
  failure = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", "staging=1");
  EXPECT_GT(fail_at_each(artifact, ids, expected, "H0407", false), 25);
  fails_on = true;
  EXPECT_GT(fail_at_each(artifact, ids, expected, "H0407", false), 25);
}

TEST_F(VulkanFault, EveryFailureDuringASelfTestIsAStatus) {
  shader_builder shaders = gather_shaders(20, 3);
  const artifact_bytes untested = shaders.build();
  add_gather_test(shaders, 20, 3);
  const artifact_bytes artifact = shaders.build();
  const tensor ids = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {2}, {1, 19});
  const std::vector<float> expected = {3, 4, 5, 57, 58, 59};
  const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", "staging=1");
  fails_on = false;
  failure = VK_ERROR_DEVICE_LOST;
  const long without = fail_at_each(untested, ids, expected, "H0405", false);
  EXPECT_GT(fail_at_each(artifact, ids, expected, "H0405", false), without + 10);
  failure = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  fail_at_each(artifact, ids, expected, "H0407", false);
  failure = VK_ERROR_UNKNOWN;
  fail_at_each(artifact, ids, expected, "H0408", false);
}

TEST_F(VulkanFault, EveryFailureWhileLimitsAreMeasuredIsAStatus) {
  const artifact_bytes artifact = scale_shaders().build();
  // Little to read, so that little is waited for.
  const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", "range=65536");
  fails_on = false;
  const std::pair<VkResult, const char *> failures[] = {{VK_ERROR_OUT_OF_DEVICE_MEMORY, "H0407"},
                                                        {VK_ERROR_DEVICE_LOST, "H0405"}};
  for (const auto &[result, code] : failures) {
    failure = result;
    long at = 0;
    // Behind the first windows each call is one that has failed before.
    for (; at < 60; ++at) {
      const program program = load(artifact);
      heddle_vulkan_limits_t limits = {};
      budget = at;
      has_failed = false;
      const status failed(heddle_vulkan_measure_limits(program.get(), &limits));
      budget = -1;
      ASSERT_TRUE(has_failed);
      EXPECT_EQ(failed.error_code(), code) << "call " << at << ": " << failed.text();
      EXPECT_EQ(limits.f32_rate, 0);
    }
  }
}

TEST_F(VulkanFault, LimitsAreMeasuredInTheMemoryThatThereIs) {
  const artifact_bytes artifact = scale_shaders().build();
  const program program = load(artifact);
  heddle_vulkan_limits_t limits = {};
  // The results' buffer takes four calls of these; the one that is to be read is refused twice.
  failure = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  for (long at : {4L, 5L}) {
    fails_on = false;
    budget = at;
    has_failed = false;
    EXPECT_OK(heddle_vulkan_measure_limits(program.get(), &limits));
    EXPECT_TRUE(has_failed);
    EXPECT_GT(limits.memory_rate, 0);
  }
  // Without any there is nothing to measure.
  fails_on = true;
  budget = 4;
  const status failed(heddle_vulkan_measure_limits(program.get(), &limits));
  budget = -1;
  EXPECT_EQ(failed.error_code(), "H0407") << failed.text();
}

TEST_F(VulkanFault, ASessionGoesOnAfterARefusedRun) {
  const artifact_bytes artifact = scale_shaders().build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor x = counting_tensor({3, 3});
  failure = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  fails_on = false;
  long failures = 0;
  for (long at = 0;; ++at) {
    budget = at;
    has_failed = false;
    auto outputs = session.run(nullptr, {&x}, 1);
    budget = -1;
    if (!has_failed) {
      ASSERT_TRUE(bool(outputs)) << outputs.error().text();
      EXPECT_EQ(values<float>((*outputs)[0]), values<float>(x));
      break;
    }
    ++failures;
    ASSERT_FALSE(bool(outputs)) << at;
    EXPECT_EQ(outputs.error().error_code(), "H0407") << at;
  }
  EXPECT_GT(failures, 3);
}

TEST_F(VulkanFault, ALostDevicePoisonsItsSessionsAndNoLaterProgram) {
  const artifact_bytes artifact = scale_shaders().build();
  const program lost = load(artifact);
  const session first = make_session(lost);
  const session second = make_session(lost);
  const tensor x = counting_tensor({3, 3});
  ASSERT_TRUE(bool(first.run(nullptr, {&x}, 1)));
  failure = VK_ERROR_DEVICE_LOST;
  fails_on = false;
  budget = 0;
  auto failed = first.run(nullptr, {&x}, 1);
  budget = -1;
  ASSERT_FALSE(bool(failed));
  EXPECT_EQ(failed.error().code(), HEDDLE_STATUS_DEVICE_LOST);
  for (const session *session : {&first, &second}) {
    auto again = session->run(nullptr, {&x}, 1);
    ASSERT_FALSE(bool(again));
    EXPECT_EQ(again.error().code(), HEDDLE_STATUS_DEVICE_LOST);
  }
  const program fresh = load(artifact);
  EXPECT_TRUE(bool(make_session(fresh).run(nullptr, {&x}, 1)));
}

TEST_F(VulkanFault, AVariantThatTheDriverRefusesGivesWayToTheNext) {
  shader_builder shaders = product_shaders(20, 8);
  shaders.add_variant(0, {8, 8, 1});
  const artifact_bytes artifact = shaders.build();
  const tensor a = product_input(3, 8);
  static int pipelines;
  pipelines = 0;
  vk::on_device_created = [](VolkDeviceTable *api) {
    real = *api;
    api->vkCreateComputePipelines = [](VkDevice device, VkPipelineCache cache, uint32_t count,
                                       const VkComputePipelineCreateInfo *infos, const VkAllocationCallbacks *callbacks,
                                       VkPipeline *out) {
      return pipelines++ == 0 ? VK_ERROR_UNKNOWN
                              : real.vkCreateComputePipelines(device, cache, count, infos, callbacks, out);
    };
  };
  std::vector<float> result;
  const status status = load_and_run(artifact, a, &result);
  EXPECT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(result, expected_product(3, 20, 8));
  EXPECT_EQ(pipelines, 2);
}

TEST_F(VulkanFault, LargeBlocksOfConstantsGiveWayToSmallOnes) {
  // Nine constants of 128 KiB, each by itself: one block, or where that is refused several.
  shader_builder shaders;
  const uint32_t scale =
      shaders.kernel("scale", {{fb::ElementType::f32, 1}, {fb::ElementType::f32, 0}, {fb::ElementType::f32, 3}}, 1);
  entry_builder entry = shaders.add_entry();
  const fb::Binding x = entry.input("x", fb::ElementType::f32, {"n"});
  const uint32_t n = entry.dim(x, 0);
  const uint32_t none = entry.constant(0);
  const uint32_t one = entry.constant(1);
  const std::array<uint32_t, 3> elements = {entry.constant(4), none, none};
  fb::Binding last = x;
  for (uint32_t i = 0; i < 9; ++i) {
    const bool is_output = i == 8;
    const fb::Binding next = is_output ? entry.output("y", fb::ElementType::f32, {"n"}, {n})
                                       : entry.buffer(entry.mul(n, entry.constant(4)), i, i + 1);
    const fb::Binding factor = shaders.constant(std::vector<float>(32768, i % 2 ? 0.5f : 2.0f));
    shaders.dispatch(entry, scale,
                     {{last, factor, next}, {n}, {n, one, one}, {elements, {none, none, none}, elements}, {{n}}});
    last = next;
  }
  const artifact_bytes artifact = shaders.build();
  vk::on_device_created = [](VolkDeviceTable *api) {
    real = *api;
    api->vkAllocateMemory = [](VkDevice device, const VkMemoryAllocateInfo *info,
                               const VkAllocationCallbacks *callbacks, VkDeviceMemory *out) {
      return info->allocationSize > (400 << 10) ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                                                : real.vkAllocateMemory(device, info, callbacks, out);
    };
  };
  const tensor input = counting_tensor({5});
  std::vector<float> result;
  const status status = load_and_run(artifact, input, &result);
  EXPECT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(result, (std::vector<float>{0, 2, 4, 6, 8}));
}

TEST_F(VulkanFault, ValidationReportsAMissingBarrier) {
  const artifact_bytes artifact = scale_shaders().build();
  const tensor x = counting_tensor({30, 30});
  vk::on_device_created = [](VolkDeviceTable *api) {
    api->vkCmdPipelineBarrier = [](VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags, VkDependencyFlags,
                                   uint32_t, const VkMemoryBarrier *, uint32_t, const VkBufferMemoryBarrier *, uint32_t,
                                   const VkImageMemoryBarrier *) {};
  };
  std::vector<float> result;
  const status status = load_and_run(artifact, x, &result);
  EXPECT_EQ(status.error_code(), "H0901");
  EXPECT_NE(status.message().find("SYNC-HAZARD"), std::string::npos) << status.message();
}

} // namespace
} // namespace heddle::test
