// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that give the same elements another shape or order, repeat, join or part them.

#include "compiler/import/onnx/NodeContext.h"
#include "compiler/import/onnx/OpTable.h"

using namespace mlir;

namespace heddle::importer {

namespace {

/// Before opset 14 a 0 always copies an extent.
LogicalResult buildReshape(NodeContext &node) {
  bool allowZero = node.getOpset() >= 14 && node.getFlag("allowzero", false);
  return node.emit<nn::ReshapeOp>(node.getInput(0), node.getInput(1), allowZero);
}

/// Reverses the dimensions unless told how to permute them.
LogicalResult buildTranspose(NodeContext &node) {
  int64_t rank = node.getRank(0);
  auto reversed = llvm::reverse(llvm::seq<int64_t>(0, rank));
  auto perm = node.getInts("perm").value_or(llvm::SmallVector<int64_t>(reversed.begin(), reversed.end()));
  return node.emit<nn::TransposeOp>(node.getInput(0), llvm::ArrayRef<int64_t>(perm));
}

/// The axes of Squeeze and Unsqueeze, an attribute before opset 13 and an input since; nothing where absent.
std::optional<llvm::SmallVector<int64_t>> getAxes(NodeContext &node) {
  if (node.getOpset() < 13)
    return node.getInts("axes");
  if (!node.getInput(1))
    return std::nullopt;
  return node.getConstantInts(1, "axes");
}

LogicalResult buildSqueeze(NodeContext &node) {
  RankedTensorType type = node.getType(0);
  llvm::SmallVector<int64_t> axes;
  if (std::optional<llvm::SmallVector<int64_t>> given = getAxes(node)) {
    axes = node.normalizeAxes(*given, type.getRank());
  } else {
    // Which dimensions go, and so the rank of the result, would depend on the inputs' shapes.
    if (!type.hasStaticShape())
      return node.unsupported("Squeeze without axes needs a shape that is known",
                              "export the model with explicit axes");
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      if (type.getDimSize(static_cast<unsigned>(axis)) == 1)
        axes.push_back(axis);
  }
  return node.emit<nn::SqueezeOp>(node.getInput(0), llvm::ArrayRef<int64_t>(axes));
}

/// Axes count in the result, which has as many dimensions more.
LogicalResult buildUnsqueeze(NodeContext &node) {
  std::optional<llvm::SmallVector<int64_t>> given = getAxes(node);
  if (!given)
    return node.malformed("axes are missing");
  auto axes = node.normalizeAxes(*given, node.getRank(0) + static_cast<int64_t>(given->size()));
  return node.emit<nn::UnsqueezeOp>(node.getInput(0), llvm::ArrayRef<int64_t>(axes));
}

LogicalResult buildFlatten(NodeContext &node) {
  int64_t rank = node.getRank(0);
  int64_t axis = node.getInt("axis", 1);
  // Unlike elsewhere the rank itself is an axis too.
  if (axis != rank)
    axis = node.normalizeAxis(axis, rank);
  return node.emit<nn::FlattenOp>(node.getInput(0), axis);
}

LogicalResult buildExpand(NodeContext &node) { return node.emit<nn::ExpandOp>(node.getInput(0), node.getInput(1)); }

LogicalResult buildTile(NodeContext &node) { return node.emit<nn::TileOp>(node.getInput(0), node.getInput(1)); }

LogicalResult buildConcat(NodeContext &node) {
  if (llvm::is_contained(node.getInputs(), Value()))
    return node.malformed("an input is absent");
  int64_t axis = node.normalizeAxis(node.getInt("axis"), node.getRank(0));
  return node.emit<nn::ConcatOp>(ValueRange(node.getInputs()), axis);
}

/// Sizes are an attribute before opset 13 and an input since; without them the parts are even.
LogicalResult buildSplit(NodeContext &node) {
  int64_t axis = node.normalizeAxis(node.getInt("axis", 0), node.getRank(0));
  std::optional<llvm::SmallVector<int64_t>> sizes;
  if (node.getOpset() < 13)
    sizes = node.getInts("split");
  else if (node.getInput(1))
    sizes = node.getConstantInts(1, "sizes of the parts");
  int64_t count = static_cast<int64_t>(node.getNode().outputs.size());
  if (node.getOpset() >= 18 && node.getInt("num_outputs", count) != count)
    return node.malformed("attribute 'num_outputs' differs from the number of outputs, " + llvm::Twine(count));
  DenseI64ArrayAttr sizesAttr = sizes ? node.getBuilder().getDenseI64ArrayAttr(*sizes) : DenseI64ArrayAttr();
  return node.emit<nn::SplitOp>(node.getInput(0), axis, count, sizesAttr);
}

} // namespace

llvm::ArrayRef<OpRow> getShapeOps() {
  static constexpr OpRow kRows[] = {
      {"", "Reshape", 5, 2, 2, buildReshape}, {"", "Transpose", 1, 1, 1, buildTranspose},
      {"", "Squeeze", 1, 1, 2, buildSqueeze}, {"", "Unsqueeze", 1, 1, 2, buildUnsqueeze},
      {"", "Flatten", 1, 1, 1, buildFlatten}, {"", "Expand", 8, 2, 2, buildExpand},
      {"", "Tile", 6, 2, 2, buildTile},       {"", "Concat", 4, 1, kVariadic, buildConcat},
      {"", "Split", 2, 1, 2, buildSplit},
  };
  return kRows;
}

} // namespace heddle::importer
