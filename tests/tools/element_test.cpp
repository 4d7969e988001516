// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of all types, literals, printing, comparing, generating.

#include "tests/tools/expect_error.h"
#include "tools/heddle/compare.h"
#include "tools/heddle/element.h"
#include "tools/heddle/inputs.h"
#include "tools/heddle/literal.h"
#include "tools/heddle/measure.h"
#include "tools/heddle/print.h"

#include <cmath>
#include <cstring>

namespace heddle::cli {
namespace {

uint16_t roundToBits(heddle_element_type_t type, double value) {
  uint16_t bits = 0;
  storeFloat(type, &bits, value);
  return bits;
}

TEST(HalfFloat, RoundsToNearestEven) {
  EXPECT_EQ(roundToBits(HEDDLE_ELEMENT_F16, 1), 0x3C00);
  EXPECT_EQ(roundToBits(HEDDLE_ELEMENT_F16, -2), 0xC000);
  EXPECT_EQ(roundToBits(HEDDLE_ELEMENT_F16, 65504), 0x7BFF);
  EXPECT_EQ(roundToBits(HEDDLE_ELEMENT_F16, 65519.99), 0x7BFF);
  EXPECT_EQ(roundToBits(HEDDLE_ELEMENT_F16, 65520), 0x7C00);
  EXPECT_EQ(roundToBits(HEDDLE_ELEMENT_F16, 0x1p-24), 0x0001);
  EXPECT_EQ(roundToBits(HEDDLE_ELEMENT_F16, 0x1p-25), 0x0000) << "a tie goes to even";
  EXPECT_EQ(roundToBits(HEDDLE_ELEMENT_F16, 0x1.8p-25), 0x0001);
  EXPECT_EQ(roundToBits(HEDDLE_ELEMENT_F16, 0x1.ffcp-15), 0x0400) << "rounds up to the smallest normal";
  EXPECT_EQ(roundToBits(HEDDLE_ELEMENT_F16, 1 + 0x1p-11), 0x3C00);
  EXPECT_EQ(roundToBits(HEDDLE_ELEMENT_F16, 1 + 0x3p-11), 0x3C02);
  EXPECT_EQ(roundToBits(HEDDLE_ELEMENT_F16, -0.0), 0x8000);
  EXPECT_EQ(roundToBits(HEDDLE_ELEMENT_BF16, 1), 0x3F80);
  EXPECT_EQ(roundToBits(HEDDLE_ELEMENT_BF16, 1 + 0x1p-8), 0x3F80);
  EXPECT_EQ(roundToBits(HEDDLE_ELEMENT_BF16, 1e39), 0x7F80);
}

TEST(HalfFloat, EveryBitPatternSurvives) {
  for (heddle_element_type_t type : {HEDDLE_ELEMENT_F16, HEDDLE_ELEMENT_BF16}) {
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
      uint16_t pattern = static_cast<uint16_t>(bits);
      double value = loadElement(type, &pattern);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(value) &&
                    (roundToBits(type, value) & 0x7FFF) > (type == HEDDLE_ELEMENT_F16 ? 0x7C00 : 0x7F80));
      else
        ASSERT_EQ(roundToBits(type, value), pattern);
    }
  }
}

template <typename T> std::vector<T> valuesOf(const TensorPtr &tensor) {
  const T *data = static_cast<const T *>(heddle_tensor_data(tensor.get()));
  return {data, data + heddle_tensor_element_count(tensor.get())};
}

TEST(Literal, ReadsListsAndNestedLists) {
  TensorPtr list = parseLiteral("1, -2,3", HEDDLE_ELEMENT_I64, 2);
  EXPECT_EQ(dimsOf(list.get()), (std::vector<int64_t>{3}));
  EXPECT_EQ(valuesOf<int64_t>(list), (std::vector<int64_t>{1, -2, 3}));
  TensorPtr matrix = parseLiteral(" [[1,2],[3,4],\n[5,6]] ", HEDDLE_ELEMENT_F32, 2);
  EXPECT_EQ(dimsOf(matrix.get()), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(valuesOf<float>(matrix), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(dimsOf(parseLiteral("[]", HEDDLE_ELEMENT_F32, 1).get()), (std::vector<int64_t>{0}));
  EXPECT_EQ(dimsOf(parseLiteral("[[],[]]", HEDDLE_ELEMENT_F32, 1).get()), (std::vector<int64_t>{2, 0}));
}

TEST(Literal, ASingleNumberHasTheInputsKindOfRank) {
  EXPECT_EQ(dimsOf(parseLiteral("7", HEDDLE_ELEMENT_I32, 0).get()), (std::vector<int64_t>{}));
  EXPECT_EQ(dimsOf(parseLiteral("7", HEDDLE_ELEMENT_I32, 2).get()), (std::vector<int64_t>{1}));
}

TEST(Literal, TakesTheExtremesOfEachType) {
  EXPECT_EQ(valuesOf<int64_t>(parseLiteral("-9223372036854775808,9223372036854775807", HEDDLE_ELEMENT_I64, 1)),
            (std::vector<int64_t>{INT64_MIN, INT64_MAX}));
  EXPECT_EQ(valuesOf<uint64_t>(parseLiteral("18446744073709551615", HEDDLE_ELEMENT_U64, 1))[0], UINT64_MAX);
  EXPECT_EQ(valuesOf<int8_t>(parseLiteral("-128,127", HEDDLE_ELEMENT_I8, 1)), (std::vector<int8_t>{-128, 127}));
  EXPECT_EQ(valuesOf<uint8_t>(parseLiteral("true,false,1,0", HEDDLE_ELEMENT_BOOL, 1)),
            (std::vector<uint8_t>{1, 0, 1, 0}));
  std::vector<float> floats = valuesOf<float>(parseLiteral("1e-3,+2,inf,-inf,nan", HEDDLE_ELEMENT_F32, 1));
  EXPECT_EQ(floats[0], 1e-3f);
  EXPECT_EQ(floats[2], INFINITY);
  EXPECT_EQ(floats[3], -INFINITY);
  EXPECT_TRUE(std::isnan(floats[4]));
}

TEST(Literal, RefusesWhatItCantHold) {
  struct {
    const char *text;
    heddle_element_type_t type;
    const char *reason;
  } cases[] = {
      {"128", HEDDLE_ELEMENT_I8, "'128' is out of range"},
      {"-1", HEDDLE_ELEMENT_U8, "'-1' is out of range"},
      {"2", HEDDLE_ELEMENT_BOOL, "'2' is out of range"},
      {"yes", HEDDLE_ELEMENT_BOOL, "'yes' is no boolean"},
      {"1.5", HEDDLE_ELEMENT_I64, "'1.5' is no whole number"},
      {"9223372036854775808", HEDDLE_ELEMENT_I64, "is out of range"},
      {"99999999999999999999", HEDDLE_ELEMENT_U64, "is out of range"},
      {"one", HEDDLE_ELEMENT_F32, "'one' is no number"},
      {"1,,2", HEDDLE_ELEMENT_F32, "a number is missing"},
      {"", HEDDLE_ELEMENT_F32, "a number is missing"},
      {"[1,2", HEDDLE_ELEMENT_F32, "a ']' is missing"},
      {"[1 2]", HEDDLE_ELEMENT_F32, "expects ',' or ']'"},
      {"[1]]", HEDDLE_ELEMENT_F32, "unexpected ']'"},
      {"[[1,2],[3]]", HEDDLE_ELEMENT_F32, "lists of one level have 2 and 1 elements"},
      {"[[1],2]", HEDDLE_ELEMENT_F32, "lists and numbers are mixed"},
      {"[1,[2]]", HEDDLE_ELEMENT_F32, "lists and numbers are mixed"},
      {"[[],[1]]", HEDDLE_ELEMENT_F32, "lists of one level have 0 and 1 elements"},
      {"[[[[[[[[[1]]]]]]]]]", HEDDLE_ELEMENT_F32, "more than 8 dimensions"},
  };
  for (const auto &c : cases) {
    std::string error = errorOf([&] { parseLiteral(c.text, c.type, 1); });
    EXPECT_NE(error.find("exit 2: error[H0325]: "), std::string::npos) << c.text << " gave " << error;
    EXPECT_NE(error.find(c.reason), std::string::npos) << c.text << " gave " << error;
  }
}

TEST(PrintTensor, NestsLikeNumPy) {
  EXPECT_EQ(formatTensor("x", parseLiteral("[[1,-2.5],[30,4]]", HEDDLE_ELEMENT_F32, 2).get()),
            "x f32[2,2]\n[[   1, -2.5],\n [  30,    4]]\n");
  EXPECT_EQ(formatTensor("n", parseLiteral("7", HEDDLE_ELEMENT_I64, 0).get()), "n i64[]\n7\n");
  EXPECT_EQ(formatTensor("b", parseLiteral("true,false", HEDDLE_ELEMENT_BOOL, 1).get()), "b bool[2]\n[ true, false]\n");
  EXPECT_EQ(formatTensor("e", createTensor(HEDDLE_ELEMENT_F32, {2, 0}).get()), "e f32[2,0]\n[[],\n []]\n");
}

TEST(PrintTensor, LeavesOutTheMiddleOfLongAxes) {
  EXPECT_EQ(formatTensor("z", createTensor(HEDDLE_ELEMENT_I32, {1001}).get()),
            "z i32[1001]\n[0, 0, 0, ..., 0, 0, 0]\n");
}

TEST(CompareTensors, MeasuresAgainstTheLargestExpected) {
  TensorPtr a = parseLiteral("1,2,-4.5", HEDDLE_ELEMENT_F32, 1), b = parseLiteral("1,2,-4", HEDDLE_ELEMENT_F64, 1);
  Difference difference = compareTensors(a.get(), b.get());
  EXPECT_EQ(difference.largest, 0.5);
  EXPECT_EQ(difference.relative, 0.125);
  EXPECT_EQ(compareTensors(a.get(), a.get()).relative, 0);
  EXPECT_FALSE(compareTensors(a.get(), parseLiteral("[[1,2,3]]", HEDDLE_ELEMENT_F32, 1).get()).sameShape);
}

TEST(CompareTensors, NanAndInfinityEqualOnlyThemselves) {
  TensorPtr special = parseLiteral("nan,inf,-inf", HEDDLE_ELEMENT_F32, 1);
  EXPECT_EQ(compareTensors(special.get(), special.get()).relative, 0);
  for (const char *other : {"1,inf,-inf", "nan,1,-inf", "nan,inf,inf"}) {
    TensorPtr tensor = parseLiteral(other, HEDDLE_ELEMENT_F32, 1);
    EXPECT_GT(compareTensors(special.get(), tensor.get()).relative, 1) << other;
    EXPECT_GT(compareTensors(tensor.get(), special.get()).relative, 1) << other;
  }
}

TEST(GeneratedTensor, DependsOnTheSeedAlone) {
  TensorPtr a = createTensor(HEDDLE_ELEMENT_F32, {100}), b = createTensor(HEDDLE_ELEMENT_F32, {100});
  fillTensor(a.get(), Fill::Random, 7);
  fillTensor(b.get(), Fill::Random, 7);
  EXPECT_EQ(valuesOf<float>(a), valuesOf<float>(b));
  fillTensor(b.get(), Fill::Random, 8);
  EXPECT_NE(valuesOf<float>(a), valuesOf<float>(b));
  for (float value : valuesOf<float>(a))
    EXPECT_TRUE(value >= -1 && value < 1) << value;
}

TEST(GeneratedTensor, SuitsTheInputsName) {
  auto fillOf = [](const char *name, heddle_element_type_t type) { return naturalFill({name, type, 0, nullptr}); };
  EXPECT_EQ(fillOf("attention_mask", HEDDLE_ELEMENT_I64), Fill::Ones);
  EXPECT_EQ(fillOf("token_type_ids", HEDDLE_ELEMENT_I64), Fill::Zeros);
  EXPECT_EQ(fillOf("position_ids", HEDDLE_ELEMENT_I64), Fill::Positions);
  EXPECT_EQ(fillOf("input_ids", HEDDLE_ELEMENT_I64), Fill::Random);
  EXPECT_EQ(fillOf("pixel_values", HEDDLE_ELEMENT_F32), Fill::Random);
  TensorPtr positions = createTensor(HEDDLE_ELEMENT_I64, {2, 3});
  fillTensor(positions.get(), Fill::Positions, 0);
  EXPECT_EQ(valuesOf<int64_t>(positions), (std::vector<int64_t>{0, 1, 2, 0, 1, 2}));
}

TEST(Percentile, IsTheNearestRank) {
  std::vector<double> sorted = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(percentile(sorted, 50), 5);
  EXPECT_EQ(percentile(sorted, 90), 9);
  EXPECT_EQ(percentile(sorted, 99), 10);
  EXPECT_EQ(percentile({4}, 50), 4);
}

} // namespace
} // namespace heddle::cli
