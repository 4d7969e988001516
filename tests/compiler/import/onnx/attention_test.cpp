// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What Attention and RotaryEmbedding become, and which nodes of them are refused. That the numbers are right is what
// onnx_nodes_test.cpp shows.

#include "tests/compiler/import/onnx/import_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::test {
namespace {

using ::onnx::NodeProto;
using ::onnx::TensorProto;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Attention of 4 query heads on 2 key heads with 8 channels, with the inputs |more| that the test declares.
struct Heads4 {
  explicit Heads4(int64_t opset = 23, std::initializer_list<const char *> more = {},
                  std::initializer_list<const char *> outputs = {"y"})
      : builder(opset), node(builder.node("Attention", {"q", "k", "v"}, outputs, "n")) {
    builder.input("q", {"batch", 4, "rows", 8}).input("k", {"batch", 2, "keys", 8}).input("v", {"batch", 2, "keys", 6});
    builder.output("y");
    for (const char *name : more)
      node.add_input(name);
  }
  ModelBuilder builder;
  NodeProto &node;
};

/// Attention of rows with all heads side by side.
struct Rows {
  explicit Rows(std::initializer_list<const char *> outputs = {"y"})
      : builder(23), node(builder.node("Attention", {"q", "k", "v"}, outputs, "n")) {
    builder.input("q", {"batch", "rows", 32}).input("k", {"batch", "keys", 16}).input("v", {"batch", "keys", 12});
    builder.output("y");
    setInt(setInt(node, "q_num_heads", 4), "kv_num_heads", 2);
  }
  ModelBuilder builder;
  NodeProto &node;
};

void setFloat(NodeProto &node, const std::string &name, float value) {
  ::onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(::onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
}

std::string text(const ModelBuilder &builder) {
  Import import = builder.import();
  EXPECT_TRUE(import.module) << import.errors.str();
  return import.module ? import.text() : "";
}

std::string error(const ModelBuilder &builder) {
  Import import = builder.import();
  EXPECT_FALSE(import.module);
  return import.errors.str();
}

TEST(Attention, LiesAsItsRankSays) {
  std::string heads = text(Heads4().builder);
  EXPECT_THAT(heads, HasSubstr("kv_num_heads = 2 : i64"));
  EXPECT_THAT(heads, HasSubstr("q_num_heads = 4 : i64"));
  EXPECT_THAT(heads, HasSubstr("scale = 0.353553385 : f32")) << "1 / sqrt(8)";
  EXPECT_THAT(heads, HasSubstr("-> tensor<?x4x?x6xf32>"));
  EXPECT_THAT(heads, Not(HasSubstr("nn.reshape")));
  std::string rows = text(Rows().builder);
  EXPECT_THAT(rows, HasSubstr("tensor<?x?x4x8xf32>, tensor<?x?x2x8xf32>, tensor<?x?x2x6xf32> -> tensor<?x?x4x6xf32>"));
  EXPECT_THAT(rows, HasSubstr("return %7 : tensor<?x?x24xf32>"));
}

TEST(Attention, WithoutAMaskHasNoRegions) {
  std::string plain = text(Heads4().builder);
  EXPECT_THAT(plain, Not(HasSubstr("attn.yield")));
  EXPECT_THAT(plain, Not(HasSubstr("fully_masked zero")));
}

TEST(Attention, CapsScoresBeforeItAddsTheMask) {
  Heads4 capped(23, {"m"});
  capped.builder.input("m", {"rows", "keys"});
  setFloat(capped.node, "softcap", 30);
  setFloat(capped.node, "scale", 1);
  std::string ir = text(capped.builder);
  EXPECT_LT(ir.find("math.tanh"), ir.find("arith.addf"));
  EXPECT_THAT(ir, AllOf(HasSubstr("arith.cmpf une"), HasSubstr("fully_masked zero"), HasSubstr("scale = 1.0")));
}

TEST(Attention, AlignsMasksOnTheRight) {
  auto mapOf = [](std::initializer_list<Dim> dims, int type) {
    Heads4 masked(23, {"m"});
    masked.builder.input("m", dims, type);
    return text(masked.builder);
  };
  EXPECT_THAT(mapOf({"keys"}, TensorProto::BOOL), HasSubstr("(d0, d1, d2, d3) -> (d3)"));
  EXPECT_THAT(mapOf({4, "rows", "keys"}, TensorProto::BOOL), HasSubstr("(d0, d1, d2, d3) -> (d1, d2, d3)"));
  EXPECT_THAT(mapOf({"batch", 1, 1, "keys"}, TensorProto::BOOL), HasSubstr("(d0, d1, d2, d3) -> (d0, 0, 0, d3)"));
  // Numbers other than booleans are added.
  std::string added = mapOf({"rows", "keys"}, TensorProto::INT64);
  EXPECT_THAT(added, AllOf(HasSubstr("nn.cast"), HasSubstr("arith.addf")));
}

TEST(Attention, CountsPositionsFromTheCache) {
  Heads4 bare;
  setInt(bare.node, "is_causal", 1);
  EXPECT_THAT(text(bare.builder), AllOf(HasSubstr("arith.cmpi sle"), Not(HasSubstr("q_offset"))));
  Heads4 grown(23, {"", "pk", "pv"}, {"y", "nk", "nv"});
  grown.builder.input("pk", {"batch", 2, "past", 8}).input("pv", {"batch", 2, "past", 6}).output("nk").output("nv");
  setInt(grown.node, "is_causal", 1);
  EXPECT_THAT(text(grown.builder), AllOf(HasSubstr("nn.concat"), HasSubstr("q_offset(%")));
  Heads4 external(24, {"", "", "", "length"});
  external.builder.input("length", {"batch"}, TensorProto::INT64);
  setInt(external.node, "is_causal", 1);
  EXPECT_THAT(text(external.builder),
              AllOf(HasSubstr("q_offset(%"), HasSubstr("kv_len(%"), HasSubstr("nn.binary sub")));
}

TEST(Attention, PadsShortMasksSinceOpset24) {
  auto masked = [](int64_t opset) {
    Heads4 node(opset, {"m"});
    node.builder.input("m", {"rows", 1}, TensorProto::BOOL);
    return text(node.builder);
  };
  EXPECT_THAT(masked(23), AllOf(Not(HasSubstr("nn.pad")), HasSubstr("-> (d2, 0)")));
  EXPECT_THAT(masked(24), AllOf(HasSubstr("nn.pad"), HasSubstr("-> (d2, d3)")));
}

TEST(Attention, HasWindowsSinceOpset25) {
  Heads4 window(25);
  setInt(setInt(window.node, "left_window_size", 2), "right_window_size", 0);
  EXPECT_THAT(text(window.builder), AllOf(HasSubstr("arith.cmpi sge"), HasSubstr("arith.cmpi sle")));
  Heads4 early(24);
  setInt(early.node, "left_window_size", 2);
  EXPECT_THAT(error(early.builder), HasSubstr("attribute 'left_window_size' is not supported in opset 24"));
}

TEST(Attention, GivesProbabilitiesAndScores) {
  Heads4 probabilities(23, {}, {"y", "", "", "p"});
  probabilities.builder.output("p");
  setInt(probabilities.node, "qk_matmul_output_mode", 3);
  EXPECT_THAT(text(probabilities.builder),
              AllOf(HasSubstr("probabilities tensor<?x4x?x?xf32>"), Not(HasSubstr("nn.matmul"))));
  auto scores = [](int64_t mode) {
    Heads4 node(23, {"m"}, {"y", "", "", "p"});
    node.builder.input("m", {"rows", "keys"}, TensorProto::BOOL).output("p");
    setFloat(node.node, "softcap", 2);
    setInt(node.node, "qk_matmul_output_mode", mode);
    std::string ir = text(node.builder);
    return ir.substr(0, ir.find("attn.sdpa"));
  };
  // Heads of keys are repeated for the product, interleaved.
  EXPECT_THAT(scores(0), AllOf(HasSubstr("nn.expand"), HasSubstr("nn.matmul"), Not(HasSubstr("nn.unary tanh"))));
  EXPECT_THAT(scores(1), AllOf(HasSubstr("nn.unary tanh"), Not(HasSubstr("nn.where"))));
  EXPECT_THAT(scores(2), AllOf(HasSubstr("nn.unary tanh"), HasSubstr("nn.where")));
}

TEST(Attention, ComputesHalvesInSingle) {
  ModelBuilder builder(23);
  NodeProto &node = builder.node("Attention", {"q", "k", "v", "m"}, {"y", "", "", "p"}, "n");
  for (const char *name : {"q", "k", "v"})
    builder.input(name, {"batch", 4, "rows", 8}, TensorProto::FLOAT16);
  builder.input("m", {"rows", "rows"}, TensorProto::FLOAT16).output("y", TensorProto::FLOAT16);
  builder.output("p", TensorProto::FLOAT16);
  setInt(node, "qk_matmul_output_mode", 3);
  std::string ir = text(builder);
  EXPECT_THAT(ir, AllOf(HasSubstr("-> tensor<?x4x?x8xf32>"), HasSubstr("probabilities tensor<?x4x?x?xf32>"),
                        HasSubstr("tensor<?x4x?x8xf16>, tensor<?x4x?x?xf16>")));
}

TEST(Attention, TakesHeadsThatTheFileDeclares) {
  Heads4 hidden;
  for (const char *name : {"q", "k", "v"}) {
    auto &input = *hidden.builder.proto.mutable_graph()->mutable_input(name[0] == 'q' ? 0 : name[0] == 'k' ? 1 : 2);
    auto &declared = *hidden.builder.proto.mutable_graph()->add_value_info();
    declared = input;
    declared.set_name(std::string(name) + "2");
    input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_param("heads");
    hidden.builder.node("Abs", {name}, {declared.name().c_str()});
    hidden.node.set_input(name[0] == 'q' ? 0 : name[0] == 'k' ? 1 : 2, declared.name());
  }
  EXPECT_THAT(text(hidden.builder), AllOf(HasSubstr("nn.reshape"), HasSubstr("q_num_heads = 4 : i64")));
  hidden.builder.proto.mutable_graph()->clear_value_info();
  EXPECT_THAT(error(hidden.builder),
              HasSubstr("error[H0202]: node 'n': the number of heads and their size must be known"));
}

TEST(Attention, RefusesWhatBreaksItsDefinition) {
  Rows uneven;
  uneven.node.mutable_attribute(0)->set_i(5);
  EXPECT_THAT(error(uneven.builder), HasSubstr("attribute 'q_num_heads' can't be 5 for 32 channels"));
  Heads4 other;
  setInt(other.node, "q_num_heads", 8);
  EXPECT_THAT(error(other.builder), HasSubstr("attribute 'q_num_heads' differs from the number of heads, 4"));
  Heads4 half(23, {"", "pk"});
  half.builder.input("pk", {"batch", 2, "past", 8});
  EXPECT_THAT(error(half.builder), HasSubstr("a past key needs a past value, and the reverse"));
  Heads4 early(23, {"", "", "", "length"});
  early.builder.input("length", {"batch"}, TensorProto::INT64);
  EXPECT_THAT(error(early.builder), HasSubstr("input nonpad_kv_seqlen is not known before opset 24"));
  Heads4 precise;
  setInt(precise.node, "softmax_precision", TensorProto::DOUBLE);
  EXPECT_THAT(error(precise.builder), HasSubstr("a softmax in double is not supported"));
  // What our op's verifier finds is said of the node too.
  Heads4 wide(23, {"m"});
  wide.builder.input("m", {3, "rows", "keys"}, TensorProto::BOOL);
  EXPECT_THAT(error(wide.builder), HasSubstr("node 'n': expects the map of mask capture 0 to stay within its shape"));
}

/// RotaryEmbedding of 4 heads with 8 channels, of which |width| are rotated.
struct Rotary {
  Rotary(std::initializer_list<Dim> dims, std::initializer_list<const char *> inputs, int64_t width)
      : builder(23), node(builder.node("RotaryEmbedding", inputs, {"y"}, "n")) {
    builder.input("x", dims).output("y");
    setInt(node, "rotary_embedding_dim", width);
  }
  ModelBuilder builder;
  NodeProto &node;
};

TEST(RotaryEmbedding, IsWrittenInPlainOps) {
  Rotary plain({"batch", 4, "rows", 8}, {"x", "c", "s"}, 0);
  plain.builder.input("c", {"batch", "rows", 4}).input("s", {"batch", "rows", 4});
  std::string ir = text(plain.builder);
  EXPECT_THAT(ir,
              AllOf(HasSubstr("nn.unsqueeze %arg1 axes [1]"), Not(HasSubstr("nn.reshape")), Not(HasSubstr("gather"))));
  Rotary rows({"batch", "rows", 32}, {"x", "c", "s", "p"}, 4);
  rows.builder.input("c", {100, 2}).input("s", {100, 2}).input("p", {"batch", "rows"}, TensorProto::INT64);
  setInt(setInt(rows.node, "num_heads", 4), "interleaved", 1);
  ir = text(rows.builder);
  EXPECT_THAT(ir, AllOf(HasSubstr("nn.gather"), HasSubstr("axes [2]"), HasSubstr("-> tensor<?x?x4x2x2xf32>"),
                        HasSubstr("tensor<?x?x32xf32>")));
}

TEST(RotaryEmbedding, RefusesWidthsThatDoNotFit) {
  Rotary odd({"batch", 4, "rows", 8}, {"x", "c", "s"}, 3);
  odd.builder.input("c", {"batch", "rows", 4}).input("s", {"batch", "rows", 4});
  EXPECT_THAT(error(odd.builder), HasSubstr("attribute 'rotary_embedding_dim' can't be 3 for heads of 8 channels"));
  Rotary narrow({"batch", 4, "rows", 8}, {"x", "c", "s"}, 0);
  narrow.builder.input("c", {"batch", "rows", 3}).input("s", {"batch", "rows", 4});
  EXPECT_THAT(error(narrow.builder), HasSubstr("cosines and sines must have 3 dimensions, the last one of 4"));
  Rotary headless({"batch", "rows", 32}, {"x", "c", "s"}, 0);
  headless.builder.input("c", {"batch", "rows", 4}).input("s", {"batch", "rows", 4});
  EXPECT_THAT(error(headless.builder), HasSubstr("attribute 'num_heads' can't be 0 for 32 channels"));
}

} // namespace
} // namespace heddle::test
