// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors in buffers of the application's: read and written just where they lie, beside host tensors, in order with
// what else is on the queue; and what can't be used, by the name of the input or output.

#include "runtime/devices/vulkan/device.h"
#include "tests/runtime/vulkan/application.h"

namespace heddle::test {
namespace {

constexpr fb::ElementType f32 = fb::ElementType::f32;

class VulkanBuffer : public VulkanApplication {
protected:
  void TearDown() override {
    runtime::vulkan::on_device_created = nullptr;
    VulkanApplication::TearDown();
  }

  /// The error of a run of |artifact|'s first entry point into |outputs|.
  std::string run_error(const artifact_bytes &artifact, const std::vector<const tensor *> &inputs,
                        const std::vector<heddle_tensor_t *> &outputs) {
    const program program = load(artifact, options_);
    const status failed = run_into(make_session(program), inputs, outputs);
    return failed.error_code() + ": " + failed.message();
  }
};

/// sum = a + b over [n].
shader_builder sum_shaders() {
  shader_builder shaders;
  const uint32_t add = shaders.kernel("add", {{f32, 1}, {f32, 2}, {f32, 3}}, 1);
  entry_builder entry = shaders.add_entry();
  const fb::Binding a = entry.input("a", f32, {"n"});
  const fb::Binding b = entry.input("b", f32, {"n"});
  const uint32_t n = entry.dim(a, 0);
  const uint32_t none = entry.constant(0);
  const uint32_t one = entry.constant(1);
  const std::array<uint32_t, 3> elements = {entry.constant(4), none, none};
  const fb::Binding sum = entry.output("sum", f32, {"n"}, {n});
  shaders.dispatch(entry, add, {{a, b, sum}, {n}, {n, one, one}, {elements, elements, elements}, {{n}}, "add"});
  return shaders;
}

/// y = x + 1 over [n] of |type|, an integer of 64 bits.
shader_builder next_shaders(fb::ElementType type) {
  shader_builder shaders;
  const uint32_t next = shaders.kernel("next", {{type, 1}, {type, 3}}, 1);
  entry_builder entry = shaders.add_entry();
  const fb::Binding x = entry.input("x", type, {"n"});
  const uint32_t n = entry.dim(x, 0);
  const uint32_t none = entry.constant(0);
  const uint32_t one = entry.constant(1);
  const std::array<uint32_t, 3> elements = {entry.constant(4), none, none};
  const fb::Binding y = entry.output("y", type, {"n"}, {n});
  shaders.dispatch(entry, next, {{x, y}, {n}, {n, one, one}, {elements, elements}, {{n}}, "next"});
  return shaders;
}

TEST_F(VulkanBuffer, RunsReadAndWriteJustTheirParts) {
  const artifact_bytes artifact = sum_shaders().build();
  for (const char *limits : {"", "staging=1"}) {
    const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", limits);
    const program program = load(artifact, options_);
    const session session = make_session(program);
    // Of one shape, so of one recording: no copy of an earlier buffer may be left in it.
    for (int round = 0; round < 3; ++round) {
      application_buffer in = make_buffer(256);
      application_buffer out = make_buffer(256);
      const auto add = static_cast<float>(round);
      in.write<float>(20, {1, 2, 3});
      in.write<float>(36, {10 + add, 20, 30});
      const tensor a = in.wrap(HEDDLE_ELEMENT_F32, {3}, 20);
      const tensor b = in.wrap(HEDDLE_ELEMENT_F32, {3}, 36);
      const tensor sum = out.wrap(HEDDLE_ELEMENT_F32, {3}, 12);
      EXPECT_EQ(sum.data<float>(), nullptr);
      const status failed = run_into(session, {&a, &b}, {sum.get()});
      ASSERT_TRUE(failed.ok()) << failed.text();
      EXPECT_EQ(out.read<float>(12, 3), (std::vector<float>{11 + add, 22, 33}));
      EXPECT_EQ(out.read<uint8_t>(0, 12), std::vector<uint8_t>(12, 0xee));
      EXPECT_EQ(out.read<uint8_t>(24, 232), std::vector<uint8_t>(232, 0xee));
    }
  }
}

TEST_F(VulkanBuffer, HostTensorsGoBesideThem) {
  const artifact_bytes artifact = sum_shaders().build();
  for (const char *limits : {"", "staging=1"}) {
    const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", limits);
    const program program = load(artifact, options_);
    const session session = make_session(program);
    application_buffer memory = make_buffer(64);
    const tensor host = counting_tensor({3});
    const tensor device = memory.wrap(HEDDLE_ELEMENT_F32, {3});
    const tensor result = memory.wrap(HEDDLE_ELEMENT_F32, {3}, 32);
    // Every mixture of one shape, twice: each needs its own copies.
    for (int mixture = 0; mixture < 16; ++mixture) {
      memory.write<float>(0, {100, 200, 300});
      const tensor *a = mixture & 1 ? &device : &host;
      const tensor *b = mixture & 2 ? &device : &host;
      std::vector<float> expected = {0, 1, 2};
      for (size_t i = 0; i < 3; ++i) {
        const float there = 100 * static_cast<float>(i + 1);
        const auto here = static_cast<float>(i);
        expected[i] = (mixture & 1 ? there : here) + (mixture & 2 ? there : here);
      }
      if (mixture & 4) {
        const status failed = run_into(session, {a, b}, {result.get()});
        ASSERT_TRUE(failed.ok()) << failed.text();
        EXPECT_EQ(memory.read<float>(32, 3), expected) << mixture << limits;
      } else {
        auto outputs = session.run(nullptr, {a, b}, 1);
        ASSERT_TRUE(bool(outputs)) << outputs.error().text();
        EXPECT_EQ(values<float>((*outputs)[0]), expected) << mixture << limits;
      }
    }
  }
}

TEST_F(VulkanBuffer, IntegersOf64BitsAreWordsOf32) {
  application_buffer memory = make_buffer(64);
  memory.write<int32_t>(4, {-5, 1 << 30});
  const std::tuple<fb::ElementType, heddle_element_type_t> types[] = {{fb::ElementType::i64, HEDDLE_ELEMENT_I32},
                                                                      {fb::ElementType::u64, HEDDLE_ELEMENT_U32}};
  for (const auto &[declared, held] : types) {
    const artifact_bytes artifact = next_shaders(declared).build();
    const program program = load(artifact, options_);
    const session session = make_session(program);
    const tensor x = memory.wrap(held, {2}, 4);
    const tensor y = memory.wrap(held, {2}, 32);
    const status failed = run_into(session, {&x}, {y.get()});
    ASSERT_TRUE(failed.ok()) << failed.text();
    EXPECT_EQ(memory.read<int32_t>(32, 2), (std::vector<int32_t>{-4, (1 << 30) + 1}));
  }
  const heddle_vulkan_buffer_t part = memory.part(0);
  const int64_t dims[] = {2};
  heddle_tensor_t *refused = nullptr;
  const status failed(heddle_vulkan_tensor_wrap(&part, HEDDLE_ELEMENT_I64, 1, dims, nullptr, nullptr, &refused));
  EXPECT_EQ(failed.message(), "a VkBuffer holds no i64");
  EXPECT_EQ(failed.help(), "give i32, one word for each element");
}

TEST_F(VulkanBuffer, BytesEndWhereTheyEnd) {
  shader_builder shaders;
  const uint32_t bytes = shaders.kernel("bytes", {{f32, 1}, {fb::ElementType::u8, 3}}, 1);
  entry_builder entry = shaders.add_entry();
  const fb::Binding x = entry.input("x", f32, {"n"});
  const uint32_t n = entry.dim(x, 0);
  const uint32_t none = entry.constant(0);
  const uint32_t one = entry.constant(1);
  const fb::Binding y = entry.output("y", fb::ElementType::u8, {"n"}, {n});
  shaders.dispatch(entry, bytes,
                   {{x, y}, {n}, {n, one, one}, {{entry.constant(4), none, none}, {one, none, none}}, {{n}}, "bytes"});
  const artifact_bytes artifact = shaders.build();
  const program program = load(artifact, options_);
  application_buffer memory = make_buffer(64);
  const tensor input = counting_tensor({3});
  const tensor output = memory.wrap(HEDDLE_ELEMENT_U8, {3}, 4);
  const status failed = run_into(make_session(program), {&input}, {output.get()});
  ASSERT_TRUE(failed.ok()) << failed.text();
  EXPECT_EQ(memory.read<uint8_t>(3, 5), (std::vector<uint8_t>{0xee, 0, 1, 2, 0xee}));
}

TEST_F(VulkanBuffer, ObserversSeeRunsOnThem) {
  const artifact_bytes artifact = sum_shaders().build();
  const program program = load(artifact, options_);
  const session session = make_session(program);
  application_buffer memory = make_buffer(64);
  memory.write<float>(0, {1, 2});
  const tensor a = memory.wrap(HEDDLE_ELEMENT_F32, {2});
  const tensor sum = memory.wrap(HEDDLE_ELEMENT_F32, {2}, 16);
  int seen = 0;
  heddle_session_set_observer(
      session.get(),
      [](void *user, const heddle_dispatch_info_t *dispatch) {
        EXPECT_EQ(static_cast<const float *>(dispatch->results[0].data)[1], 4);
        ++*static_cast<int *>(user);
      },
      &seen);
  const status failed = run_into(session, {&a, &a}, {sum.get()});
  EXPECT_TRUE(failed.ok()) << failed.text();
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(memory.read<float>(16, 2), (std::vector<float>{2, 4}));
}

TEST_F(VulkanBuffer, TensorsWithoutElementsAreFine) {
  const artifact_bytes artifact = sum_shaders().build();
  const program program = load(artifact, options_);
  application_buffer memory = make_buffer(64);
  const tensor a = memory.wrap(HEDDLE_ELEMENT_F32, {0}, 64);
  const tensor sum = memory.wrap(HEDDLE_ELEMENT_F32, {0}, 0);
  const status failed = run_into(make_session(program), {&a, &a}, {sum.get()});
  EXPECT_TRUE(failed.ok()) << failed.text();
}

/// Fills the input before a run and reads the output behind it, on the queue and without a barrier or a wait.
class VulkanBufferOrder : public VulkanBuffer {
protected:
  void run_between(application_buffer &memory) {
    const artifact_bytes artifact = sum_shaders().build();
    const program program = load(artifact, options_);
    const tensor a = memory.wrap(HEDDLE_ELEMENT_F32, {4});
    const tensor sum = memory.wrap(HEDDLE_ELEMENT_F32, {4}, 64);
    const session session = make_session(program);
    submit([&](VkCommandBuffer commands) {
      api_.vkCmdFillBuffer(commands, memory.handle(), 0, 16, 0x3f800000); // 1.0f
    });
    std::vector<heddle_tensor_t *> outputs = {sum.get()};
    const status failed = submit_run(session, {&a, &a}, &outputs);
    ASSERT_TRUE(failed.ok()) << failed.text();
    const VkFence fence = make_fence();
    submit(
        [&](VkCommandBuffer commands) {
          const VkBufferCopy region = {64, 128, 16};
          api_.vkCmdCopyBuffer(commands, memory.handle(), memory.handle(), 1, &region);
        },
        VK_NULL_HANDLE, VK_NULL_HANDLE, fence);
    wait(fence);
    EXPECT_OK(heddle_vulkan_session_finish(session.get()));
  }
};

TEST_F(VulkanBufferOrder, FollowsTheQueueWithoutBarriersOfTheCallers) {
  application_buffer memory = make_buffer(256);
  run_between(memory);
  EXPECT_EQ(memory.read<float>(128, 4), (std::vector<float>{2, 2, 2, 2}));
}

TEST_F(VulkanBufferOrder, ValidationReportsMissingBarriersAroundTheCopies) {
  runtime::vulkan::on_device_created = [](VolkDeviceTable *api) {
    api->vkCmdPipelineBarrier = [](VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags, VkDependencyFlags,
                                   uint32_t, const VkMemoryBarrier *, uint32_t, const VkBufferMemoryBarrier *, uint32_t,
                                   const VkImageMemoryBarrier *) {};
  };
  application_buffer memory = make_buffer(256);
  run_between(memory);
  // Fill and copy in, copy in and kernel, kernel and copy out, copy out and the application's own.
  size_t hazards = 0;
  for (size_t at = 0; (at = messages_.find("Hazard READ_AFTER_WRITE", at)) != std::string::npos; ++at)
    ++hazards;
  EXPECT_EQ(hazards, 4u) << messages_;
  messages_.clear();
}

TEST_F(VulkanBuffer, WhatCantBeWrappedIsRefused) {
  application_buffer memory = make_buffer(64);
  const int64_t dims[] = {4};
  const int64_t negative[] = {-1};
  auto error_of = [&](heddle_vulkan_buffer_t part, const int64_t *dims, heddle_element_type_t type) {
    heddle_tensor_t *tensor = nullptr;
    const status failed(heddle_vulkan_tensor_wrap(&part, type, 1, dims, nullptr, nullptr, &tensor));
    EXPECT_EQ(tensor, nullptr);
    return failed.error_code() + ": " + failed.message();
  };
  heddle_vulkan_buffer_t part = memory.part(0);
  part.byte_length = 15;
  EXPECT_EQ(error_of(part, dims, HEDDLE_ELEMENT_F32),
            "H0101: a tensor of f32 [4] needs 16 bytes of a VkBuffer, got 15");
  EXPECT_EQ(error_of(memory.part(2), dims, HEDDLE_ELEMENT_F32),
            "H0101: expects an offset into a VkBuffer that is a multiple of 4, got 2");
  EXPECT_EQ(error_of(memory.part(0), negative, HEDDLE_ELEMENT_F32),
            "H0101: [-1] is no shape of a tensor: a dimension is negative or the size overflows");
  EXPECT_EQ(error_of(memory.part(0), dims, static_cast<heddle_element_type_t>(13)), "H0101: 13 is no element type");
  part.offset = UINT64_MAX - 3;
  EXPECT_EQ(error_of(part, dims, HEDDLE_ELEMENT_F32), "H0101: the end of a VkBuffer's range overflows");
  part.buffer = 0;
  EXPECT_EQ(error_of(part, dims, HEDDLE_ELEMENT_F32),
            "H0101: a tensor in a VkBuffer needs the buffer and its VkDevice");
  heddle_tensor_t *tensor = nullptr;
  expect_failure(heddle_vulkan_tensor_wrap(nullptr, HEDDLE_ELEMENT_F32, 1, dims, nullptr, nullptr, &tensor), "H0101",
                 "memory is null");
}

TEST_F(VulkanBuffer, WhatDoesntFitARunIsNamed) {
  const artifact_bytes artifact = sum_shaders().build();
  application_buffer memory = make_buffer(64);
  const tensor four = memory.wrap(HEDDLE_ELEMENT_F32, {4});
  const tensor host = counting_tensor({4});
  const tensor sum = memory.wrap(HEDDLE_ELEMENT_F32, {4}, 32);
  auto wrapped = [](const heddle_vulkan_buffer_t &part, int64_t count) {
    heddle_tensor_t *handle = nullptr;
    EXPECT_OK(heddle_vulkan_tensor_wrap(&part, HEDDLE_ELEMENT_F32, 1, &count, nullptr, nullptr, &handle));
    return tensor(handle);
  };
  heddle_vulkan_buffer_t part = memory.part(0);
  part.device = &part;
  const tensor foreign = wrapped(part, 4);
  EXPECT_EQ(run_error(artifact, {&foreign, &host}, {sum.get()}),
            "H0315: input 'a' lies in a VkBuffer of another VkDevice than the program's");
  part = memory.part(0);
  part.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  const tensor uncopied = wrapped(part, 4);
  EXPECT_EQ(run_error(artifact, {&host, &uncopied}, {sum.get()}),
            "H0315: input 'b' lies in a VkBuffer that was made without VK_BUFFER_USAGE_TRANSFER_SRC_BIT");
  EXPECT_EQ(run_error(artifact, {&host, &host}, {uncopied.get()}),
            "H0315: output 'sum' lies in a VkBuffer that was made without VK_BUFFER_USAGE_TRANSFER_DST_BIT");
  part = memory.part(0);
  part.offset = 1 << 20;
  const tensor beyond = wrapped(part, 4);
  EXPECT_EQ(run_error(artifact, {&host, &beyond}, {sum.get()}),
            "H0315: input 'b' takes 16 bytes from byte 1048576 on of a VkBuffer that has no more than 64");
  const tensor ids = memory.wrap(HEDDLE_ELEMENT_I32, {4});
  EXPECT_EQ(run_error(artifact, {&ids, &host}, {sum.get()}), "H0303: input 'a' expects f32 in a VkBuffer, got i32");
  EXPECT_EQ(run_error(artifact, {&host, &host}, {ids.get()}), "H0303: output 'sum' expects f32 in a VkBuffer, got i32");
  const tensor square = memory.wrap(HEDDLE_ELEMENT_F32, {2, 2});
  EXPECT_EQ(run_error(artifact, {&square, &host}, {sum.get()}), "H0304: input 'a' expects [n], got [2,2]");
  const tensor three = memory.wrap(HEDDLE_ELEMENT_F32, {3});
  EXPECT_EQ(run_error(artifact, {&three, &host}, {sum.get()}),
            "H0306: inputs 'a' and 'b' disagree on dimension 'n': 3 and 4");
  EXPECT_EQ(run_error(artifact, {&host, &host}, {three.get()}),
            "H0305: output 'sum' has shape [4], but the given tensor has [3]");
  EXPECT_EQ(run_error(artifact, {&four, &host}, {four.get()}),
            "H0311: the tensor given for output 'sum' shares memory with input 'a'");
}

TEST_F(VulkanBuffer, ProgramsOnOtherDevicesRefuseThem) {
  application_buffer memory = make_buffer(64);
  const tensor x = memory.wrap(HEDDLE_ELEMENT_F32, {2, 2});
  const artifact_bytes shaders = scale_shaders().build();
  const program own = load(shaders);
  auto refused = make_session(own).run(nullptr, {&x}, 1);
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(refused.error().message(), "input 'x' lies in a VkBuffer of another VkDevice than the program's");
  const artifact_bytes kernels = scale_model().build();
  const program cpu = load(kernels);
  refused = make_session(cpu).run(nullptr, {&x}, 1);
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(refused.error().error_code(), "H0315");
  EXPECT_EQ(refused.error().message(), "input 'x' lies in a VkBuffer, which only programs on its VkDevice can use");
}

TEST_F(VulkanBuffer, ValuesThatShapesDependOnStayOnTheHost) {
  shader_builder shaders;
  shaders.kernel("scale", {{f32, 1}, {f32, 0}, {f32, 3}}, 1);
  entry_builder entry = shaders.add_entry();
  const fb::Binding size = entry.input("size", fb::ElementType::i64, {"1"});
  const fb::Binding out = entry.output("out", fb::ElementType::i64, {"1"}, {entry.constant(1)});
  entry.store_slots(out, fb::ElementType::i64, {entry.value(size, 0)});
  const artifact_bytes artifact = shaders.build();
  application_buffer memory = make_buffer(64);
  const tensor x = memory.wrap(HEDDLE_ELEMENT_I32, {1});
  const tensor y = memory.wrap(HEDDLE_ELEMENT_I32, {1}, 32);
  EXPECT_EQ(run_error(artifact, {&x}, {y.get()}),
            "H0315: shapes depend on the values of input 'size', which lie in a VkBuffer");
  const program program = load(artifact, options_);
  heddle_plan_info_t plan = {};
  const heddle_tensor_t *inputs[] = {x.get()};
  expect_failure(heddle_program_plan(program.get(), nullptr, inputs, 1, &plan), "H0315",
                 "shapes depend on the values of input 'size', which lie in a VkBuffer");
  // On the host it is fine, with the result in a buffer all the same.
  const tensor host = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {1}, {7});
  const status failed = run_into(make_session(program), {&host}, {y.get()});
  EXPECT_TRUE(failed.ok()) << failed.text();
  EXPECT_EQ(memory.read<int32_t>(32, 1), (std::vector<int32_t>{7}));
}

} // namespace
} // namespace heddle::test
