// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The boundary of a model: names, dimensions and types of inputs and outputs.

#include "tests/compiler/import/onnx/import_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::test {
namespace {

using ::onnx::TensorProto;
using testing::HasSubstr;
using testing::Not;

std::string error(const ModelBuilder &builder) {
  Import import = builder.import();
  EXPECT_FALSE(import.module);
  return import.errors.str();
}

/// The line of the function's signature.
std::string signature(const ModelBuilder &builder) {
  Import import = builder.import();
  EXPECT_TRUE(import.module) << import.errors.str();
  std::string text = import.text();
  size_t begin = text.find("func.func");
  return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
}

TEST(Entry, KeepsNamesAndSymbols) {
  ModelBuilder builder;
  builder.input("input_ids", {"batch", "past_sequence_length + 1", 12}, TensorProto::INT64).output("463");
  builder.node("Neg", {"input_ids"}, {"463"});
  EXPECT_EQ(signature(builder),
            "func.func @main(%arg0: tensor<?x?x12xi64> {nn.dims = [\"batch\", \"past_sequence_length + 1\", 12], "
            "nn.name = \"input_ids\"}) -> (tensor<?x?x12xi64> {nn.dims = [\"463_dim0\", \"463_dim1\", 12], nn.name = "
            "\"463\"}) {");
}

TEST(Entry, InventsNamesThatAreInNobodysUse) {
  ModelBuilder builder;
  builder.input("x", {"", "-1", "x_dim0"}).output("x");
  // A negative extent is no extent.
  builder.input("y", {-1, "?"}).output("y");
  std::string line = signature(builder);
  EXPECT_THAT(line, HasSubstr("tensor<?x?x?xf32> {nn.dims = [\"x_dim0_\", \"x_dim1\", \"x_dim0\"]"));
  EXPECT_THAT(line, HasSubstr("tensor<?x?xf32> {nn.dims = [\"y_dim0\", \"y_dim1\"]"));
}

TEST(Entry, TakesNamesOfOutputsFromTheFileAndExtentsFromTheGraph) {
  ModelBuilder builder;
  builder.input("x", {"batch", 4}).output("y", TensorProto::FLOAT);
  // Declared as [rows, 5], which is wrong.
  ::onnx::TensorShapeProto &shape =
      *builder.proto.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.add_dim()->set_dim_param("rows");
  shape.add_dim()->set_dim_value(5);
  builder.node("Abs", {"x"}, {"y"});
  EXPECT_THAT(signature(builder), HasSubstr("-> (tensor<?x4xf32> {nn.dims = [\"rows\", 4], nn.name = \"y\"})"));
}

TEST(Entry, LetsOutputsBeInputsAndConstants) {
  ModelBuilder builder;
  builder.input("x", {2}).output("x").output("w").output("y");
  builder.tensor("w", {1}).add_float_data(1);
  builder.node("Identity", {"x"}, {"y"});
  Import import = builder.import();
  EXPECT_THAT(import.text(), HasSubstr("return %arg0, %0, %arg0 : tensor<2xf32>, tensor<1xf32>, tensor<2xf32>"));
}

TEST(Entry, TakesInitialisersForDefaultsWhereTheyAreInputs) {
  ModelBuilder builder;
  builder.input("w", {"n"}).input("x", {1}).output("y");
  builder.tensor("w", {1}).add_float_data(1);
  builder.node("Add", {"x", "w"}, {"y"});
  std::string line = signature(builder);
  EXPECT_THAT(line, HasSubstr("%arg0: tensor<?xf32> {nn.default = {type = tensor<1xf32>, value = dense<1.000000e+00> : "
                              "tensor<1xf32>}, nn.dims = [\"n\"], nn.name = \"w\"}"));
  EXPECT_THAT(line, HasSubstr("%arg1: tensor<1xf32> {nn.dims = [1], nn.name = \"x\"}"));
  EXPECT_THAT(line, Not(HasSubstr("nn.constant_inputs")));
  // Before IR version 4 all initialisers were listed as inputs.
  builder.proto.set_ir_version(3);
  line = signature(builder);
  EXPECT_THAT(line, Not(HasSubstr("%arg1")));
  EXPECT_THAT(line, Not(HasSubstr("nn.constant_inputs")));
}

TEST(Entry, KeepsDefaultsConstantThatDecideShapes) {
  ModelBuilder builder;
  builder.input("x", {6}).input("half", {1}, TensorProto::INT64).input("scale", {1}).output("y");
  builder.tensor("scale", {1}).add_float_data(2);
  builder.ints("half", {3}).ints("two", {2});
  builder.node("Mul", {"half", "two"}, {"whole"});
  builder.node("Reshape", {"x", "whole"}, {"r"});
  builder.node("Mul", {"r", "scale"}, {"y"});
  std::string line = signature(builder);
  EXPECT_THAT(line, HasSubstr("attributes {nn.constant_inputs = [\"half\"]}"));
  EXPECT_THAT(line, HasSubstr("nn.name = \"scale\"")); // "two" is no input at all
  EXPECT_THAT(line, HasSubstr("-> (tensor<6xf32>"));
}

TEST(Entry, KeepsWeightsConstant) {
  ModelBuilder builder;
  builder.input("x", {1, 200}).input("w", {200, 200}).input("b", {200}).output("y");
  builder.tensor("w", {200, 200}).set_raw_data(std::string(160000, '\0'));
  builder.tensor("b", {200}).set_raw_data(std::string(800, '\0'));
  builder.node("Gemm", {"x", "w", "b"}, {"y"});
  // Each initialiser is an input, and one is a weight: so older exporters listed what nobody was to set.
  EXPECT_THAT(signature(builder), HasSubstr("attributes {nn.constant_inputs = [\"w\", \"b\"]}"));
  // With an initialiser that is no input the others are defaults by intention.
  builder.tensor("unlisted", {1}).add_float_data(1);
  EXPECT_THAT(signature(builder), HasSubstr("attributes {nn.constant_inputs = [\"w\"]}"));
}

TEST(Entry, RefusesDefaultsThatDoNotFit) {
  ModelBuilder builder;
  builder.input("x", {2}).input("w", {3}).output("y");
  builder.tensor("w", {2}).set_raw_data(std::string(8, '\0'));
  builder.node("Add", {"x", "w"}, {"y"});
  EXPECT_EQ(error(builder), "error[H0515]: the default of input 'w' is tensor<2xf32>, but the input is declared as "
                            "tensor<3xf32>\n  in model.onnx\n");
}

TEST(Entry, RefusesInputsOfUnknownRank) {
  ModelBuilder builder;
  builder.input("x", {}).output("x");
  builder.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_EQ(error(builder), "error[H0205]: input 'x' has no shape\n  in model.onnx\n"
                            "  help: give it one; dimensions may be symbolic, but their number must be known\n");
}

TEST(Entry, RefusesOtherKindsOfValues) {
  ModelBuilder sequence;
  sequence.input("x", {}).output("x");
  sequence.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_sequence_type();
  EXPECT_THAT(error(sequence), HasSubstr("error[H0207]: input 'x' is no tensor"));
  ModelBuilder strings;
  strings.input("x", {1}, TensorProto::STRING).output("x");
  EXPECT_THAT(error(strings), HasSubstr("error[H0206]: input 'x' has elements of type string"));
  ModelBuilder deep;
  deep.input("x", {1, 1, 1, 1, 1, 1, 1, 1, 1}).output("x");
  EXPECT_THAT(error(deep), HasSubstr("error[H0518]: input 'x' has 9 dimensions"));
}

TEST(Entry, RefusesOutputsDeclaredWithAnotherType) {
  ModelBuilder builder;
  builder.input("x", {2}).output("y", TensorProto::INT64);
  builder.node("Abs", {"x"}, {"y"});
  EXPECT_THAT(error(builder), HasSubstr("output 'y' is declared with elements of type int64, but has f32"));
}

} // namespace
} // namespace heddle::test
