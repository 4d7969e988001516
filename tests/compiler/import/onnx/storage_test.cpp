// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants in every form that a file can have them, and what is said about those that don't fit their shapes.

#include "dialects/nn/ConstantData.h"
#include "tests/compiler/import/onnx/import_support.h"

#include <gtest/gtest.h>

namespace heddle::test {
namespace {

using ::onnx::TensorProto;

/// A model that returns its initialiser "w".
ModelBuilder returning(int type, std::initializer_list<int64_t> dims, TensorProto **tensor) {
  ModelBuilder builder;
  builder.output("w", type);
  *tensor = &builder.tensor("w", dims, type);
  return builder;
}

/// The one constant of |import|, as "dense<...> : type".
std::string literalOf(const Import &import) {
  std::string text = import.text();
  size_t begin = text.find("dense");
  return begin == std::string::npos ? text + import.errors.str() : text.substr(begin, text.find('\n', begin) - begin);
}

template <typename Fill> std::string literal(int type, std::initializer_list<int64_t> dims, Fill fill) {
  TensorProto *tensor;
  ModelBuilder builder = returning(type, dims, &tensor);
  fill(*tensor);
  return literalOf(builder.import());
}

template <typename Fill> std::string error(int type, std::initializer_list<int64_t> dims, Fill fill) {
  TensorProto *tensor;
  ModelBuilder builder = returning(type, dims, &tensor);
  fill(*tensor);
  Import import = builder.import();
  EXPECT_FALSE(import.module);
  return import.errors.str();
}

TEST(Storage, ReadsRawData) {
  auto raw = [](std::string bytes) { return [bytes](TensorProto &tensor) { tensor.set_raw_data(bytes); }; };
  EXPECT_EQ(literal(TensorProto::FLOAT, {2}, raw(std::string("\0\0\x80\x3f\0\0\0\xc0", 8))),
            "dense<[1.000000e+00, -2.000000e+00]> : tensor<2xf32>");
  EXPECT_EQ(literal(TensorProto::FLOAT16, {1}, raw(std::string("\0\x3c", 2))), "dense<1.000000e+00> : tensor<1xf16>");
  EXPECT_EQ(literal(TensorProto::BFLOAT16, {1}, raw("\x80\x3f")), "dense<1.000000e+00> : tensor<1xbf16>");
  EXPECT_EQ(literal(TensorProto::INT8, {3}, raw("\x01\xff\x80")), "dense<[1, -1, -128]> : tensor<3xi8>");
  EXPECT_EQ(literal(TensorProto::UINT8, {2}, raw("\x01\xff")), "dense<[1, 255]> : tensor<2xui8>");
  EXPECT_EQ(literal(TensorProto::INT64, {}, raw(std::string("\x05\0\0\0\0\0\0\0", 8))), "dense<5> : tensor<i64>");
  EXPECT_EQ(literal(TensorProto::BOOL, {3}, raw(std::string("\1\0\2", 3))),
            "dense<[true, false, true]> : tensor<3xi1>");
  // Two in a byte, the first in the low bits.
  EXPECT_EQ(literal(TensorProto::INT4, {3}, raw("\xf1\x07")), "dense<[1, -1, 7]> : tensor<3xi4>");
  EXPECT_EQ(literal(TensorProto::UINT4, {3}, raw("\xf1\x07")), "dense<[1, 15, 7]> : tensor<3xui4>");
}

TEST(Storage, ReadsTypedFields) {
  EXPECT_EQ(literal(TensorProto::FLOAT, {2},
                    [](TensorProto &tensor) {
                      tensor.add_float_data(1);
                      tensor.add_float_data(-2);
                    }),
            "dense<[1.000000e+00, -2.000000e+00]> : tensor<2xf32>");
  EXPECT_EQ(literal(TensorProto::DOUBLE, {1}, [](TensorProto &tensor) { tensor.add_double_data(0.5); }),
            "dense<5.000000e-01> : tensor<1xf64>");
  EXPECT_EQ(literal(TensorProto::INT64, {2},
                    [](TensorProto &tensor) {
                      tensor.add_int64_data(-1);
                      tensor.add_int64_data(INT64_MAX);
                    }),
            "dense<[-1, 9223372036854775807]> : tensor<2xi64>");
  EXPECT_EQ(literal(TensorProto::UINT64, {1}, [](TensorProto &tensor) { tensor.add_uint64_data(UINT64_MAX); }),
            "dense<18446744073709551615> : tensor<1xui64>");
  EXPECT_EQ(literal(TensorProto::UINT32, {1}, [](TensorProto &tensor) { tensor.add_uint64_data(7); }),
            "dense<7> : tensor<1xui32>");
  auto ints = [](std::vector<int> values) {
    return [values](TensorProto &tensor) {
      for (int value : values)
        tensor.add_int32_data(value);
    };
  };
  EXPECT_EQ(literal(TensorProto::INT32, {2}, ints({-1, 1 << 30})), "dense<[-1, 1073741824]> : tensor<2xi32>");
  EXPECT_EQ(literal(TensorProto::INT8, {2}, ints({-128, 127})), "dense<[-128, 127]> : tensor<2xi8>");
  EXPECT_EQ(literal(TensorProto::UINT8, {2}, ints({0, 255})), "dense<[0, 255]> : tensor<2xui8>");
  EXPECT_EQ(literal(TensorProto::UINT16, {1}, ints({65535})), "dense<65535> : tensor<1xui16>");
  EXPECT_EQ(literal(TensorProto::BOOL, {2}, ints({1, 0})), "dense<[true, false]> : tensor<2xi1>");
  EXPECT_EQ(literal(TensorProto::FLOAT16, {2}, ints({0x3c00, 0xc000})),
            "dense<[1.000000e+00, -2.000000e+00]> : tensor<2xf16>");
  EXPECT_EQ(literal(TensorProto::INT4, {3}, ints({0xf1, 0x07})), "dense<[1, -1, 7]> : tensor<3xi4>");
}

TEST(Storage, ReadsEmptyTensors) {
  auto nothing = [](TensorProto &) {};
  EXPECT_EQ(literal(TensorProto::FLOAT, {0}, nothing), "dense<> : tensor<0xf32>");
  EXPECT_EQ(literal(TensorProto::INT64, {2, 0}, nothing), "dense<> : tensor<2x0xi64>");
}

TEST(Storage, LeavesLargeDataInTheFile) {
  TensorProto *tensor;
  ModelBuilder builder = returning(TensorProto::FLOAT, {1025}, &tensor);
  tensor->set_raw_data(std::string(4096, 'a') + "tail");
  ScratchFolder scratch;
  writeFile(scratch / "model.onnx", builder.bytes());
  size_t offset = builder.bytes().find("aaaa");
  Import import = importFile(scratch / "model.onnx");
  std::string expected =
      "#nn.external<\"" + (scratch / "model.onnx").string() + "\", " + std::to_string(offset) + ", 4100>";
  EXPECT_NE(import.text().find(expected), std::string::npos) << import.text();
}

TEST(Storage, LeavesLargeTypedFloatsInTheFile) {
  TensorProto *tensor;
  ModelBuilder builder = returning(TensorProto::DOUBLE, {600}, &tensor);
  for (int i = 0; i < 600; ++i)
    tensor->add_double_data(i);
  Import import = builder.import();
  EXPECT_NE(import.text().find(", 4800> -> tensor<600xf64>"), std::string::npos) << import.text();
}

TEST(Storage, DecodesLargeTypedIntegersIntoAResource) {
  TensorProto *tensor;
  ModelBuilder builder = returning(TensorProto::INT64, {1000}, &tensor);
  for (int i = 0; i < 1000; ++i)
    tensor->add_int64_data(i - 500);
  Import import = builder.import();
  ASSERT_TRUE(import.module) << import.errors.str();
  nn::ConstantOp constant = *import.main().getOps<nn::ConstantOp>().begin();
  EXPECT_TRUE(llvm::isa<mlir::DenseResourceElementsAttr>(constant.getValue()));
  auto data = nn::ConstantData::get(constant);
  ASSERT_TRUE(succeeded(data));
  EXPECT_EQ(data->getInt(0), -500);
  EXPECT_EQ(data->getInt(999), 499);
}

TEST(Storage, ReportsDataOfAnotherSize) {
  auto raw = [](size_t size) { return [size](TensorProto &tensor) { tensor.set_raw_data(std::string(size, 'x')); }; };
  EXPECT_EQ(error(TensorProto::FLOAT, {4, 3}, raw(4)),
            "error[H0515]: tensor 'w': raw_data too short: 4 of 48 bytes\n  in model.onnx\n");
  EXPECT_EQ(error(TensorProto::FLOAT, {1}, raw(5)),
            "error[H0515]: tensor 'w': raw_data too long: 5 of 4 bytes\n  in model.onnx\n");
  EXPECT_EQ(error(TensorProto::FLOAT, {1}, raw(0)),
            "error[H0515]: tensor 'w': raw_data too short: 0 of 4 bytes\n  in model.onnx\n");
  auto ints = [](TensorProto &tensor) { tensor.add_int64_data(1); };
  EXPECT_EQ(error(TensorProto::INT64, {2}, ints),
            "error[H0515]: tensor 'w': int64_data doesn't hold 2 numbers, as the shape asks\n  in model.onnx\n");
  EXPECT_EQ(error(TensorProto::INT64, {0}, ints),
            "error[H0515]: tensor 'w': int64_data doesn't hold 0 numbers, as the shape asks\n  in model.onnx\n");
  // A shape that would need far more memory than the file can back.
  EXPECT_EQ(error(TensorProto::INT64, {1LL << 40}, ints),
            "error[H0515]: tensor 'w': int64_data doesn't hold 1099511627776 numbers, as the shape asks\n"
            "  in model.onnx\n");
}

TEST(Storage, ReportsDataInTheWrongField) {
  EXPECT_EQ(error(TensorProto::FLOAT, {1}, [](TensorProto &tensor) { tensor.add_int64_data(1); }),
            "error[H0515]: tensor 'w': data of type float in int64_data, expected in float_data\n  in model.onnx\n");
}

TEST(Storage, ReportsImpossibleShapes) {
  auto nothing = [](TensorProto &) {};
  EXPECT_EQ(error(TensorProto::FLOAT, {2, -1}, nothing),
            "error[H0515]: tensor 'w': a constant's shape can't be [2,-1]\n  in model.onnx\n");
  EXPECT_EQ(error(TensorProto::FLOAT, {1LL << 40, 1LL << 40}, nothing),
            "error[H0515]: tensor 'w': shape [1099511627776,1099511627776] has more elements than any file can hold\n"
            "  in model.onnx\n");
  EXPECT_EQ(error(TensorProto::FLOAT, {1, 1, 1, 1, 1, 1, 1, 1, 1}, nothing),
            "error[H0518]: tensor 'w': 9 dimensions, at most 8 are possible\n  in model.onnx\n");
}

TEST(Storage, ReportsElementsThatAreNotSupported) {
  auto nothing = [](TensorProto &) {};
  EXPECT_EQ(error(TensorProto::STRING, {1}, nothing),
            "error[H0206]: tensor 'w': elements of type string are not supported\n  in model.onnx\n");
  EXPECT_EQ(error(99, {1}, nothing),
            "error[H0206]: tensor 'w': elements of type number 99 are not supported\n  in model.onnx\n");
  EXPECT_EQ(error(TensorProto::FLOAT, {1}, [](TensorProto &tensor) { tensor.mutable_segment(); }),
            "error[H0515]: tensor 'w': a constant in segments is not supported\n  in model.onnx\n");
}

} // namespace
} // namespace heddle::test
