// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that normalise: rows, channels, groups of channels, or with given statistics.

#include "compiler/import/onnx/NodeMath.h"
#include "compiler/import/onnx/OpTable.h"

using namespace mlir;

namespace heddle::importer {

namespace {

llvm::APFloat getEpsilon(NodeContext &node) {
  return llvm::APFloat(static_cast<float>(node.getFloat("epsilon", 1e-5f)));
}

/// Statistics in f32 or better is what our ops do; another type would be less exact.
void checkStashType(NodeContext &node) {
  int64_t code = node.getInt("stash_type", ::onnx::TensorProto::FLOAT);
  if (code != ::onnx::TensorProto::FLOAT)
    (void)node.unsupported("statistics in " + getDataTypeName(static_cast<int>(code)) + " are not supported",
                           "set stash_type to 1");
}

/// The outputs after the first are statistics in f32, which only few files read.
bool wantsStatistics(NodeContext &node) {
  return llvm::any_of(llvm::drop_begin(node.getNode().outputs), [](const std::string &name) { return !name.empty(); });
}

LogicalResult buildLayerNorm(NodeContext &node) {
  checkStashType(node);
  int64_t axis = node.normalizeAxis(node.getInt("axis", -1), node.getRank(0));
  Value output =
      node.createValue<nn::LayerNormOp>(node.getInput(0), node.getInput(1), node.getInput(2), axis, getEpsilon(node));
  if (!wantsStatistics(node))
    return node.setOutputs(output);
  NodeMath math{node};
  auto axes = llvm::to_vector(llvm::seq<int64_t>(axis, node.getRank(0)));
  Value x = math.cast(node.getInput(0), node.getBuilder().getF32Type()), mean = math.mean(x, axes);
  Value inverse = math.inverseRoot(math.sub(x, mean), axes, node.getFloat("epsilon", 1e-5f));
  return node.setOutputs({output, mean, inverse});
}

LogicalResult buildRmsNorm(NodeContext &node) {
  checkStashType(node);
  int64_t axis = node.normalizeAxis(node.getInt("axis", -1), node.getRank(0));
  Value output = node.createValue<nn::RmsNormOp>(node.getInput(0), node.getInput(1), axis, getEpsilon(node));
  if (!wantsStatistics(node))
    return node.setOutputs(output);
  NodeMath math{node};
  auto axes = llvm::to_vector(llvm::seq<int64_t>(axis, node.getRank(0)));
  Value x = math.cast(node.getInput(0), node.getBuilder().getF32Type());
  return node.setOutputs({output, math.inverseRoot(x, axes, node.getFloat("epsilon", 1e-5f))});
}

/// Whether input 0 has batch, channels and at least |spatial| more dimensions.
bool hasChannels(NodeContext &node, int64_t spatial) {
  if (node.getRank(0) >= 2 + spatial)
    return true;
  (void)node.fail(ErrorCode::H0204, "the input must have at least " + llvm::Twine(2 + spatial) + " dimensions");
  return false;
}

/// (x - mean) / sqrt(variance + epsilon) * scale + bias, all four given for each channel.
LogicalResult buildBatchNorm(NodeContext &node) {
  node.ignoreAttr("momentum"); // of training
  if (node.getFlag("training_mode", false))
    return node.unsupported("training_mode is not supported", "export the model for inference");
  if (node.getOpset() < 9 && !node.getFlag("spatial", true))
    return node.unsupported("statistics for each position (spatial = 0) are not supported");
  if (!hasChannels(node, 0))
    return failure();
  NodeMath math{node};
  auto parameter = [&](unsigned index) {
    return math.alongChannels(math.widen(node.getInput(index)), node.getRank(0));
  };
  Value x = math.widen(node.getInput(0)), scale = parameter(1), bias = parameter(2), mean = parameter(3);
  Value variance = math.add(parameter(4), math.number(node.getFloat("epsilon", 1e-5f), x));
  Value factor = math.div(scale, math.unary(nn::UnaryKind::Sqrt, variance));
  Value result = math.add(math.mul(math.sub(x, mean), factor), bias);
  return node.setOutputs(math.cast(result, node.getElementType(0)));
}

/// A row is all of one channel; scale and bias are the channel's.
LogicalResult buildInstanceNorm(NodeContext &node) {
  if (!hasChannels(node, 1))
    return failure();
  NodeMath math{node};
  Value scale = math.alongChannels(node.getInput(1), node.getRank(0));
  Value bias = math.alongChannels(node.getInput(2), node.getRank(0));
  return node.emit<nn::LayerNormOp>(node.getInput(0), scale, bias, int64_t(2), getEpsilon(node));
}

/// A row is all of one group. Scale and bias are the group's before opset 21 and the channel's since.
LogicalResult buildGroupNorm(NodeContext &node) {
  checkStashType(node);
  if (!hasChannels(node, 0))
    return failure();
  int64_t rank = node.getRank(0), groups = node.getInt("num_groups"), channels = node.getType(0).getDimSize(1);
  if (groups < 1 || (!ShapedType::isDynamic(channels) && channels % groups != 0))
    return node.malformed("attribute 'num_groups' can't be " + llvm::Twine(groups));
  NodeMath math{node};
  Value x = math.widen(node.getInput(0)), shape = node.createValue<nn::ShapeOp>(x, int64_t(0), rank);
  // A 0 copies the extent.
  Value rows = node.createValue<nn::ReshapeOp>(x, node.createVector({0, groups, -1}), /*allowzero=*/false);
  Value normal = node.createValue<nn::LayerNormOp>(rows, math.number(1, x), Value(), int64_t(2), getEpsilon(node));
  bool isByGroup = node.getOpset() < 21;
  auto affine = [&](Value value, int64_t valueRank) {
    Value scale = math.alongChannels(math.widen(node.getInput(1)), valueRank);
    return math.add(math.mul(value, scale), math.alongChannels(math.widen(node.getInput(2)), valueRank));
  };
  if (isByGroup)
    normal = affine(normal, 3);
  Value result = node.createValue<nn::ReshapeOp>(normal, shape, /*allowzero=*/true);
  return node.setOutputs(math.cast(isByGroup ? result : affine(result, rank), node.getElementType(0)));
}

/// x divided by its norm along an axis; zeros stay zeros.
LogicalResult buildLpNorm(NodeContext &node) {
  int64_t power = node.getInt("p", 2);
  if (power != 1 && power != 2)
    return node.malformed("attribute 'p' must be 1 or 2, got " + llvm::Twine(power));
  NodeMath math{node};
  Value x = math.widen(node.getInput(0));
  llvm::SmallVector<int64_t> axes = {node.normalizeAxis(node.getInt("axis", -1), node.getRank(0))};
  nn::ReduceKind kind = power == 1 ? nn::ReduceKind::L1 : nn::ReduceKind::L2;
  Value norm = node.createValue<nn::ReduceOp>(kind, x, llvm::ArrayRef<int64_t>(axes), /*keepdims=*/true);
  Value divisor = math.select(nn::CompareKind::Eq, norm, math.number(0, x), math.number(1, x), norm);
  return node.setOutputs(math.cast(math.div(x, divisor), node.getElementType(0)));
}

/// (x - mean) / (deviation + 1e-9), the deviation from differences to the mean: that of the definition, mean(x^2) -
/// mean(x)^2, loses all digits of rows far from zero.
LogicalResult buildMeanVarianceNorm(NodeContext &node) {
  llvm::SmallVector<int64_t> axes = node.getInts("axes").value_or(llvm::SmallVector<int64_t>{0, 2, 3});
  axes = node.normalizeAxes(axes, node.getRank(0));
  NodeMath math{node};
  Value x = math.widen(node.getInput(0)), difference = math.sub(x, math.mean(x, axes));
  Value deviation = math.unary(nn::UnaryKind::Sqrt, math.mean(math.mul(difference, difference), axes));
  Value result = math.div(difference, math.add(deviation, math.number(1e-9, x)));
  return node.setOutputs(math.cast(result, node.getElementType(0)));
}

} // namespace

llvm::ArrayRef<OpRow> getNormalizationOps() {
  // onnxruntime's optimiser writes LayerNormalization and its RMS twin into the default domain of any opset.
  static constexpr OpRow kRows[] = {
      {"", "LayerNormalization", 1, 2, 3, buildLayerNorm},
      {"", "RMSNormalization", 23, 2, 2, buildRmsNorm},
      {"", "SimplifiedLayerNormalization", 1, 2, 2, buildRmsNorm},
      {"", "BatchNormalization", 7, 5, 5, buildBatchNorm},
      {"", "InstanceNormalization", 6, 3, 3, buildInstanceNorm},
      {"", "GroupNormalization", 18, 3, 3, buildGroupNorm},
      {"", "LpNormalization", 1, 1, 1, buildLpNorm},
      {"", "MeanVarianceNormalization", 9, 1, 1, buildMeanVarianceNorm},
      {"com.microsoft", "SimplifiedLayerNormalization", 1, 2, 2, buildRmsNorm},
  };
  return kRows;
}

} // namespace heddle::importer
