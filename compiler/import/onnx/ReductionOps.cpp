// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions, running sums, softmax.

#include "compiler/import/onnx/MicrosoftQuantizationOps.h"
#include "compiler/import/onnx/NodeContext.h"
#include "compiler/import/onnx/OpTable.h"

using namespace mlir;

namespace heddle::importer {

namespace {

/// Axes are an attribute before opset |axesInputSince| and an input since. Without any all are reduced, or with the
/// attribute noop_with_empty_axes none.
template <nn::ReduceKind kind, int64_t axesInputSince> LogicalResult buildReduce(NodeContext &node) {
  llvm::SmallVector<int64_t> axes;
  bool noneMeansNone = false;
  if (node.getOpset() < axesInputSince) {
    axes = node.getInts("axes").value_or(axes);
  } else {
    noneMeansNone = node.getFlag("noop_with_empty_axes", false);
    if (node.getInput(1))
      axes = node.getConstantInts(1, "axes");
  }
  axes = node.normalizeAxes(axes, node.getRank(0));
  if (axes.empty() && !noneMeansNone)
    axes = llvm::to_vector(llvm::seq<int64_t>(0, node.getRank(0)));
  bool keepDims = node.getFlag("keepdims", true);
  return node.emit<nn::ReduceOp>(kind, node.getInput(0), llvm::ArrayRef<int64_t>(axes), keepDims);
}

template <nn::ArgReduceKind kind> LogicalResult buildArgReduce(NodeContext &node) {
  int64_t axis = node.normalizeAxis(node.getInt("axis", 0), node.getRank(0));
  bool keepDims = node.getFlag("keepdims", true);
  bool selectLast = node.getOpset() >= 12 && node.getFlag("select_last_index", false);
  return node.emit<nn::ArgReduceOp>(kind, node.getInput(0), axis, keepDims, selectLast);
}

/// The axis is an input, a constant one in all files seen.
LogicalResult buildCumSum(NodeContext &node) {
  llvm::SmallVector<int64_t> axes = node.getConstantInts(1, "axis");
  if (axes.size() != 1)
    return node.malformed("axis must be one number");
  int64_t axis = node.normalizeAxis(axes.front(), node.getRank(0));
  bool exclusive = node.getFlag("exclusive", false), reverse = node.getFlag("reverse", false);
  return node.emit<nn::CumSumOp>(node.getInput(0), axis, exclusive, reverse);
}

template <typename OpTy> Value createAlongAxis(NodeContext &node, Value x, int64_t opset) {
  bool flattens = opset < 13;
  int64_t rank = node.getRank(0);
  int64_t axis = node.normalizeAxis(node.getInt("axis", flattens ? 1 : -1), rank);
  if (!flattens || axis == rank - 1)
    return node.createValue<OpTy>(x, axis);
  // Before opset 13 the tensor is seen as a matrix whose rows are all dimensions from |axis| on.
  Value shape = node.createValue<nn::ShapeOp>(x, int64_t(0), rank);
  Value matrix = node.createValue<nn::FlattenOp>(x, axis);
  Value rows = node.createValue<OpTy>(matrix, int64_t(1));
  return node.createValue<nn::ReshapeOp>(rows, shape, /*allowzero=*/true);
}

template <typename OpTy> LogicalResult buildSoftmax(NodeContext &node) {
  return node.setOutputs(createAlongAxis<OpTy>(node, node.getInput(0), node.getOpset()));
}

} // namespace

Value createSoftmax(NodeContext &node, Value x, int64_t opset) {
  return createAlongAxis<nn::SoftmaxOp>(node, x, opset);
}

llvm::ArrayRef<OpRow> getReductionOps() {
  using nn::ArgReduceKind, nn::ReduceKind;
  static constexpr OpRow kRows[] = {
      {"", "ReduceSum", 1, 1, 2, buildReduce<ReduceKind::Sum, 13>},
      {"", "ReduceMean", 1, 1, 2, buildReduce<ReduceKind::Mean, 18>},
      {"", "ReduceMax", 1, 1, 2, buildReduce<ReduceKind::Max, 18>},
      {"", "ReduceMin", 1, 1, 2, buildReduce<ReduceKind::Min, 18>},
      {"", "ReduceProd", 1, 1, 2, buildReduce<ReduceKind::Prod, 18>},
      {"", "ReduceL1", 1, 1, 2, buildReduce<ReduceKind::L1, 18>},
      {"", "ReduceL2", 1, 1, 2, buildReduce<ReduceKind::L2, 18>},
      {"", "ReduceSumSquare", 1, 1, 2, buildReduce<ReduceKind::SumSquare, 18>},
      {"", "ReduceLogSum", 1, 1, 2, buildReduce<ReduceKind::LogSum, 18>},
      {"", "ReduceLogSumExp", 1, 1, 2, buildReduce<ReduceKind::LogSumExp, 18>},
      {"", "ArgMax", 1, 1, 1, buildArgReduce<ArgReduceKind::Max>},
      {"", "ArgMin", 1, 1, 1, buildArgReduce<ArgReduceKind::Min>},
      {"", "CumSum", 11, 2, 2, buildCumSum},
      {"", "Softmax", 1, 1, 1, buildSoftmax<nn::SoftmaxOp>},
      {"", "LogSoftmax", 1, 1, 1, buildSoftmax<nn::LogSoftmaxOp>},
  };
  return kRows;
}

} // namespace heddle::importer
