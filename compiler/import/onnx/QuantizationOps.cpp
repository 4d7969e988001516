// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantisation: integers with a scale and a zero point.

#include "compiler/import/onnx/NodeMath.h"
#include "compiler/import/onnx/OpTable.h"

using namespace mlir;

namespace heddle::importer {

namespace {

struct Granularity {
  int64_t axis = 0;
  int64_t blockSize = 0;
};

/// Where along the input the scale varies. With a scalar scale the axis has no meaning and may be out of range.
Granularity getGranularity(NodeContext &node, Value scale) {
  Granularity granularity;
  bool isMicrosoft = node.getNode().domain == "com.microsoft"; // there of version 1, with an axis
  int64_t axis = node.getOpset() >= 13 || isMicrosoft ? node.getInt("axis", 1) : 1;
  if (node.getOpset() >= 21)
    granularity.blockSize = node.getInt("block_size", 0);
  if (granularity.blockSize < 0)
    (void)node.malformed("attribute 'block_size' can't be negative");
  bool varies = scale && cast<RankedTensorType>(scale.getType()).getRank() != 0;
  if (varies && !node.hasFailed())
    granularity.axis = node.normalizeAxis(axis, node.getRank(0));
  return granularity;
}

/// The type that attribute output_dtype names, |fallback| where it is absent or 0.
Type getOutputType(NodeContext &node, Type fallback) {
  int64_t code = node.getInt("output_dtype", 0);
  if (code == 0)
    return fallback;
  Type type = getElementType(static_cast<int>(code), node.getBuilder().getContext());
  if (!type)
    (void)node.fail(ErrorCode::H0206,
                    "elements of type " + getDataTypeName(static_cast<int>(code)) + " are not supported");
  return type ? type : fallback;
}

/// The zero point's type is the result's; without one it is u8, or what output_dtype says.
LogicalResult buildQuantizeLinear(NodeContext &node) {
  node.ignoreAttr("saturate"); // known to 8-bit floats only
  NodeMath math{node};
  Value scale = math.parameter(node.getInput(1)), zeroPoint = math.parameter(node.getInput(2));
  Granularity granularity = getGranularity(node, scale);
  Type to = node.getInput(2) ? node.getElementType(2) : node.getBuilder().getIntegerType(8, /*isSigned=*/false);
  if (node.getOpset() >= 21) {
    Type wanted = getOutputType(node, to);
    if (node.getInput(2) && wanted != to)
      return node.malformed("attribute 'output_dtype' differs from the type of the zero point");
    to = wanted;
  }
  if (node.getOpset() >= 23 && node.getInt("precision", 0) > ::onnx::TensorProto::FLOAT)
    return node.unsupported("a division in another type than float is not supported");
  return node.emit<nn::QuantizeLinearOp>(node.getInput(0), scale, zeroPoint, granularity.axis, granularity.blockSize,
                                         to);
}

/// The result has the scale's type, unless output_dtype (opset 23) asks for another.
LogicalResult buildDequantizeLinear(NodeContext &node) {
  NodeMath math{node};
  Value scale = math.parameter(node.getInput(1)), zeroPoint = math.parameter(node.getInput(2));
  Granularity granularity = getGranularity(node, scale);
  Type own = node.getElementType(1);
  Type wanted = node.getOpset() >= 23 ? getOutputType(node, own) : own;
  Value result = node.createValue<nn::DequantizeLinearOp>(node.getInput(0), scale, zeroPoint, granularity.axis,
                                                          granularity.blockSize);
  if (wanted != own)
    return node.emit<nn::CastOp>(result, wanted);
  return node.setOutputs(result);
}

LogicalResult buildDynamicQuantizeLinear(NodeContext &node) {
  return node.emit<nn::DynamicQuantizeLinearOp>(node.getInput(0));
}

LogicalResult buildMatMulInteger(NodeContext &node) {
  NodeMath math{node};
  Value lhsZero = math.parameter(node.getInput(2)), rhsZero = math.parameter(node.getInput(3));
  return node.emit<nn::MatMulIntegerOp>(node.getInput(0), node.getInput(1), lhsZero, rhsZero);
}

/// |parameter| of the left side: one a row stands before the columns.
Value alongRows(NodeContext &node, Value parameter) {
  parameter = NodeMath{node}.parameter(parameter);
  if (node.hasFailed() || cast<RankedTensorType>(parameter.getType()).getRank() != 1)
    return parameter;
  return node.createValue<nn::UnsqueezeOp>(parameter, llvm::ArrayRef<int64_t>(1));
}

/// a, its scale and zero point, b and its, scale and zero point of the result.
LogicalResult buildQLinearMatMul(NodeContext &node) {
  NodeMath math{node};
  Type f32 = node.getBuilder().getF32Type();
  Value lhsZero = math.parameter(node.getInput(2)), rhsZero = math.parameter(node.getInput(5));
  Value sums = node.createValue<nn::MatMulIntegerOp>(node.getInput(0), node.getInput(3), lhsZero, rhsZero);
  // One factor for the whole way from sums to codes: it is rounded once.
  Value lhsScale = math.cast(alongRows(node, node.getInput(1)), f32);
  Value rhsScale = math.cast(math.parameter(node.getInput(4)), f32);
  Value resultScale = math.cast(alongRows(node, node.getInput(6)), f32);
  Value factor = math.div(math.mul(lhsScale, rhsScale), resultScale);
  Value zero = math.parameter(node.getInput(7)), one = node.createScalar(f32, 1);
  return node.emit<nn::QuantizeLinearOp>(math.mul(math.cast(sums, f32), factor), one, zero, int64_t(0), int64_t(0),
                                         node.getElementType(7));
}

} // namespace

llvm::ArrayRef<OpRow> getQuantizationOps() {
  static constexpr OpRow kRows[] = {
      {"", "QuantizeLinear", 10, 2, 3, buildQuantizeLinear},
      {"", "DequantizeLinear", 10, 2, 3, buildDequantizeLinear},
      {"", "DynamicQuantizeLinear", 11, 1, 1, buildDynamicQuantizeLinear},
      {"", "MatMulInteger", 10, 2, 4, buildMatMulInteger},
      {"", "QLinearMatMul", 10, 8, 8, buildQLinearMatMul},
      {"com.microsoft", "QuantizeLinear", 1, 2, 3, buildQuantizeLinear},
      {"com.microsoft", "DequantizeLinear", 1, 2, 3, buildDequantizeLinear},
  };
  return kRows;
}

} // namespace heddle::importer
