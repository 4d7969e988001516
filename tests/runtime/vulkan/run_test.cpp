// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs on a Vulkan device: numbers for every shape, integers of other widths, errors of kernels, what the observer
// sees.

#include "tests/runtime/vulkan/shader_builder.h"

namespace heddle::test {
namespace {

constexpr fb::ElementType f32 = fb::ElementType::f32;

class VulkanRun : public VulkanTest {};

/// The outputs of a run, which must succeed.
std::vector<tensor> run(const session &session, std::initializer_list<const tensor *> inputs, size_t outputs = 1) {
  auto result = session.run(nullptr, inputs, outputs);
  EXPECT_TRUE(bool(result)) << result.error().text();
  return result ? std::move(*result) : std::vector<tensor>();
}

TEST_F(VulkanRun, ComputesForEveryShape) {
  const artifact_bytes artifact = scale_shaders().build();
  const program program = load(artifact);
  const session session = make_session(program);
  for (int64_t width : {1, 15, 16, 17, 1000, 16, 1}) {
    const tensor x = counting_tensor({3, width});
    const std::vector<tensor> outputs = run(session, {&x});
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(outputs[0].dims(), (std::vector<int64_t>{3, width}));
    EXPECT_EQ(values<float>(outputs[0]), values<float>(x)) << "(x + x) / 2";
  }
}

TEST_F(VulkanRun, EmptyTensorsAreFine) {
  const artifact_bytes artifact = scale_shaders().build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor x = counting_tensor({0, 7});
  const std::vector<tensor> outputs = run(session, {&x});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].dims(), (std::vector<int64_t>{0, 7}));
}

TEST_F(VulkanRun, ConstantsOfOneKernelAreOneRange) {
  const artifact_bytes artifact = product_shaders(33, 20).build();
  const program program = load(artifact);
  const session session = make_session(program);
  for (int64_t rows : {1, 3, 4, 5, 17}) {
    const tensor a = product_input(rows, 20);
    const std::vector<tensor> outputs = run(session, {&a});
    ASSERT_EQ(outputs.size(), 1u);
    // Small integers: every order of summation gives the same.
    EXPECT_EQ(values<float>(outputs[0]), expected_product(rows, 33, 20));
  }
}

TEST_F(VulkanRun, IntegersOf64BitsAreNarrowedAndWidened) {
  shader_builder shaders;
  const uint32_t next = shaders.kernel("next", {{fb::ElementType::i64, 1}, {fb::ElementType::i64, 3}}, 1);
  entry_builder entry = shaders.add_entry();
  const fb::Binding x = entry.input("x", fb::ElementType::i64, {"n"});
  const uint32_t n = entry.dim(x, 0);
  const uint32_t none = entry.constant(0);
  const uint32_t one = entry.constant(1);
  const std::array<uint32_t, 3> elements = {entry.constant(4), none, none};
  const fb::Binding y = entry.output("y", fb::ElementType::i64, {"n"}, {n});
  const fb::Binding between = entry.buffer(entry.mul(n, entry.constant(8)), 0, 1);
  shaders.dispatch(entry, next, {{x, between}, {n}, {n, one, one}, {elements, elements}, {{n}}, "first"});
  shaders.dispatch(entry, next, {{between, y}, {n}, {n, one, one}, {elements, elements}, {{n}}, "second"});
  const artifact_bytes artifact = shaders.build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor good = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {4}, {0, -5, 1 << 30, INT32_MIN});
  const std::vector<tensor> outputs = run(session, {&good});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(values<int64_t>(outputs[0]), (std::vector<int64_t>{2, -3, (1 << 30) + 2, int64_t(INT32_MIN) + 2}));

  const tensor wide = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {2}, {0, -5000000000});
  auto refused = session.run(nullptr, {&wide}, 1);
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(refused.error().error_code(), "H0314");
  EXPECT_EQ(refused.error().message(), "input 'x' holds -5000000000, and Vulkan devices compute in 32 bits");
  EXPECT_EQ(refused.error().code(), HEDDLE_STATUS_INVALID_ARGUMENT);
}

TEST_F(VulkanRun, BytesSharePackedWords) {
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
  for (const char *limits : {"", "range=1024"}) {
    const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", limits);
    const program program = load(artifact);
    const session session = make_session(program);
    for (int64_t count : {1, 3, 4, 1001}) {
      const tensor x_tensor = counting_tensor({count});
      const std::vector<tensor> outputs = run(session, {&x_tensor});
      ASSERT_EQ(outputs.size(), 1u);
      std::vector<uint8_t> expected(static_cast<size_t>(count));
      std::iota(expected.begin(), expected.end(), uint8_t(0));
      EXPECT_EQ(values<uint8_t>(outputs[0]), expected) << limits;
    }
  }
}

TEST_F(VulkanRun, ABadIndexIsReportedAsOnTheCpu) {
  const artifact_bytes artifact = gather_shaders(10, 4).build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor good = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {3}, {9, -10, 0});
  const tensor bad = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {3}, {9, 10, 0});
  for (int round = 0; round < 2; ++round) {
    std::vector<tensor> outputs = run(session, {&good});
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(values<float>(outputs[0]), (std::vector<float>{36, 37, 38, 39, 0, 1, 2, 3, 0, 1, 2, 3}));
    auto refused = session.run(nullptr, {&bad}, 1);
    ASSERT_FALSE(bool(refused));
    EXPECT_EQ(refused.error().error_code(), "H0309");
    EXPECT_EQ(refused.error().message(), "node 'embeddings/word': token id 10 is out of range, expects -10 to 9");
  }
}

TEST_F(VulkanRun, SlotsAndCopiesReachTheOutputs) {
  shader_builder shaders;
  shaders.kernel("scale", {{f32, 1}, {f32, 0}, {f32, 3}}, 1);
  const fb::Binding constant = shaders.typed_constant<int64_t>({7, -8});
  entry_builder entry = shaders.add_entry();
  const fb::Binding x = entry.input("x", f32, {"n", "m"});
  const uint32_t n = entry.dim(x, 0);
  const uint32_t m = entry.dim(x, 1);
  const uint32_t two = entry.constant(2);
  const fb::Binding dims = entry.output("dims", fb::ElementType::i64, {"2"}, {two});
  const fb::Binding same = entry.output("same", f32, {"n", "m"}, {n, m});
  const fb::Binding fixed = entry.output("fixed", fb::ElementType::i64, {"2"}, {two});
  const fb::Binding flag = entry.output("flag", fb::ElementType::boolean, {"1"}, {entry.constant(1)});
  entry.store_slots(dims, fb::ElementType::i64, {n, m});
  entry.copy(x, same, entry.mul(entry.mul(n, m), entry.constant(4)));
  entry.copy(constant, fixed, entry.constant(16));
  entry.store_slots(flag, fb::ElementType::boolean, {entry.op(fb::ShapeOpcode::less, n, m)});
  const artifact_bytes artifact = shaders.build();
  for (const char *limits : {"", "staging=1"}) {
    const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", limits);
    const program program = load(artifact);
    const session session = make_session(program);
    const tensor input = counting_tensor({3, 5});
    const std::vector<tensor> outputs = run(session, {&input}, 4);
    ASSERT_EQ(outputs.size(), 4u);
    EXPECT_EQ(values<int64_t>(outputs[0]), (std::vector<int64_t>{3, 5}));
    EXPECT_EQ(values<float>(outputs[1]), values<float>(input));
    EXPECT_EQ(values<int64_t>(outputs[2]), (std::vector<int64_t>{7, -8}));
    EXPECT_EQ(values<uint8_t>(outputs[3]), (std::vector<uint8_t>{1}));
  }
}

TEST_F(VulkanRun, AConstantOutside32BitsIsRefusedAtLoad) {
  shader_builder shaders;
  shaders.kernel("scale", {{f32, 1}, {f32, 0}, {f32, 3}}, 1);
  const fb::Binding constant = shaders.typed_constant<int64_t>({INT64_MAX});
  entry_builder entry = shaders.add_entry();
  const fb::Binding fixed = entry.output("fixed", fb::ElementType::i64, {"1"}, {entry.constant(1)});
  entry.copy(constant, fixed, entry.constant(8));
  EXPECT_EQ(load_error(shaders.build()),
            "H0314: a constant of the model holds 9223372036854775807, and Vulkan devices compute in 32 bits");
}

TEST_F(VulkanRun, AModuleThatWasChangedIsRefusedAtLoad) {
  const artifact_bytes artifact = scale_shaders().build();
  heddle_program_options_t options = {};
  options.inspect_only = 1;
  const size_t code = load(artifact, options).info().sections[1].offset;
  artifact.data()[code + 100] ^= std::byte(1);
  EXPECT_EQ(load_error(artifact), "H0506: checksum of section 1 (code) differs");
}

TEST_F(VulkanRun, AModuleThatIsntWhatItsTableSaysIsRefused) {
  // Two of three words of its own.
  shader_builder shaders;
  const uint32_t add = shaders.kernel("add", {{f32, 1}, {f32, 2}, {f32, 3}}, 0);
  entry_builder entry = shaders.add_entry();
  const fb::Binding x = entry.input("x", f32, {"n"});
  const uint32_t n = entry.dim(x, 0);
  const uint32_t none = entry.constant(0);
  const uint32_t one = entry.constant(1);
  const std::array<uint32_t, 3> elements = {entry.constant(4), none, none};
  shaders.dispatch(
      entry, add,
      {{x, x, entry.output("y", f32, {"n"}, {n})}, {}, {n, one, one}, {elements, elements, elements}, {{n}}});
  const artifact_bytes artifact = shaders.build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor input = counting_tensor({3});
  for (int i = 0; i < 2; ++i) {
    auto refused = session.run(nullptr, {&input}, 1);
    ASSERT_FALSE(bool(refused));
    EXPECT_EQ(refused.error().code(), HEDDLE_STATUS_BAD_FILE);
    EXPECT_EQ(refused.error().message(), "the artifact is damaged: shader of kernel 'add': it reads more push "
                                         "constants than the 6 words that it gets");
  }
}

TEST_F(VulkanRun, TheObserverSeesEachDispatchWithItsResults) {
  const artifact_bytes artifact = scale_shaders().build();
  struct observation {
    std::vector<std::string> kernels;
    std::vector<std::vector<float>> results;
    int64_t nanoseconds = 0;
  };
  for (const char *limits : {"", "staging=1"}) {
    const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", limits);
    const program program = load(artifact);
    const session session = make_session(program);
    observation seen;
    heddle_session_set_observer(
        session.get(),
        [](void *user, const heddle_dispatch_info_t *dispatch) {
          auto &seen = *static_cast<observation *>(user);
          EXPECT_EQ(dispatch->index, seen.kernels.size());
          const heddle_result_info_t &result = dispatch->results[0];
          const auto *data = static_cast<const float *>(result.data);
          seen.results.emplace_back(data, data + result.dims[0] * result.dims[1]);
          seen.kernels.push_back(dispatch->kernel);
          seen.nanoseconds += dispatch->nanoseconds;
        },
        &seen);
    const tensor x = counting_tensor({2, 2});
    const std::vector<tensor> outputs = run(session, {&x});
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(seen.kernels, (std::vector<std::string>{"add", "scale"}));
    EXPECT_EQ(seen.results, (std::vector<std::vector<float>>{{0, 2, 4, 6}, {0, 1, 2, 3}}));
    EXPECT_GT(seen.nanoseconds, 0);
    EXPECT_EQ(values<float>(outputs[0]), values<float>(x));
    heddle_session_set_observer(session.get(), nullptr, nullptr);
    ASSERT_EQ(run(session, {&x}).size(), 1u);
    EXPECT_EQ(seen.kernels.size(), 2u);
  }
}

TEST_F(VulkanRun, SpansTimeDispatchesByTheDevicesClock) {
  const artifact_bytes artifact = scale_shaders().build();
  // Whole, and a submission for each step.
  for (const char *serialize : {"", "1"}) {
    const scoped_environment serialized("HEDDLE_VULKAN_SERIALIZE", serialize);
    const program program = load(artifact);
    const session session = make_session(program);
    heddle_session_record_spans(session.get(), 1);
    for (int round = 0; round < 3; ++round) {
      const tensor x = counting_tensor({2, 2});
      const std::vector<tensor> outputs = run(session, {&x});
      ASSERT_EQ(outputs.size(), 1u);
      EXPECT_EQ(values<float>(outputs[0]), values<float>(x));
      size_t count = 0;
      const heddle_span_t *spans = heddle_session_spans(session.get(), &count);
      ASSERT_EQ(count, 2u);
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(spans[i].dispatch, i);
        EXPECT_EQ(spans[i].thread, 0u);
        EXPECT_LE(spans[i].begin_nanoseconds, spans[i].end_nanoseconds);
      }
      EXPECT_LE(spans[0].end_nanoseconds, spans[1].begin_nanoseconds);
    }
    heddle_session_record_spans(session.get(), 0);
    const tensor x = counting_tensor({2, 2});
    ASSERT_EQ(run(session, {&x}).size(), 1u);
    size_t count = 1;
    heddle_session_spans(session.get(), &count);
    EXPECT_EQ(count, 0u);
  }
}

TEST_F(VulkanRun, AnObserverMayCancel) {
  const artifact_bytes artifact = scale_shaders().build();
  const program program = load(artifact);
  const session session = make_session(program);
  heddle_session_set_observer(
      session.get(),
      [](void *user, const heddle_dispatch_info_t *dispatch) {
        EXPECT_EQ(dispatch->index, 0u);
        heddle_session_cancel(static_cast<heddle_session_t *>(user));
      },
      session.get());
  const tensor x = counting_tensor({1, 1});
  auto outputs = session.run(nullptr, {&x}, 1);
  ASSERT_FALSE(bool(outputs));
  EXPECT_EQ(outputs.error().code(), HEDDLE_STATUS_CANCELLED);
}

} // namespace
} // namespace heddle::test
