// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --input and --shape, against the inputs of an encoder: ids and mask of one shape, and a fixed vector.

#include "tests/tools/expect_error.h"
#include "tools/heddle/files.h"
#include "tools/heddle/inputs.h"
#include "tools/heddle/npy.h"
#include "tools/heddle/npz.h"

#include <cstdlib>
#include <filesystem>

namespace heddle::cli {
namespace {

constexpr heddle_dimension_t sequenceDims[] = {{"batch", -1}, {"sequence", -1}};
constexpr heddle_dimension_t biasDims[] = {{"", 3}};
constexpr heddle_tensor_info_t encoderInputs[] = {{"input_ids", HEDDLE_ELEMENT_I64, 2, sequenceDims},
                                                  {"attention_mask", HEDDLE_ELEMENT_I64, 2, sequenceDims},
                                                  {"bias", HEDDLE_ELEMENT_F32, 1, biasDims}};
constexpr heddle_entry_info_t encoder = {"main", encoderInputs, 3, nullptr, 0, 0, ""};
constexpr heddle_entry_info_t biasOnly = {"main", encoderInputs + 2, 1, nullptr, 0, 0, ""};
const std::string listed = "inputs: input_ids i64[batch,sequence], attention_mask i64[batch,sequence], bias f32[3]";

std::vector<int64_t> shapeOf(const RunInputs &inputs, size_t index) { return dimsOf(inputs.tensors[index].get()); }

std::vector<int64_t> idsOf(const heddle_tensor_t *tensor) {
  const int64_t *data = static_cast<const int64_t *>(heddle_tensor_data(tensor));
  return {data, data + heddle_tensor_element_count(tensor)};
}

/// What prepareInputs fails with.
std::string failureOf(const heddle_entry_info_t &entry, const std::vector<std::string> &inputs,
                      const std::vector<std::string> &shapes = {}) {
  return errorOf([&] { prepareInputs(entry, inputs, shapes, Missing::Refuse); });
}

TEST(Inputs, GeneratesBatchOneLengthOneHundredTwentyEight) {
  RunInputs inputs = prepareInputs(encoder, {}, {}, Missing::Generate);
  EXPECT_EQ(shapeOf(inputs, 0), (std::vector<int64_t>{1, 128}));
  EXPECT_EQ(shapeOf(inputs, 2), (std::vector<int64_t>{3}));
  EXPECT_EQ(inputs.generated,
            (std::vector<std::string>{"input_ids i64[1,128] ids below 8", "attention_mask i64[1,128] ones",
                                      "bias f32[3] random in [-1, 1)"}));
}

TEST(Inputs, AShapeReachesInputsThroughTheNamesOfDimensions) {
  RunInputs inputs = prepareInputs(encoder, {}, {"attention_mask=2x7"}, Missing::Generate);
  EXPECT_EQ(shapeOf(inputs, 0), (std::vector<int64_t>{2, 7}));
  EXPECT_EQ(shapeOf(inputs, 1), (std::vector<int64_t>{2, 7}));
}

TEST(Inputs, AGivenTensorReachesGeneratedOnes) {
  RunInputs inputs =
      prepareInputs(encoder, {"input_ids=[[1,2,3]]", "attention_mask=ones", "bias=random:4"}, {}, Missing::Refuse);
  EXPECT_EQ(idsOf(inputs.tensors[0].get()), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(idsOf(inputs.tensors[1].get()), (std::vector<int64_t>{1, 1, 1}));
  EXPECT_TRUE(inputs.generated.empty()) << "what was asked for isn't made up";
}

TEST(Inputs, TheNameMayBeLeftOutForTheOnlyInput) {
  RunInputs inputs = prepareInputs(biasOnly, {"1,2,3"}, {}, Missing::Refuse);
  EXPECT_EQ(shapeOf(inputs, 0), (std::vector<int64_t>{3}));
  EXPECT_EQ(failureOf(encoder, {"1,2,3"}),
            "exit 2: error[H0323]: --input 1,2,3 names no input\n  help: write NAME=...; " + listed + "\n");
}

TEST(Inputs, AnArchiveGivesAllInputs) {
  std::string folder = (std::filesystem::temp_directory_path() / "heddle-test-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  RunInputs made = prepareInputs(encoder, {}, {"input_ids=1x4"}, Missing::Generate);
  std::string archive = folder + "/in:puts.npz";
  writeNpz(archive, {{"input_ids", made.tensors[0].get()},
                     {"attention_mask", made.tensors[1].get()},
                     {"bias", made.tensors[2].get()}});
  RunInputs read = prepareInputs(encoder, {"@" + archive}, {}, Missing::Refuse);
  EXPECT_EQ(idsOf(read.tensors[0].get()), idsOf(made.tensors[0].get()));
  EXPECT_EQ(idsOf(read.tensors[1].get()), std::vector<int64_t>(4, 1));
  // By key, by the input's own name, and an array under another name.
  read =
      prepareInputs(encoder, {"input_ids=@" + archive + ":attention_mask", "attention_mask=@" + archive, "bias=ones"},
                    {}, Missing::Refuse);
  EXPECT_EQ(idsOf(read.tensors[0].get()), std::vector<int64_t>(4, 1));
  EXPECT_EQ(failureOf(encoder, {"@" + archive, "bias=ones"}),
            "exit 2: error[H0322]: input 'bias' is given twice\n  help: " + listed + "\n");
  std::filesystem::remove_all(folder);
}

TEST(Inputs, NamesUnknownRepeatedAndMissingOnes) {
  EXPECT_EQ(failureOf(encoder, {"input_id=1"}),
            "exit 2: error[H0321]: there is no input 'input_id'\n  help: did you mean 'input_ids'? " + listed + "\n");
  EXPECT_EQ(failureOf(encoder, {"labels=1"}),
            "exit 2: error[H0321]: there is no input 'labels'\n  help: " + listed + "\n");
  EXPECT_EQ(failureOf(encoder, {"bias=ones", "bias=zeros"}),
            "exit 2: error[H0322]: input 'bias' is given twice\n  help: " + listed + "\n");
  EXPECT_EQ(failureOf(encoder, {"bias=ones"}),
            "exit 2: error[H0320]: missing inputs 'input_ids', 'attention_mask'\n  help: " + listed +
                "; --shape generates them\n");
  EXPECT_EQ(failureOf(biasOnly, {"random:x"}),
            "exit 2: error[H0323]: cannot understand 'random:x'\n  help: write random, or random:SEED with a whole "
            "number\n");
}

TEST(Inputs, NamesShapesThatDontFit) {
  EXPECT_EQ(failureOf(encoder, {}, {"input_ids=128"}),
            "exit 2: error[H0324]: input 'input_ids' expects shape [batch,sequence], got [128]\n  in --shape "
            "input_ids=128\n");
  EXPECT_EQ(failureOf(encoder, {}, {"bias=4"}),
            "exit 2: error[H0324]: input 'bias' expects shape [3], got [4]\n  in --shape bias=4\n");
  EXPECT_EQ(
      failureOf(encoder, {}, {"input_ids=1x7", "attention_mask=1x8"}),
      "exit 2: error[H0324]: dimension 'sequence' is given as 7 and 8\n  in --shape attention_mask=1x8\n  help: " +
          listed + "\n");
  EXPECT_EQ(failureOf(encoder, {}, {"1x7"}),
            "exit 2: error[H0324]: --shape 1x7 names no input\n  help: " + listed + "\n");
  EXPECT_EQ(failureOf(encoder, {"input_ids=[[1,2]]"}, {"input_ids=1x3"}),
            "exit 2: error[H0324]: --shape gives 'input_ids' as [1,3], but its tensor is [1,2]\n");
  for (const char *bad : {"bias=", "bias=x", "bias=1x", "bias=-1", "bias=1*2", "bias=1X2"})
    EXPECT_NE(failureOf(encoder, {}, {bad}).find("H0324"), std::string::npos) << bad;
}

TEST(ShapeRows, ANameThatComesAgainStartsARow) {
  using Rows = std::vector<std::vector<std::string>>;
  EXPECT_EQ(shapeRows({}), (Rows{{}}));
  EXPECT_EQ(shapeRows({"a=1x7", "b=2"}), (Rows{{"a=1x7", "b=2"}}));
  EXPECT_EQ(shapeRows({"a=1x7", "a=1x8,b=3", "a=9"}), (Rows{{"a=1x7"}, {"a=1x8", "b=3"}, {"a=9"}}));
  EXPECT_EQ(shapeRows({"1x7,1x8"}), (Rows{{"1x7"}, {"1x8"}}));
}

} // namespace
} // namespace heddle::cli
