// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry points for some sizes of another one's inputs: which of them serves a run.

#include "tests/runtime/test_support.h"

namespace heddle::test {
namespace {

/// A copy of |general| under |name| for inputs x of |width| columns, whose result is |factor| times 2 x: by its result
/// a run tells which entry point served it.
std::unique_ptr<fb::EntryT> specialize(artifact_builder *builder, const std::string &name, int64_t width,
                                       float factor) {
  auto special = std::make_unique<fb::EntryT>(*builder->program.entries[0]);
  special->name = name;
  special->specializes = 0;
  *special->inputs[0]->dims[1] = fb::DimensionT();
  special->inputs[0]->dims[1]->value = width;
  special->steps[1]->instruction.AsDispatch()->bindings[1] = builder->constant({factor});
  return special;
}

/// y = x for any x [batch, width], but 20 x for a width of 2 and 30 x for one of 3.
artifact_builder model_with_specializations() {
  artifact_builder builder = scale_model();
  builder.program.entries.push_back(specialize(&builder, "main_2", 2, 10.0f));
  builder.program.entries.push_back(specialize(&builder, "main_3", 3, 15.0f));
  return builder;
}

/// What |entry| makes of a row of |width| ones, of which all elements are alike.
float run_ones(const session &session, const char *entry, int64_t width) {
  const tensor x = make_tensor<float>(HEDDLE_ELEMENT_F32, {1, width}, std::vector<float>(width, 1.0f));
  auto outputs = session.run(entry, {&x}, 1);
  EXPECT_TRUE(bool(outputs)) << outputs.error().text();
  return outputs ? values<float>((*outputs)[0]).back() : 0.0f;
}

TEST(Specialization, ServesRunsOfItsSizes) {
  const artifact_bytes artifact = model_with_specializations().build();
  const program program = load(artifact);
  const session session = make_session(program);
  for (const char *entry : {static_cast<const char *>(nullptr), "main"})
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(run_ones(session, entry, 1), 1.0f);
      EXPECT_EQ(run_ones(session, entry, 2), 20.0f);
      EXPECT_EQ(run_ones(session, entry, 3), 30.0f);
      EXPECT_EQ(run_ones(session, entry, 4), 1.0f);
    }
  EXPECT_EQ(run_ones(session, "main_2", 2), 20.0f);
}

TEST(Specialization, TakenByNameItRefusesOtherSizes) {
  const artifact_bytes artifact = model_with_specializations().build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor x = counting_tensor({1, 4});
  auto outputs = session.run("main_2", {&x}, 1);
  ASSERT_FALSE(bool(outputs));
  EXPECT_EQ(outputs.error().error_code(), "H0305");
  EXPECT_EQ(outputs.error().message(), "input 'x' expects [batch,2], got [1,4]");
}

TEST(Specialization, IsPlannedAndDescribed) {
  artifact_builder builder = model_with_specializations();
  // One step fewer, so that the plan shows whose it is.
  builder.program.entries[1]->steps.pop_back();
  builder.program.entries[1]->buffers[0]->last = 0;
  const artifact_bytes artifact = builder.build();
  const program program = load(artifact);
  ASSERT_EQ(program.info().entry_count, 3u);
  EXPECT_STREQ(program.info().entries[0].specializes, "");
  EXPECT_STREQ(program.info().entries[1].specializes, "main");
  for (const auto &[width, dispatches] : {std::pair<int64_t, size_t>(2, 1), {3, 2}, {4, 2}}) {
    const tensor x = counting_tensor({1, width});
    const heddle_tensor_t *inputs[] = {x.get()};
    heddle_plan_info_t plan = {};
    EXPECT_OK(heddle_program_plan(program.get(), nullptr, inputs, 1, &plan));
    EXPECT_EQ(plan.dispatch_count, dispatches) << width;
  }
}

/// The error of loading the model after |change| to the first entry point that specializes another.
std::string error_after(void (*change)(fb::EntryT &)) {
  artifact_builder builder = model_with_specializations();
  change(*builder.program.entries[1]);
  return load_error(builder.build());
}

TEST(Specialization, MustFitWhatItSpecializes) {
  const std::string damaged = "H0505: the artifact is damaged: ";
  EXPECT_EQ(error_after([](fb::EntryT &special) { special.specializes = 1; }),
            damaged + "entry 'main_2' specializes entry 1 of 1");
  EXPECT_EQ(error_after([](fb::EntryT &special) { special.specializes = INT32_MAX; }),
            damaged + "entry 'main_2' specializes entry 2147483647 of 1");
  EXPECT_EQ(error_after([](fb::EntryT &special) { special.specializes = -1; }), "");
  const std::string unfit = damaged + "entry 'main_2' doesn't fit entry 'main', which it specializes";
  EXPECT_EQ(error_after([](fb::EntryT &special) { special.inputs[0]->name = "z"; }), unfit);
  EXPECT_EQ(error_after([](fb::EntryT &special) { special.inputs[0]->type = fb::ElementType::i32; }), unfit);
  EXPECT_EQ(error_after([](fb::EntryT &special) { special.inputs[0]->dims[0]->symbol = "rows"; }), unfit);
  EXPECT_EQ(error_after([](fb::EntryT &special) {
              special.inputs.push_back(std::make_unique<fb::InputT>(*special.inputs[0]));
              special.inputs[1]->name = "z";
            }),
            unfit);
  EXPECT_EQ(error_after([](fb::EntryT &special) { special.outputs[0]->name = "z"; }), unfit);
  EXPECT_EQ(error_after([](fb::EntryT &special) { special.outputs[0]->type = fb::ElementType::i32; }), unfit);
}

TEST(Specialization, OfASpecializationIsRefused) {
  artifact_builder builder = model_with_specializations();
  builder.program.entries[2]->specializes = 1;
  EXPECT_EQ(load_error(builder.build()), "H0505: the artifact is damaged: entry 'main_3' specializes entry 1 of 2");
}

TEST(Specialization, KeepsStaticSizes) {
  artifact_builder builder = model_with_specializations();
  builder.program.entries[0]->inputs[0]->dims[1]->symbol.clear();
  builder.program.entries[0]->inputs[0]->dims[1]->value = 3;
  EXPECT_EQ(load_error(builder.build()),
            "H0505: the artifact is damaged: entry 'main_2' doesn't fit entry 'main', which it specializes");
}

} // namespace
} // namespace heddle::test
