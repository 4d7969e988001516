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

TEST(Entry, TakesInitialisersForConstantsThoughTheyAreInputs) {
  ModelBuilder builder;
  builder.input("x", {1}).input("w", {1}).output("y");
  builder.tensor("w", {1}).add_float_data(1);
  builder.node("Add", {"x", "w"}, {"y"});
  // Since IR version 4 the input means that the constant is a default.
  std::string line = signature(builder);
  EXPECT_THAT(line, HasSubstr("attributes {nn.constant_inputs = [\"w\"]}"));
  EXPECT_THAT(line, Not(HasSubstr("%arg1")));
  builder.proto.set_ir_version(3);
  EXPECT_THAT(signature(builder), Not(HasSubstr("nn.constant_inputs")));
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
