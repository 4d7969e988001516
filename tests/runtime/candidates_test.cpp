// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs of candidates: what they say, what goes in, and whether what came out is right.

#include <cmath>
#include <functional>
#include <limits>

#include <heddle/candidates.h>
#include <heddle/self_test.h>

#include "tests/runtime/test_support.h"

namespace heddle::test {
namespace {

std::vector<tensor> make_inputs(const program &program, heddle_candidate_case_t kind) {
  std::vector<heddle_tensor_t *> handles(4);
  EXPECT_OK(heddle_candidate_inputs_create(program.get(), 0, kind, handles.data(), handles.size()));
  std::vector<tensor> inputs;
  for (heddle_tensor_t *handle : handles)
    inputs.emplace_back(handle);
  return inputs;
}

std::vector<tensor> run(const program &program, const char *entry, const std::vector<tensor> &inputs) {
  const session session = make_session(program);
  auto outputs = session.run(entry, {&inputs[0], &inputs[1], &inputs[2], &inputs[3]}, 1);
  EXPECT_TRUE(bool(outputs)) << outputs.error().text();
  return outputs ? std::move(*outputs) : std::vector<tensor>();
}

TEST(Candidates, AreDescribed) {
  const artifact_bytes artifact = candidate_model().build();
  for (int inspect_only : {0, 1}) {
    heddle_program_options_t options = {};
    options.inspect_only = inspect_only;
    const program program = load(artifact, options);
    ASSERT_EQ(heddle_candidate_group_count(program.get()), 1u);
    const heddle_candidate_group_t *group = heddle_candidate_group(program.get(), 0);
    ASSERT_NE(group, nullptr);
    EXPECT_EQ(heddle_candidate_group(program.get(), 1), nullptr);
    EXPECT_STREQ(group->signature, "f32_map_?_0badcafe");
    EXPECT_STREQ(group->rows, "any");
    EXPECT_STREQ(group->kernel, "f32_map_x16");
    ASSERT_EQ(group->node_count, 2u);
    EXPECT_STREQ(group->nodes[1], "Add_2");
    EXPECT_EQ(group->share, 0.25);
    EXPECT_EQ(group->dispatches, 1u);
    EXPECT_EQ(group->has_expected, 1);
    EXPECT_EQ(group->input_count, 4u);
    EXPECT_EQ(group->output_count, 1u);
    ASSERT_EQ(group->candidate_count, 2u);
    EXPECT_STREQ(group->candidates[1].entry, "c1");
    EXPECT_STREQ(group->candidates[1].config, "{\"unroll\":2}");
    EXPECT_EQ(group->candidates[1].seconds, 0.5);
  }
  const artifact_bytes plain = scale_model().build();
  EXPECT_EQ(heddle_candidate_group_count(load(plain).get()), 0u);
}

TEST(Candidates, TakeInputsBySeedOrNumber) {
  const artifact_bytes artifact = candidate_model().build();
  const program program = load(artifact);
  const std::vector<tensor> inputs = make_inputs(program, HEDDLE_CANDIDATE_TIMING);
  EXPECT_EQ(values<int64_t>(inputs[0]), std::vector<int64_t>{1000});
  ASSERT_EQ(inputs[1].element_count(), 1000u);
  EXPECT_EQ(inputs[1].data<float>()[999], static_cast<float>(heddle_self_test_fraction(7, 999, 16)) / 65536);
  EXPECT_EQ(values<int64_t>(inputs[3]), std::vector<int64_t>(1000, -2));
}

TEST(Candidates, GiveTheExpectedResults) {
  const artifact_bytes artifact = candidate_model().build();
  const program program = load(artifact);
  for (const char *entry : {"c0", "c1"}) {
    const std::vector<tensor> outputs = run(program, entry, make_inputs(program, HEDDLE_CANDIDATE_CHECK));
    ASSERT_EQ(outputs.size(), 1u);
    const heddle_tensor_t *handle = outputs[0].get();
    double difference = -1;
    EXPECT_OK(heddle_candidate_compare(program.get(), 0, &handle, 1, &difference));
    EXPECT_EQ(difference, 0);
    // The second element isn't compared; half of what is allowed, at the largest of the values, then a NaN.
    float *values = outputs[0].data<float>();
    values[1] = 77;
    values[2] += 0x1p-11f * std::max(std::fabs(values[0]), std::fabs(values[2]));
    EXPECT_OK(heddle_candidate_compare(program.get(), 0, &handle, 1, &difference));
    EXPECT_NEAR(difference, 0.5, 1e-3);
    values[0] = NAN;
    EXPECT_OK(heddle_candidate_compare(program.get(), 0, &handle, 1, &difference));
    EXPECT_EQ(difference, INFINITY);
  }
}

TEST(Candidates, RefuseWhatTheyDontHave) {
  artifact_builder builder = candidate_model();
  builder.program.candidates[0]->check = nullptr;
  const artifact_bytes artifact = builder.build();
  const program program = load(artifact);
  EXPECT_EQ(heddle_candidate_group(program.get(), 0)->has_expected, 0);
  heddle_tensor_t *inputs[4] = {};
  const auto create = [&](size_t group, heddle_candidate_case_t kind, size_t count) {
    return heddle_candidate_inputs_create(program.get(), group, kind, inputs, count);
  };
  expect_failure(create(1, HEDDLE_CANDIDATE_TIMING, 4), "H0101", "group 1 of 1 is asked for");
  expect_failure(create(0, HEDDLE_CANDIDATE_CHECK, 4), "H0101", "group 'f32_map_?_0badcafe' has no case of kind 1");
  expect_failure(create(0, HEDDLE_CANDIDATE_TIMING, 3), "H0101", "expects room for 4 inputs, got 3");
  EXPECT_EQ(inputs[0], nullptr);
  double difference = 0;
  expect_failure(heddle_candidate_compare(program.get(), 0, nullptr, 0, &difference), "H0101",
                 "group 'f32_map_?_0badcafe' has no case of kind 1");
  const artifact_bytes known = candidate_model().build();
  const heddle::program other = load(known);
  const tensor wrong = counting_tensor({4});
  const heddle_tensor_t *handle = wrong.get();
  expect_failure(heddle_candidate_compare(other.get(), 0, &handle, 1, &difference), "H0101",
                 "output 0 isn't what the case gives");
  expect_failure(heddle_candidate_compare(other.get(), 0, &handle, 0, &difference), "H0101",
                 "expects 1 outputs, got 0");
}

fb::CandidateGroupT &group(fb::ProgramT &program) { return *program.candidates[0]; }

struct damage {
  const char *name;
  std::function<void(fb::ProgramT &)> inflict; ///< on the model of candidates
  const char *message;
};

const damage damages[] = {
    {"NoKernel", [](auto &p) { group(p).signature = ""; }, "group 0 of candidates is of no kernel"},
    {"NoBucket", [](auto &p) { group(p).rows = ""; }, "group 0 of candidates is of no kernel"},
    {"NoCandidates", [](auto &p) { group(p).candidates.clear(); },
     "group 'f32_map_?_0badcafe' has no candidates, sizes or share of the time"},
    {"NoSizes", [](auto &p) { group(p).timing = nullptr; },
     "group 'f32_map_?_0badcafe' has no candidates, sizes or share of the time"},
    {"ShareAboveAll", [](auto &p) { group(p).share = 1.5f; },
     "group 'f32_map_?_0badcafe' has no candidates, sizes or share of the time"},
    {"ShareOfNothing", [](auto &p) { group(p).share = std::numeric_limits<float>::quiet_NaN(); },
     "group 'f32_map_?_0badcafe' has no candidates, sizes or share of the time"},
    {"UnknownEntry", [](auto &p) { group(p).candidates[1]->entry = 2; },
     "a candidate for 'f32_map_?_0badcafe' names entry point 2 of 2"},
    {"EntryOfAnotherType", [](auto &p) { p.entries[1]->inputs[3]->type = fb::ElementType::f32; },
     "entry 'c1' is none of a candidate for 'f32_map_?_0badcafe'"},
    {"EntryWithoutSizes", [](auto &p) { p.entries[0]->inputs[0]->type = fb::ElementType::i32; },
     "entry 'c0' is none of a candidate for 'f32_map_?_0badcafe'"},
    {"EntryOfHigherRank", [](auto &p) { p.entries[0]->inputs[1]->dims.push_back(std::make_unique<fb::DimensionT>()); },
     "entry 'c0' is none of a candidate for 'f32_map_?_0badcafe'"},
    {"TimeBeforeTheStart", [](auto &p) { group(p).candidates[0]->seconds = -1; },
     "a candidate for 'f32_map_?_0badcafe' is expected to take no time"},
    {"InputMissing", [](auto &p) { group(p).timing->inputs.pop_back(); },
     "candidates for 'f32_map_?_0badcafe' have 3 inputs and 0 outputs, entry 'c0' takes 4 and gives 1"},
    {"OutputTooMany", [](auto &p) { group(p).check->outputs.push_back(std::make_unique<fb::SelfTestOutputT>()); },
     "candidates for 'f32_map_?_0badcafe' have 4 inputs and 2 outputs, entry 'c0' takes 4 and gives 1"},
    {"InputTooLong", [](auto &p) { group(p).timing->inputs[0]->elements = UINT64_MAX; },
     "candidates for 'f32_map_?_0badcafe' take an input of 18446744073709551615 elements"},
    {"InputsTooLong",
     [](auto &p) { group(p).timing->inputs[0]->elements = group(p).timing->inputs[1]->elements = (200 << 20); },
     "candidates for 'f32_map_?_0badcafe' take inputs of 1677729600 bytes"},
    {"NoResults", [](auto &p) { group(p).check->outputs.clear(); },
     "the case of group 'f32_map_?_0badcafe' knows no results"},
    {"ResultBehindTheEnd", [](auto &p) { group(p).check->outputs[0]->runs[2] = 3; },
     "the self-test of kernel 'f32_map_?_0badcafe' compares elements behind the end"},
};

class CandidateDamage : public testing::TestWithParam<damage> {};

TEST_P(CandidateDamage, IsRefusedAtLoad) {
  artifact_builder builder = candidate_model();
  GetParam().inflict(builder.program);
  EXPECT_EQ(load_error(builder.build()), std::string("H0505: the artifact is damaged: ") + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Tables, CandidateDamage, testing::ValuesIn(damages),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace heddle::test
