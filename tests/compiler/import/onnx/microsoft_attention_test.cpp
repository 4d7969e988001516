// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What com.microsoft's attention becomes, and which nodes of it are refused. Its numbers are held to onnxruntime's by
// tests/e2e/microsoft_attention_test.py.

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

/// A node of com.microsoft with output y. Its inputs are declared by the test.
struct Node {
  Node(const char *type, std::initializer_list<const char *> inputs,
       std::initializer_list<const char *> outputs = {"y"})
      : node(builder.node(type, inputs, outputs, "n")) {
    node.set_domain("com.microsoft");
    ::onnx::OperatorSetIdProto &opset = *builder.proto.add_opset_import();
    opset.set_domain("com.microsoft");
    opset.set_version(1);
    for (const char *output : outputs)
      if (*output)
        builder.output(output);
  }

  std::string text() const {
    Import import = builder.import();
    EXPECT_TRUE(import.module) << import.errors.str();
    return import.module ? import.text() : "";
  }
  std::string error() const {
    Import import = builder.import();
    EXPECT_FALSE(import.module);
    return import.errors.str();
  }

  ModelBuilder builder;
  NodeProto &node;
};

/// Attention of 2 heads with 4 channels on rows of 8.
struct Merged : Node {
  explicit Merged(std::initializer_list<const char *> more = {}, std::initializer_list<const char *> outputs = {"y"})
      : Node("Attention", {"x", "w", "c"}, outputs) {
    builder.input("x", {"batch", "rows", 8}).input("w", {8, 24}).input("c", {24});
    setInt(node, "num_heads", 2);
    for (const char *name : more)
      node.add_input(name);
  }
};

/// Attention with |dims| of integers as its mask.
std::string textOfMask(std::initializer_list<Dim> dims) {
  Merged masked({"m"});
  masked.builder.input("m", dims, TensorProto::INT32);
  return masked.text();
}

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

TEST(MicrosoftAttention, IsOneProductAndOneAttention) {
  std::string ir = Merged().text();
  EXPECT_EQ(count(ir, "nn.matmul"), 1u);
  EXPECT_EQ(count(ir, "attn.sdpa"), 1u);
  EXPECT_THAT(ir, AllOf(HasSubstr("nn.split"), HasSubstr("scale = 5.000000e-01"), Not(HasSubstr("nn.transpose")),
                        Not(HasSubstr("attn.yield"))));
}

TEST(MicrosoftAttention, ReadsMasksByTheirRank) {
  EXPECT_THAT(textOfMask({"batch", "keys"}), AllOf(HasSubstr("-> (d0, d3)"), HasSubstr("arith.cmpi sgt")));
  EXPECT_THAT(textOfMask({"batch", "rows", "keys"}), HasSubstr("-> (d0, d2, d3)"));
  EXPECT_THAT(textOfMask({"batch", 1, "most", "most"}), AllOf(HasSubstr("nn.slice"), HasSubstr("-> (d0, 0, d2, d3)")));
  EXPECT_THAT(textOfMask({"batch", 1}), Not(HasSubstr("attn.yield"))) << "one number for all keys changes nothing";
  EXPECT_THAT(textOfMask({"batch"}), AllOf(HasSubstr("-> (d0)"), HasSubstr("arith.cmpi slt"),
                                           Not(HasSubstr("nn.slice")), Not(HasSubstr("arith.cmpi sge"))));
  // Only when it runs is it known whether there are starts behind the ends.
  EXPECT_THAT(textOfMask({"lengths"}), AllOf(HasSubstr("arith.cmpi slt"), HasSubstr("arith.cmpi sge")));
  Merged twice({"m"});
  twice.builder.proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_value(3);
  twice.builder.input("m", {4}, TensorProto::INT32);
  EXPECT_THAT(twice.error(), HasSubstr("node 'n': a mask of one dimension can't hold 4 numbers for 3 sequences"));
}

TEST(MicrosoftAttention, KnowsLengthsThatAreSumsOfRows) {
  Merged masked({"lengths"});
  masked.builder.input("m", {"batch", "rows"}, TensorProto::INT32);
  NodeProto sum;
  sum.set_op_type("ReduceSum");
  sum.add_input("m");
  sum.add_input("axes");
  sum.add_output("lengths");
  setInt(sum, "keepdims", 0);
  masked.builder.ints("axes", {1});
  NodeProto attention = masked.node;
  *masked.builder.proto.mutable_graph()->mutable_node(0) = sum;
  *masked.builder.proto.mutable_graph()->add_node() = attention;
  EXPECT_THAT(masked.text(), AllOf(HasSubstr("-> (d0)"), Not(HasSubstr("nn.slice"))));
}

TEST(MicrosoftAttention, AddsFillsAndSkipsWhatTheyHide) {
  Merged both({"m"});
  both.builder.input("m", {"batch", "keys"}, TensorProto::INT32);
  setInt(both.node, "unidirectional", 1);
  std::string ir = both.text();
  EXPECT_THAT(ir,
              AllOf(HasSubstr("-1.000000e+04 : f32"), HasSubstr("-3.40282347E+38 : f32"), HasSubstr("mask_captures(")));
  EXPECT_THAT(ir, Not(HasSubstr("fully_masked zero"))) << "fills keep their literal meaning";
  // Milder ones hide nothing.
  ::onnx::AttributeProto &fill = *both.node.add_attribute();
  fill.set_name("mask_filter_value");
  fill.set_type(::onnx::AttributeProto::FLOAT);
  fill.set_f(-1);
  EXPECT_THAT(both.text(), AllOf(HasSubstr("score_captures("), Not(HasSubstr("mask_captures("))));
}

TEST(MicrosoftAttention, JoinsPastAndPresent) {
  Merged cached({"", "past"}, {"y", "present"});
  cached.builder.input("past", {2, "batch", 2, "old", 4});
  setInt(cached.node, "unidirectional", 1);
  std::string ir = cached.text();
  EXPECT_THAT(ir, AllOf(HasSubstr("q_offset(%"), HasSubstr("-> tensor<2x?x2x?x4xf32>")));
}

TEST(MicrosoftAttention, RefusesByName) {
  Merged rotary;
  setInt(rotary.node, "do_rotary", 1);
  EXPECT_THAT(rotary.error(), HasSubstr("error[H0202]: node 'n': attribute 'do_rotary' is not supported"));
  Merged shared;
  setInt(shared.node, "past_present_share_buffer", 1);
  EXPECT_THAT(shared.error(), HasSubstr("attribute 'past_present_share_buffer' is not supported"));
  Merged uneven;
  setInts(uneven.node, "qkv_hidden_sizes", {8, 8, 9});
  EXPECT_THAT(uneven.error(), HasSubstr("the sizes of query, key and value must be three that sum to 24"));
  Merged floats({"m"});
  floats.builder.input("m", {"batch", "keys"});
  EXPECT_THAT(floats.error(), HasSubstr("a mask must be a tensor of integers"));
}

TEST(MultiHeadAttention, UnpacksHeads) {
  Node all("MultiHeadAttention", {"q"});
  all.builder.input("q", {"batch", "rows", 2, 3, 4});
  setInt(all.node, "num_heads", 2);
  EXPECT_THAT(all.text(), AllOf(HasSubstr("nn.split"), HasSubstr("nn.squeeze"), HasSubstr("-> tensor<?x?x2x4xf32>")));
  Node keys("MultiHeadAttention", {"q", "k"});
  keys.builder.input("q", {"batch", "rows", 8}).input("k", {"batch", "keys", 2, 2, 4});
  setInt(keys.node, "num_heads", 2);
  EXPECT_EQ(count(keys.text(), "attn.sdpa"), 1u);
  Node wrong("MultiHeadAttention", {"q"});
  wrong.builder.input("q", {"batch", "rows", 8});
  setInt(wrong.node, "num_heads", 2);
  EXPECT_THAT(wrong.error(), HasSubstr("packed heads must be (batch, sequence, 2, 3, size) with a known size"));
}

TEST(MultiHeadAttention, ReadsACacheOfAnotherNode) {
  Node cross("MultiHeadAttention", {"q", "k", "v", "c"});
  cross.builder.input("q", {"batch", "rows", 8})
      .input("k", {"batch", 2, "keys", 4})
      .input("v", {"batch", 2, "keys", 4});
  cross.builder.input("c", {24});
  setInt(cross.node, "num_heads", 2);
  std::string ir = cross.text();
  EXPECT_EQ(count(ir, "nn.binary add"), 1u) << "only the query's projection is not done yet";
  EXPECT_THAT(ir, Not(HasSubstr("nn.transpose")));
  setInt(cross.node, "unidirectional", 1);
  EXPECT_THAT(cross.error(), HasSubstr("attribute 'unidirectional' is not supported for keys of another sequence"));
}

TEST(MultiHeadAttention, RefusesSharedBuffers) {
  Node shared("MultiHeadAttention", {"q", "k", "v", "", "", "", "pk", "pv", "length"});
  for (const char *name : {"q", "k", "v"})
    shared.builder.input(name, {"batch", "rows", 8});
  for (const char *name : {"pk", "pv"})
    shared.builder.input(name, {"batch", 2, "most", 4});
  shared.builder.input("length", {1}, TensorProto::INT32);
  setInt(shared.node, "num_heads", 2);
  EXPECT_THAT(shared.error(), HasSubstr("input 'past_sequence_length' is not supported"));
}

/// GroupQueryAttention of 4 heads on 2 with 8 channels.
struct Grouped : Node {
  explicit Grouped(bool hasPast, std::initializer_list<const char *> more = {})
      : Node("GroupQueryAttention", {"q", "k", "v", hasPast ? "pk" : "", hasPast ? "pv" : "", "lengths", "total"},
             {"y", "nk", "nv"}) {
    builder.input("q", {"batch", "rows", 32}).input("k", {"batch", "rows", 16}).input("v", {"batch", "rows", 16});
    if (hasPast)
      builder.input("pk", {"batch", 2, "most", 8}).input("pv", {"batch", 2, "most", 8});
    builder.input("lengths", {"batch"}, TensorProto::INT32).input("total", {}, TensorProto::INT32);
    setInt(setInt(node, "num_heads", 4), "kv_num_heads", 2);
    for (const char *name : more)
      node.add_input(name);
  }
};

TEST(GroupQueryAttention, WritesBehindEachLength) {
  std::string prompt = Grouped(false).text();
  EXPECT_THAT(prompt, AllOf(HasSubstr("kv_len(%"), HasSubstr("arith.cmpi sle"), Not(HasSubstr("q_offset(%")),
                            Not(HasSubstr("nn.gather_nd"))));
  std::string cached = Grouped(true).text();
  EXPECT_THAT(cached, AllOf(HasSubstr("kv_len(%"), HasSubstr("q_offset(%"), HasSubstr("nn.gather_nd"),
                            HasSubstr("fully_masked zero")));
}

TEST(GroupQueryAttention, CountsTheQueryInItsWindow) {
  Grouped window(false);
  setInt(window.node, "local_window_size", 4);
  EXPECT_THAT(window.text(), AllOf(HasSubstr("arith.constant -3 : index"), HasSubstr("arith.cmpi sge")));
  setInt(window.node, "causal", 0);
  EXPECT_THAT(window.error(), HasSubstr("attribute 'local_window_size' can't be 4 without causal"));
}

TEST(GroupQueryAttention, GivesSinksTheirShare) {
  Grouped sink(false, {"", "", "", "", "sink"});
  sink.builder.input("sink", {4});
  EXPECT_THAT(sink.text(), AllOf(HasSubstr("lse tensor<?x4x?xf32>"), HasSubstr("nn.unary sigmoid")));
  EXPECT_THAT(Grouped(false).text(), Not(HasSubstr("lse")));
}

TEST(GroupQueryAttention, RefusesByName) {
  Grouped windowed(true);
  setInt(windowed.node, "sliding_window_cache", 1);
  EXPECT_THAT(windowed.error(), HasSubstr("attribute 'sliding_window_cache' is not supported"));
  Grouped scores(false);
  setInt(scores.node, "qk_output", 1);
  EXPECT_THAT(scores.error(), HasSubstr("attribute 'qk_output' is not supported"));
  Grouped chunk(true, {"", "", "", "", "", "", "", "", "", "chunk"});
  chunk.builder.input("chunk", {"batch"}, TensorProto::INT32);
  EXPECT_THAT(chunk.error(), HasSubstr("input 'query_seqlens' is not supported"));
  Grouped bare(false);
  setInt(bare.node, "do_rotary", 1);
  EXPECT_THAT(bare.error(), HasSubstr("attribute 'do_rotary' needs cosines and sines of 2 dimensions"));
}

TEST(RelativePositionBias, RefusesTablesWithoutBuckets) {
  Node bias("RelativePositionBias", {"t", "r", "k"});
  bias.builder.input("t", {2, 4}).input("r", {1}, TensorProto::INT64).input("k", {1}, TensorProto::INT64);
  setInt(bias.node, "max_distance", 128);
  EXPECT_THAT(bias.text(), HasSubstr("-> tensor<1x4x?x?xf32>"));
  setInt(bias.node, "is_bidirectional", 1);
  EXPECT_THAT(bias.error(), HasSubstr("attribute 'max_distance' can't be 128 for 2 buckets"));
}

} // namespace
} // namespace heddle::test
