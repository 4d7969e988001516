// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is left of an If whose condition is known only when the model runs: both branches are part of the flat model,
// and the node selects between their results. Operators of a model have no side effects, so computing too much is safe.

#include "compiler/import/onnx/NodeContext.h"
#include "compiler/import/onnx/OpTable.h"

using namespace mlir;

namespace heddle::importer {

namespace {

/// Gives |value| the shape of |model|, which it has already: a run in which the two differ ends with an error. Needed
/// beside the selection's own check, which lets an extent of 1 pass as one to be repeated.
Value demandShapeOf(NodeContext &node, Value value, Value model) {
  auto type = cast<RankedTensorType>(model.getType());
  if (type.hasStaticShape() && cast<RankedTensorType>(value.getType()).hasStaticShape())
    return value;
  Value shape = node.createValue<nn::ShapeOp>(model, int64_t(0), type.getRank());
  return node.createValue<nn::ReshapeOp>(value, shape, /*allowzero=*/true);
}

std::string describeType(RankedTensorType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type.getElementType() << "[";
  llvm::interleave(
      type.getShape(), os, [&](int64_t extent) { ShapedType::isDynamic(extent) ? os << "?" : os << extent; }, ",");
  os << "]";
  return text;
}

/// Inputs: the condition, then for each output what the two branches give.
LogicalResult buildIf(NodeContext &node) {
  auto condition = node.getType(0);
  bool isScalar = condition.getElementType().isInteger(1) &&
                  (condition.getRank() == 0 || (condition.getRank() == 1 && condition.getDimSize(0) == 1));
  if (!isScalar)
    return node.malformed("its condition is " + describeType(condition) + ", expects one bool");
  Value isThen = node.createAsScalar(node.getInput(0));
  llvm::SmallVector<Value> outputs;
  for (unsigned i = 1; i + 1 < node.getNumInputs(); i += 2) {
    Value onThen = node.getInput(i), onElse = node.getInput(i + 1);
    // What isn't known yet is checked in each run.
    if (node.getElementType(i) != node.getElementType(i + 1) ||
        failed(verifyCompatibleShape(node.getType(i), node.getType(i + 1))))
      return node.unsupported("its condition isn't constant and its branches give " + describeType(node.getType(i)) +
                                  " and " + describeType(node.getType(i + 1)) +
                                  "; both are computed and one is selected, so they must be of one shape",
                              "make the condition a constant, or export each branch as a model of its own");
    Value then = demandShapeOf(node, onThen, onElse), otherwise = demandShapeOf(node, onElse, onThen);
    outputs.push_back(node.createValue<nn::WhereOp>(isThen, then, otherwise));
  }
  return node.hasFailed() ? failure() : node.setOutputs(outputs);
}

constexpr OpRow kOps[] = {
    {"", "If", 1, 1, kVariadic, buildIf},
};

} // namespace

llvm::ArrayRef<OpRow> getControlOps() { return kOps; }

} // namespace heddle::importer
