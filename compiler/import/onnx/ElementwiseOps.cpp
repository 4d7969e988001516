// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that are maps over elements; ActivationOps.cpp has the activations.

#include "compiler/import/onnx/NodeContext.h"
#include "compiler/import/onnx/OpTable.h"

#include <limits>

using namespace mlir;

namespace heddle::importer {

namespace {

template <nn::UnaryKind kind> LogicalResult buildUnary(NodeContext &node) {
  return node.emit<nn::UnaryOp>(kind, node.getInput(0));
}

template <nn::BinaryKind kind> LogicalResult buildBinary(NodeContext &node) {
  return node.emit<nn::BinaryOp>(kind, node.getInput(0), node.getInput(1));
}

template <nn::CompareKind kind> LogicalResult buildCompare(NodeContext &node) {
  return node.emit<nn::CompareOp>(kind, node.getInput(0), node.getInput(1));
}

/// All inputs combined from left to right; null where one of them is absent.
Value combineInputs(NodeContext &node, nn::BinaryKind kind) {
  if (llvm::is_contained(node.getInputs(), Value())) {
    (void)node.malformed("an input is absent");
    return {};
  }
  Value result = node.getInput(0);
  for (Value input : node.getInputs().drop_front())
    result = node.createValue<nn::BinaryOp>(kind, result, input);
  return result;
}

template <nn::BinaryKind kind> LogicalResult buildVariadic(NodeContext &node) {
  return node.setOutputs(combineInputs(node, kind));
}

/// The mean of several tensors, element by element.
LogicalResult buildMean(NodeContext &node) {
  Value sum = combineInputs(node, nn::BinaryKind::Add);
  Value count = node.createScalar(node.getElementType(0), node.getNumInputs());
  return node.emit<nn::BinaryOp>(nn::BinaryKind::Div, sum, count);
}

/// The sign of the result is that of the divisor, or with fmod that of the dividend.
LogicalResult buildMod(NodeContext &node) {
  nn::BinaryKind kind = node.getFlag("fmod", false) ? nn::BinaryKind::Fmod : nn::BinaryKind::Mod;
  return node.emit<nn::BinaryOp>(kind, node.getInput(0), node.getInput(1));
}

/// Infinities of one sign only become a comparison.
LogicalResult buildIsInf(NodeContext &node) {
  bool negative = node.getFlag("detect_negative", true), positive = node.getFlag("detect_positive", true);
  if (negative && positive)
    return buildUnary<nn::UnaryKind::IsInf>(node);
  if (!negative && !positive)
    return node.unsupported("neither detect_negative nor detect_positive is set");
  double infinity = std::numeric_limits<double>::infinity();
  Value bound = node.createScalar(node.getElementType(0), negative ? -infinity : infinity);
  return node.emit<nn::CompareOp>(nn::CompareKind::Eq, node.getInput(0), bound);
}

LogicalResult buildWhere(NodeContext &node) {
  return node.emit<nn::WhereOp>(node.getInput(0), node.getInput(1), node.getInput(2));
}

/// Only 8-bit floats know these.
void ignoreFloat8Attrs(NodeContext &node) {
  node.ignoreAttr("saturate");
  node.ignoreAttr("round_mode");
}

LogicalResult buildCast(NodeContext &node) {
  ignoreFloat8Attrs(node);
  int64_t code = node.getInt("to");
  Type to = getElementType(static_cast<int>(code), node.getBuilder().getContext());
  if (!node.hasFailed() && !to)
    return node.fail(ErrorCode::H0206, "a cast to " + getDataTypeName(static_cast<int>(code)) + " is not supported");
  return node.emit<nn::CastOp>(node.getInput(0), to);
}

LogicalResult buildCastLike(NodeContext &node) {
  ignoreFloat8Attrs(node);
  return node.emit<nn::CastOp>(node.getInput(0), node.getElementType(1));
}

/// Bounds are attributes before opset 11 and inputs since.
LogicalResult buildClip(NodeContext &node) {
  if (node.getOpset() >= 11)
    return node.emit<nn::ClipOp>(node.getInput(0), node.getInput(1), node.getInput(2));
  auto bound = [&](llvm::StringRef name) {
    return node.hasAttr(name) ? node.createScalar(node.getElementType(0), node.getFloat(name)) : Value();
  };
  Value min = bound("min");
  Value max = bound("max");
  return node.emit<nn::ClipOp>(node.getInput(0), min, max);
}

} // namespace

llvm::ArrayRef<OpRow> getElementwiseOps() {
  using nn::BinaryKind, nn::CompareKind, nn::UnaryKind;
  // Before opset 7, operators of two inputs had an attribute for broadcasting, and one for its axis.
  static constexpr OpRow kRows[] = {
      {"", "Abs", 6, 1, 1, buildUnary<UnaryKind::Abs>},
      {"", "Neg", 6, 1, 1, buildUnary<UnaryKind::Neg>},
      {"", "Sign", 9, 1, 1, buildUnary<UnaryKind::Sign>},
      {"", "Sqrt", 6, 1, 1, buildUnary<UnaryKind::Sqrt>},
      {"", "Reciprocal", 6, 1, 1, buildUnary<UnaryKind::Reciprocal>},
      {"", "Exp", 6, 1, 1, buildUnary<UnaryKind::Exp>},
      {"", "Log", 6, 1, 1, buildUnary<UnaryKind::Log>},
      {"", "Sin", 7, 1, 1, buildUnary<UnaryKind::Sin>},
      {"", "Cos", 7, 1, 1, buildUnary<UnaryKind::Cos>},
      {"", "Tanh", 6, 1, 1, buildUnary<UnaryKind::Tanh>},
      {"", "Erf", 9, 1, 1, buildUnary<UnaryKind::Erf>},
      {"", "Floor", 6, 1, 1, buildUnary<UnaryKind::Floor>},
      {"", "Ceil", 6, 1, 1, buildUnary<UnaryKind::Ceil>},
      {"", "Round", 11, 1, 1, buildUnary<UnaryKind::Round>},
      {"", "IsNaN", 9, 1, 1, buildUnary<UnaryKind::IsNan>},
      {"", "IsInf", 10, 1, 1, buildIsInf},
      {"", "Not", 1, 1, 1, buildUnary<UnaryKind::Not>},
      {"", "BitwiseNot", 18, 1, 1, buildUnary<UnaryKind::BitwiseNot>},

      {"", "Add", 7, 2, 2, buildBinary<BinaryKind::Add>},
      {"", "Sub", 7, 2, 2, buildBinary<BinaryKind::Sub>},
      {"", "Mul", 7, 2, 2, buildBinary<BinaryKind::Mul>},
      {"", "Div", 7, 2, 2, buildBinary<BinaryKind::Div>},
      {"", "Pow", 7, 2, 2, buildBinary<BinaryKind::Pow>},
      {"", "Mod", 10, 2, 2, buildMod},
      {"", "And", 7, 2, 2, buildBinary<BinaryKind::And>},
      {"", "Or", 7, 2, 2, buildBinary<BinaryKind::Or>},
      {"", "Xor", 7, 2, 2, buildBinary<BinaryKind::Xor>},
      {"", "BitwiseAnd", 18, 2, 2, buildBinary<BinaryKind::BitwiseAnd>},
      {"", "BitwiseOr", 18, 2, 2, buildBinary<BinaryKind::BitwiseOr>},
      {"", "BitwiseXor", 18, 2, 2, buildBinary<BinaryKind::BitwiseXor>},
      {"", "Min", 6, 1, kVariadic, buildVariadic<BinaryKind::Min>},
      {"", "Max", 6, 1, kVariadic, buildVariadic<BinaryKind::Max>},
      {"", "Sum", 6, 1, kVariadic, buildVariadic<BinaryKind::Add>},
      {"", "Mean", 6, 1, kVariadic, buildMean},

      {"", "Equal", 7, 2, 2, buildCompare<CompareKind::Eq>},
      {"", "Less", 7, 2, 2, buildCompare<CompareKind::Lt>},
      {"", "LessOrEqual", 12, 2, 2, buildCompare<CompareKind::Le>},
      {"", "Greater", 7, 2, 2, buildCompare<CompareKind::Gt>},
      {"", "GreaterOrEqual", 12, 2, 2, buildCompare<CompareKind::Ge>},

      {"", "Where", 9, 3, 3, buildWhere},
      {"", "Cast", 6, 1, 1, buildCast},
      {"", "CastLike", 15, 2, 2, buildCastLike},
      {"", "Clip", 6, 1, 3, buildClip},
  };
  return kRows;
}

} // namespace heddle::importer
