// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of tensors in memory: element formats, bytes in and out, and limits.

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "compiler/reference/HostTensor.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;

namespace heddle::reference {
namespace {

class HostTensorTest : public ::testing::Test {
protected:
  Type getType(StringRef text) { return parseType(text, &context); }

  // What |tensor| is after a round trip through bytes.
  HostTensor reread(const HostTensor &tensor) {
    std::vector<char> bytes = tensor.toBytes();
    return *HostTensor::fromBytes(tensor.getElementType(), tensor.getDims(), bytes);
  }

  MLIRContext context;
};

TEST_F(HostTensorTest, BytesKeepEveryHalfPrecisionNumber) {
  for (const char *name : {"f16", "bf16"}) {
    std::vector<char> bytes(2 * 65536);
    for (int bits = 0; bits < 65536; ++bits) {
      bytes[2 * bits] = static_cast<char>(bits);
      bytes[2 * bits + 1] = static_cast<char>(bits >> 8);
    }
    HostTensor tensor = *HostTensor::fromBytes(getType(name), {65536}, bytes);
    std::vector<char> again = tensor.toBytes();
    for (int bits = 0; bits < 65536; ++bits) {
      if (std::isnan(tensor.getFloats()[bits]))
        continue; // the payload of a NaN isn't kept
      ASSERT_EQ(bytes[2 * bits], again[2 * bits]) << name << " " << bits;
      ASSERT_EQ(bytes[2 * bits + 1], again[2 * bits + 1]) << name << " " << bits;
    }
  }
}

TEST_F(HostTensorTest, BytesKeepIntegersOfEveryWidth) {
  struct Case {
    const char *type;
    std::vector<int64_t> values;
  };
  for (const Case &c : std::vector<Case>{{"i1", {0, 1, 1}},
                                         {"i4", {-8, 7, -1}},
                                         {"ui4", {0, 15, 8}},
                                         {"i8", {-128, 127, -1}},
                                         {"ui8", {0, 255, 128}},
                                         {"i16", {-32768, 32767, -1}},
                                         {"ui16", {0, 65535, 32768}},
                                         {"i32", {INT32_MIN, INT32_MAX, -1}},
                                         {"ui32", {0, UINT32_MAX, 1}},
                                         {"i64", {INT64_MIN, INT64_MAX, -1}},
                                         {"ui64", {0, -1, 1}}}) {
    HostTensor tensor(getType(c.type), {3}, c.values);
    EXPECT_EQ(reread(tensor).getInts().vec(), c.values) << c.type;
  }
}

TEST_F(HostTensorTest, FourBitIntegersShareBytesLowBitsFirst) {
  HostTensor tensor(getType("i4"), {3}, std::vector<int64_t>{1, -1, 2});
  EXPECT_EQ(tensor.toBytes(), (std::vector<char>{char(0xf1), 2}));
}

TEST_F(HostTensorTest, BytesRoundToNearestEven) {
  // Between 1 and its successor, half way and just above; and beyond f16's range.
  HostTensor half(getType("f16"), {4}, std::vector<double>{1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-30, 65519, 65520});
  EXPECT_EQ(reread(half).getFloats().vec(),
            (std::vector<double>{1, 1 + 0x1p-10, 65504, std::numeric_limits<double>::infinity()}));
  HostTensor single(getType("f32"), {2}, std::vector<double>{1 + 0x1p-24, 1 + 0x1p-24 + 0x1p-50});
  EXPECT_EQ(reread(single).getFloats().vec(), (std::vector<double>{1, 1 + 0x1p-23}));
}

TEST_F(HostTensorTest, RefusesBytesThatDoNotFit) {
  std::vector<char> bytes(7);
  EXPECT_EQ(llvm::toString(HostTensor::fromBytes(getType("f32"), {2}, bytes).takeError()),
            "expects 8 bytes for shape [2], got 7");
  EXPECT_EQ(llvm::toString(HostTensor::fromBytes(getType("index"), {2}, bytes).takeError()),
            "expects a float or integer element type, got 'index'");
}

TEST_F(HostTensorTest, RefusesExtentsBeyondTheLimit) {
  EXPECT_EQ(*countElements({3, 0, int64_t(1) << 62}), 0);
  EXPECT_EQ(*countElements({}), 1);
  EXPECT_EQ(llvm::toString(countElements({int64_t(1) << 40, int64_t(1) << 40}).takeError()),
            "expects at most 1073741824 elements, got shape [1099511627776, 1099511627776]");
  EXPECT_EQ(llvm::toString(countElements({2, -1}).takeError()), "expects extents of at least 0, got shape [2, -1]");
}

TEST_F(HostTensorTest, ConversionToIntegersSaturates) {
  IntFormat i8{8, false}, ui64{64, true}, i64{64, false};
  EXPECT_EQ(i8.fromDouble(-3.9), -3);
  EXPECT_EQ(i8.fromDouble(1e9), 127);
  EXPECT_EQ(i8.fromDouble(-std::numeric_limits<double>::infinity()), -128);
  EXPECT_EQ(i8.fromDouble(std::nan("")), 0);
  EXPECT_EQ(i64.fromDouble(0x1p63), INT64_MAX);
  EXPECT_EQ(i64.fromDouble(-0x1p63), INT64_MIN);
  EXPECT_EQ(static_cast<uint64_t>(ui64.fromDouble(0x1p63)), uint64_t(1) << 63);
  EXPECT_EQ(ui64.fromDouble(-0.9), 0);
  EXPECT_EQ(ui64.toDouble(-1), 0x1p64);
}

} // namespace
} // namespace heddle::reference
