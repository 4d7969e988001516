// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// com.microsoft's operators on integers of 8 bits: products whose results are floats or integers again, and what goes
// from integers to integers by way of floats. Each is written out in the ops that the standard's forms become, so that
// what follows knows one form.

#include "compiler/import/onnx/MicrosoftQuantizationOps.h"

#include "compiler/import/onnx/NodeMath.h"
#include "compiler/import/onnx/OpTable.h"

using namespace mlir;

namespace heddle::importer {

LogicalResult refuseChannelsLast(NodeContext &node) {
  if (!node.getFlag("channels_last", false))
    return success();
  return node.unsupported("channels in the last dimension are not supported", "export the model with channels first");
}

namespace {

//===------------------------------------------------------------------------------------------------------------===//
// Products
//===------------------------------------------------------------------------------------------------------------===//

/// A scale in f32: a scalar, or a vector with one entry a column.
Value getScale(NodeContext &node, unsigned index) {
  NodeMath math{node};
  return math.cast(math.parameter(node.getInput(index)), node.getBuilder().getF32Type());
}

/// |sums| as floats: times the scales of both sides, plus the input |bias| if it is there, in |to|.
Value createFloats(NodeContext &node, Value sums, Value lhsScale, Value rhsScale, unsigned bias, Type to) {
  NodeMath math{node};
  Type f32 = node.getBuilder().getF32Type();
  Value products = math.mul(math.cast(sums, f32), math.mul(lhsScale, rhsScale));
  Value biased = math.addOptional(products, math.cast(node.getInput(bias), f32));
  return math.cast(biased, to);
}

/// a, b, b_scale, b_zero_point?, bias?
LogicalResult buildDynamicQuantizeMatMul(NodeContext &node) {
  NodeMath math{node};
  auto lhs = node.create<nn::DynamicQuantizeLinearOp>(node.getInput(0));
  if (!lhs)
    return failure();
  Value sums = node.createValue<nn::MatMulIntegerOp>(lhs.getOutput(), node.getInput(1), lhs.getZeroPoint(),
                                                     math.parameter(node.getInput(3)));
  return node.setOutputs(createFloats(node, sums, lhs.getScale(), getScale(node, 2), 4, node.getElementType(0)));
}

/// a, b, a_scale, b_scale, a_zero_point?, b_zero_point?, bias?
LogicalResult buildMatMulIntegerToFloat(NodeContext &node) {
  NodeMath math{node};
  Value lhsScale = getScale(node, 2);
  if (lhsScale && cast<RankedTensorType>(lhsScale.getType()).getRank() != 0)
    return node.unsupported("a scale of the left side that is no scalar is not supported");
  Value sums = node.createValue<nn::MatMulIntegerOp>(
      node.getInput(0), node.getInput(1), math.parameter(node.getInput(4)), math.parameter(node.getInput(5)));
  return node.setOutputs(createFloats(node, sums, lhsScale, getScale(node, 3), 6, node.getElementType(2)));
}

/// Input |index|, a matrix, transposed where attribute |flag| says so.
Value getMatrix(NodeContext &node, unsigned index, llvm::StringRef flag) {
  Value matrix = node.getInput(index);
  return node.getFlag(flag, false) ? node.createValue<nn::TransposeOp>(matrix, llvm::ArrayRef<int64_t>{1, 0}) : matrix;
}

/// a, its scale and zero point, b, its scale and zero point, c?, then scale and zero point of a result of integers.
LogicalResult buildQGemm(NodeContext &node) {
  NodeMath math{node};
  if (node.getRank(0) != 2 || node.getRank(3) != 2)
    return node.fail(ErrorCode::H0204, "both factors must be matrices");
  Type f32 = node.getBuilder().getF32Type();
  Value sums =
      node.createValue<nn::MatMulIntegerOp>(getMatrix(node, 0, "transA"), getMatrix(node, 3, "transB"),
                                            math.parameter(node.getInput(2)), math.parameter(node.getInput(5)));
  sums = math.addOptional(sums, node.getInput(6));
  Value lhsScale = getScale(node, 1), rhsScale = getScale(node, 4);
  if (double alpha = node.getFloat("alpha", 1); alpha != 1)
    lhsScale = math.mul(math.number(alpha, lhsScale), lhsScale);
  if (!node.getInput(7))
    return node.setOutputs(createFloats(node, sums, lhsScale, rhsScale, node.getNumInputs(), f32));
  // One factor for the whole way from sums to codes: it is rounded once.
  Value factor = math.div(math.mul(lhsScale, rhsScale), getScale(node, 7));
  Value zero = math.parameter(node.getInput(8));
  Type to = zero ? node.getElementType(8) : node.getElementType(0);
  return node.emit<nn::QuantizeLinearOp>(math.mul(math.cast(sums, f32), factor), node.createScalar(f32, 1), zero,
                                         int64_t(0), int64_t(0), to);
}

//===------------------------------------------------------------------------------------------------------------===//
// From integers to integers
//===------------------------------------------------------------------------------------------------------------===//

/// Input |index|, with one scale and zero point for all its elements; null where it is absent.
Value getScalar(NodeContext &node, unsigned index) {
  return node.getInput(index) ? node.createAsScalar(node.getInput(index)) : Value();
}

/// The floats of input |index|, which is followed by its scale and, maybe, zero point.
Value dequantize(NodeContext &node, unsigned index) {
  if (!node.getInput(index) || !node.getInput(index + 1)) {
    (void)node.malformed("operand or scale, input " + llvm::Twine(index) + " or the next, is absent");
    return {};
  }
  return node.createValue<nn::DequantizeLinearOp>(node.getInput(index), getScalar(node, index + 1),
                                                  getScalar(node, index + 2), int64_t(0), int64_t(0));
}

/// |x| as integers of type |to|, by the scale in input |index| and, maybe, the zero point behind it.
Value quantize(NodeContext &node, Value x, unsigned index, Type to) {
  if (!node.getInput(index)) {
    (void)node.malformed("the scale of the result, input " + llvm::Twine(index) + ", is absent");
    return {};
  }
  return node.createValue<nn::QuantizeLinearOp>(x, getScalar(node, index), getScalar(node, index + 1), int64_t(0),
                                                int64_t(0), to);
}

/// a, its scale and zero point, b, its scale and zero point, then those of the result.
template <nn::BinaryKind kind> LogicalResult buildBinary(NodeContext &node) {
  Value result = NodeMath{node}.binary(kind, dequantize(node, 0), dequantize(node, 3));
  return node.setOutputs(quantize(node, result, 6, node.getElementType(0)));
}

/// x, its scale and zero point, then those of the result.
template <Value (*formula)(NodeContext &, Value)> LogicalResult buildUnary(NodeContext &node) {
  Value result = formula(node, dequantize(node, 0));
  return node.setOutputs(quantize(node, result, 3, node.getElementType(0)));
}

Value makeSigmoid(NodeContext &node, Value x) { return NodeMath{node}.unary(nn::UnaryKind::Sigmoid, x); }

Value makeLeakyRelu(NodeContext &node, Value x) {
  NodeMath math{node};
  Value zero = math.number(0, x), alpha = math.number(node.getFloat("alpha", 0.01), x);
  return math.select(nn::CompareKind::Lt, x, zero, math.mul(x, alpha), x);
}

Value makeSoftmax(NodeContext &node, Value x) { return createSoftmax(node, x, node.getInt("opset")); }

Value makeAveragePool(NodeContext &node, Value x) {
  return failed(refuseChannelsLast(node)) ? Value() : createAveragePool(node, x);
}

Value makeGlobalAveragePool(NodeContext &node, Value x) {
  if (failed(refuseChannelsLast(node)))
    return {};
  return NodeMath{node}.mean(x, llvm::to_vector(llvm::seq<int64_t>(2, node.getRank(0))));
}

/// Scale and zero point of the result, then each part with its own.
LogicalResult buildConcat(NodeContext &node) {
  if (node.getNumInputs() % 3 != 2 || llvm::is_contained(node.getInputs(), Value()))
    return node.malformed("each part needs a scale and a zero point");
  int64_t axis = node.normalizeAxis(node.getInt("axis"), node.getRank(2));
  llvm::SmallVector<Value> parts;
  for (unsigned i = 2; i < node.getNumInputs(); i += 3)
    parts.push_back(quantize(node, dequantize(node, i), 0, node.getElementType(1)));
  return node.emit<nn::ConcatOp>(ValueRange(parts), axis);
}

} // namespace

Value createQuantizedProjection(NodeContext &node) {
  NodeMath math{node};
  Value sums = node.createValue<nn::MatMulIntegerOp>(
      node.getInput(0), node.getInput(1), math.parameter(node.getInput(6)), math.parameter(node.getInput(7)));
  return createFloats(node, sums, getScale(node, 3), getScale(node, 4), 2, node.getElementType(2));
}

llvm::ArrayRef<OpRow> getMicrosoftQuantizationOps() {
  static constexpr OpRow kRows[] = {
      {"com.microsoft", "DynamicQuantizeMatMul", 1, 3, 5, buildDynamicQuantizeMatMul},
      {"com.microsoft", "MatMulIntegerToFloat", 1, 4, 7, buildMatMulIntegerToFloat},
      {"com.microsoft", "MatMulNBits", 1, 3, 6, buildMatMulNBits},
      {"com.microsoft", "QGemm", 1, 6, 9, buildQGemm},
      {"com.microsoft", "QLinearAdd", 1, 2, 8, buildBinary<nn::BinaryKind::Add>},
      {"com.microsoft", "QLinearMul", 1, 2, 8, buildBinary<nn::BinaryKind::Mul>},
      {"com.microsoft", "QLinearSigmoid", 1, 2, 5, buildUnary<makeSigmoid>},
      {"com.microsoft", "QLinearLeakyRelu", 1, 2, 5, buildUnary<makeLeakyRelu>},
      {"com.microsoft", "QLinearSoftmax", 1, 2, 5, buildUnary<makeSoftmax>},
      {"com.microsoft", "QLinearAveragePool", 1, 2, 5, buildUnary<makeAveragePool>},
      {"com.microsoft", "QLinearGlobalAveragePool", 1, 2, 5, buildUnary<makeGlobalAveragePool>},
      {"com.microsoft", "QLinearConcat", 1, 5, kVariadic, buildConcat},
  };
  return kRows;
}

} // namespace heddle::importer
