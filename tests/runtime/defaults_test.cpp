// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs with a default: what stands for them where a run leaves them out.

#include "tests/runtime/test_support.h"

namespace heddle::test {
namespace {

/// y = (x + x) * 0.5 where x is the 2 x 3 numbers 1 to 6 unless the caller says otherwise.
artifact_builder model_with_default() {
  artifact_builder builder = scale_model();
  fb::InputT &x = *builder.program.entries[0]->inputs[0];
  x.default_constant = builder.constant({1, 2, 3, 4, 5, 6}).index();
  x.default_dims = {2, 3};
  return builder;
}

TEST(Defaults, StandForInputsThatAreLeftOut) {
  const artifact_bytes artifact = model_with_default().build();
  const program program = load(artifact);
  const session session = make_session(program);
  auto outputs = session.run(nullptr, {nullptr}, 1);
  ASSERT_TRUE(bool(outputs)) << outputs.error().text();
  EXPECT_EQ((*outputs)[0].dims(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(values<float>((*outputs)[0]), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  // The next run is free to give another value, of another size.
  const tensor x = counting_tensor({1, 2});
  outputs = session.run(nullptr, {&x}, 1);
  ASSERT_TRUE(bool(outputs)) << outputs.error().text();
  EXPECT_EQ(values<float>((*outputs)[0]), values<float>(x));
  outputs = session.run(nullptr, {nullptr}, 1);
  ASSERT_TRUE(bool(outputs)) << outputs.error().text();
  EXPECT_EQ(values<float>((*outputs)[0]), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Defaults, AreShown) {
  const artifact_bytes artifact = model_with_default().build();
  for (int inspect_only : {0, 1}) {
    heddle_program_options_t options = {};
    options.inspect_only = inspect_only;
    const program program = load(artifact, options);
    const heddle_tensor_t *standing = program.default_input(0);
    ASSERT_NE(standing, nullptr);
    EXPECT_EQ(heddle_tensor_type(standing), HEDDLE_ELEMENT_F32);
    EXPECT_EQ(heddle_tensor_rank(standing), 2u);
    EXPECT_EQ(heddle_tensor_dims(standing)[1], 3);
    EXPECT_EQ(static_cast<const float *>(heddle_tensor_data(standing))[5], 6);
    EXPECT_EQ(program.default_input(0, "main"), standing);
    EXPECT_EQ(program.default_input(1), nullptr) << "there is no such input";
    EXPECT_EQ(program.default_input(0, "other"), nullptr) << "there is no such entry";
  }
  const artifact_bytes plain = scale_model().build();
  EXPECT_EQ(load(plain).default_input(0), nullptr);
}

TEST(Defaults, ArePlannedWith) {
  const artifact_bytes artifact = model_with_default().build();
  const program program = load(artifact);
  const heddle_tensor_t *inputs[] = {nullptr};
  heddle_plan_info_t plan = {};
  EXPECT_OK(heddle_program_plan(program.get(), nullptr, inputs, 1, &plan));
  EXPECT_EQ(plan.dispatch_count, 2u);
  EXPECT_GE(plan.arena_bytes, 24);
}

TEST(Defaults, KeepTheirPlaceAmongTheInputs) {
  const artifact_bytes artifact = model_with_default().build();
  const program program = load(artifact);
  const session session = make_session(program);
  heddle_tensor_t *output = nullptr;
  const status none{heddle_session_run(session.get(), nullptr, nullptr, 0, &output, 1)};
  EXPECT_EQ(none.error_code(), "H0302");
  EXPECT_EQ(none.help(), "the inputs are: x f32 [batch,width] (optional)");
  // An input without a default must be given still.
  const artifact_bytes plain = scale_model().build();
  const heddle::program other = load(plain);
  const heddle::session other_session = make_session(other);
  const heddle_tensor_t *inputs[] = {nullptr};
  expect_failure(heddle_session_run(other_session.get(), nullptr, inputs, 1, &output, 1), "H0101", "input 'x' is null");
}

} // namespace
} // namespace heddle::test
