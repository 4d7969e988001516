// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops that operators become, where versions or attributes make a difference. That the numbers are right is what
// onnx_nodes_test.cpp shows.

#include "dialects/nn/NnOps.h"
#include "tests/compiler/import/onnx/import_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::test {
namespace {

using ::onnx::AttributeProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;
using testing::HasSubstr;

void setFloat(NodeProto &node, const std::string &name, float value) {
  AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::FLOAT);
  attribute.set_f(value);
}

NodeProto &setString(NodeProto &node, const std::string &name, const std::string &value) {
  AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::STRING);
  attribute.set_s(value);
  return node;
}

/// The ops of |builder|'s model without names of results, constants and the function around them.
std::string ops(const ModelBuilder &builder) {
  Import import = builder.import();
  EXPECT_TRUE(import.module) << import.errors.str();
  std::string text;
  if (!import.module)
    return text;
  import.main().walk([&](mlir::Operation *op) {
    op->removeAttr("nn.outputs");
    if (llvm::isa<nn::ConstantOp, mlir::func::FuncOp, mlir::func::ReturnOp>(op))
      return;
    llvm::raw_string_ostream os(text);
    op->print(os, mlir::OpPrintingFlags().useLocalScope());
    os << "\n";
  });
  return text;
}

/// A model of x f32[batch,3,4] -> y in |opset|, with a node that the test completes.
struct One {
  explicit One(int64_t opset, const std::string &type, std::initializer_list<const char *> inputs = {"x"},
               std::initializer_list<const char *> outputs = {"y"})
      : builder(opset), node((builder.input("x", {"batch", 3, 4}).output("y"), builder.node(type, inputs, outputs))) {}
  ModelBuilder builder;
  NodeProto &node;
};

TEST(Ops, SoftmaxFlattensBeforeOpset13) {
  One old(11, "Softmax");
  std::string text = ops(old.builder);
  EXPECT_THAT(text, HasSubstr("nn.flatten %arg0 {axis = 1 : i64} : (tensor<?x3x4xf32>) -> tensor<?x12xf32>"));
  EXPECT_THAT(text, HasSubstr("{axis = 1 : i64} : (tensor<?x12xf32>) -> tensor<?x12xf32>"));
  EXPECT_THAT(text, HasSubstr("{allowzero} : (tensor<?x12xf32>, tensor<3xi64>) -> tensor<?x3x4xf32>"));
  One last(11, "Softmax");
  setInt(last.node, "axis", -1);
  EXPECT_EQ(ops(last.builder), "%0 = nn.softmax %arg0 {axis = 2 : i64} : (tensor<?x3x4xf32>) -> tensor<?x3x4xf32>\n");
  One current(13, "LogSoftmax");
  EXPECT_THAT(ops(current.builder), HasSubstr("nn.log_softmax %arg0 {axis = 2 : i64}"));
}

TEST(Ops, AxesAreAttributesOrInputs) {
  One squeezed(11, "Unsqueeze");
  setInts(squeezed.node, "axes", {-1, 0});
  EXPECT_THAT(ops(squeezed.builder), HasSubstr("nn.unsqueeze %arg0 axes [0, 4]"));
  One since13(13, "Unsqueeze", {"x", "axes"});
  since13.builder.ints("axes", {-1, 0});
  EXPECT_THAT(ops(since13.builder), HasSubstr("nn.unsqueeze %arg0 axes [0, 4]"));
  One mean(17, "ReduceMean");
  setInts(mean.node, "axes", {-1});
  EXPECT_THAT(ops(mean.builder), HasSubstr("nn.reduce mean %arg0 axes [2] {keepdims}"));
  One mean18(18, "ReduceMean", {"x", "axes"});
  setInt(mean18.node, "keepdims", 0);
  mean18.builder.ints("axes", {2, 1});
  EXPECT_THAT(ops(mean18.builder), HasSubstr("nn.reduce mean %arg0 axes [1, 2] :"));
}

TEST(Ops, ReductionsWithoutAxesTakeAllUnlessToldOtherwise) {
  EXPECT_THAT(ops(One(13, "ReduceSum").builder), HasSubstr("nn.reduce sum %arg0 axes [0, 1, 2] {keepdims}"));
  One none(13, "ReduceSum");
  setInt(none.node, "noop_with_empty_axes", 1);
  EXPECT_THAT(ops(none.builder), HasSubstr("nn.reduce sum %arg0 axes [] {keepdims}"));
}

TEST(Ops, AxesOfShapeDerivedSizesAreFound) {
  // The parts' sizes come from an extent that is known: 4 / 2.
  One split(17, "Split", {"x", "sizes"}, {"y", "z"});
  split.builder.output("z").ints("two", {2}).ints("start", {2}).ints("end", {3});
  split.builder.tensor("wide", {2, 7}).set_raw_data(std::string(56, '\0'));
  setInt(split.node, "axis", 2);
  split.builder.node("Shape", {"wide"}, {"shape"});
  split.builder.node("Slice", {"shape", "zero", "one"}, {"first"});
  split.builder.ints("zero", {0}).ints("one", {1});
  setInt(split.builder.node("Concat", {"first", "first"}, {"sizes"}), "axis", 0);
  EXPECT_THAT(ops(split.builder), HasSubstr("split_sizes = array<i64: 2, 2>"));
}

TEST(Ops, SplitIsEvenWithoutSizes) {
  One split(11, "Split", {"x"}, {"y", "z"});
  split.builder.output("z");
  setInt(split.node, "axis", -1);
  EXPECT_THAT(ops(split.builder), HasSubstr("nn.split %arg0 {axis = 2 : i64, num_outputs = 2 : i64}"));
  One sizes(11, "Split", {"x"}, {"y", "z"});
  sizes.builder.output("z");
  setInts(setInt(sizes.node, "axis", 2), "split", {1, 3});
  EXPECT_THAT(ops(sizes.builder), HasSubstr("split_sizes = array<i64: 1, 3>"));
}

TEST(Ops, SlicesByAttributesBecomeSlicesByVectors) {
  One slice(9, "Slice");
  setInts(setInts(setInts(slice.node, "starts", {1}), "ends", {-1}), "axes", {1});
  EXPECT_THAT(ops(slice.builder), HasSubstr("nn.slice %arg0, %0, %1 axes(%2 : tensor<1xi64>) : (tensor<?x3x4xf32>, "
                                            "tensor<1xi64>, tensor<1xi64>) -> tensor<?x1x4xf32>"));
}

TEST(Ops, ClipBoundsAreAttributesOrInputs) {
  One relu6(6, "Clip");
  setFloat(relu6.node, "max", 6);
  EXPECT_THAT(ops(relu6.builder), HasSubstr("nn.clip %arg0 max(%0 : tensor<f32>)"));
  One upper(11, "Clip", {"x", "", "high"});
  upper.builder.input("high", {});
  EXPECT_THAT(ops(upper.builder), HasSubstr("nn.clip %arg0 max(%arg1 : tensor<f32>)"));
}

TEST(Ops, PadsAreAttributesOrInputs) {
  One old(10, "Pad");
  setInts(old.node, "pads", {0, 1, 0, 0, 0, 1});
  setFloat(old.node, "value", 2);
  EXPECT_THAT(ops(old.builder), HasSubstr("nn.pad constant %arg0, %0 value(%1 : tensor<f32>)"));
  One axes(18, "Pad", {"x", "pads", "", "axes"});
  axes.builder.ints("pads", {1, 1}).ints("axes", {-1});
  setString(axes.node, "mode", "reflect");
  EXPECT_THAT(ops(axes.builder), HasSubstr("-> tensor<?x3x6xf32>"));
}

TEST(Ops, GelusAndSwishesStayApart) {
  EXPECT_THAT(ops(One(20, "Gelu").builder), HasSubstr("nn.unary gelu_erf %arg0"));
  One tanh(20, "Gelu");
  setString(tanh.node, "approximate", "tanh");
  EXPECT_THAT(ops(tanh.builder), HasSubstr("nn.unary gelu_tanh %arg0"));
  EXPECT_THAT(ops(One(24, "Swish").builder), HasSubstr("nn.unary silu %arg0"));
}

TEST(Ops, VariadicOperatorsCombineFromTheLeft) {
  EXPECT_EQ(ops(One(17, "Max", {"x", "x", "x"}).builder),
            "%0 = nn.binary max %arg0, %arg0 : (tensor<?x3x4xf32>, tensor<?x3x4xf32>) -> tensor<?x3x4xf32>\n"
            "%1 = nn.binary max %0, %arg0 : (tensor<?x3x4xf32>, tensor<?x3x4xf32>) -> tensor<?x3x4xf32>\n");
  EXPECT_EQ(ops(One(17, "Sum", {"x"}).builder), "");
}

TEST(Ops, ShapeHasBoundsSinceOpset15) {
  One shape(15, "Shape");
  setInt(setInt(shape.node, "start", -2), "end", 100);
  EXPECT_THAT(ops(shape.builder), HasSubstr("nn.shape %arg0 {end = 3 : i64, start = 1 : i64}"));
  EXPECT_THAT(ops(One(13, "Shape").builder), HasSubstr("{end = 3 : i64, start = 0 : i64}"));
}

TEST(Ops, EinsumGetsItsImplicitTerm) {
  One einsum(12, "Einsum", {"x", "x"});
  setString(einsum.node, "equation", "b i j, ...ij");
  EXPECT_THAT(ops(einsum.builder), HasSubstr("nn.einsum \"bij,...ij->...b\" %arg0, %arg0"));
}

TEST(Ops, ConvDefaultsAreSpelledOut) {
  auto conv = [](const std::string &autoPad) {
    ModelBuilder builder;
    builder.input("x", {"b", 2, 7, 7}).output("y");
    builder.tensor("w", {3, 2, 3, 3}).set_raw_data(std::string(216, '\0'));
    NodeProto &node = setInts(builder.node("Conv", {"x", "w"}, {"y"}), "strides", {2, 2});
    if (!autoPad.empty())
      setString(node, "auto_pad", autoPad);
    return ops(builder);
  };
  EXPECT_THAT(conv(""),
              HasSubstr("{dilations = array<i64: 1, 1>, group = 1 : i64, pads = array<i64: 0, 0, 0, 0>, strides "
                        "= array<i64: 2, 2>} : (tensor<?x2x7x7xf32>, tensor<3x2x3x3xf32>) -> tensor<?x3x3x3xf32>"));
  EXPECT_THAT(conv("SAME_UPPER"), HasSubstr("pads = array<i64: 1, 1, 1, 1>"));
  EXPECT_THAT(conv("SAME_LOWER"), HasSubstr("-> tensor<?x3x4x4xf32>"));
  EXPECT_THAT(conv("VALID"), HasSubstr("-> tensor<?x3x3x3xf32>"));
}

TEST(Ops, TransposedConvolutionsFitTheirOutputShape) {
  auto conv = [](std::initializer_list<int64_t> outputShape) {
    ModelBuilder builder;
    builder.input("x", {"b", 2, 7}).output("y");
    builder.tensor("w", {2, 3, 3}).set_raw_data(std::string(72, '\0'));
    NodeProto &node = setInts(builder.node("ConvTranspose", {"x", "w"}, {"y"}), "strides", {2});
    return ops(outputShape.size() ? (setInts(node, "output_shape", outputShape), builder) : builder);
  };
  EXPECT_THAT(conv({}), HasSubstr("output_padding = array<i64: 0>, pads = array<i64: 0, 0>"));
  // 15 elements whole: two are cut off, or one is added.
  EXPECT_THAT(conv({13}), HasSubstr("output_padding = array<i64: 0>, pads = array<i64: 1, 1>"));
  EXPECT_THAT(conv({16}), HasSubstr("output_padding = array<i64: 1>, pads = array<i64: 0, 0>"));
}

TEST(Ops, PoolsAreWindowsAndGlobalOnesReductions) {
  One pool(22, "AveragePool");
  setInts(pool.node, "kernel_shape", {2});
  EXPECT_THAT(ops(pool.builder), HasSubstr("nn.pool average %arg0 {dilations = array<i64: 1>, kernel = array<i64: 2>, "
                                           "pads = array<i64: 0, 0>, strides = array<i64: 1>}"));
  One global(22, "GlobalMaxPool");
  EXPECT_THAT(ops(global.builder), HasSubstr("nn.reduce max %arg0 axes [2] {keepdims}"));
}

TEST(Ops, ResizesHaveAscendingAxesAndExactSizes) {
  One scaled(11, "Resize", {"x", "", "scales"});
  TensorProto &scales = scaled.builder.tensor("scales", {3});
  for (float scale : {1.0f, 0.5f, 2.0f})
    scales.add_float_data(scale);
  // A scale of 1 leaves its axis alone; opset 11 rounds halves down.
  EXPECT_THAT(ops(scaled.builder),
              HasSubstr("{axes = array<i64: 1, 2>, coordinates = #nn<resize_coordinates half_pixel>, rounding = "
                        "#nn<resize_rounding round_prefer_floor>, scales = array<f32: 5.000000e-01, 2.000000e+00>} : "
                        "(tensor<?x3x4xf32>, tensor<2xi64>) -> tensor<?x1x8xf32>"));
  One sized(18, "Resize", {"x", "", "", "sizes"});
  sized.builder.ints("sizes", {5, 6});
  setInts(sized.node, "axes", {2, 1});
  EXPECT_THAT(ops(sized.builder), HasSubstr("nn.gather"));
  EXPECT_THAT(ops(sized.builder), HasSubstr("axes = array<i64: 1, 2>"));
}

TEST(Ops, FourierTransformsAreProductsWithWaves) {
  One dft(17, "DFT");
  dft.builder.proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(2)
      ->set_dim_value(1);
  std::string text = ops(dft.builder);
  EXPECT_THAT(text, HasSubstr("nn.unary cos"));
  EXPECT_THAT(text, HasSubstr("nn.unary sin"));
  EXPECT_THAT(text, HasSubstr("nn.matmul"));
}

TEST(Ops, OneElementVectorsServeAsScalars) {
  One quantize(13, "QuantizeLinear", {"x", "scale"});
  quantize.builder.tensor("scale", {1}).add_float_data(1);
  EXPECT_THAT(ops(quantize.builder), HasSubstr("nn.squeeze %0 axes [0] : (tensor<1xf32>) -> tensor<f32>"));
  One top(11, "TopK", {"x", "k"}, {"y", "i"});
  top.builder.ints("k", {2});
  EXPECT_THAT(ops(top.builder),
              HasSubstr("nn.top_k %arg0, %1 {axis = 2 : i64, largest} : (tensor<?x3x4xf32>, tensor<i64>) "
                        "-> (tensor<?x3x2xf32>, tensor<?x3x2xi64>)"));
}

TEST(Ops, IdentityAndDropoutLeaveNothingBehind) {
  EXPECT_EQ(ops(One(17, "Identity").builder), "");
  One dropout(12, "Dropout", {"x", "", "training"});
  dropout.builder.tensor("training", {}, TensorProto::BOOL).add_int32_data(0);
  EXPECT_EQ(ops(dropout.builder), "");
}

TEST(Ops, ConstantsHaveFiveForms) {
  auto constant = [](auto set) {
    ModelBuilder builder;
    builder.output("y");
    set(*builder.node("Constant", {}, {"y"}).add_attribute());
    return builder.import().text();
  };
  EXPECT_THAT(constant([](AttributeProto &a) {
                a.set_name("value_float");
                a.set_type(AttributeProto::FLOAT);
                a.set_f(0.5);
              }),
              HasSubstr("dense<5.000000e-01> : tensor<f32>"));
  EXPECT_THAT(constant([](AttributeProto &a) {
                a.set_name("value_int");
                a.set_type(AttributeProto::INT);
                a.set_i(-3);
              }),
              HasSubstr("dense<-3> : tensor<i64>"));
  EXPECT_THAT(constant([](AttributeProto &a) {
                a.set_name("value_floats");
                a.set_type(AttributeProto::FLOATS);
                a.add_floats(1);
                a.add_floats(2);
              }),
              HasSubstr("dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>"));
  EXPECT_THAT(constant([](AttributeProto &a) {
                a.set_name("value_ints");
                a.set_type(AttributeProto::INTS);
                for (int i = 0; i < 1000; ++i)
                  a.add_ints(i);
              }),
              HasSubstr("dense_resource"));
  EXPECT_THAT(constant([](AttributeProto &a) {
                a.set_name("value");
                a.set_type(AttributeProto::TENSOR);
                a.mutable_t()->set_data_type(TensorProto::INT32);
                a.mutable_t()->add_dims(1);
                a.mutable_t()->add_int32_data(7);
              }),
              HasSubstr("dense<7> : tensor<1xi32>"));
}

} // namespace
} // namespace heddle::test
