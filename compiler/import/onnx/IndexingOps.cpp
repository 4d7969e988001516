// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that choose, place or mask elements by index.

#include "compiler/import/onnx/NodeContext.h"
#include "compiler/import/onnx/OpTable.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace heddle::importer {

namespace {

/// Bounds are attributes before opset 10 and inputs since.
LogicalResult buildSlice(NodeContext &node) {
  if (node.getOpset() >= 10) {
    if (node.getNumInputs() < 3 || !node.getInput(1) || !node.getInput(2))
      return node.malformed("starts or ends are missing");
    return node.emit<nn::SliceOp>(node.getInput(0), node.getInput(1), node.getInput(2), node.getInput(3),
                                  node.getInput(4));
  }
  auto starts = node.getInts("starts"), ends = node.getInts("ends"), axes = node.getInts("axes");
  if (!starts || !ends)
    return node.malformed("starts or ends are missing");
  Value startsValue = node.createVector(*starts), endsValue = node.createVector(*ends);
  Value axesValue = axes ? node.createVector(*axes) : Value();
  return node.emit<nn::SliceOp>(node.getInput(0), startsValue, endsValue, axesValue, Value());
}

LogicalResult buildGather(NodeContext &node) {
  int64_t axis = node.normalizeAxis(node.getInt("axis", 0), node.getRank(0));
  return node.emit<nn::GatherOp>(node.getInput(0), node.getInput(1), axis);
}

LogicalResult buildGatherElements(NodeContext &node) {
  int64_t axis = node.normalizeAxis(node.getInt("axis", 0), node.getRank(0));
  return node.emit<nn::GatherElementsOp>(node.getInput(0), node.getInput(1), axis);
}

LogicalResult buildGatherNd(NodeContext &node) {
  int64_t batchDims = node.getOpset() >= 12 ? node.getInt("batch_dims", 0) : 0;
  if (batchDims < 0)
    return node.malformed("attribute 'batch_dims' can't be negative");
  return node.emit<nn::GatherNdOp>(node.getInput(0), node.getInput(1), batchDims);
}

/// How updates meet what is there; always `none` before opset 16.
nn::ScatterReduction getReduction(NodeContext &node) {
  if (node.getOpset() < 16)
    return nn::ScatterReduction::None;
  std::string name = node.getString("reduction", "none");
  std::optional<nn::ScatterReduction> reduction = nn::symbolizeScatterReduction(name);
  if (!reduction)
    (void)node.malformed("attribute 'reduction' can't be '" + name + "'");
  return reduction.value_or(nn::ScatterReduction::None);
}

LogicalResult buildScatterElements(NodeContext &node) {
  int64_t axis = node.normalizeAxis(node.getInt("axis", 0), node.getRank(0));
  return node.emit<nn::ScatterElementsOp>(getReduction(node), node.getInput(0), node.getInput(1), node.getInput(2),
                                          axis);
}

LogicalResult buildScatterNd(NodeContext &node) {
  return node.emit<nn::ScatterNdOp>(getReduction(node), node.getInput(0), node.getInput(1), node.getInput(2));
}

/// The upper triangle by default.
LogicalResult buildTrilu(NodeContext &node) {
  bool upper = node.getFlag("upper", true);
  Value k = node.getInput(1) ? node.createAsScalar(node.getInput(1)) : Value();
  return node.emit<nn::TriluOp>(node.getInput(0), k, upper);
}

/// Pads are an attribute before opset 11 and an input since, as is the value that is put in.
LogicalResult buildPad(NodeContext &node) {
  std::string name = node.getString("mode", "constant");
  std::optional<nn::PadMode> mode = nn::symbolizePadMode(name);
  if (!mode)
    return node.malformed("attribute 'mode' can't be '" + name + "'");
  if (node.getOpset() >= 11) {
    if (!node.getInput(1))
      return node.malformed("pads are missing");
    Value value = node.getInput(2) ? node.createAsScalar(node.getInput(2)) : Value();
    return node.emit<nn::PadOp>(*mode, node.getInput(0), node.getInput(1), value, node.getInput(3));
  }
  std::optional<llvm::SmallVector<int64_t>> pads = node.getInts("pads");
  if (!pads)
    return node.malformed("pads are missing");
  double fill = node.getFloat("value", 0.0);
  Value padsValue = node.createVector(*pads);
  Value value = fill == 0 ? Value() : node.createScalar(node.getElementType(0), fill);
  return node.emit<nn::PadOp>(*mode, node.getInput(0), padsValue, value, Value());
}

LogicalResult buildOneHot(NodeContext &node) {
  Type i64 = node.getBuilder().getI64Type();
  int64_t axis = node.normalizeAxis(node.getInt("axis", -1), node.getRank(0) + 1);
  // Indices and depth may be of any type of number, but mean integers.
  auto asIndex = [&](unsigned index) {
    Type element = node.getElementType(index);
    bool isIndex = element.isSignlessInteger(64) || element.isSignlessInteger(32);
    return isIndex ? node.getInput(index) : node.createValue<nn::CastOp>(node.getInput(index), i64);
  };
  Value indices = asIndex(0);
  Value depth = node.createAsScalar(asIndex(1));
  return node.emit<nn::OneHotOp>(indices, depth, node.getInput(2), axis);
}

LogicalResult buildTopK(NodeContext &node) {
  // Any order is allowed for sorted = 0, so the sorted one is.
  node.ignoreAttr("sorted");
  int64_t axis = node.normalizeAxis(node.getInt("axis", -1), node.getRank(0));
  bool largest = node.getOpset() < 11 || node.getFlag("largest", true);
  Value k = node.createAsScalar(node.getInput(1));
  return node.emit<nn::TopKOp>(node.getInput(0), k, axis, largest);
}

} // namespace

llvm::ArrayRef<OpRow> getIndexingOps() {
  static constexpr OpRow kRows[] = {
      {"", "Slice", 1, 1, 5, buildSlice},
      {"", "Gather", 1, 2, 2, buildGather},
      {"", "GatherElements", 11, 2, 2, buildGatherElements},
      {"", "GatherND", 11, 2, 2, buildGatherNd},
      {"", "Scatter", 9, 3, 3, buildScatterElements},
      {"", "ScatterElements", 11, 3, 3, buildScatterElements},
      {"", "ScatterND", 11, 3, 3, buildScatterNd},
      {"", "Trilu", 14, 1, 2, buildTrilu},
      {"", "Pad", 2, 1, 4, buildPad},
      {"", "OneHot", 9, 3, 3, buildOneHot},
      {"", "TopK", 10, 2, 2, buildTopK},
  };
  return kRows;
}

} // namespace heddle::importer
