// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms, activations and onnxruntime's fused operators: what they become, and which are refused. That the numbers are
// right is what onnx_nodes_test.cpp and tests/e2e/norms_test.py show.

#include "dialects/nn/NnOps.h"
#include "tests/compiler/import/onnx/import_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::test {
namespace {

using ::onnx::AttributeProto;
using ::onnx::NodeProto;
using testing::ElementsAre;
using testing::HasSubstr;

/// A model of x f32[batch,4,6] and one node that reads it and vectors of 6 named a, b, c and d.
struct Model {
  explicit Model(const char *type, std::initializer_list<const char *> inputs, int64_t opset = 17,
                 std::initializer_list<const char *> outputs = {"y"}, const char *domain = "")
      : builder(opset) {
    builder.input("x", {"batch", 4, 6}).output("y");
    builder.input("ids", {"batch", 4}, ::onnx::TensorProto::INT32);
    for (const char *name : {"a", "b", "c", "d"})
      builder.tensor(name, {6}).set_raw_data(std::string(24, '\0'));
    builder.tensor("table", {9, 6}).set_raw_data(std::string(216, '\0'));
    node = &builder.node(type, inputs, outputs, "n");
    node->set_domain(domain);
    if (*domain) {
      builder.proto.add_opset_import()->set_domain(domain);
      builder.proto.mutable_opset_import(1)->set_version(1);
    }
  }

  Model &with(const std::string &name, int value) {
    setInt(*node, name, value);
    return *this;
  }
  Model &with(const std::string &name, float value) {
    AttributeProto &attribute = *node->add_attribute();
    attribute.set_name(name);
    attribute.set_type(AttributeProto::FLOAT);
    attribute.set_f(value);
    return *this;
  }

  /// The kinds of ops that the node became, without constants.
  std::vector<std::string> kinds() const {
    Import import = builder.import();
    EXPECT_TRUE(import.module) << import.errors.str();
    std::vector<std::string> names;
    if (!import.module)
      return names;
    import.main().walk([&](mlir::Operation *op) {
      if (auto unary = llvm::dyn_cast<nn::UnaryOp>(op))
        names.push_back(nn::stringifyUnaryKind(unary.getKind()).str());
      else if (auto binary = llvm::dyn_cast<nn::BinaryOp>(op))
        names.push_back(nn::stringifyBinaryKind(binary.getKind()).str());
      else if (!llvm::isa<nn::ConstantOp, mlir::func::FuncOp, mlir::func::ReturnOp>(op))
        names.push_back(op->getName().stripDialect().str());
    });
    return names;
  }

  std::string error() const {
    Import import = builder.import();
    EXPECT_FALSE(import.module);
    return import.errors.str();
  }

  ModelBuilder builder;
  NodeProto *node;
};

constexpr const char *kMicrosoft = "com.microsoft";

TEST(NormOps, StatisticsAreComputedWhereTheyAreRead) {
  EXPECT_THAT(Model("LayerNormalization", {"x", "a", "b"}).kinds(), ElementsAre("layer_norm"));
  EXPECT_THAT(Model("LayerNormalization", {"x", "a"}, 17, {"y", "", "inverse"}).kinds(),
              ElementsAre("layer_norm", "reduce", "sub", "mul", "reduce", "add", "sqrt", "reciprocal"));
}

TEST(NormOps, OptimisersWriteNormsIntoAnyOpset) {
  EXPECT_THAT(Model("LayerNormalization", {"x", "a", "b"}, 11).kinds(), ElementsAre("layer_norm"));
  EXPECT_THAT(Model("SimplifiedLayerNormalization", {"x", "a"}, 11).kinds(), ElementsAre("rms_norm"));
  EXPECT_THAT(Model("SimplifiedLayerNormalization", {"x", "a"}, 17, {"y"}, kMicrosoft).kinds(),
              ElementsAre("rms_norm"));
}

TEST(NormOps, ResidualsAreSumsInFrontOfNorms) {
  EXPECT_THAT(Model("SkipLayerNormalization", {"x", "x", "a", "b", "c"}, 17, {"y"}, kMicrosoft).kinds(),
              ElementsAre("add", "add", "layer_norm"));
  EXPECT_THAT(Model("SkipSimplifiedLayerNormalization", {"x", "x", "a"}, 17, {"y"}, kMicrosoft).kinds(),
              ElementsAre("add", "rms_norm"));
}

TEST(NormOps, EmbeddingsAreGatheredAndSummed) {
  EXPECT_THAT(
      Model("EmbedLayerNormalization", {"ids", "", "table", "table", "", "a", "b"}, 17, {"y"}, kMicrosoft).kinds(),
      ElementsAre("gather", "shape", "slice", "add", "layer_norm", "shape", "constant_of_shape"));
  EXPECT_THAT(
      Model("EmbedLayerNormalization", {"ids", "ids", "table", "table", "", "a", "b"}, 17, {"y"}, kMicrosoft).error(),
      HasSubstr("segment ids and their embedding must both be there or both be left out"));
  EXPECT_THAT(Model("EmbedLayerNormalization", {"ids", "", "table", "table", "", "a"}, 17, {"y"}, kMicrosoft).error(),
              HasSubstr("input 6 is left out"));
}

TEST(NormOps, WhatTrainingAloneNeedsIsRefused) {
  EXPECT_THAT(Model("BatchNormalization", {"x", "a", "b", "c", "d"}).with("training_mode", 1).error(),
              HasSubstr("training_mode is not supported"));
  EXPECT_THAT(Model("BatchNormalization", {"x", "a", "b", "c", "d"}, 8).with("spatial", 0).error(),
              HasSubstr("statistics for each position (spatial = 0) are not supported"));
  EXPECT_THAT(Model("LayerNormalization", {"x", "a"}).with("stash_type", 11).error(),
              HasSubstr("statistics in double are not supported"));
}

TEST(NormOps, ParametersAreChecked) {
  EXPECT_THAT(Model("LpNormalization", {"x"}).with("p", 3).error(), HasSubstr("attribute 'p' must be 1 or 2, got 3"));
  EXPECT_THAT(Model("GroupNormalization", {"x", "a", "b"}, 21).with("num_groups", 3).error(),
              HasSubstr("attribute 'num_groups' can't be 3"));
  EXPECT_THAT(Model("InstanceNormalization", {"ids", "a", "b"}).error(),
              HasSubstr("the input must have at least 3 dimensions"));
  EXPECT_THAT(Model("BatchNormalization", {"x", "table", "b", "c", "d"}).error(),
              HasSubstr("one value a channel must be a vector"));
  EXPECT_THAT(Model("Elu", {"ids"}).error(), HasSubstr("the input must be of floats"));
  EXPECT_THAT(Model("PRelu", {"a", "x"}).error(), HasSubstr("the slope must broadcast onto the input"));
}

TEST(NormOps, ActivationsStayWhatTheyAre) {
  EXPECT_THAT(Model("Gelu", {"x"}, 17, {"y"}, kMicrosoft).kinds(), ElementsAre("gelu_erf"));
  EXPECT_THAT(Model("FastGelu", {"x"}, 17, {"y"}, kMicrosoft).kinds(), ElementsAre("gelu_tanh"));
  EXPECT_THAT(Model("BiasGelu", {"x", "a"}, 17, {"y"}, kMicrosoft).kinds(), ElementsAre("add", "gelu_erf"));
  EXPECT_THAT(Model("QuickGelu", {"x"}, 17, {"y"}, kMicrosoft).kinds(), ElementsAre("quick_gelu"));
  EXPECT_THAT(Model("QuickGelu", {"x"}, 17, {"y"}, kMicrosoft).with("alpha", 1.7f).kinds(),
              ElementsAre("mul", "sigmoid", "mul"));
  EXPECT_THAT(Model("Mish", {"x"}, 18).kinds(), ElementsAre("softplus", "tanh", "mul"));
}

TEST(NormOps, FactorsOfProductsAreTransposedAsTold) {
  EXPECT_THAT(Model("FusedMatMul", {"x", "table"}, 17, {"y"}, kMicrosoft).with("transB", 1).kinds(),
              ElementsAre("transpose", "matmul"));
  EXPECT_THAT(Model("FusedMatMul", {"x", "a"}, 17, {"y"}, kMicrosoft).with("transB", 1).with("alpha", 0.5f).kinds(),
              ElementsAre("matmul", "mul"));
}

} // namespace
} // namespace heddle::test
