// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators without data operands, and those that hand on what they get.

#include "compiler/import/onnx/NodeContext.h"
#include "compiler/import/onnx/OpTable.h"

#include "dialects/nn/ConstantData.h"

#include <array>

using namespace mlir;

namespace heddle::importer {

namespace {

/// A value in one of five attributes, of which a node has one.
LogicalResult buildConstant(NodeContext &node) {
  Builder &builder = node.getBuilder();
  // A list in an attribute becomes a tensor of the host's, that is little-endian, numbers.
  auto emitList = [&](llvm::ArrayRef<int64_t> shape, Type elementType, auto list) {
    auto type = RankedTensorType::get(shape, elementType);
    llvm::ArrayRef<char> raw(reinterpret_cast<const char *>(list.data()), list.size() * sizeof(*list.data()));
    return node.setOutputs(node.createConstant(type, makeConstantValue(type, raw, node.getNode().name)));
  };
  if (std::optional<Constant> tensor = node.getTensor("value"))
    return node.setOutputs(node.createConstant(tensor->type, tensor->value));
  if (node.hasAttr("value_float"))
    return emitList({}, builder.getF32Type(), std::array{static_cast<float>(node.getFloat("value_float"))});
  if (node.hasAttr("value_int"))
    return emitList({}, builder.getI64Type(), std::array{node.getInt("value_int")});
  if (std::optional<llvm::SmallVector<float>> floats = node.getFloats("value_floats"))
    return emitList({static_cast<int64_t>(floats->size())}, builder.getF32Type(), *floats);
  if (std::optional<llvm::SmallVector<int64_t>> ints = node.getInts("value_ints"))
    return emitList({static_cast<int64_t>(ints->size())}, builder.getI64Type(), *ints);
  for (llvm::StringRef name : {"sparse_value", "value_string", "value_strings"})
    if (node.hasAttr(name))
      return node.unsupported("a constant in attribute '" + name + "' is not supported");
  return node.malformed("a constant needs a value");
}

/// Zeros of type f32 unless an attribute says otherwise.
LogicalResult buildConstantOfShape(NodeContext &node) {
  TypedAttr value = node.getBuilder().getF32FloatAttr(0);
  if (std::optional<Constant> tensor = node.getTensor("value")) {
    auto literal = dyn_cast<DenseElementsAttr>(tensor->value);
    if (!literal || literal.getNumElements() != 1)
      return node.malformed("attribute 'value' must be a tensor of one element");
    value = cast<TypedAttr>(literal.getSplatValue<Attribute>());
  }
  return node.emit<nn::ConstantOfShapeOp>(node.getInput(0), value);
}

LogicalResult buildRange(NodeContext &node) {
  // Only how 16-bit floats are summed up on the way, for which f32 is what we take.
  node.ignoreAttr("stash_type");
  auto scalar = [&](unsigned index) { return node.createAsScalar(node.getInput(index)); };
  Value start = scalar(0), limit = scalar(1), delta = scalar(2);
  return node.emit<nn::RangeOp>(start, limit, delta);
}

/// Since opset 15 a part of the shape; bounds are clamped, unlike axes elsewhere.
LogicalResult buildShape(NodeContext &node) {
  int64_t rank = node.getRank(0);
  auto clamp = [&](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? position + rank : position, 0, rank);
  };
  int64_t start = 0, end = rank;
  if (node.getOpset() >= 15) {
    start = clamp(node.getInt("start", 0));
    end = std::max(start, clamp(node.getInt("end", rank)));
  }
  return node.emit<nn::ShapeOp>(node.getInput(0), start, end);
}

LogicalResult buildSize(NodeContext &node) { return node.emit<nn::SizeOp>(node.getInput(0)); }

/// No op: the output is another name for the input.
LogicalResult buildIdentity(NodeContext &node) { return node.setOutputs(node.getInput(0)); }

/// Does nothing outside of training: the mask, which is of bool since opset 10, keeps everything.
LogicalResult buildDropout(NodeContext &node) {
  node.ignoreAttr("ratio");
  node.ignoreAttr("seed");
  if (node.getInput(2)) {
    auto constant = node.getInput(2).getDefiningOp<nn::ConstantOp>();
    FailureOr<nn::ConstantData> data = failure();
    if (constant && constant.getType().getNumElements() == 1)
      data = nn::ConstantData::get(constant);
    if (failed(data) || data->getDouble(0) != 0)
      return node.unsupported("Dropout with training_mode is not supported", "export the model in inference mode");
  }
  Value x = node.getInput(0);
  bool isMaskRead = node.getNode().outputs.size() > 1 && !node.getNode().outputs[1].empty();
  if (!isMaskRead || node.getOpset() < 10)
    return node.setOutputs(x);
  Value shape = node.createValue<nn::ShapeOp>(x, int64_t(0), node.getRank(0));
  Value mask = node.createValue<nn::ConstantOfShapeOp>(shape, node.getBuilder().getBoolAttr(true));
  return node.setOutputs({x, mask});
}

} // namespace

llvm::ArrayRef<OpRow> getConstantOps() {
  static constexpr OpRow kRows[] = {
      {"", "Constant", 1, 0, 0, buildConstant}, {"", "ConstantOfShape", 9, 1, 1, buildConstantOfShape},
      {"", "Range", 11, 3, 3, buildRange},      {"", "Shape", 1, 1, 1, buildShape},
      {"", "Size", 1, 1, 1, buildSize},         {"", "Identity", 1, 1, 1, buildIdentity},
      {"", "Dropout", 7, 1, 3, buildDropout},
  };
  return kRows;
}

} // namespace heddle::importer
