// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shaders that compute something else than their artifact says: found when first used, left out, told of, remembered.

#include <cmath>
#include <cstring>
#include <filesystem>

#include <heddle/self_test.h>

#include "runtime/devices/vulkan/device.h"
#include "runtime/devices/vulkan/self_test_elements.h"
#include "tests/runtime/vulkan/shader_builder.h"

namespace heddle::test {
namespace {

namespace fs = std::filesystem;
namespace vk = heddle::runtime::vulkan;

constexpr uint32_t columns = 20;
constexpr uint32_t depth = 8;

/// Calls of the driver since they were last set to 0.
int pipelines;
int submissions;
/// What the next pipelines of that many are refused with.
int refusals;
VkResult refusal;
VolkDeviceTable real;

void count_calls(VolkDeviceTable *api) {
  real = *api;
  api->vkCreateComputePipelines = [](VkDevice device, VkPipelineCache cache, uint32_t count,
                                     const VkComputePipelineCreateInfo *infos, const VkAllocationCallbacks *callbacks,
                                     VkPipeline *out) {
    ++pipelines;
    if (refusals > 0)
      return --refusals, refusal;
    return real.vkCreateComputePipelines(device, cache, count, infos, callbacks, out);
  };
  api->vkQueueSubmit = [](VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence) {
    ++submissions;
    return real.vkQueueSubmit(queue, count, infos, fence);
  };
}

class VulkanSelfTest : public VulkanTest {
protected:
  void SetUp() override {
    VulkanTest::SetUp();
    vk::on_device_created = count_calls;
    pipelines = submissions = refusals = 0;
  }
  void TearDown() override { vk::on_device_created = nullptr; }

  /// The product model with a case for its kernel. Of |wrong| further variants before the right one each computes half
  /// of the columns.
  static shader_builder tested_product(int wrong = 0) {
    shader_builder shaders = product_shaders(columns, depth);
    add_product_test(shaders, columns, depth);
    for (int i = 0; i < wrong; ++i)
      shaders.add_variant(0, {16, 4, 1}).workgroup = {8, 4, 1};
    return shaders;
  }

  /// Runs |program| on three rows.
  static result<std::vector<tensor>> run(const program &program) {
    const session session = make_session(program);
    const tensor a = product_input(3, depth);
    return session.run(nullptr, {&a}, 1);
  }
  static void expect_right(const program &program) {
    auto outputs = run(program);
    ASSERT_TRUE(bool(outputs)) << outputs.error().text();
    EXPECT_EQ(values<float>((*outputs)[0]), expected_product(3, columns, depth));
  }
};

TEST_F(VulkanSelfTest, AShaderIsTestedOnceAndThenUsed) {
  const artifact_bytes artifact = tested_product().build();
  for (const char *limits : {"", "staging=1", "groups=1", "range=1024", "range=1024,staging=1"}) {
    const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", limits);
    const program program = load(artifact);
    submissions = 0;
    expect_right(program);
    const int first = submissions;
    expect_right(program);
    EXPECT_EQ(submissions - first, first - 1) << limits;
    EXPECT_EQ(program.note(0), nullptr) << program.note(0);
  }
}

TEST_F(VulkanSelfTest, ACaseBeyondTheLimitsSaysNothing) {
  const artifact_bytes artifact = tested_product().build();
  const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", "range=64");
  const program program = load(artifact);
  auto outputs = run(program);
  ASSERT_FALSE(bool(outputs));
  EXPECT_EQ(outputs.error().error_code(), "H0406") << "of the work, not of the test";
  EXPECT_EQ(program.note(0), nullptr) << program.note(0);
}

TEST_F(VulkanSelfTest, IntegersAndErrorRecordsArePartOfIt) {
  shader_builder shaders = gather_shaders(20, 3);
  add_gather_test(shaders, 20, 3);
  const artifact_bytes artifact = shaders.build();
  const tensor ids = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {2}, {1, 19});
  for (const char *limits : {"", "staging=1"}) {
    const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", limits);
    const program program = load(artifact);
    auto outputs = make_session(program).run(nullptr, {&ids}, 1);
    ASSERT_TRUE(bool(outputs)) << outputs.error().text();
    EXPECT_EQ(values<float>((*outputs)[0]), (std::vector<float>{3, 4, 5, 57, 58, 59}));
    EXPECT_EQ(program.note(0), nullptr) << program.note(0);
  }
}

TEST_F(VulkanSelfTest, AWrongVariantGivesWayToTheNext) {
  const artifact_bytes artifact = tested_product(2).build();
  const program program = load(artifact);
  EXPECT_EQ(program.note(0), nullptr);
  expect_right(program);
  EXPECT_EQ(pipelines, 3);
  ASSERT_NE(program.note(0), nullptr);
  const std::string note = program.note(0);
  EXPECT_EQ(note.rfind("variant 0 of kernel 'product' isn't used on '", 0), 0u) << note;
  EXPECT_NE(note.find("which fails its self-test: element 16 of result 0 is "), std::string::npos) << note;
  ASSERT_NE(program.note(1), nullptr);
  EXPECT_EQ(std::string(program.note(1)).rfind("variant 1 of kernel 'product'", 0), 0u);
  EXPECT_EQ(program.note(2), nullptr);
}

TEST_F(VulkanSelfTest, AVariantThatTheDriverRefusesGivesWayToTheNext) {
  const artifact_bytes artifact = tested_product(1).build();
  // Some drivers name memory where they can't compile.
  for (const VkResult result : {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_UNKNOWN}) {
    const program program = load(artifact);
    refusals = 1;
    refusal = result;
    expect_right(program);
    ASSERT_NE(program.note(0), nullptr);
    EXPECT_NE(std::string(program.note(0)).find("whose driver doesn't take it: VK_ERROR_"), std::string::npos);
    EXPECT_EQ(program.note(1), nullptr) << program.note(1);
  }
  const program program = load(artifact);
  refusals = 2;
  refusal = VK_ERROR_UNKNOWN;
  for (int i = 0; i < 2; ++i) {
    auto outputs = run(program);
    ASSERT_FALSE(bool(outputs));
    EXPECT_EQ(outputs.error().error_code(), "H0408");
    EXPECT_NE(outputs.error().message().find("couldn't make a pipeline of kernel 'product'"), std::string::npos);
  }
}

TEST_F(VulkanSelfTest, AShaderThatReportsAFailureIsWrong) {
  shader_builder shaders = gather_shaders(20, 3);
  add_gather_test(shaders, 20, 3);
  shaders.self_test(0).sizes[0] = 19; // index 19, which is right, is found to be none
  const artifact_bytes artifact = shaders.build();
  const tensor ids = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {2}, {1, 19});
  for (const char *limits : {"", "staging=1"}) {
    const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", limits);
    const program program = load(artifact);
    auto outputs = make_session(program).run(nullptr, {&ids}, 1);
    ASSERT_FALSE(bool(outputs));
    EXPECT_EQ(outputs.error().error_code(), "H0409");
    EXPECT_NE(outputs.error().message().find("it reports failure "), std::string::npos) << outputs.error().text();
  }
}

TEST(SelfTestElements, WhatIsNotWrittenIsNoNumber) {
  for (const auto type : {HEDDLE_ELEMENT_F32, HEDDLE_ELEMENT_F16, HEDDLE_ELEMENT_BF16}) {
    std::byte element[4] = {};
    std::memset(element, vk::unwritten_byte(type), sizeof(element));
    const std::byte zero[4] = {};
    EXPECT_GT(runtime::difference_of(type, element, zero, 1e30), 1) << type;
  }
}

TEST(SelfTestElements, ExpectationsThatAreNotFiniteAskForNothing) {
  const float values[] = {INFINITY, 2, NAN};
  runtime::self_test_output expected = {};
  expected.values = reinterpret_cast<const uint8_t *>(values);
  expected.runs = {{0, 3}};
  EXPECT_EQ(runtime::largest_magnitude(HEDDLE_ELEMENT_F32, expected), 2);
  const float wrong = 3;
  EXPECT_EQ(runtime::difference_of(HEDDLE_ELEMENT_F32, &wrong, &values[0], 0), 0);
  EXPECT_GT(runtime::difference_of(HEDDLE_ELEMENT_F32, &wrong, &values[1], 0.5), 1);
  EXPECT_GT(runtime::difference_of(HEDDLE_ELEMENT_F32, &values[2], &values[1], 0.5), 1);
}

TEST_F(VulkanSelfTest, WithoutARightVariantTheRunFails) {
  shader_builder shaders = tested_product();
  fb::SelfTestOutputT &output = *shaders.self_test(0).outputs[0];
  output.values[output.values.size() - 1] ^= 0x80; // the sign of the last element
  const artifact_bytes artifact = shaders.build();
  const program program = load(artifact);
  for (int i = 0; i < 2; ++i) {
    auto outputs = run(program);
    ASSERT_FALSE(bool(outputs));
    EXPECT_EQ(outputs.error().error_code(), "H0409");
    EXPECT_EQ(outputs.error().code(), HEDDLE_STATUS_DEVICE_UNAVAILABLE);
    EXPECT_NE(outputs.error().message().find("kernel 'product' fails its self-test"), std::string::npos);
  }
  EXPECT_EQ(pipelines, 1);
  ASSERT_NE(program.note(0), nullptr);
  EXPECT_EQ(program.note(1), nullptr);
}

TEST_F(VulkanSelfTest, AVariantForFewUnitsIsTestedOnFew) {
  shader_builder shaders = tested_product();
  // It computes nothing behind its four rows, and nobody asks it to.
  fb::ShaderVariantT &few = shaders.add_variant(0, {16, 4, 1});
  few.most = {0, 3, 0};
  const artifact_bytes artifact = shaders.build();
  const program program = load(artifact);
  expect_right(program);
  EXPECT_EQ(program.note(0), nullptr) << program.note(0);
  EXPECT_EQ(pipelines, 1);
}

TEST_F(VulkanSelfTest, TheEnvironmentSwitchesTestsOffAndHasThemFail) {
  const artifact_bytes wrong = tested_product(1).build();
  const artifact_bytes right = tested_product(0).build();
  {
    const scoped_environment off("HEDDLE_VULKAN_SELF_TEST", "off");
    const program program = load(wrong);
    auto outputs = run(program);
    ASSERT_TRUE(bool(outputs)) << outputs.error().text();
    EXPECT_NE(values<float>((*outputs)[0]), expected_product(3, columns, depth));
  }
  {
    const scoped_environment one("HEDDLE_VULKAN_SELF_TEST", "fail=prod/1,fail=other");
    const program program = load(wrong);
    auto outputs = run(program);
    ASSERT_FALSE(bool(outputs));
    EXPECT_EQ(outputs.error().error_code(), "H0409");
  }
  {
    const scoped_environment all("HEDDLE_VULKAN_SELF_TEST", "fail=product");
    const program program = load(right);
    auto outputs = run(program);
    ASSERT_FALSE(bool(outputs));
    EXPECT_NE(outputs.error().message().find("HEDDLE_VULKAN_SELF_TEST says so"), std::string::npos);
  }
  const scoped_environment misspelt("HEDDLE_VULKAN_SELF_TEST", "of");
  EXPECT_EQ(load_error(right), "H0101: HEDDLE_VULKAN_SELF_TEST has 'of'");
}

class VulkanSelfTestOnDisk : public VulkanSelfTest {
protected:
  void SetUp() override {
    VulkanSelfTest::SetUp();
    fs::remove_all(folder_);
  }
  void TearDown() override {
    fs::remove_all(folder_);
    VulkanSelfTest::TearDown();
  }

  /// What one process does; counts start afresh.
  static std::string load_and_run(const artifact_bytes &artifact) {
    const program program = load(artifact);
    pipelines = submissions = 0;
    expect_right(program);
    return program.note(0) ? program.note(0) : "";
  }

  fs::path file() const {
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder_))
      if (entry.is_regular_file())
        return entry.path();
    ADD_FAILURE() << "no file";
    return {};
  }

  const std::string folder_ = testing::TempDir() + "heddle-vulkan-self-test";
  const scoped_environment on_{"HEDDLE_VULKAN_CACHE", "1"};
  const scoped_environment place_{"XDG_CACHE_HOME", folder_.c_str()};
};

TEST_F(VulkanSelfTestOnDisk, ResultsAreRemembered) {
  const artifact_bytes artifact = tested_product(1).build();
  load_and_run(artifact);
  EXPECT_EQ(submissions, 3);
  EXPECT_EQ(pipelines, 2);
  const std::string note = load_and_run(artifact);
  EXPECT_EQ(submissions, 1);
  EXPECT_EQ(pipelines, 1) << "what is known to be wrong isn't compiled";
  EXPECT_NE(note.find("it did when it was first used here"), std::string::npos) << note;
  const scoped_environment again("HEDDLE_VULKAN_SELF_TEST", "again");
  load_and_run(artifact);
  EXPECT_EQ(submissions, 3);
}

TEST_F(VulkanSelfTestOnDisk, WhatIsOnlyPretendedIsNot) {
  const artifact_bytes artifact = tested_product(1).build();
  {
    const scoped_environment all("HEDDLE_VULKAN_SELF_TEST", "fail=product");
    EXPECT_FALSE(bool(run(load(artifact))));
  }
  {
    const scoped_environment off("HEDDLE_VULKAN_SELF_TEST", "off");
    EXPECT_TRUE(bool(run(load(artifact))));
  }
  load_and_run(artifact);
  EXPECT_EQ(submissions, 3);
}

TEST_F(VulkanSelfTestOnDisk, ABrokenFileIsIgnoredAndWrittenAgain) {
  const artifact_bytes artifact = tested_product().build();
  load_and_run(artifact);
  const fs::path path = file();
  std::ifstream in(path, std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  for (const std::string &bytes : {std::string(), good.substr(0, good.size() / 2), good + "x"}) {
    std::ofstream(path, std::ios::binary) << bytes;
    load_and_run(artifact);
    EXPECT_EQ(submissions, 2) << bytes.size();
    load_and_run(artifact);
    EXPECT_EQ(submissions, 1) << bytes.size();
  }
}

} // namespace
} // namespace heddle::test
