// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs: order, functions, constant branches, names, versions, and graphs that contradict themselves.

#include "dialects/nn/Locations.h"
#include "dialects/nn/NnOps.h"
#include "tests/compiler/import/onnx/import_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::test {
namespace {

using ::onnx::AttributeProto;
using ::onnx::TensorProto;
using testing::HasSubstr;

/// Adds a function `custom.NAME` to |builder|'s model.
::onnx::FunctionProto &addFunction(ModelBuilder &builder, const std::string &name,
                                   std::initializer_list<const char *> inputs,
                                   std::initializer_list<const char *> outputs) {
  if (builder.proto.opset_import_size() == 1) {
    builder.proto.add_opset_import()->set_domain("custom");
    builder.proto.mutable_opset_import(1)->set_version(1);
  }
  ::onnx::FunctionProto &function = *builder.proto.add_functions();
  function.set_name(name);
  function.set_domain("custom");
  function.add_opset_import()->set_version(17);
  function.add_opset_import()->set_domain("custom");
  for (const char *input : inputs)
    function.add_input(input);
  for (const char *output : outputs)
    function.add_output(output);
  return function;
}

::onnx::NodeProto &addNode(google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes, const std::string &type,
                           std::initializer_list<const char *> inputs, std::initializer_list<const char *> outputs) {
  ::onnx::NodeProto &node = *nodes.Add();
  node.set_op_type(type);
  for (const char *input : inputs)
    node.add_input(input);
  for (const char *output : outputs)
    node.add_output(output);
  return node;
}

std::string error(const ModelBuilder &builder) {
  Import import = builder.import();
  EXPECT_FALSE(import.module);
  return import.errors.str();
}

/// The operations between the first and the last line, without their results' types.
std::vector<std::string> opsOf(const Import &import) {
  std::vector<std::string> ops;
  EXPECT_TRUE(import.module) << import.errors.str();
  if (import.module)
    import.main().walk([&](mlir::Operation *op) {
      auto kind = op->getAttrOfType<nn::UnaryKindAttr>("kind");
      if (kind)
        ops.push_back(nn::stringifyUnaryKind(kind.getValue()).str());
    });
  return ops;
}

TEST(Graph, IsSortedWhereTheFileIsNot) {
  ModelBuilder builder;
  builder.input("x", {2}).output("y");
  builder.node("Exp", {"b"}, {"y"});
  builder.node("Neg", {"a"}, {"b"});
  builder.node("Abs", {"x"}, {"a"});
  EXPECT_EQ(opsOf(builder.import()), (std::vector<std::string>{"abs", "neg", "exp"}));
}

TEST(Graph, KeepsTheOrderOfTheFileWhereItCan) {
  ModelBuilder builder;
  builder.input("x", {2}).output("y").output("z").output("w");
  builder.node("Neg", {"x"}, {"z"});
  builder.node("Abs", {"x"}, {"y"});
  builder.node("Exp", {"z"}, {"w"});
  EXPECT_EQ(opsOf(builder.import()), (std::vector<std::string>{"neg", "abs", "exp"}));
}

TEST(Graph, ReportsACycleWithItsNodes) {
  ModelBuilder builder;
  builder.input("x", {2}).output("y");
  builder.node("Add", {"x", "b"}, {"a"}, "first");
  builder.node("Neg", {"a"}, {"b"}, "second");
  builder.node("Abs", {"b"}, {"y"}, "behind");
  EXPECT_EQ(error(builder), "error[H0514]: the graph has a cycle: 'first' -> 'second' -> 'first'\n  in model.onnx\n");
}

TEST(Graph, ReportsANodeThatReadsItself) {
  ModelBuilder builder;
  builder.input("x", {2}).output("y");
  builder.node("Add", {"x", "y"}, {"y"}, "self");
  EXPECT_THAT(error(builder), HasSubstr("cycle: 'self' -> 'self'"));
}

TEST(Graph, ReportsTensorsThatNothingProduces) {
  ModelBuilder builder;
  builder.input("x", {2}).output("y");
  builder.node("Add", {"x", "ghost"}, {"y"}, "reader");
  EXPECT_EQ(error(builder), "error[H0514]: node 'reader': it reads 'ghost', which nothing produces\n"
                            "  in model.onnx, op Add (opset 17)\n");
  ModelBuilder other;
  other.input("x", {2}).output("nowhere");
  EXPECT_THAT(error(other), HasSubstr("output 'nowhere' is produced by nothing"));
  ModelBuilder none;
  none.input("x", {2});
  EXPECT_THAT(error(none), HasSubstr("the model has no outputs"));
}

TEST(Graph, ReportsNamesDefinedTwice) {
  ModelBuilder twice;
  twice.input("x", {2}).output("y");
  twice.node("Abs", {"x"}, {"y"}, "one");
  twice.node("Neg", {"x"}, {"y"}, "two");
  EXPECT_THAT(error(twice), HasSubstr("node 'two': its output 'y' comes from node 'one' already"));
  ModelBuilder input;
  input.input("x", {2}).output("x");
  input.node("Abs", {"x"}, {"x"}, "one");
  EXPECT_THAT(error(input), HasSubstr("its output 'x' is an input or a constant of the model already"));
  ModelBuilder inputs;
  inputs.input("x", {2}).input("x", {3}).output("x");
  EXPECT_THAT(error(inputs), HasSubstr("two inputs are named 'x'"));
  ModelBuilder outputs;
  outputs.input("x", {2}).output("x").output("x");
  EXPECT_THAT(error(outputs), HasSubstr("two outputs are named 'x'"));
}

TEST(Graph, NeedsNamesOfInputsAndOutputs) {
  ModelBuilder input;
  input.input("x", {2}).input("", {2}).output("x");
  EXPECT_THAT(error(input), HasSubstr("error[H0514]: input 1 has no name"));
  ModelBuilder output;
  output.input("x", {2}).output("");
  EXPECT_THAT(error(output), HasSubstr("error[H0514]: output 0 has no name"));
  ModelBuilder zero;
  zero.input(std::string("x\0y", 3), {2}).output("x");
  EXPECT_THAT(error(zero), HasSubstr("error[H0514]: input 0 'x?y' has a zero byte"));
}

TEST(Graph, NeedsVersionsOfItsDomains) {
  ModelBuilder none;
  none.proto.clear_opset_import();
  none.input("x", {2}).output("x");
  EXPECT_THAT(error(none), HasSubstr("error[H0517]: the model has no opset_import"));
  ModelBuilder other;
  other.proto.mutable_opset_import(0)->set_domain("com.microsoft");
  other.input("x", {2}).output("y");
  other.node("Abs", {"x"}, {"y"}, "n");
  EXPECT_THAT(error(other), HasSubstr("error[H0517]: node 'n': op Abs is of domain 'ai.onnx'"));
}

TEST(Graph, TakesBothNamesOfTheDefaultDomainAndUnusedOnes) {
  ModelBuilder builder;
  builder.proto.mutable_opset_import(0)->set_domain("ai.onnx");
  builder.proto.add_opset_import()->set_version(17);
  builder.proto.add_opset_import()->set_domain("ai.onnx.ml");
  builder.input("x", {2}).output("y");
  builder.node("Abs", {"x"}, {"y"}).set_domain("ai.onnx");
  EXPECT_EQ(opsOf(builder.import()), (std::vector<std::string>{"abs"}));
}

TEST(Graph, ExpandsFunctions) {
  ModelBuilder builder;
  builder.input("x", {2}).output("y");
  ::onnx::FunctionProto &inner = addFunction(builder, "Inner", {"a"}, {"b"});
  addNode(*inner.mutable_node(), "Neg", {"a"}, {"b"});
  ::onnx::FunctionProto &outer = addFunction(builder, "Outer", {"a"}, {"b"});
  // The names of the body meet those of the graph.
  addNode(*outer.mutable_node(), "Inner", {"a"}, {"x"}).set_domain("custom");
  addNode(*outer.mutable_node(), "Abs", {"x"}, {"b"});
  builder.node("Outer", {"x"}, {"m"}, "call").set_domain("custom");
  builder.node("Outer", {"m"}, {"y"}, "again").set_domain("custom");
  Import import = builder.import();
  EXPECT_EQ(opsOf(import), (std::vector<std::string>{"neg", "abs", "neg", "abs"}));
  EXPECT_THAT(import.text(), HasSubstr("nn.outputs = [\"call/x\"]"));
  EXPECT_THAT(import.text(), HasSubstr("nn.outputs = [\"y\"]"));
}

TEST(Graph, HandsAttributesToFunctions) {
  ModelBuilder builder;
  builder.input("x", {2, 3, 4}).output("y").output("z");
  ::onnx::FunctionProto &function = addFunction(builder, "F", {"a"}, {"b"});
  AttributeProto &reference = *addNode(*function.mutable_node(), "Softmax", {"a"}, {"b"}).add_attribute();
  reference.set_name("axis");
  reference.set_ref_attr_name("dim");
  reference.set_type(AttributeProto::INT);
  AttributeProto &fallback = *function.add_attribute_proto();
  fallback.set_name("dim");
  fallback.set_type(AttributeProto::INT);
  fallback.set_i(0);
  setInt(builder.node("F", {"x"}, {"y"}, "given"), "dim", 1).set_domain("custom");
  builder.node("F", {"x"}, {"z"}, "default").set_domain("custom");
  std::string text = builder.import().text();
  EXPECT_THAT(text, HasSubstr("nn.softmax %arg0 {axis = 1 : i64, nn.outputs = [\"y\"]}"));
  EXPECT_THAT(text, HasSubstr("nn.softmax %arg0 {axis = 0 : i64, nn.outputs = [\"z\"]}"));
}

TEST(Graph, LetsFunctionsPassInputsThroughAndLeaveInputsOut) {
  ModelBuilder builder;
  builder.input("x", {2}).output("y").output("z");
  ::onnx::FunctionProto &function = addFunction(builder, "F", {"a", "low", "high"}, {"a", "b"});
  addNode(*function.mutable_node(), "Clip", {"a", "low", "high"}, {"b"});
  builder.node("F", {"x"}, {"y", "z"}, "call").set_domain("custom");
  EXPECT_THAT(builder.import().text(), HasSubstr("nn.clip %arg0 {"));
}

TEST(Graph, BoundsCallsOfFunctions) {
  ModelBuilder self;
  self.input("x", {2}).output("y");
  ::onnx::FunctionProto &function = addFunction(self, "F", {"a"}, {"b"});
  addNode(*function.mutable_node(), "F", {"a"}, {"b"}).set_domain("custom");
  self.node("F", {"x"}, {"y"}, "call").set_domain("custom");
  EXPECT_THAT(error(self), HasSubstr("error[H0518]: "));

  // Thirty functions, each of which calls the next one twice.
  ModelBuilder many;
  many.input("x", {2}).output("x");
  for (int i = 0; i < 30; ++i) {
    ::onnx::FunctionProto &level = addFunction(many, "F" + std::to_string(i), {}, {});
    for (int call = 0; call < 2 && i < 29; ++call)
      addNode(*level.mutable_node(), "F" + std::to_string(i + 1), {}, {}).set_domain("custom");
  }
  many.node("F0", {}, {}, "call").set_domain("custom");
  EXPECT_THAT(error(many), HasSubstr("more than 1000000 nodes once functions are expanded"));

  ModelBuilder wrong;
  wrong.input("x", {2}).output("y");
  addNode(*addFunction(wrong, "F", {"a"}, {"b"}).mutable_node(), "Abs", {"a"}, {"b"});
  wrong.node("F", {"x", "x"}, {"y"}, "call").set_domain("custom");
  EXPECT_THAT(error(wrong), HasSubstr("function F has 1 inputs and 1 outputs, the call 2 and 1"));
}

/// An If between Abs and Neg, whose condition comes from |condition|.
ModelBuilder branching(const char *condition) {
  ModelBuilder builder;
  builder.input("x", {2}).output("y");
  ::onnx::NodeProto &node = builder.node("If", {condition}, {"y"}, "choice");
  for (const char *side : {"then_branch", "else_branch"}) {
    AttributeProto &branch = *node.add_attribute();
    branch.set_name(side);
    branch.set_type(AttributeProto::GRAPH);
    addNode(*branch.mutable_g()->mutable_node(), side[0] == 't' ? "Abs" : "Neg", {"x"}, {"local"});
    addNode(*branch.mutable_g()->mutable_node(), "Add", {"local", "one"}, {"sum"});
    TensorProto &one = *branch.mutable_g()->add_initializer();
    one.set_name("one");
    one.set_data_type(TensorProto::FLOAT);
    one.add_float_data(1);
    branch.mutable_g()->add_output()->set_name("sum");
  }
  return builder;
}

TEST(Graph, ReplacesAConstantIfByItsBranch) {
  for (bool condition : {true, false}) {
    ModelBuilder builder = branching("c");
    builder.tensor("c", {}, TensorProto::BOOL).add_int32_data(condition);
    Import import = builder.import();
    EXPECT_EQ(opsOf(import), (std::vector<std::string>{condition ? "abs" : "neg"}));
    EXPECT_THAT(import.text(), HasSubstr("nn.binary add"));
  }
}

TEST(Graph, ComputesBothBranchesWhereTheConditionIsAnInput) {
  ModelBuilder builder = branching("c");
  builder.input("c", {}, TensorProto::BOOL);
  Import import = builder.import();
  EXPECT_EQ(opsOf(import), (std::vector<std::string>{"abs", "neg"}));
  EXPECT_THAT(import.text(), HasSubstr("nn.where %arg1, "));
}

/// |builder|'s branching model with x of |dims|, and a then_branch that reduces it.
ModelBuilder branchingBetween(std::initializer_list<Dim> dims) {
  ModelBuilder builder;
  builder.input("x", dims).input("c", {}, TensorProto::BOOL).output("y");
  ::onnx::NodeProto &node = builder.node("If", {"c"}, {"y"}, "choice");
  for (const char *name : {"then_branch", "else_branch"}) {
    AttributeProto &attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(AttributeProto::GRAPH);
    bool isThen = std::string(name) == "then_branch";
    addNode(*attribute.mutable_g()->mutable_node(), isThen ? "ReduceMax" : "Neg", {"x"}, {"r"});
    attribute.mutable_g()->add_output()->set_name("r");
  }
  return builder;
}

TEST(Graph, RefusesBranchesOfTwoShapes) {
  EXPECT_EQ(
      error(branchingBetween({2, 3})),
      "error[H0202]: node 'choice': its condition isn't constant and its branches give f32[1,1] and f32[2,3]; both "
      "are computed and one is selected, so they must be of one shape\n"
      "  in model.onnx, op If (opset 17), inputs i1[], f32[1,1], f32[2,3]\n"
      "  help: make the condition a constant, or export each branch as a model of its own\n");
  // A branch of size 1 would be broadcast to the other's size; each run sees to it that it isn't.
  EXPECT_THAT(branchingBetween({"n", 1}).import().text(), HasSubstr("nn.reshape"));
}

TEST(Graph, ChecksInEachRunThatBranchesAreOfOneShape) {
  ModelBuilder builder = branching("c");
  builder.input("c", {}, TensorProto::BOOL);
  builder.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  builder.proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->add_dim()
      ->set_dim_param("n");
  std::string text = builder.import().text();
  EXPECT_THAT(text, HasSubstr("nn.shape"));
  EXPECT_THAT(text, HasSubstr("nn.reshape"));
}

TEST(Graph, FindsConditionsBehindTheIfThatReadsThem) {
  ModelBuilder builder = branching("c");
  // The constant comes last in the file.
  ::onnx::NodeProto &constant = builder.node("Constant", {}, {"c"});
  AttributeProto &value = *constant.add_attribute();
  value.set_name("value");
  value.set_type(AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(TensorProto::BOOL);
  value.mutable_t()->add_int32_data(1);
  EXPECT_EQ(opsOf(builder.import()), (std::vector<std::string>{"abs"}));
}

TEST(Graph, WantsBothBranchesOfAnIf) {
  ModelBuilder builder;
  builder.input("x", {2}).input("c", {}, TensorProto::BOOL).output("y");
  builder.node("If", {"c"}, {"y"}, "choice");
  EXPECT_THAT(error(builder), HasSubstr("error[H0203]: node 'choice': an If has one input, a then_branch and"));
}

TEST(Graph, ExpandsManyCallsOfOneName) {
  // Were each name looked for from the start, this would take minutes.
  constexpr int kCalls = 50000;
  ModelBuilder builder;
  builder.input("x", {2}).output("y");
  addNode(*addFunction(builder, "F", {"a"}, {}).mutable_node(), "Abs", {"a"}, {"b"});
  for (int i = 0; i < kCalls; ++i)
    builder.node("F", {"x"}, {}, "same").set_domain("custom");
  builder.node("Neg", {"x"}, {"y"});
  EXPECT_EQ(opsOf(builder.import()).size(), kCalls + 1u);
}

TEST(Graph, TellsOverloadsOfAFunctionApart) {
  ModelBuilder builder;
  builder.input("x", {2}).output("y").output("z");
  for (const char *type : {"Abs", "Neg"}) {
    ::onnx::FunctionProto &function = addFunction(builder, "F", {"a"}, {"b"});
    function.set_overload(type);
    addNode(*function.mutable_node(), type, {"a"}, {"b"});
  }
  for (auto [type, output] : {std::pair("Neg", "y"), std::pair("Abs", "z")}) {
    ::onnx::NodeProto &call = builder.node("F", {"x"}, {output});
    call.set_domain("custom");
    call.set_overload(type);
  }
  EXPECT_EQ(opsOf(builder.import()), (std::vector<std::string>{"neg", "abs"}));
  ModelBuilder other = builder;
  other.proto.mutable_graph()->mutable_node(0)->set_overload("Exp");
  EXPECT_THAT(error(other), HasSubstr("operator F of domain 'custom' is not supported"));
}

TEST(Graph, NamesNodesByTheirOutputWhereTheyHaveNoName) {
  ModelBuilder builder;
  builder.input("x", {2}).output("y");
  builder.node("Abs", {"x"}, {"y"});
  Import import = builder.import();
  nn::UnaryOp op = *import.main().getOps<nn::UnaryOp>().begin();
  std::optional<nn::OnnxNode> node = nn::findOnnxNode(op.getLoc());
  ASSERT_TRUE(node);
  EXPECT_EQ(node->name, "y");
  EXPECT_EQ(node->type, "Abs");
  EXPECT_EQ(node->opset, 17);
}

void setScopes(::onnx::NodeProto &node, const std::string &scopes) {
  ::onnx::StringStringEntryProto &entry = *node.add_metadata_props();
  entry.set_key("pkg.torch.onnx.name_scopes");
  entry.set_value(scopes);
}

/// The path of a node whose metadata are |scopes|.
std::string pathOf(const std::string &scopes) {
  ModelBuilder builder;
  builder.input("x", {2}).output("y");
  setScopes(builder.node("Abs", {"x"}, {"y"}), scopes);
  Import import = builder.import();
  nn::UnaryOp op = *import.main().getOps<nn::UnaryOp>().begin();
  return nn::findOnnxNode(op.getLoc())->path.str();
}

TEST(Graph, ReadsPathsOfModules) {
  EXPECT_EQ(pathOf("['', 'encoder', 'encoder.layer.0', 'encoder.layer.0.attention.self', 'linear_3']"),
            "encoder/layer.0/attention.self/linear_3");
  EXPECT_EQ(pathOf("['']"), "");
  EXPECT_EQ(pathOf("[]"), "");
  EXPECT_EQ(pathOf("['abs_1']"), "abs_1");
  EXPECT_EQ(pathOf("[\"it's\", 'abs']"), "it's/abs");
  // No module of the one before, though its name begins alike.
  EXPECT_EQ(pathOf("['layer.1', 'layer.10', 'abs']"), "layer.1/layer.10/abs");
  EXPECT_EQ(pathOf("['layer.1', 'layer.1', 'abs']"), "layer.1/layer.1/abs");
}

TEST(Graph, TakesNoPathFromAnythingButAListOfStrings) {
  for (const char *scopes : {"", "[", "]", "['a'", "'a'", "[a]", "['a]", "['a' 'b']", "['a',]", "['a', ]", "['a\\'b']",
                             "['a', 'b'x]", "['a']]"})
    EXPECT_EQ(pathOf(scopes), "") << scopes;
}

TEST(Graph, NodesOfAFunctionHaveItsCallsPath) {
  ModelBuilder builder;
  builder.input("x", {2}).output("y");
  addNode(*addFunction(builder, "F", {"a"}, {"b"}).mutable_node(), "Abs", {"a"}, {"b"});
  ::onnx::NodeProto &call = builder.node("F", {"x"}, {"y"});
  call.set_domain("custom");
  setScopes(call, "['', 'layers.4']");
  Import import = builder.import();
  ASSERT_TRUE(import.module) << import.errors.str();
  nn::UnaryOp op = *import.main().getOps<nn::UnaryOp>().begin();
  EXPECT_EQ(nn::findOnnxNode(op.getLoc())->path, "layers.4");
}

TEST(Graph, SharesInitialisersAndLeavesUnusedOnesOut) {
  ModelBuilder builder;
  builder.input("x", {1}).output("y");
  builder.tensor("w", {1}).add_float_data(1);
  // It would be an error if anybody read it.
  builder.tensor("unused", {5}).add_float_data(1);
  builder.node("Add", {"x", "w"}, {"a"});
  builder.node("Mul", {"a", "w"}, {"y"});
  Import import = builder.import();
  ASSERT_TRUE(import.module) << import.errors.str();
  EXPECT_EQ(llvm::range_size(import.main().getOps<nn::ConstantOp>()), 1);
}

} // namespace
} // namespace heddle::test
