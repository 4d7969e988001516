// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A host without memory for a program on Vulkan: each allocation of the runtime fails in turn, while loader, layer and
// driver, which crash without memory, get theirs. Every failure is a status, nothing leaks (a sanitized build and the
// validation layer say so), and program, session and device go on. A program of its own, because it has an operator new
// of its own.

#include <filesystem>

#include "runtime/devices/vulkan/device.h"
#include "tests/runtime/failing_new.h"
#include "tests/runtime/vulkan/shader_builder.h"

namespace heddle::test {
namespace {

namespace fs = std::filesystem;
namespace vk = heddle::runtime::vulkan;

/// Counts a call of others' code.
struct aside {
  aside() { ++faults.aside; }
  aside(const aside &) = delete;
  aside &operator=(const aside &) = delete;
  ~aside() { --faults.aside; }
};

VolkDeviceTable real;

/// A function of the driver's whose allocations aren't meant; |Member| is it.
template <auto Member> struct driver;
template <typename Result, typename... Arguments, Result (VKAPI_PTR *VolkDeviceTable::*Member)(Arguments...)>
struct driver<Member> {
  static VKAPI_ATTR Result VKAPI_CALL call(Arguments... arguments) {
    const aside counted;
    return (real.*Member)(arguments...);
  }
};
template <auto... Members> void wrap(VolkDeviceTable *api) { ((api->*Members = driver<Members>::call), ...); }

/// The same of the loader's; |Pointer| is volk's to it.
template <auto Pointer> struct loader;
template <typename Result, typename... Arguments, Result(VKAPI_PTR **Pointer)(Arguments...)> struct loader<Pointer> {
  static inline Result(VKAPI_PTR *own)(Arguments...) = nullptr;
  static VKAPI_ATTR Result VKAPI_CALL call(Arguments... arguments) {
    const aside counted;
    return own(arguments...);
  }
  static void wrap() {
    if (*Pointer != call)
      own = *Pointer;
    *Pointer = call;
  }
};
template <auto... Pointers> void wrap() { (loader<Pointers>::wrap(), ...); }

void wrap_driver(VolkDeviceTable *api) {
  real = *api;
  using table = VolkDeviceTable;
  wrap<&table::vkAllocateCommandBuffers, &table::vkAllocateDescriptorSets, &table::vkAllocateMemory,
       &table::vkBeginCommandBuffer, &table::vkBindBufferMemory, &table::vkCmdBindDescriptorSets,
       &table::vkCmdBindPipeline, &table::vkCmdCopyBuffer, &table::vkCmdDispatch, &table::vkCmdFillBuffer,
       &table::vkCmdPipelineBarrier, &table::vkCmdPushConstants, &table::vkCmdResetQueryPool, &table::vkCmdUpdateBuffer,
       &table::vkCmdWriteTimestamp, &table::vkCreateBuffer, &table::vkCreateCommandPool,
       &table::vkCreateComputePipelines, &table::vkCreateDescriptorPool, &table::vkCreateDescriptorSetLayout,
       &table::vkCreateFence, &table::vkCreatePipelineCache, &table::vkCreatePipelineLayout, &table::vkCreateQueryPool,
       &table::vkCreateShaderModule, &table::vkDestroyBuffer, &table::vkDestroyCommandPool,
       &table::vkDestroyDescriptorPool, &table::vkDestroyDescriptorSetLayout, &table::vkDestroyDevice,
       &table::vkDestroyFence, &table::vkDestroyPipeline, &table::vkDestroyPipelineCache,
       &table::vkDestroyPipelineLayout, &table::vkDestroyQueryPool, &table::vkDestroyShaderModule,
       &table::vkEndCommandBuffer, &table::vkFreeCommandBuffers, &table::vkFreeMemory,
       &table::vkGetBufferMemoryRequirements, &table::vkGetDeviceQueue, &table::vkGetFenceStatus,
       &table::vkGetPipelineCacheData, &table::vkGetQueryPoolResults, &table::vkMapMemory, &table::vkQueueSubmit,
       &table::vkQueueWaitIdle, &table::vkResetFences, &table::vkUpdateDescriptorSets, &table::vkWaitForFences>(api);
}

class VulkanAllocation : public VulkanTest, public testing::WithParamInterface<bool> {
protected:
  void SetUp() override {
    VulkanTest::SetUp();
    if (IsSkipped() || HasFatalFailure())
      return;
    vk::on_device_created = wrap_driver;
    // While it lives the instance does, whose functions are then called through volk's pointers.
    holder_.emplace(load(held_));
    wrap<&vkEnumeratePhysicalDevices, &vkGetPhysicalDeviceProperties, &vkGetPhysicalDeviceProperties2,
         &vkGetPhysicalDeviceFeatures2, &vkGetPhysicalDeviceQueueFamilyProperties, &vkGetPhysicalDeviceMemoryProperties,
         &vkGetPhysicalDeviceMemoryProperties2, &vkEnumerateDeviceExtensionProperties, &vkCreateDevice,
         &vkGetDeviceProcAddr>();
    options_.thread_pool = pool_.get();
  }
  void TearDown() override {
    holder_.reset();
    vk::on_device_created = nullptr;
  }
  /// Whether all allocations after the first that fails do too.
  bool on() const { return GetParam(); }

  heddle_status_t load_again(const artifact_bytes &artifact, heddle_program_t **out) {
    return heddle_program_load_memory(artifact.data(), artifact.size, nullptr, nullptr, &options_, out);
  }

  const thread_pool pool_ = make_pool(1);
  heddle_program_options_t options_ = {};

private:
  const artifact_bytes held_ = product_shaders(2, 2).build();
  std::optional<program> holder_;
};
INSTANTIATE_TEST_SUITE_P(OneOrAll, VulkanAllocation, testing::Bool(),
                         [](const auto &info) { return info.param ? "All" : "One"; });

/// A model whose one kernel has a case and may fail.
artifact_bytes tested_gather() {
  shader_builder shaders = gather_shaders(20, 3);
  add_gather_test(shaders, 20, 3);
  return shaders.build();
}

TEST_P(VulkanAllocation, LoadingReportsThatMemoryIsOut) {
  const artifact_bytes artifact = tested_gather();
  heddle_program_t *program = nullptr;
  EXPECT_GT(fail_at_each([&] { return load_again(artifact, &program); }, on()), 20);
  heddle_program_release(program);
  {
    // Limits of its own make it a device of its own.
    const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", "groups=9");
    EXPECT_GT(fail_at_each([&] { return load_again(artifact, &program); }, on()), 20);
    heddle_program_release(program);
  }
  options_.device = "vulkan:none";
  program = nullptr;
  EXPECT_GT(fail_at_each([&] { return load_again(artifact, &program); }, on(), "H0401"), 20);
  EXPECT_EQ(program, nullptr);
}

TEST_P(VulkanAllocation, RunningReportsThatMemoryIsOut) {
  const artifact_bytes artifact = tested_gather();
  const std::vector<float> expected = {3, 4, 5, 57, 58, 59};
  const tensor ids = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {2}, {1, 19});
  const tensor more = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {300}, std::vector<int64_t>(300, 19));
  for (const char *limits : {"", "staging=1"}) {
    const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", limits);
    const program program = load(artifact, options_);
    heddle_session_t *session = nullptr;
    EXPECT_GT(fail_at_each([&] { return heddle_session_create(program.get(), &session); }, on()), 1);
    heddle_tensor_t *output = nullptr;
    auto run = [&](const tensor &input) {
      const heddle_tensor_t *inputs[] = {input.get()};
      return heddle_session_run(session, nullptr, inputs, 1, &output, 1);
    };
    // The first, with a self-test, one that is warm, and another shape.
    EXPECT_GT(fail_at_each([&] { return run(ids); }, on()), 20);
    EXPECT_EQ(values<float>(tensor(output)), expected);
    output = nullptr;
    EXPECT_GT(fail_at_each([&] { return run(ids); }, on()), 0) << "the output at least";
    EXPECT_EQ(values<float>(tensor(output)), expected);
    output = nullptr;
    EXPECT_GT(fail_at_each([&] { return run(more); }, on()), 10);
    EXPECT_EQ(values<float>(tensor(output)).back(), 59);
    // Observed, step by step.
    heddle_session_set_observer(session, [](void *, const heddle_dispatch_info_t *) {}, nullptr);
    output = nullptr;
    EXPECT_GT(fail_at_each([&] { return run(ids); }, on()), 10);
    EXPECT_EQ(values<float>(tensor(output)), expected);
    EXPECT_EQ(program.note(0), nullptr) << program.note(0);
    heddle_session_release(session);
  }
}

TEST_P(VulkanAllocation, WithoutMemoryNothingIsStoredAndReleaseIsFine) {
  const std::string folder = testing::TempDir() + "heddle-vulkan-allocation";
  fs::remove_all(folder);
  const scoped_environment on_disk("HEDDLE_VULKAN_CACHE", "1");
  const scoped_environment place("XDG_CACHE_HOME", folder.c_str());
  const artifact_bytes artifact = tested_gather();
  const tensor ids = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {1}, {1});
  auto run_and_release = [&](long at) {
    heddle_program_t *program = nullptr;
    EXPECT_OK(load_again(artifact, &program));
    heddle_session_t *session = nullptr;
    EXPECT_OK(heddle_session_create(program, &session));
    const heddle_tensor_t *inputs[] = {ids.get()};
    heddle_tensor_t *output = nullptr;
    EXPECT_OK(heddle_session_run(session, nullptr, inputs, 1, &output, 1));
    heddle_tensor_release(output);
    faults = {at, on(), false, 0};
    heddle_session_release(session);
    heddle_program_release(program);
    faults.budget = -1;
    return faults.was_refused;
  };
  // Each time takes a whole run, so of the later allocations some fail.
  long at = 0;
  while (run_and_release(at))
    at += 1 + at / 2;
  EXPECT_GT(at, 3);
  // What was stored in the end, or a part of it that isn't taken, is read under the same conditions.
  heddle_program_t *program = nullptr;
  EXPECT_GT(fail_at_each([&] { return load_again(artifact, &program); }, on()), 20);
  heddle_program_release(program);
  fs::remove_all(folder);
}

TEST_P(VulkanAllocation, MeasuringLimitsReportsThatMemoryIsOut) {
  const artifact_bytes artifact = tested_gather();
  const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", "range=65536");
  const program program = load(artifact, options_);
  heddle_vulkan_limits_t limits = {};
  EXPECT_GT(fail_at_each([&] { return heddle_vulkan_measure_limits(program.get(), &limits); }, on()), 0);
  EXPECT_GT(limits.f32_rate, 0);
}

TEST_P(VulkanAllocation, ListingDevicesReportsThatMemoryIsOut) {
  heddle_device_list_t *list = nullptr;
  EXPECT_GT(fail_at_each([&] { return heddle_device_list_create(&list); }, on()), 5);
  heddle_device_list_release(list);
}

} // namespace
} // namespace heddle::test
