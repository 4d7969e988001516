// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recipes against loops over the same indices.

#include "compiler/artifact/ConstantStream.h"
#include "tests/compiler/artifact/artifact_test.h"

#include <cstring>
#include <fstream>
#include <numeric>

using namespace heddle;
using namespace heddle::test;
using namespace mlir;

namespace {

class ConstantStreamTest : public ArtifactTest {
protected:
  /// Streams the constant of |source|, e.g. "source = ..., source_type = ..., recipe = [...]} : type".
  bool stream(const std::string &source) {
    parse("rt.constant @c {" + source);
    result.clear();
    text.clear();
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { text += diagnostic.str(); });
    return succeeded(streamConstant(*module->getOps<rt::ConstantOp>().begin(), [&](ArrayRef<uint8_t> bytes) {
      result.insert(result.end(), bytes.begin(), bytes.end());
    }));
  }

  /// A file of the 16-bit numbers 0, 1, 2 ... after three bytes of something else.
  std::string numbers(int64_t count) {
    std::vector<int16_t> values(count);
    std::iota(values.begin(), values.end(), 0);
    std::ofstream file(at("numbers.bin"), std::ios::binary);
    file.write("???", 3);
    file.write(reinterpret_cast<const char *>(values.data()), count * 2);
    return "source = #nn.external<\"" + at("numbers.bin") + "\", 3, " + std::to_string(count * 2) + ">";
  }

  int16_t element(size_t i) {
    int16_t value;
    std::memcpy(&value, result.data() + 2 * i, 2);
    return value;
  }

  std::vector<uint8_t> result;
  std::string text;
};

TEST_F(ConstantStreamTest, WithoutARecipeTheBytesAreTheSources) {
  ASSERT_TRUE(stream(numbers(100) + ", source_type = tensor<4x25xi16>, recipe = []} : tensor<4x25xi16>")) << text;
  ASSERT_EQ(result.size(), 200u);
  for (int64_t i = 0; i < 100; ++i)
    ASSERT_EQ(element(i), i);
}

TEST_F(ConstantStreamTest, TransposesAnyRank) {
  ASSERT_TRUE(stream(numbers(60) + ", source_type = tensor<3x4x5xi16>, recipe = [{kind = \"transpose\", permutation = "
                                   "array<i64: 2, 0, 1>}]} : tensor<5x3x4xi16>"))
      << text;
  size_t next = 0;
  for (int64_t k = 0; k < 5; ++k)
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 4; ++j)
        ASSERT_EQ(element(next++), (i * 4 + j) * 5 + k);
  EXPECT_EQ(result.size(), 120u);
}

/// Packing K x N into panels of 16, from a matrix or its transpose.
class PackTest : public ConstantStreamTest, public ::testing::WithParamInterface<std::tuple<int64_t, int64_t, bool>> {};

TEST_P(PackTest, EachColumnIsInItsPanel) {
  // Not a structured binding: the macros below hold lambdas.
  int64_t rows = std::get<0>(GetParam()), columns = std::get<1>(GetParam()), panels = (columns + 15) / 16;
  bool isTransposed = std::get<2>(GetParam());
  std::string sizes =
      std::to_string(isTransposed ? columns : rows) + "x" + std::to_string(isTransposed ? rows : columns);
  std::string transpose = isTransposed ? "{kind = \"transpose\", permutation = array<i64: 1, 0>}, " : "";
  ASSERT_TRUE(stream(numbers(rows * columns) + ", source_type = tensor<" + sizes + "xi16>, recipe = [" + transpose +
                     "{kind = \"pack\", panel = 16 : i64}]} : tensor<" + std::to_string(panels) + "x" +
                     std::to_string(rows) + "x16xi16>"))
      << text;
  ASSERT_EQ(result.size(), static_cast<size_t>(panels * rows * 16 * 2));
  for (int64_t p = 0; p < panels; ++p)
    for (int64_t k = 0; k < rows; ++k)
      for (int64_t j = 0; j < 16; ++j) {
        int64_t n = p * 16 + j;
        int64_t expected = n >= columns ? 0 : isTransposed ? n * rows + k : k * columns + n;
        ASSERT_EQ(element((p * rows + k) * 16 + j), expected) << p << ", " << k << ", " << j;
      }
}

INSTANTIATE_TEST_SUITE_P(Sizes, PackTest,
                         ::testing::Combine(::testing::Values(1, 7, 64), ::testing::Values(1, 15, 16, 17, 100),
                                            ::testing::Bool()));

/// 3 x 17 floats, of which bf16 keeps 8 bits: pairs of k side by side, to even between two, zeros beyond.
TEST_F(ConstantStreamTest, PairsAreRoundedToBf16) {
  // 1 + 2^-8 lies between two and goes down to the even one, 1 + 3 * 2^-8 up; a NaN of low bits stays one.
  ASSERT_TRUE(stream("source = dense<[[1.00390625, 0x7F800001], [1.01171875, -2.5], [3.0, 0xFF800000]]> : "
                     "tensor<3x2xf32>, source_type = tensor<3x2xf32>, recipe = [{kind = \"pack\", panel = 2 : i64, "
                     "pairs_of = bf16}]} : tensor<1x2x2x2xbf16>"))
      << text;
  const uint16_t expected[] = {0x3f80, 0x3f82, 0x7fc0, 0xc020, 0x4040, 0, 0xff80, 0};
  ASSERT_EQ(result.size(), sizeof(expected));
  for (size_t i = 0; i < std::size(expected); ++i)
    EXPECT_EQ(static_cast<uint16_t>(element(i)), expected[i]) << i;
  EXPECT_FALSE(stream(numbers(6) + ", source_type = tensor<3x2xi16>, recipe = [{kind = \"pack\", panel = 2 : i64, "
                                   "pairs_of = bf16}]} : tensor<1x2x2x2xbf16>"));
  EXPECT_NE(text.find("expects pairs of bf16 from f32"), std::string::npos) << text;
}

/// Three sources of K x N numbers beside each other: as it is, transposed, and a range of its columns.
TEST_F(ConstantStreamTest, PartsOfOtherSourcesFollowEachOther) {
  const std::string file = numbers(200);
  const std::string second = "{kind = \"concat\", axis = 1 : i64, " + file.substr(0, file.rfind(',')) +
                             ", 60>, source_type = tensor<6x5xi16>, recipe = [{kind = \"transpose\", permutation = "
                             "array<i64: 1, 0>}]}";
  const std::string third = "{kind = \"concat\", axis = 1 : i64, " + file +
                            ", source_type = tensor<5x40xi16>, recipe "
                            "= [{kind = \"slice\", axis = 1 : i64, begin = 3 : i64, size = 20 : i64}]}";
  const std::string first = file.substr(0, file.rfind(',')) + ", 70>, source_type = tensor<5x7xi16>, recipe = [";
  auto expected = [](int64_t k, int64_t n) -> int64_t {
    if (n < 7)
      return k * 7 + n;
    return n < 13 ? (n - 7) * 5 + k : n < 33 ? k * 40 + n - 13 + 3 : 0;
  };
  ASSERT_TRUE(stream(first + second + ", " + third + "]} : tensor<5x33xi16>")) << text;
  for (int64_t i = 0; i < 5 * 33; ++i)
    ASSERT_EQ(element(i), expected(i / 33, i % 33)) << i;
  ASSERT_TRUE(stream(first + second + ", " + third + ", {kind = \"pack\", panel = 16 : i64}]} : tensor<3x5x16xi16>"))
      << text;
  ASSERT_EQ(result.size(), 3u * 5 * 16 * 2);
  for (int64_t i = 0; i < 3 * 5 * 16; ++i)
    ASSERT_EQ(element(i), expected(i / 16 % 5, i / 80 * 16 + i % 16)) << i;
  // A range across the parts, then all of it transposed: now they lie below each other.
  ASSERT_TRUE(stream(first + second + ", " + third +
                     ", {kind = \"slice\", axis = 1 : i64, begin = 5 : i64, size = 10 : i64}, {kind = \"transpose\", "
                     "permutation = array<i64: 1, 0>}, {kind = \"pack\", panel = 4 : i64}]} : tensor<2x10x4xi16>"))
      << text;
  for (int64_t i = 0; i < 2 * 10 * 4; ++i) {
    int64_t column = i / 40 * 4 + i % 4;
    ASSERT_EQ(element(i), column < 5 ? expected(column, 5 + i / 4 % 10) : 0) << i;
  }
}

/// A row's c * 3 + i become i * 4 + c: what lies side by side for each of four channels is put apart.
TEST_F(ConstantStreamTest, EverySoManyOfASourceFollowEachOther) {
  const std::string file = numbers(24) + ", source_type = tensor<2x12xi16>, recipe = [";
  auto slice = [](int64_t begin, int64_t size) {
    return "{kind = \"slice\", axis = 1 : i64, begin = " + std::to_string(begin) +
           " : i64, size = " + std::to_string(size) + " : i64, every = 3 : i64}";
  };
  std::string steps = slice(0, 4);
  for (int64_t i : {1, 2})
    steps += ", {kind = \"concat\", axis = 1 : i64, " + file + slice(i, 4) + "]}";
  ASSERT_TRUE(stream(file + steps + "]} : tensor<2x12xi16>")) << text;
  for (int64_t i = 0; i < 24; ++i)
    EXPECT_EQ(element(i), i / 12 * 12 + i % 4 * 3 + i / 4 % 3) << i;
  ASSERT_TRUE(stream(file + steps +
                     ", {kind = \"transpose\", permutation = array<i64: 1, 0>}, {kind = \"pack\", panel "
                     "= 2 : i64}]} : tensor<1x12x2xi16>"))
      << text;
  for (int64_t i = 0; i < 24; ++i)
    EXPECT_EQ(element(i), i % 2 * 12 + i / 2 % 4 * 3 + i / 8) << i;
  EXPECT_FALSE(stream(file + slice(1, 5) + "]} : tensor<2x5xi16>"));
  EXPECT_NE(text.find("expects a slice inside the tensor"), std::string::npos) << text;
  EXPECT_FALSE(stream(file + steps + ", " + slice(0, 4) + "]} : tensor<2x4xi16>"));
  EXPECT_NE(text.find("expects one source to take every so many of"), std::string::npos) << text;
  EXPECT_FALSE(stream(file +
                      "{kind = \"slice\", axis = 1 : i64, begin = 0 : i64, size = 1 : i64, every = 13 : i64}]} : "
                      "tensor<2x1xi16>"));
  EXPECT_NE(text.find("expects a slice inside the tensor"), std::string::npos) << text;
}

TEST_F(ConstantStreamTest, ScalarsAndEmptyTensorsPass) {
  ASSERT_TRUE(stream("source = dense<7> : tensor<i8>, source_type = tensor<i8>, recipe = [{kind = \"transpose\", "
                     "permutation = array<i64>}]} : tensor<i8>"));
  EXPECT_EQ(result, std::vector<uint8_t>{7});
  ASSERT_TRUE(stream("source = dense<> : tensor<0x3xf32>, source_type = tensor<0x3xf32>, recipe = [{kind = "
                     "\"transpose\", permutation = array<i64: 1, 0>}]} : tensor<3x0xf32>"));
  EXPECT_TRUE(result.empty());
  ASSERT_TRUE(stream("source = dense<true> : tensor<2x1xi1>, source_type = tensor<2x1xi1>, recipe = [{kind = "
                     "\"transpose\", permutation = array<i64: 1, 0>}]} : tensor<1x2xi1>"));
  EXPECT_EQ(result, (std::vector<uint8_t>{1, 1}));
}

TEST_F(ConstantStreamTest, FaultsOfARecipeAreDiagnostics) {
  const std::string source = "source = dense<0.0> : tensor<2x3xf32>, source_type = tensor<2x3xf32>, recipe = ";
  EXPECT_FALSE(stream(source + "[{kind = \"transpose\", permutation = array<i64: 1, 1>}]} : tensor<3x2xf32>"));
  EXPECT_NE(text.find("expects a permutation of 2 dimensions"), std::string::npos) << text;
  EXPECT_FALSE(stream(source + "[{kind = \"pack\", panel = 0 : i64}]} : tensor<3x2xf32>"));
  EXPECT_NE(text.find("expects a panel of 1 to 4096 columns"), std::string::npos) << text;
  EXPECT_FALSE(stream(source + "[{kind = \"pack\", panel = 2 : i64}, {kind = \"pack\", panel = 2 : i64}]} : "
                               "tensor<2x2x2xf32>"));
  EXPECT_NE(text.find("expects packing to be the recipe's last step"), std::string::npos) << text;
  EXPECT_FALSE(stream(source + "[{kind = \"pack\", panel = 2 : i64}]} : tensor<3x2x2xf32>"));
  EXPECT_NE(text.find("expects the recipe to give 'tensor<3x2x2xf32>', got 'tensor<2x2x2xf32>'"), std::string::npos)
      << text;
  EXPECT_FALSE(stream(source + "[]} : tensor<3x2xf32>"));
  EXPECT_NE(text.find("expects the recipe to give 'tensor<3x2xf32>', got 'tensor<2x3xf32>'"), std::string::npos)
      << text;
  EXPECT_FALSE(stream(source + "[{kind = \"slice\", axis = 1 : i64, begin = 2 : i64, size = 2 : i64}]} : "
                               "tensor<2x2xf32>"));
  EXPECT_NE(text.find("expects a slice inside the tensor"), std::string::npos) << text;
  EXPECT_FALSE(stream(source +
                      "[{kind = \"concat\", axis = 1 : i64, source = dense<0.0> : tensor<3x1xf32>, source_type "
                      "= tensor<3x1xf32>, recipe = []}]} : tensor<2x4xf32>"));
  EXPECT_NE(text.find("expects parts that follow each other along one axis, got 'tensor<2x3xf32>' and "
                      "'tensor<3x1xf32>'"),
            std::string::npos)
      << text;
  EXPECT_FALSE(stream(source + "[{kind = \"concat\", axis = 1 : i64}]} : tensor<2x4xf32>"));
  EXPECT_NE(text.find("expects a source, its static type and a recipe"), std::string::npos) << text;
  EXPECT_FALSE(stream("source = dense<0.0> : tensor<2xf32>, source_type = tensor<2xf32>, recipe = [{kind = \"pack\", "
                      "panel = 2 : i64}]} : tensor<1x1x2xf32>"));
  EXPECT_NE(text.find("expects a matrix to pack, got rank 1"), std::string::npos) << text;
  EXPECT_TRUE(result.empty());
}

TEST_F(ConstantStreamTest, MissingAndShortFilesAreDiagnostics) {
  EXPECT_FALSE(stream("source = #nn.external<\"" + at("nothing.bin") +
                      "\", 0, 8>, source_type = tensor<8xi8>, recipe = "
                      "[]} : tensor<8xi8>"));
  EXPECT_NE(text.find("nothing.bin"), std::string::npos) << text;
  numbers(2);
  EXPECT_FALSE(stream("source = #nn.external<\"" + at("numbers.bin") +
                      "\", 0, 8>, source_type = tensor<8xi8>, recipe = "
                      "[]} : tensor<8xi8>"));
  EXPECT_NE(text.find("which has 7"), std::string::npos) << text;
}

} // namespace
