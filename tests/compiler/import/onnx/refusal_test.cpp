// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is said about nodes that can't be imported: which, what it is, why, and what to do.

#include "tests/compiler/import/onnx/import_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::test {
namespace {

using ::onnx::AttributeProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;
using testing::HasSubstr;
using testing::Not;

std::string error(const ModelBuilder &builder) {
  Import import = builder.import();
  EXPECT_FALSE(import.module);
  EXPECT_EQ(import.errors.exitCode(), 3);
  return import.errors.str();
}

TEST(Refusal, ListsAllUnsupportedOperatorsAtOnce) {
  ModelBuilder builder;
  builder.proto.add_opset_import()->set_domain("com.acme");
  builder.proto.mutable_opset_import(1)->set_version(3);
  builder.input("x", {2}).output("e");
  builder.node("FooBar", {"x"}, {"a"}, "foo").set_domain("com.acme");
  builder.node("NonZero", {"x"}, {"b"}, "one");
  builder.node("NonZero", {"x"}, {"c"}, "two");
  builder.node("NonZero", {"x"}, {"d"}, "three");
  builder.node("NonZero", {"x"}, {"e"}, "four");
  EXPECT_EQ(error(builder),
            "error[H0201]: operator FooBar of domain 'com.acme' is not supported: 1 node, 'foo'\n"
            "  in model.onnx, op FooBar (com.acme opset 3), inputs float[2]\n"
            "  help: export the model with another opset or exporter, or write the operator in basic ones\n"
            "error[H0201]: operator NonZero is not supported: 4 nodes, 'one', 'two', 'three', ...\n"
            "  in model.onnx, op NonZero (opset 17), inputs float[2]\n"
            "  help: the size of its result depends on values, which no compiled program can plan for: replace it by a "
            "mask\n");
}

TEST(Refusal, ShowsTheShapesThatTheFileDeclares) {
  ModelBuilder builder;
  builder.input("x", {"batch", ""}).output("y");
  builder.tensor("w", {3}).set_raw_data(std::string(12, '\0'));
  builder.node("Abs", {"x"}, {"a"});
  builder.node("NonZero", {"x", "w", "", "a"}, {"y"}, "n");
  EXPECT_THAT(error(builder), HasSubstr("inputs float[batch,?], float[3], absent, of unknown shape\n"));
}

TEST(Refusal, NamesTheVersionsOfAnOperatorThatAreKnown) {
  ModelBuilder old(6);
  old.input("x", {2}).output("y");
  old.node("Add", {"x", "x"}, {"y"}, "n");
  EXPECT_THAT(error(old), HasSubstr("operator Add is not supported in opset 6, only since 7: 1 node, 'n'"));
  ModelBuilder future(28);
  future.input("x", {2}).output("y");
  future.node("Add", {"x", "x"}, {"y"}, "n");
  EXPECT_THAT(error(future), HasSubstr("operator Add is not supported in opset 28, only up to 27: 1 node, 'n'"));
}

TEST(Refusal, ShowsShapesThatDoNotFit) {
  ModelBuilder builder;
  builder.input("a", {"b", 12, "s", 64}).input("b", {"b", 12, 32, "s"}).output("y");
  builder.node("MatMul", {"a", "b"}, {"y"}, "encoder/layer.0/attn/MatMul_2");
  EXPECT_EQ(error(builder),
            "error[H0204]: node 'encoder/layer.0/attn/MatMul_2': expects equal inner dimensions, got 64 "
            "and 32\n  in model.onnx, op MatMul (opset 17), inputs f32[?,12,?,64], f32[?,12,32,?]\n");
}

TEST(Refusal, ReportsEachFaultyNodeButNotThoseBehindIt) {
  ModelBuilder builder;
  builder.input("x", {2}).input("y", {3}).output("d");
  builder.node("Add", {"x", "y"}, {"a"}, "one");
  builder.node("Abs", {"a"}, {"b"}, "behind");
  builder.node("Mul", {"x", "y"}, {"c"}, "two");
  builder.node("Sub", {"b", "c"}, {"d"}, "also behind");
  std::string text = error(builder);
  EXPECT_THAT(text, HasSubstr("node 'one': "));
  EXPECT_THAT(text, HasSubstr("node 'two': "));
  EXPECT_THAT(text, Not(HasSubstr("behind")));
}

TEST(Refusal, ChecksTheNumberOfInputs) {
  ModelBuilder few;
  few.input("x", {2}).output("y");
  few.node("Add", {"x"}, {"y"}, "n");
  EXPECT_THAT(error(few), HasSubstr("error[H0203]: node 'n': the operator has 2 inputs, the node 1\n"));
  ModelBuilder many;
  many.input("x", {2}).output("y");
  many.node("Clip", {"x", "x", "x", "x"}, {"y"}, "n");
  EXPECT_THAT(error(many), HasSubstr("node 'n': the operator has 1 to 3 inputs, the node 4\n"));
  ModelBuilder absent;
  absent.input("x", {2}).output("y");
  absent.node("Add", {"", "x"}, {"y"}, "n");
  EXPECT_THAT(error(absent), HasSubstr("node 'n': the operator has 2 inputs, the node 2, one of them left out\n"));
}

TEST(Refusal, ChecksAttributes) {
  auto softmax = [](auto change) {
    ModelBuilder builder;
    builder.input("x", {2, 3}).output("y");
    change(builder.node("Softmax", {"x"}, {"y"}, "n"));
    return error(builder);
  };
  EXPECT_THAT(softmax([](::onnx::NodeProto &node) { setInt(node, "axis", 2); }),
              HasSubstr("error[H0204]: node 'n': axis 2 is outside the range [-2, 2)\n"));
  EXPECT_THAT(softmax([](::onnx::NodeProto &node) { setInts(node, "axis", {1}); }),
              HasSubstr("error[H0203]: node 'n': attribute 'axis' must be an integer\n"));
  EXPECT_THAT(softmax([](::onnx::NodeProto &node) { setInt(node, "axes", 1); }),
              HasSubstr("error[H0202]: node 'n': attribute 'axes' is not supported in opset 17\n"));
  EXPECT_THAT(softmax([](::onnx::NodeProto &node) { setInt(setInt(node, "axis", 1), "axis", 1); }),
              HasSubstr("error[H0203]: node 'n': attribute 'axis' is given twice\n"));
  ModelBuilder missing;
  missing.input("x", {2}).output("y");
  missing.node("Concat", {"x"}, {"y"}, "n");
  EXPECT_THAT(error(missing), HasSubstr("error[H0203]: node 'n': required attribute 'axis' is missing\n"));
}

TEST(Refusal, ChecksInputsBeforeShapesAreInferredFromThem) {
  auto reshape = [](std::initializer_list<Dim> dims) {
    ModelBuilder builder;
    builder.input("x", {2}).input("shape", dims, TensorProto::INT64).output("y");
    builder.node("Reshape", {"x", "shape"}, {"y"}, "n");
    return error(builder);
  };
  EXPECT_THAT(reshape({}), HasSubstr("error[H0204]: node 'n': operand #1 must be 1D tensor"));
  EXPECT_THAT(reshape({"n"}), HasSubstr("node 'n': expects a shape of static length\n"));
  EXPECT_THAT(reshape({1 << 30}), HasSubstr("expects a shape of at most 64 extents, got 1073741824\n"));
}

TEST(Refusal, NeedsConstantAxes) {
  ModelBuilder builder;
  builder.input("x", {2, 1}).input("axes", {1}, TensorProto::INT64).output("y");
  builder.node("Squeeze", {"x", "axes"}, {"y"}, "n");
  EXPECT_THAT(error(builder),
              HasSubstr("error[H0202]: node 'n': axes must be a constant, but is computed when the model "
                        "runs\n  in model.onnx, op Squeeze (opset 17), inputs f32[2,1], i64[1]\n"));
  ModelBuilder twice;
  twice.input("x", {2, 1}).output("y").ints("axes", {1, -1});
  twice.node("Squeeze", {"x", "axes"}, {"y"}, "n");
  EXPECT_THAT(error(twice), HasSubstr("axis 1 is listed twice"));
  ModelBuilder none;
  none.input("x", {"a", 1}).output("y");
  none.node("Squeeze", {"x"}, {"y"}, "n");
  EXPECT_THAT(error(none), HasSubstr("Squeeze without axes needs a shape that is known"));
}

TEST(Refusal, BoundsTheRankOfResults) {
  ModelBuilder builder;
  builder.input("x", {1, 1, 1, 1, 1, 1, 1, 2}).output("y").ints("axes", {0});
  builder.node("Unsqueeze", {"x", "axes"}, {"y"}, "n");
  EXPECT_THAT(error(builder), HasSubstr("node 'n': a result of 9 dimensions is not supported, at most 8 are\n"));
}

TEST(Refusal, NamesOutputsThatAreNotProvided) {
  ModelBuilder builder;
  builder.input("x", {1, 2, 4}).output("z");
  NodeProto &pool = builder.node("MaxPool", {"x"}, {"y", "indices"}, "pool");
  AttributeProto &kernel = *pool.add_attribute();
  kernel.set_name("kernel_shape");
  kernel.set_type(AttributeProto::INTS);
  kernel.add_ints(2);
  builder.node("Neg", {"indices"}, {"z"}, "n");
  EXPECT_EQ(error(builder), "error[H0202]: node 'n': it reads 'indices', output 1 of MaxPool (opset 17), which is not "
                            "supported\n  in model.onnx, op Neg (opset 17)\n");
  // Exporters declare such outputs without using them.
  builder.proto.mutable_graph()->mutable_node()->RemoveLast();
  builder.proto.mutable_graph()->mutable_output(0)->set_name("y");
  EXPECT_TRUE(builder.import().module);
  builder.proto.mutable_graph()->mutable_output(0)->set_name("indices");
  EXPECT_THAT(error(builder), HasSubstr("output 'indices' is output 1 of MaxPool (opset 17)"));
}

TEST(Refusal, StopsAfterTwentyErrors) {
  ModelBuilder builder;
  builder.input("x", {2}).input("y", {3}).output("x");
  for (int i = 0; i < 100; ++i)
    builder.node("Add", {"x", "y"}, {("a" + std::to_string(i)).c_str()});
  EXPECT_EQ(builder.import().errors.getErrors().size(), 20u);
}

} // namespace
} // namespace heddle::test
