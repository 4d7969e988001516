// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What com.microsoft's quantised operators become, and how they are refused. That the numbers are right is what
// tests/e2e/quantized_operators_test.py shows.

#include "dialects/nn/ConstantData.h"
#include "tests/compiler/import/onnx/import_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::test {
namespace {

using ::onnx::NodeProto;
using ::onnx::TensorProto;
using testing::ElementsAre;
using testing::HasSubstr;

/// A node of com.microsoft that gives y.
struct Model {
  Model(const char *type, std::initializer_list<const char *> inputs) {
    builder.proto.add_opset_import()->set_domain("com.microsoft");
    builder.proto.mutable_opset_import(1)->set_version(1);
    builder.output("y");
    node = &builder.node(type, inputs, {"y"}, "n");
    node->set_domain("com.microsoft");
  }

  Model &with(const std::string &name, int value) {
    setInt(*node, name, value);
    return *this;
  }
  /// A constant of zeros.
  Model &constant(const char *name, std::initializer_list<int64_t> dims, int type = TensorProto::FLOAT) {
    int64_t bytes = type == TensorProto::FLOAT ? 4 : 1;
    for (int64_t extent : dims)
      bytes *= extent;
    builder.tensor(name, dims, type).set_raw_data(std::string(bytes, '\0'));
    return *this;
  }

  std::vector<std::string> kinds() const {
    Import import = builder.import();
    EXPECT_TRUE(import.module) << import.errors.str();
    std::vector<std::string> names;
    if (!import.module)
      return names;
    import.main().walk([&](mlir::Operation *op) {
      if (!llvm::isa<nn::ConstantOp, mlir::func::FuncOp, mlir::func::ReturnOp>(op))
        names.push_back(op->getName().stripDialect().str());
    });
    return names;
  }

  std::string error() const {
    Import import = builder.import();
    EXPECT_FALSE(import.module);
    EXPECT_EQ(import.errors.exitCode(), 3);
    return import.errors.str();
  }

  ModelBuilder builder;
  NodeProto *node;
};

/// x f32[rows,K] times 3 columns of |bits|, in blocks of 16.
Model fewBits(std::initializer_list<const char *> inputs, int depth, int bits) {
  Model model("MatMulNBits", inputs);
  model.builder.input("x", {"rows", depth});
  int64_t blocks = (depth + 15) / 16;
  model.constant("w", {3, blocks, 16 * bits / 8}, TensorProto::UINT8).constant("s", {3, blocks});
  model.with("N", 3).with("K", depth).with("bits", bits).with("block_size", 16);
  return model;
}

TEST(MicrosoftQuantization, WeightsOfFewBitsStayCodes) {
  EXPECT_THAT(fewBits({"x", "w", "s"}, 32, 4).kinds(), ElementsAre("dequantize_linear", "transpose", "matmul"));
  Model tail = fewBits({"x", "w", "s"}, 20, 8);
  EXPECT_THAT(tail.kinds(), ElementsAre("pad", "dequantize_linear", "transpose", "matmul"));
  Import import = tail.builder.import();
  import.main().walk([](nn::DequantizeLinearOp op) {
    EXPECT_EQ(op.getBlockSize(), 16);
    auto codes = llvm::cast<mlir::RankedTensorType>(op.getInput().getType());
    EXPECT_THAT(codes.getShape(), ElementsAre(3, 32));
    EXPECT_TRUE(codes.getElementType().isUnsignedInteger(8));
    auto zeros = op.getZeroPoint().getDefiningOp<nn::ConstantOp>();
    EXPECT_EQ(nn::ConstantData::get(zeros)->getInt(5), 128);
  });
}

TEST(MicrosoftQuantization, ZeroPointsOfBlocksAreAddedByTheSumsOfBlocks) {
  // All are 0 and not in the middle. Three blocks of a row take two bytes.
  Model packed = fewBits({"x", "w", "s", "z"}, 48, 4);
  packed.constant("z", {3, 2}, TensorProto::UINT8);
  EXPECT_THAT(packed.kinds(),
              ElementsAre("dequantize_linear", "transpose", "matmul", "reshape", "reduce", "matmul", "binary"));
  Model centred = fewBits({"x", "w", "s", "z"}, 48, 4);
  centred.builder.tensor("z", {3, 2}, TensorProto::UINT8).set_raw_data(std::string(6, '\x88'));
  EXPECT_THAT(centred.kinds(), ElementsAre("dequantize_linear", "transpose", "matmul"));
}

TEST(MicrosoftQuantization, RefusesWeightsOfFewBitsByWhatTheyAre) {
  Model order = fewBits({"x", "w", "s", "", "g"}, 32, 4);
  order.constant("g", {32}, TensorProto::INT8);
  EXPECT_THAT(order.error(), HasSubstr("node 'n': input g_idx is not supported: weights in another order than their "
                                       "blocks"));
  EXPECT_THAT(fewBits({"x", "w", "s"}, 32, 2).error(), HasSubstr("weights of 2 bits are not supported, 4 and 8 are"));
  EXPECT_THAT(fewBits({"x", "w", "s"}, 32, 4).with("weight_prepacked", 1).error(),
              HasSubstr("weights packed for a device are not supported"));
  Model open = fewBits({"x", "v", "s"}, 32, 4);
  open.builder.input("v", {3, 2, 8}, TensorProto::UINT8);
  EXPECT_THAT(open.error(), HasSubstr("a weight that is no constant is not supported"));
  Model small = fewBits({"x", "v", "s"}, 32, 4);
  small.constant("v", {3, 2, 7}, TensorProto::UINT8);
  EXPECT_THAT(small.error(), HasSubstr("a weight must have 48 elements of type uint8"));
  Model points = fewBits({"x", "w", "s", "z"}, 32, 4);
  points.constant("z", {3, 3}, TensorProto::UINT8);
  EXPECT_THAT(points.error(), HasSubstr("a zero point must have 3 elements of type uint8"));
  Model wide = fewBits({"u", "w", "s"}, 32, 4);
  wide.builder.input("u", {"rows", 33});
  EXPECT_THAT(wide.error(), HasSubstr("the last dimension of the left side must be K, 32"));
  Model blocks("MatMulNBits", {"x", "w", "s"});
  blocks.builder.input("x", {"rows", 32});
  blocks.constant("w", {3, 2, 8}, TensorProto::UINT8).constant("s", {3, 2});
  blocks.with("N", 3).with("K", 32).with("block_size", 24);
  EXPECT_THAT(blocks.error(), HasSubstr("N and K must be positive, and block_size a power of two from 16 on"));
}

/// A node of codes x u8[batch,2,8,8] by |inputs| of these: scales s, zero points z.
Model ofCodes(const char *type, std::initializer_list<const char *> inputs) {
  Model model(type, inputs);
  model.builder.input("x", {"batch", 2, 8, 8}, TensorProto::UINT8);
  model.constant("s", {}).constant("z", {1}, TensorProto::UINT8);
  return model;
}

TEST(MicrosoftQuantization, GoesFromCodesToCodesByWayOfFloats) {
  EXPECT_THAT(ofCodes("QLinearSigmoid", {"x", "s", "", "s"}).kinds(),
              ElementsAre("dequantize_linear", "unary", "quantize_linear"));
  EXPECT_THAT(ofCodes("QLinearAdd", {"x", "s", "", "x", "s", "", "s"}).kinds(),
              ElementsAre("dequantize_linear", "dequantize_linear", "binary", "quantize_linear"));
  EXPECT_THAT(ofCodes("QLinearConcat", {"s", "z", "x", "s", "z", "x", "s", "z"}).with("axis", -1).kinds(),
              testing::Contains("concat"));
}

TEST(MicrosoftQuantization, RefusesCodesThatItCantRead) {
  EXPECT_THAT(ofCodes("QLinearSigmoid", {"x", "s", "z"}).error(),
              HasSubstr("node 'n': the scale of the result, input 3, is absent"));
  EXPECT_THAT(ofCodes("QLinearAdd", {"x", "s", "", "x"}).error(),
              HasSubstr("operand or scale, input 3 or the next, is absent"));
  EXPECT_THAT(ofCodes("QLinearGlobalAveragePool", {"x", "s", "z", "s", "z"}).with("channels_last", 1).error(),
              HasSubstr("channels in the last dimension are not supported"));
  EXPECT_THAT(ofCodes("QLinearConcat", {"s", "z", "x", "s", "z", "x"}).with("axis", 1).error(),
              HasSubstr("each part needs a scale and a zero point"));
}

} // namespace
} // namespace heddle::test
