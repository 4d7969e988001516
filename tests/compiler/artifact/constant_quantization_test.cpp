// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps that compute: codes, scales, sums and how they are packed, against plain loops over the same matrix.

#include "compiler/artifact/ConstantStream.h"
#include "tests/compiler/artifact/artifact_test.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>

using namespace heddle;
using namespace heddle::test;
using namespace mlir;

namespace {

/// A row-major matrix.
template <typename T> struct Matrix {
  int64_t rows, columns;
  std::vector<T> values;

  Matrix(int64_t rows, int64_t columns) : rows(rows), columns(columns), values(rows * columns) {}
  T &at(int64_t i, int64_t j) { return values[i * columns + j]; }
  const T &at(int64_t i, int64_t j) const { return values[i * columns + j]; }
};

/// K x N weights: a column of zeros, one below the least scale, ties, and pairs that no plain scale makes safe.
Matrix<float> makeWeights(int64_t rows, int64_t columns, unsigned seed = 1) {
  Matrix<float> weights(rows, columns);
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t n = 0; n < columns; ++n) {
      float value = normal(generator);
      weights.at(k, n) = n % 7 == 1   ? 0.0f
                         : n % 7 == 2 ? value * 1e-40f
                         : n % 7 == 3 ? std::round(value * 20) / 2 // codes lie halfway where the greatest is 127
                         : n % 7 == 4 ? (k % 4 < 2 ? 1.0f : -1.0f)
                                      : value;
      if (n % 7 == 3 && k == 0)
        weights.at(k, n) = 127;
    }
  return weights;
}

struct Quantized {
  Matrix<int8_t> codes;
  Matrix<float> scales; // blocks x N
};

/// nn.quantize_weight of K x N, a scale for each column in each |block| rows, as attention.md's numbers have it.
Quantized quantize(const Matrix<float> &w, int64_t block, int limit, bool pairSafe) {
  Quantized result = {{w.rows, w.columns}, {(w.rows + block - 1) / block, w.columns}};
  for (int64_t n = 0; n < w.columns; ++n)
    for (int64_t first = 0; first < w.rows; first += block) {
      int64_t last = std::min(first + block, w.rows);
      float greatest = 0, pair = 0;
      for (int64_t k = first; k < last; ++k) {
        greatest = std::max(greatest, std::fabs(w.at(k, n)));
        if (k % 2 == 1 && std::signbit(w.at(k, n)) == std::signbit(w.at(k - 1, n)))
          pair = std::max(pair, std::fabs(w.at(k, n)) + std::fabs(w.at(k - 1, n)));
      }
      float scale = std::max(greatest / limit, pairSafe ? pair / 128 : 0.0f);
      if (scale < 0x1p-126f)
        scale = 1;
      result.scales.at(first / block, n) = scale;
      for (int64_t k = first; k < last; ++k) {
        auto bound = static_cast<float>(limit);
        auto code = static_cast<int>(std::clamp(std::nearbyint(w.at(k, n) / scale), -bound, bound));
        if (pairSafe && k % 2 == 1 && std::abs(code + result.codes.at(k - 1, n)) > 128)
          code -= code > 0 ? 1 : -1;
        result.codes.at(k, n) = static_cast<int8_t>(code);
      }
    }
  return result;
}

template <typename T> Matrix<T> transposed(const Matrix<T> &from) {
  Matrix<T> to(from.columns, from.rows);
  for (int64_t i = 0; i < from.rows; ++i)
    for (int64_t j = 0; j < from.columns; ++j)
      to.at(j, i) = from.at(i, j);
  return to;
}

/// K x N to panels of 16 with |group| rows side by side.
template <typename T> std::vector<T> packed(const Matrix<T> &from, int64_t group) {
  int64_t panels = (from.columns + 15) / 16, groups = (from.rows + group - 1) / group;
  std::vector<T> to(panels * groups * 16 * group);
  for (int64_t k = 0; k < from.rows; ++k)
    for (int64_t n = 0; n < from.columns; ++n)
      to[((n / 16 * groups + k / group) * 16 + n % 16) * group + k % group] = from.at(k, n);
  return to;
}

std::string shape(std::initializer_list<int64_t> dims, const char *type) {
  std::string text = "tensor<";
  for (int64_t dim : dims)
    text += std::to_string(dim) + "x";
  return text + type + ">";
}

const std::string kTranspose = "{kind = \"transpose\", permutation = array<i64: 1, 0>}, ";

class ConstantQuantizationTest : public ArtifactTest {
protected:
  /// |recipe| of the source of |type| at |source|.
  bool stream(const std::string &source, const std::string &type, const std::string &recipe,
              const std::string &result) {
    parse("rt.constant @c {source = " + source + ", source_type = " + type + ", recipe = [" + recipe +
          "]} : " + result);
    bytes.clear();
    text.clear();
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { text += diagnostic.str(); });
    return succeeded(streamConstant(*module->getOps<rt::ConstantOp>().begin(), [&](ArrayRef<uint8_t> piece) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    }));
  }

  /// The file |name| of |values|, one byte off alignment.
  template <typename T> std::string store(const std::string &name, const std::vector<T> &values) {
    std::ofstream file(at(name), std::ios::binary);
    file.write("?", 1);
    file.write(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
    return "#nn.external<\"" + at(name) + "\", 1, " + std::to_string(values.size() * sizeof(T)) + ">";
  }

  template <typename T> std::vector<T> result() {
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }

  std::vector<uint8_t> bytes;
  std::string text;
};

/// K, N, whether the file holds N x K, whether pairs are safe.
class QuantizeTest : public ConstantQuantizationTest,
                     public ::testing::WithParamInterface<std::tuple<int64_t, int64_t, bool, bool>> {};

TEST_P(QuantizeTest, CodesScalesAndSumsAreThoseOfTheRule) {
  int64_t rows = std::get<0>(GetParam()), columns = std::get<1>(GetParam());
  bool isTransposed = std::get<2>(GetParam()), pairSafe = std::get<3>(GetParam());
  Matrix<float> weights = makeWeights(rows, columns);
  std::string source = store("w", isTransposed ? transposed(weights).values : weights.values);
  std::string type = isTransposed ? shape({columns, rows}, "f32") : shape({rows, columns}, "f32");
  // Of N x K either the codes are transposed or what they are made of.
  std::string codes = isTransposed ? "{kind = \"quantize\", axis = 0 : i64" : "{kind = \"quantize\", axis = 1 : i64";
  codes += pairSafe ? ", pair_safe = true}, " : "}, ";
  codes += isTransposed ? kTranspose : "";
  Quantized expected = quantize(weights, /*block=*/rows, 127, pairSafe);
  int64_t panels = (columns + 15) / 16;

  ASSERT_TRUE(stream(source, type, codes + "{kind = \"pack\", panel = 16 : i64, group = 4 : i64}",
                     shape({panels, (rows + 3) / 4, 16, 4}, "i8")))
      << text;
  EXPECT_EQ(result<int8_t>(), packed(expected.codes, 4));
  ASSERT_TRUE(stream(source, type, codes + "{kind = \"pack\", panel = 16 : i64}", shape({panels, rows, 16}, "i8")))
      << text;
  EXPECT_EQ(result<int8_t>(), packed(expected.codes, 1));
  ASSERT_TRUE(stream(source, type, codes.substr(0, codes.find("}, ") + 1),
                     isTransposed ? shape({columns, rows}, "i8") : shape({rows, columns}, "i8")))
      << text;
  EXPECT_EQ(result<int8_t>(), isTransposed ? transposed(expected.codes).values : expected.codes.values);

  std::string scales = (isTransposed ? kTranspose : "") + "{kind = \"scales\", axis = 1 : i64";
  scales += pairSafe ? ", pair_safe = true}" : "}";
  ASSERT_TRUE(stream(source, type, scales, shape({columns}, "f32"))) << text;
  EXPECT_EQ(result<float>(), expected.scales.values);

  std::vector<int32_t> sums(columns);
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t n = 0; n < columns; ++n)
      sums[n] += expected.codes.at(k, n);
  ASSERT_TRUE(stream(source, type, codes + "{kind = \"sums\", axis = 0 : i64}", shape({columns}, "i32"))) << text;
  EXPECT_EQ(result<int32_t>(), sums);
}

INSTANTIATE_TEST_SUITE_P(Sizes, QuantizeTest,
                         ::testing::Combine(::testing::Values(1, 6, 67, 130), ::testing::Values(3, 16, 33, 600),
                                            ::testing::Bool(), ::testing::Bool()));

TEST_F(ConstantQuantizationTest, PairSafeCodesNeverExceed128Together) {
  Matrix<float> weights = makeWeights(64, 35);
  std::string source = store("w", weights.values);
  for (bool pairSafe : {false, true}) {
    ASSERT_TRUE(
        stream(source, "tensor<64x35xf32>",
               std::string("{kind = \"quantize\", axis = 1 : i64, pair_safe = ") + (pairSafe ? "true}" : "false}"),
               "tensor<64x35xi8>"))
        << text;
    int worst = 0;
    for (int64_t i = 0; i < 64 * 35; i += 70)
      for (int64_t n = i; n < i + 35; ++n)
        worst = std::max(worst, std::abs(result<int8_t>()[n] + result<int8_t>()[n + 35]));
    if (pairSafe)
      EXPECT_LE(worst, 128);
    else
      EXPECT_EQ(worst, 254);
  }
}

/// A column with a weight that isn't finite has the scale NaN and codes of 0; the others are as ever.
TEST_F(ConstantQuantizationTest, NonFiniteWeightsSpoilOnlyTheirColumn) {
  const std::string source = "dense<[[1.0, 0x7FC00000, 2.0], [-4.0, 1.0, 0xFF800000]]> : tensor<2x3xf32>";
  for (const char *pairs : {"", ", pair_safe = true"}) {
    ASSERT_TRUE(stream(source, "tensor<2x3xf32>", std::string("{kind = \"scales\", axis = 1 : i64") + pairs + "}",
                       "tensor<3xf32>"))
        << text;
    EXPECT_EQ(result<float>()[0], 4.0f / 127);
    EXPECT_TRUE(std::isnan(result<float>()[1]) && std::isnan(result<float>()[2]));
    ASSERT_TRUE(stream(source, "tensor<2x3xf32>", std::string("{kind = \"quantize\", axis = 1 : i64") + pairs + "}",
                       "tensor<2x3xi8>"))
        << text;
    EXPECT_EQ(result<int8_t>(), (std::vector<int8_t>{32, 0, 0, -127, 0, 0}));
  }
}

/// Three sources beside each other, multiplied by rows and by columns.
TEST_F(ConstantQuantizationTest, QuantisesProductsOfConcatenatedParts) {
  Matrix<float> first = makeWeights(37, 20), second = makeWeights(37, 5, 2), weights(37, 25);
  std::vector<float> byRow(37), byColumn(25);
  for (int64_t k = 0; k < 37; ++k)
    byRow[k] = 1.0f / (k + 1);
  for (int64_t n = 0; n < 25; ++n)
    byColumn[n] = n * 0.37f + 0.1f;
  for (int64_t k = 0; k < 37; ++k)
    for (int64_t n = 0; n < 25; ++n)
      weights.at(k, n) = (n < 20 ? first.at(k, n) : second.at(k, n - 20)) * byRow[k] * byColumn[n];
  std::string steps =
      "{kind = \"concat\", axis = 1 : i64, source = " + store("b", transposed(second).values) +
      ", source_type = tensor<5x37xf32>, recipe = [" + kTranspose.substr(0, kTranspose.size() - 2) +
      "]}, {kind = \"multiply\", axis = 0 : i64, source = " + store("r", byRow) +
      ", source_type = tensor<37x1xf32>}, {kind = \"multiply\", axis = 1 : i64, source = " + store("c", byColumn) +
      ", source_type = tensor<25xf32>}, ";
  std::string source = store("a", first.values);
  Quantized expected = quantize(weights, 37, 127, /*pairSafe=*/true);
  ASSERT_TRUE(stream(source, "tensor<37x20xf32>",
                     steps + "{kind = \"quantize\", axis = 1 : i64, pair_safe = true}, {kind = \"pack\", panel = 16 : "
                             "i64, group = 4 : i64}",
                     "tensor<2x10x16x4xi8>"))
      << text;
  EXPECT_EQ(result<int8_t>(), packed(expected.codes, 4));
  // Parts below each other: the pair of rows 19 and 20 lies in both.
  ASSERT_TRUE(stream(source, "tensor<37x20xf32>",
                     steps + kTranspose + "{kind = \"scales\", axis = 0 : i64, pair_safe = true}", "tensor<25xf32>"))
      << text;
  EXPECT_EQ(result<float>(), expected.scales.values);
  Matrix<float> turned = transposed(weights);
  ASSERT_TRUE(stream(source, "tensor<37x20xf32>",
                     steps + kTranspose +
                         "{kind = \"quantize\", axis = 1 : i64, pair_safe = true}, {kind = \"pack\", panel = 3 : i64}",
                     "tensor<13x25x3xi8>"))
      << text;
  Quantized turnedCodes = quantize(turned, 25, 127, /*pairSafe=*/true);
  for (int64_t i = 0; i < 13 * 25 * 3; ++i) {
    int64_t k = i / 3 % 25, n = i / 75 * 3 + i % 3;
    ASSERT_EQ(result<int8_t>()[i], n < 37 ? turnedCodes.codes.at(k, n) : 0) << k << ", " << n;
  }
  // Panels of an odd number of columns part pairs along a row.
  ASSERT_TRUE(stream(source, "tensor<37x20xf32>",
                     steps + "{kind = \"quantize\", axis = 0 : i64, pair_safe = true}, {kind = \"pack\", panel = 3 : "
                             "i64}",
                     "tensor<9x37x3xi8>"))
      << text;
  for (int64_t i = 0; i < 9 * 37 * 3; ++i) {
    int64_t k = i / 3 % 37, n = i / 111 * 3 + i % 3;
    ASSERT_EQ(result<int8_t>()[i], n < 25 ? turnedCodes.codes.at(n, k) : 0) << k << ", " << n;
  }
}

/// Blocks of 32 along K, from K x N and N x K; the last one is short.
TEST_F(ConstantQuantizationTest, BlocksOfFourBitsBecomeNibblesAndPackedScales) {
  const int64_t rows = 71, columns = 37, panels = 3;
  Matrix<float> weights = makeWeights(rows, columns);
  Quantized expected = quantize(weights, 32, 7, /*pairSafe=*/false);
  std::vector<uint8_t> nibbles(panels * 36 * 16, 0x88);
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t n = 0; n < columns; ++n) {
      uint8_t &byte = nibbles[(n / 16 * 36 + k / 2) * 16 + n % 16];
      int code = expected.codes.at(k, n) + 8;
      byte = k % 2 == 0 ? (byte & 0xf0) | code : (byte & 0x0f) | code << 4;
    }
  for (bool isTransposed : {false, true}) {
    std::string source = isTransposed ? store("nk", transposed(weights).values) : store("kn", weights.values);
    std::string type = isTransposed ? "tensor<37x71xf32>" : "tensor<71x37xf32>";
    std::string form = std::string("axis = ") + (isTransposed ? "0" : "1") + " : i64, block = 32 : i64, bits = 4 : i64";
    std::string turn = isTransposed ? kTranspose : "";
    ASSERT_TRUE(
        stream(source, type,
               "{kind = \"quantize\", " + form + "}, " + turn + "{kind = \"pack\", panel = 16 : i64, nibbles = true}",
               "tensor<3x36x16xi8>"))
        << text;
    EXPECT_EQ(result<uint8_t>(), nibbles);
    ASSERT_TRUE(stream(source, type,
                       "{kind = \"scales\", " + form + "}, " + turn + "{kind = \"pack\", panel = 16 : i64}",
                       "tensor<3x3x16xf32>"))
        << text;
    EXPECT_EQ(result<float>(), packed(expected.scales, 1));
    ASSERT_TRUE(stream(source, type, "{kind = \"scales\", " + form + "}",
                       isTransposed ? "tensor<37x3xf32>" : "tensor<3x37xf32>"))
        << text;
    EXPECT_EQ(result<float>(), isTransposed ? transposed(expected.scales).values : expected.scales.values);
  }
}

TEST_F(ConstantQuantizationTest, FlippedBytesAre128Less) {
  std::vector<uint8_t> source(256);
  std::vector<int8_t> expected(256);
  std::vector<int32_t> sums(8);
  for (int i = 0; i < 256; ++i) {
    source[i] = static_cast<uint8_t>(i);
    expected[i] = static_cast<int8_t>(i - 128);
    sums[i % 8] += i - 128;
  }
  std::string file = store("u", source);
  ASSERT_TRUE(stream(file, "tensor<32x8xui8>", "{kind = \"flip\"}", "tensor<32x8xi8>")) << text;
  EXPECT_EQ(result<int8_t>(), expected);
  ASSERT_TRUE(stream(file, "tensor<32x8xui8>", "{kind = \"flip\"}, {kind = \"sums\", axis = 0 : i64}", "tensor<8xi32>"))
      << text;
  EXPECT_EQ(result<int32_t>(), sums);
  Matrix<int8_t> matrix(32, 8);
  matrix.values = expected;
  ASSERT_TRUE(stream(file, "tensor<32x8xui8>",
                     "{kind = \"flip\"}, {kind = \"pack\", panel = 16 : i64, group = 4 : i64}", "tensor<1x8x16x4xi8>"))
      << text;
  EXPECT_EQ(result<int8_t>(), packed(matrix, 4));
}

/// 5 x 7 codes of a file, so that rows begin within a byte, as they are and transposed; a range of the columns.
TEST_F(ConstantQuantizationTest, NibblesOfTheModelArePackedAnew) {
  std::vector<uint8_t> file(18);
  Matrix<int> codes(5, 7);
  for (int64_t i = 0; i < 35; ++i) {
    codes.values[i] = static_cast<int>(i * 11 % 16);
    file[i / 2] |= codes.values[i] << (i % 2 * 4);
  }
  auto expectPacked = [&](const Matrix<int> &matrix, int flip) {
    int64_t rows = (matrix.rows + 1) / 2;
    std::vector<uint8_t> expected(rows * 16, 0x88);
    for (int64_t k = 0; k < matrix.rows; ++k)
      for (int64_t n = 0; n < matrix.columns; ++n) {
        uint8_t &byte = expected[k / 2 * 16 + n], code = matrix.at(k, n) ^ flip;
        byte = k % 2 == 0 ? (byte & 0xf0) | code : (byte & 0x0f) | code << 4;
      }
    EXPECT_EQ(result<uint8_t>(), expected);
  };
  std::string source = store("codes", file);
  const std::string pack = "{kind = \"pack\", panel = 16 : i64, nibbles = true}";
  // Unsigned ones lie 8 above signed ones as they are; signed ones get their highest bit flipped.
  ASSERT_TRUE(stream(source, "tensor<5x7xui4>", "{kind = \"flip\"}, " + pack, "tensor<1x3x16xi8>")) << text;
  expectPacked(codes, 0);
  ASSERT_TRUE(stream(source, "tensor<5x7xi4>", kTranspose + pack, "tensor<1x4x16xi8>")) << text;
  expectPacked(transposed(codes), 8);
  ASSERT_TRUE(stream(source, "tensor<5x7xi4>",
                     "{kind = \"slice\", axis = 1 : i64, begin = 2 : i64, size = 3 : i64}, " + pack,
                     "tensor<1x3x16xi8>"))
      << text;
  Matrix<int> range(5, 3);
  for (int64_t i = 0; i < 15; ++i)
    range.values[i] = codes.at(i / 3, i % 3 + 2);
  expectPacked(range, 8);

  // As bytes, row by row.
  ASSERT_TRUE(stream(source, "tensor<5x7xui4>", "{kind = \"widen\", is_unsigned = true}", "tensor<5x7xi8>")) << text;
  ASSERT_TRUE(
      stream(source, "tensor<5x7xui4>", kTranspose + "{kind = \"widen\", is_unsigned = true}", "tensor<7x5xi8>"))
      << text;
  for (int64_t i = 0; i < 35; ++i)
    ASSERT_EQ(result<int8_t>()[i], codes.at(i % 5, i / 5)) << i;
  ASSERT_TRUE(stream(source, "tensor<5x7xi4>", "{kind = \"widen\"}", "tensor<5x7xi8>")) << text;
  for (int64_t i = 0; i < 35; ++i)
    ASSERT_EQ(result<int8_t>()[i], (codes.values[i] ^ 8) - 8) << i;
}

TEST_F(ConstantQuantizationTest, EmptyMatricesHaveScalesOfOne) {
  ASSERT_TRUE(
      stream("dense<> : tensor<0x3xf32>", "tensor<0x3xf32>", "{kind = \"scales\", axis = 1 : i64}", "tensor<3xf32>"))
      << text;
  EXPECT_EQ(result<float>(), (std::vector<float>{1, 1, 1}));
  ASSERT_TRUE(stream("dense<> : tensor<3x0xf32>", "tensor<3x0xf32>",
                     "{kind = \"quantize\", axis = 1 : i64}, {kind = \"pack\", panel = 16 : i64, group = 4 : i64}",
                     "tensor<0x1x16x4xi8>"))
      << text;
  EXPECT_TRUE(bytes.empty());
}

TEST_F(ConstantQuantizationTest, StepsThatDontFitAreDiagnostics) {
  auto expectFault = [&](const std::string &type, const std::string &recipe, const std::string &message) {
    std::string value = type.find('f') != std::string::npos ? "0.0" : "0";
    EXPECT_FALSE(stream("dense<" + value + "> : " + type, type, recipe, "tensor<1xf32>")) << recipe;
    EXPECT_NE(text.find(message), std::string::npos) << text;
    EXPECT_TRUE(bytes.empty());
  };
  const std::string matrix = "tensor<2x3xf32>", ints = "tensor<2x3xi8>",
                    codes = "{kind = \"quantize\", axis = 1 : i64}";
  expectFault(matrix, "{kind = \"quantize\", axis = 2 : i64}", "expects a matrix and one of its axes");
  expectFault("tensor<3xf32>", codes, "expects a matrix and one of its axes");
  expectFault(ints, codes, "expects f32 to become codes of 4 or 8 bits in blocks of 1 or more");
  expectFault(matrix, "{kind = \"scales\", axis = 0 : i64, block = 0 : i64}", "in blocks of 1 or more");
  expectFault(matrix, "{kind = \"scales\", axis = 0 : i64, bits = 5 : i64}", "codes of 4 or 8 bits");
  expectFault(matrix, "{kind = \"quantize\", axis = 0 : i64, block = 32 : i64, pair_safe = true}",
              "expects codes of 8 bits without blocks to be pair-safe");
  expectFault(matrix, "{kind = \"sums\", axis = 0 : i64}", "expects i8 to sum up, got 'tensor<2x3xf32>'");
  expectFault(matrix, "{kind = \"flip\"}", "expects a matrix of i8 or i4 to flip, got 'tensor<2x3xf32>'");
  expectFault(ints, "{kind = \"widen\"}", "expects a matrix of i4 to widen, got 'tensor<2x3xi8>'");
  expectFault(ints, "{kind = \"flip\"}, {kind = \"slice\", axis = 0 : i64, begin = 0 : i64, size = 1 : i64}",
              "expects slices and further sources before steps that compute");
  expectFault(matrix, "{kind = \"pack\", panel = 16 : i64, group = 4 : i64}", "expects groups of four i8");
  expectFault(ints, "{kind = \"pack\", panel = 16 : i64, group = 2 : i64}", "expects groups of four i8");
  expectFault(ints, "{kind = \"pack\", panel = 16 : i64, nibbles = true}", "expects codes of i4, and no others");
  const std::string nibbles = "{kind = \"quantize\", axis = 1 : i64, bits = 4 : i64}";
  expectFault(matrix, nibbles + ", {kind = \"pack\", panel = 16 : i64}", "expects codes of i4, and no others");
  expectFault(matrix, nibbles, "expects codes of i4 to be packed");
  expectFault("tensor<2x3xi4>", kTranspose.substr(0, kTranspose.size() - 2), "expects codes of i4 to be packed");
  expectFault("tensor<2x3xi2>", "", "expects elements of 1, 4 or a multiple of 8 bits, got 'i2'");
  const std::string product = "{kind = \"multiply\", axis = 0 : i64, source = dense<1.0> : tensor<";
  expectFault(matrix, product + "3xf32>, source_type = tensor<3xf32>}",
              "expects a matrix of f32 and a number of f32 for each index along axis 0");
  expectFault(ints, product + "2xf32>, source_type = tensor<2xf32>}", "expects a matrix of f32");
  expectFault(matrix, "{kind = \"multiply\", axis = 0 : i64}", "expects a source, its static type and a recipe");
}

} // namespace
