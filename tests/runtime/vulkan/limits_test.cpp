// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small limits: slices, copies aside, several submissions, refusals. All results equal those without limits bit for
// bit, since no slice changes the order of a sum.

#include "tests/runtime/vulkan/shader_builder.h"

namespace heddle::test {
namespace {

constexpr fb::ElementType f32 = fb::ElementType::f32;

class VulkanLimits : public VulkanTest {};

/// The first output of a run under |limits|.
std::vector<float> run_under(const char *limits, const artifact_bytes &artifact, const tensor &input) {
  const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", limits);
  const program program = load(artifact);
  const session session = make_session(program);
  auto outputs = session.run(nullptr, {&input}, 1);
  EXPECT_TRUE(bool(outputs)) << limits << ": " << outputs.error().text();
  return outputs ? values<float>((*outputs)[0]) : std::vector<float>();
}

TEST_F(VulkanLimits, SlicesGiveTheSame) {
  // 1100 x 300 outputs are 1.3 MB and 1100 rows of 256 are 1.1 MB, both above 1 MiB; the weights have 307 KB.
  const artifact_bytes artifact = product_shaders(300, 256).build();
  const tensor a = product_input(1100, 256);
  const std::vector<float> expected = run_under("", artifact, a);
  EXPECT_EQ(std::vector<float>(expected.begin(), expected.begin() + 300), expected_product(1, 300, 256));
  for (const char *limits : {"range=1048576", "groups=7", "range=1048576,groups=256", "range=200000,staging=1",
                             "submit=1000", "range=1048576,groups=256,submit=300,staging=1"})
    EXPECT_TRUE(run_under(limits, artifact, a) == expected) << limits;
}

TEST_F(VulkanLimits, CopiesAsideGiveTheSame) {
  // Two inputs and two results of 40 KB: two of them never fit 64 KB as they lie, beside each other they do in slices.
  shader_builder shaders;
  const uint32_t split = shaders.kernel("split", {{f32, 1}, {f32, 2}, {f32, 2}, {f32, 3}, {f32, 3}}, 1);
  const uint32_t add = shaders.kernel("add", {{f32, 1}, {f32, 2}, {f32, 3}}, 1);
  const fb::Binding constant = shaders.constant(std::vector<float>(10000, 0.5f));
  entry_builder entry = shaders.add_entry();
  const fb::Binding x = entry.input("x", f32, {"n"});
  const uint32_t n = entry.dim(x, 0);
  const uint32_t none = entry.constant(0);
  const uint32_t one = entry.constant(1);
  const uint32_t four = entry.constant(4);
  const uint32_t bytes = entry.mul(n, four);
  const std::array<uint32_t, 3> elements = {four, none, none};
  const fb::Binding y = entry.output("y", f32, {"n"}, {n});
  const fb::Binding low = entry.buffer(bytes, 0, 2);
  const fb::Binding high = entry.buffer(bytes, 0, 2);
  const fb::Binding between = entry.buffer(bytes, 1, 2);
  // low = x + x, high = x + c: one of the two further inputs is a constant, in another buffer than the other.
  shaders.dispatch(entry, split,
                   {{x, x, constant, low, high},
                    {n},
                    {n, one, one},
                    {elements, elements, elements, elements, elements},
                    {{n}, {n}},
                    "split"});
  shaders.dispatch(entry, add, {{low, high, between}, {n}, {n, one, one}, {elements, elements, elements}, {{n}}});
  shaders.dispatch(entry, add, {{between, high, y}, {n}, {n, one, one}, {elements, elements, elements}, {{n}}});
  const artifact_bytes artifact = shaders.build();
  const tensor input = counting_tensor({10000});
  std::vector<float> expected;
  for (size_t i = 0; i < 10000; ++i)
    expected.push_back(4 * static_cast<float>(i) + 1);
  for (const char *limits : {"", "range=65536", "range=1024", "range=4096,staging=1", "range=4096,groups=3"})
    EXPECT_TRUE(run_under(limits, artifact, input) == expected) << limits;
}

TEST_F(VulkanLimits, ErrorRecordsSurviveSlices) {
  const artifact_bytes artifact = gather_shaders(100, 64).build();
  for (const char *limits : {"range=32768", "groups=3", "range=32768,staging=1"}) {
    const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", limits);
    const program program = load(artifact);
    const session session = make_session(program);
    std::vector<int64_t> ids(2000, 99);
    const tensor good = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {2000}, ids);
    auto outputs = session.run(nullptr, {&good}, 1);
    ASSERT_TRUE(bool(outputs)) << outputs.error().text();
    EXPECT_EQ(values<float>((*outputs)[0])[1999 * 64], 99 * 64);
    ids[1500] = -101;
    const tensor bad = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {2000}, ids);
    auto refused = session.run(nullptr, {&bad}, 1);
    ASSERT_FALSE(bool(refused)) << limits;
    EXPECT_EQ(refused.error().message(), "node 'embeddings/word': token id -101 is out of range, expects -100 to 99");
  }
}

TEST_F(VulkanLimits, WhatIsNeededWholeIsRefusedByName) {
  const artifact_bytes artifact = gather_shaders(10000, 64).build();
  const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", "range=1048576");
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor ids = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {1}, {0});
  auto refused = session.run(nullptr, {&ids}, 1);
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(refused.error().error_code(), "H0406");
  EXPECT_EQ(refused.error().message(),
            "kernel 'gather' needs 2560000 bytes at once, and the device binds at most 1048576");
  EXPECT_EQ(refused.error().code(), HEDDLE_STATUS_DEVICE_UNAVAILABLE);
}

TEST_F(VulkanLimits, MoreElementsThanShadersCountAreRefusedByName) {
  shader_builder shaders;
  const uint32_t add = shaders.kernel("add", {{f32, 1}, {f32, 2}, {f32, 3}}, 1);
  entry_builder entry = shaders.add_entry();
  const fb::Binding x = entry.input("x", f32, {"n"});
  const uint32_t n = entry.dim(x, 0);
  const uint32_t none = entry.constant(0);
  const uint32_t one = entry.constant(1);
  const std::array<uint32_t, 3> elements = {entry.constant(4), none, none};
  // Memory of 8 GiB, which nobody gets to allocate.
  const fb::Binding huge = entry.buffer(entry.constant(int64_t(1) << 33), 0, 1);
  const fb::Binding y = entry.output("y", f32, {"n"}, {n});
  shaders.dispatch(entry, add, {{x, x, huge}, {n}, {n, one, one}, {elements, elements, elements}, {{n}}});
  shaders.dispatch(entry, add, {{huge, x, y}, {n}, {n, one, one}, {elements, elements, elements}, {{n}}});
  const artifact_bytes artifact = shaders.build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor input = counting_tensor({3});
  auto refused = session.run(nullptr, {&input}, 1);
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(refused.error().error_code(), "H0406");
  EXPECT_EQ(refused.error().code(), HEDDLE_STATUS_DEVICE_UNAVAILABLE);
  EXPECT_EQ(refused.error().message(),
            "operand 2 of kernel 'add' has 2147483648 elements, and shaders count up to 2147483647");
}

TEST_F(VulkanLimits, TheFirstVariantThatFitsIsTaken) {
  shader_builder shaders = product_shaders(40, 8);
  fb::ShaderVariantT &wide = shaders.add_variant(0, {32, 16, 1});
  wide.most = {0, 100, 0};
  fb::ShaderVariantT &impossible = shaders.add_variant(0, {8, 8, 1});
  impossible.features = {"warp_drive"};
  fb::ShaderVariantT &large = shaders.add_variant(0, {8, 8, 1});
  large.shared_bytes = 1 << 30;
  const artifact_bytes artifact = shaders.build();
  for (const char *limits : {"", "invocations=128", "groups=2"}) {
    for (int64_t rows : {1, 100, 101}) {
      const tensor a = product_input(rows, 8);
      EXPECT_EQ(run_under(limits, artifact, a), expected_product(rows, 40, 8)) << limits;
    }
  }
}

TEST_F(VulkanLimits, NoVariantAtAllIsAnError) {
  const artifact_bytes artifact = product_shaders(4, 4).build();
  const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", "invocations=32");
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor a = product_input(1, 4);
  for (int run = 0; run < 2; ++run) {
    auto refused = session.run(nullptr, {&a}, 1);
    ASSERT_FALSE(bool(refused));
    EXPECT_EQ(refused.error().error_code(), "H0406");
    EXPECT_NE(refused.error().message().find("kernel 'product' needs larger workgroups on "), std::string::npos);
  }
}

TEST_F(VulkanLimits, SerializedRunsGiveTheSame) {
  const artifact_bytes artifact = scale_shaders().build();
  const scoped_environment serialized("HEDDLE_VULKAN_SERIALIZE", "1");
  const tensor x = counting_tensor({5, 7});
  EXPECT_EQ(run_under("", artifact, x), values<float>(x));
}

TEST_F(VulkanLimits, MisspeltSwitchesAreErrors) {
  const artifact_bytes artifact = scale_shaders().build();
  for (const char *limits : {"rang=1", "range", "range=", "range=0", "range=1x", "groups=3;range=4"}) {
    const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", limits);
    EXPECT_EQ(load_error(artifact), std::string("H0101: HEDDLE_VULKAN_LIMITS has '") + limits + "'");
  }
  const scoped_environment disabled("HEDDLE_VULKAN_DISABLE", "dot,flaot16");
  EXPECT_EQ(load_error(artifact), "H0101: HEDDLE_VULKAN_DISABLE has 'flaot16'");
}

} // namespace
} // namespace heddle::test
