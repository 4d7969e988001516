// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs that are submitted and finished later: fences, semaphores, one run a session, and every way in which they end.

#include <thread>

#include "runtime/devices/vulkan/device.h"
#include "tests/runtime/vulkan/application.h"

namespace heddle::test {
namespace {

namespace vk = heddle::runtime::vulkan;

/// Submissions until one fails; negative: none does.
int submissions = -1;
VkResult failure = VK_ERROR_OUT_OF_DEVICE_MEMORY;
PFN_vkQueueSubmit real_submit = nullptr;

class VulkanSubmit : public VulkanApplication {
protected:
  void TearDown() override {
    vk::on_device_created = nullptr;
    submissions = -1;
    VulkanApplication::TearDown();
  }

  static uint64_t number(VkFence fence) { return reinterpret_cast<uint64_t>(fence); }
  static uint64_t number(VkSemaphore semaphore) { return reinterpret_cast<uint64_t>(semaphore); }
};

status finish(const session &session) { return status(heddle_vulkan_session_finish(session.get())); }

TEST_F(VulkanSubmit, TheFenceIsSignalledAndTheOutputsFollow) {
  const artifact_bytes artifact = scale_shaders().build();
  for (const char *limits : {"", "staging=1", "submit=1"}) {
    const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", limits);
    const program program = load(artifact, options_);
    const session session = make_session(program);
    application_buffer memory = make_buffer(64);
    const VkFence fence = make_fence();
    for (int round = 0; round < 3; ++round) {
      tensor x = counting_tensor({2, 2});
      tensor y = memory.wrap(HEDDLE_ELEMENT_F32, {2, 2}, 16);
      heddle_vulkan_sync_t sync = {};
      sync.fence = number(fence);
      const bool is_host = round == 1;
      std::vector<heddle_tensor_t *> outputs = {is_host ? nullptr : y.get()};
      const status failed = submit_run(session, {&x}, &outputs, sync);
      ASSERT_TRUE(failed.ok()) << failed.text();
      // The session has its own references, and has read the input.
      std::fill(x.data<float>(), x.data<float>() + 4, 99.0f);
      x = tensor();
      if (!is_host)
        y = tensor();
      wait(fence);
      if (!is_host) {
        EXPECT_EQ(memory.read<float>(16, 4), (std::vector<float>{0, 1, 2, 3}));
      }
      const status finished = finish(session);
      ASSERT_TRUE(finished.ok()) << finished.text();
      if (is_host) {
        EXPECT_EQ(values<float>(tensor(outputs[0])), (std::vector<float>{0, 1, 2, 3}));
      }
    }
  }
}

TEST_F(VulkanSubmit, ManySubmissionsHaveOneFence) {
  const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", "submit=1,groups=4");
  const artifact_bytes artifact = product_shaders(200, 100).build();
  const program program = load(artifact, options_);
  const session session = make_session(program);
  application_buffer memory = make_buffer(100 * 200 * 4);
  const tensor a = product_input(100, 100);
  const tensor y = memory.wrap(HEDDLE_ELEMENT_F32, {100, 200});
  std::vector<heddle_tensor_t *> outputs = {y.get()};
  const VkFence fence = make_fence();
  heddle_vulkan_sync_t sync = {};
  sync.fence = number(fence);
  const int before = locks_;
  const status failed = submit_run(session, {&a}, &outputs, sync);
  ASSERT_TRUE(failed.ok()) << failed.text();
  EXPECT_GT(locks_, before + 3);
  wait(fence);
  EXPECT_EQ(memory.read<float>(0, 100 * 200), expected_product(100, 200, 100));
  EXPECT_TRUE(finish(session).ok());
}

TEST_F(VulkanSubmit, SessionsFeedEachOtherOnTheQueue) {
  const artifact_bytes artifact = scale_shaders(1.0f).build();
  const program program = load(artifact, options_);
  const session first = make_session(program);
  const session second = make_session(program);
  application_buffer memory = make_buffer(768);
  memory.write<float>(0, {1, 2, 3, 4});
  const tensor x = memory.wrap(HEDDLE_ELEMENT_F32, {2, 2});
  const tensor between = memory.wrap(HEDDLE_ELEMENT_F32, {2, 2}, 256);
  const tensor y = memory.wrap(HEDDLE_ELEMENT_F32, {2, 2}, 512);
  const VkFence fence = make_fence();
  heddle_vulkan_sync_t sync = {};
  sync.fence = number(fence);
  std::vector<heddle_tensor_t *> outputs = {between.get()};
  ASSERT_TRUE(submit_run(first, {&x}, &outputs).ok());
  outputs = {y.get()};
  ASSERT_TRUE(submit_run(second, {&between}, &outputs, sync).ok());
  wait(fence);
  EXPECT_EQ(memory.read<float>(512, 4), (std::vector<float>{4, 8, 12, 16}));
  // In any order.
  EXPECT_TRUE(finish(second).ok());
  EXPECT_TRUE(finish(first).ok());
}

TEST_F(VulkanSubmit, SemaphoresAreWaitedForAndSignalled) {
  const artifact_bytes artifact = scale_shaders(1.0f).build();
  const program program = load(artifact, options_);
  const session session = make_session(program);
  application_buffer memory = make_buffer(256);
  const tensor x = memory.wrap(HEDDLE_ELEMENT_F32, {1, 4});
  const tensor y = memory.wrap(HEDDLE_ELEMENT_F32, {1, 4}, 64);
  const VkSemaphore filled = make_semaphore();
  const VkSemaphore done = make_semaphore();
  const uint64_t waits[] = {number(filled)};
  const uint64_t signals[] = {number(done)};
  submit([&](VkCommandBuffer commands) { api_.vkCmdFillBuffer(commands, memory.handle(), 0, 16, 0x3f800000); },
         VK_NULL_HANDLE, filled);
  std::vector<heddle_tensor_t *> outputs = {y.get()};
  const status failed = submit_run(session, {&x}, &outputs, {0, waits, 1, signals, 1});
  ASSERT_TRUE(failed.ok()) << failed.text();
  const VkFence fence = make_fence();
  submit(
      [&](VkCommandBuffer commands) {
        const VkBufferCopy region = {64, 128, 16};
        api_.vkCmdCopyBuffer(commands, memory.handle(), memory.handle(), 1, &region);
      },
      done, VK_NULL_HANDLE, fence);
  wait(fence);
  EXPECT_EQ(memory.read<float>(128, 4), (std::vector<float>{2, 2, 2, 2}));
  EXPECT_TRUE(finish(session).ok());
}

TEST_F(VulkanSubmit, ARunWithoutWorkSignalsToo) {
  const artifact_bytes artifact = scale_shaders().build();
  const program program = load(artifact, options_);
  const session session = make_session(program);
  const tensor x = counting_tensor({0, 3});
  const VkFence fence = make_fence();
  heddle_vulkan_sync_t sync = {};
  sync.fence = number(fence);
  std::vector<heddle_tensor_t *> outputs = {nullptr};
  ASSERT_TRUE(submit_run(session, {&x}, &outputs, sync).ok());
  wait(fence);
  EXPECT_TRUE(finish(session).ok());
  EXPECT_EQ(tensor(outputs[0]).element_count(), 0u);
}

TEST_F(VulkanSubmit, ABadIndexIsReportedAtTheEnd) {
  const artifact_bytes artifact = gather_shaders(10, 4).build();
  const program program = load(artifact, options_);
  const session session = make_session(program);
  application_buffer memory = make_buffer(256);
  const tensor ids = memory.wrap(HEDDLE_ELEMENT_I32, {2});
  const tensor y = memory.wrap(HEDDLE_ELEMENT_F32, {2, 4}, 64);
  std::vector<heddle_tensor_t *> outputs = {y.get()};
  for (int32_t last : {10, 3, 11, 3}) {
    memory.write<int32_t>(0, {-10, last});
    ASSERT_TRUE(submit_run(session, {&ids}, &outputs).ok());
    const status finished = finish(session);
    if (last < 10) {
      EXPECT_TRUE(finished.ok()) << finished.text();
      EXPECT_EQ(memory.read<float>(64, 8), (std::vector<float>{0, 1, 2, 3, 12, 13, 14, 15}));
      continue;
    }
    EXPECT_EQ(finished.error_code(), "H0309");
    EXPECT_EQ(finished.message(),
              "node 'embeddings/word': token id " + std::to_string(last) + " is out of range, expects -10 to 9");
  }
}

TEST_F(VulkanSubmit, ASessionHasOneRunAtATime) {
  const artifact_bytes artifact = scale_shaders().build();
  const program program = load(artifact, options_);
  const session session = make_session(program);
  const tensor x = counting_tensor({2, 2});
  EXPECT_EQ(finish(session).message(), "no run was submitted to be finished");
  std::vector<heddle_tensor_t *> outputs = {nullptr};
  ASSERT_TRUE(submit_run(session, {&x}, &outputs).ok());
  const tensor y(outputs[0]);
  std::vector<heddle_tensor_t *> more = {nullptr};
  EXPECT_EQ(submit_run(session, {&x}, &more).error_code(), "H0102");
  EXPECT_EQ(more[0], nullptr);
  EXPECT_EQ(session.run(nullptr, {&x}, 1).error().error_code(), "H0102");
  EXPECT_TRUE(finish(session).ok());
  EXPECT_EQ(values<float>(y), values<float>(x));
  EXPECT_EQ(finish(session).error_code(), "H0104");
  EXPECT_TRUE(bool(session.run(nullptr, {&x}, 1)));
}

TEST_F(VulkanSubmit, WhatCantBeSubmittedIsRefused) {
  const tensor x = counting_tensor({2, 2});
  std::vector<heddle_tensor_t *> outputs = {nullptr};
  const artifact_bytes kernels = scale_model().build();
  const program cpu = load(kernels);
  EXPECT_EQ(submit_run(make_session(cpu), {&x}, &outputs).message(),
            "the program runs on the CPU, to which no run can be submitted");
  const artifact_bytes artifact = scale_shaders().build();
  const program program = load(artifact, options_);
  const session session = make_session(program);
  heddle_session_set_observer(session.get(), [](void *, const heddle_dispatch_info_t *) {}, nullptr);
  EXPECT_EQ(submit_run(session, {&x}, &outputs).message(),
            "a session with an observer can't leave a run to the device");
  heddle_session_set_observer(session.get(), nullptr, nullptr);
  EXPECT_EQ(submit_run(session, {&x}, &outputs, {0, nullptr, 1, nullptr, 0}).message(),
            "semaphores are counted and not given");
  const tensor wide = counting_tensor({2});
  EXPECT_EQ(submit_run(session, {&wide}, &outputs).error_code(), "H0304");
  expect_failure(heddle_vulkan_session_submit(nullptr, nullptr, nullptr, 0, nullptr, 0, nullptr), "H0101",
                 "session is null");
  expect_failure(heddle_vulkan_session_finish(nullptr), "H0101", "session is null");
  // A device of the runtime's own has no fences of the caller's, and can do without.
  const heddle::program own = load(artifact);
  const heddle::session other = make_session(own);
  heddle_vulkan_sync_t sync = {};
  sync.fence = number(make_fence());
  EXPECT_EQ(submit_run(other, {&x}, &outputs, sync).message(),
            "a fence or semaphore was given to a program on a device of the runtime's own");
  EXPECT_EQ(outputs[0], nullptr);
  ASSERT_TRUE(submit_run(other, {&x}, &outputs).ok());
  const tensor y(outputs[0]);
  EXPECT_TRUE(finish(other).ok());
  EXPECT_EQ(values<float>(y), values<float>(x));
}

TEST_F(VulkanSubmit, CancelledRunsSignalAndDeliverNothing) {
  const artifact_bytes artifact = scale_shaders().build();
  const program program = load(artifact, options_);
  const session session = make_session(program);
  const tensor x = counting_tensor({2, 2});
  const VkFence fence = make_fence();
  heddle_vulkan_sync_t sync = {};
  sync.fence = number(fence);
  std::vector<heddle_tensor_t *> outputs = {nullptr};
  ASSERT_TRUE(submit_run(session, {&x}, &outputs, sync).ok());
  const tensor y(outputs[0]);
  session.cancel();
  wait(fence);
  EXPECT_EQ(finish(session).code(), HEDDLE_STATUS_CANCELLED);
  EXPECT_TRUE(bool(session.run(nullptr, {&x}, 1)));
}

TEST_F(VulkanSubmit, AReleasedSessionWaits) {
  const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", "submit=1,groups=4");
  const artifact_bytes artifact = product_shaders(200, 200).build();
  const program program = load(artifact, options_);
  session session = make_session(program);
  // Validation reports a buffer that is destroyed while the device uses it.
  application_buffer memory = make_buffer(100 * 200 * 4);
  const tensor a = product_input(100, 200);
  tensor y = memory.wrap(HEDDLE_ELEMENT_F32, {100, 200});
  std::vector<heddle_tensor_t *> outputs = {y.get()};
  ASSERT_TRUE(submit_run(session, {&a}, &outputs).ok());
  session = heddle::session();
  EXPECT_EQ(memory.read<float>(0, 100 * 200), expected_product(100, 200, 200));
}

TEST_F(VulkanSubmit, AReleaseFunctionComesBehindTheRun) {
  const artifact_bytes artifact = scale_shaders().build();
  const program program = load(artifact, options_);
  const session session = make_session(program);
  application_buffer memory = make_buffer(64);
  const heddle_vulkan_buffer_t part = memory.part(0);
  const int64_t dims[] = {2, 2};
  int released = 0;
  heddle_tensor_t *y = nullptr;
  ASSERT_EQ(heddle_vulkan_tensor_wrap(
                &part, HEDDLE_ELEMENT_F32, 2, dims,
                [](void *user, void *data) {
                  EXPECT_EQ(data, nullptr);
                  ++*static_cast<int *>(user);
                },
                &released, &y),
            nullptr);
  const tensor x = counting_tensor({2, 2});
  std::vector<heddle_tensor_t *> outputs = {y};
  ASSERT_TRUE(submit_run(session, {&x}, &outputs).ok());
  heddle_tensor_release(y);
  EXPECT_EQ(released, 0);
  EXPECT_TRUE(finish(session).ok());
  EXPECT_EQ(released, 1);
}

TEST_F(VulkanSubmit, EveryRefusedSubmissionIsAStatus) {
  vk::on_device_created = [](VolkDeviceTable *api) {
    real_submit = api->vkQueueSubmit;
    api->vkQueueSubmit = [](VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence) {
      if (submissions < 0 || submissions-- > 0)
        return real_submit(queue, count, infos, fence);
      return failure;
    };
  };
  const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", "submit=1");
  const artifact_bytes artifact = scale_shaders().build();
  application_buffer memory = make_buffer(64);
  memory.write<float>(0, {1, 2, 3, 4});
  const tensor x = memory.wrap(HEDDLE_ELEMENT_F32, {2, 2});
  const tensor y = memory.wrap(HEDDLE_ELEMENT_F32, {2, 2}, 32);
  std::vector<heddle_tensor_t *> outputs = {y.get()};
  const VkFence fence = make_fence();
  heddle_vulkan_sync_t sync = {};
  sync.fence = number(fence);
  for (const auto &[result, code] :
       {std::pair(VK_ERROR_OUT_OF_DEVICE_MEMORY, "H0407"), std::pair(VK_ERROR_DEVICE_LOST, "H0405")}) {
    failure = result;
    int refused = 0;
    for (;; ++refused) {
      const program program = load(artifact, options_);
      const session session = make_session(program);
      ASSERT_TRUE(run_into(session, {&x}, outputs).ok()); // warm: nothing but the run is submitted
      submissions = refused;
      const status failed = submit_run(session, {&x}, &outputs, sync);
      const bool has_failed = submissions < 0;
      submissions = -1;
      if (!has_failed) {
        ASSERT_TRUE(failed.ok()) << failed.text();
        wait(fence);
        EXPECT_TRUE(finish(session).ok());
        break;
      }
      EXPECT_EQ(failed.error_code(), code) << refused;
      EXPECT_EQ(api_.vkGetFenceStatus(device_, fence), VK_NOT_READY);
      EXPECT_EQ(finish(session).error_code(), "H0104");
      const status again = run_into(session, {&x}, outputs);
      EXPECT_EQ(again.error_code(), result == VK_ERROR_DEVICE_LOST ? code : "") << again.text();
    }
    EXPECT_EQ(refused, 3) << "two submissions and the fence";
  }
}

TEST_F(VulkanSubmit, ADeviceThatIsLostOnTheWayIsReported) {
  vk::on_device_created = [](VolkDeviceTable *api) {
    api->vkGetFenceStatus = [](VkDevice, VkFence) { return submissions == 0 ? VK_ERROR_DEVICE_LOST : VK_NOT_READY; };
  };
  const artifact_bytes artifact = scale_shaders().build();
  const program program = load(artifact, options_);
  const session session = make_session(program);
  const tensor x = counting_tensor({2, 2});
  std::vector<heddle_tensor_t *> outputs = {nullptr};
  ASSERT_TRUE(submit_run(session, {&x}, &outputs).ok());
  const tensor y(outputs[0]);
  submissions = 0;
  EXPECT_EQ(finish(session).code(), HEDDLE_STATUS_DEVICE_LOST);
  submissions = -1;
  outputs = {nullptr};
  EXPECT_EQ(submit_run(session, {&x}, &outputs).code(), HEDDLE_STATUS_DEVICE_LOST);
}

TEST_F(VulkanSubmit, ThreadsShareTheQueue) {
  const artifact_bytes artifact = scale_shaders(1.0f).build();
  const program program = load(artifact, options_);
  application_buffer memories[] = {make_buffer(64), make_buffer(64)};
  std::vector<std::thread> threads;
  for (application_buffer &memory : memories) {
    const VkFence fence = make_fence();
    threads.emplace_back([this, &memory, &program, fence] {
      const session session = make_session(program);
      const tensor x = memory.wrap(HEDDLE_ELEMENT_F32, {2, 2});
      const tensor y = memory.wrap(HEDDLE_ELEMENT_F32, {2, 2}, 32);
      heddle_vulkan_sync_t sync = {};
      sync.fence = number(fence);
      for (int run = 0; run < 30; ++run) {
        const auto value = static_cast<float>(run);
        memory.write<float>(0, {value, value + 1, value + 2, value + 3});
        std::vector<heddle_tensor_t *> outputs = {y.get()};
        const status failed = submit_run(session, {&x}, &outputs, sync);
        EXPECT_TRUE(failed.ok()) << failed.text();
        if (!failed.ok())
          return;
        wait(fence);
        const std::vector<float> expected = {2 * value, 2 * value + 2, 2 * value + 4, 2 * value + 6};
        EXPECT_EQ(memory.read<float>(32, 4), expected);
        EXPECT_TRUE(finish(session).ok());
      }
    });
  }
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
} // namespace heddle::test
