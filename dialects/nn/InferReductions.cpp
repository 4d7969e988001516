// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Result types of reductions, row-wise ops and quantisation.

#include "dialects/nn/NnOps.h"
#include "dialects/nn/ShapeInference.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle::nn;

//===------------------------------------------------------------------------------------------------------------===//
// Reductions.
//===------------------------------------------------------------------------------------------------------------===//

/// |shape| without |axes|, or with 1 in their place.
static Extents reduceShape(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes, bool keepdims) {
  Extents result;
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(axis)))
      result.push_back(extent);
    else if (keepdims)
      result.push_back(1);
  }
  return result;
}

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType input = getTensorType(adaptor.getInput());
  ReduceKind kind = adaptor.getKind();
  Type element = input.getElementType();
  bool isExtreme = kind == ReduceKind::Max || kind == ReduceKind::Min;
  bool needsFloat = kind == ReduceKind::L2 || kind == ReduceKind::LogSum || kind == ReduceKind::LogSumExp;
  if ((element.isInteger(1) && !isExtreme) || (needsFloat && !isa<FloatType>(element)))
    return emitOptionalError(location, "expects ", needsFloat ? "a float" : "a number", " operand for kind '",
                             stringifyReduceKind(kind), "', got ", element);
  if (failed(checkAxes(location, adaptor.getAxes(), input.getRank())))
    return failure();
  types.push_back(
      RankedTensorType::get(reduceShape(input.getShape(), adaptor.getAxes(), adaptor.getKeepdims()), element));
  return success();
}

LogicalResult ArgReduceOp::inferReturnTypes(MLIRContext *context, OptionalLocation location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType input = getTensorType(adaptor.getInput());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(location, axis, input.getRank())))
    return failure();
  if (input.getDimSize(axis) == 0)
    return emitOptionalError(location, "expects at least one element along axis ", axis);
  types.push_back(
      RankedTensorType::get(reduceShape(input.getShape(), axis, adaptor.getKeepdims()), IntegerType::get(context, 64)));
  return success();
}

//===------------------------------------------------------------------------------------------------------------===//
// Row-wise ops.
//===------------------------------------------------------------------------------------------------------------===//

/// A result of the input's type for an op along one axis.
static LogicalResult inferAlongAxis(OptionalLocation location, Value input, int64_t axis,
                                    SmallVectorImpl<Type> &types) {
  if (failed(checkAxis(location, axis, getTensorType(input).getRank())))
    return failure();
  types.push_back(input.getType());
  return success();
}

LogicalResult CumSumOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  return inferAlongAxis(location, adaptor.getInput(), adaptor.getAxis(), types);
}

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  return inferAlongAxis(location, adaptor.getInput(), adaptor.getAxis(), types);
}

LogicalResult LogSoftmaxOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  return inferAlongAxis(location, adaptor.getInput(), adaptor.getAxis(), types);
}

static LogicalResult checkBroadcastsOnto(OptionalLocation location, Value operand, StringRef name, Value input) {
  ArrayRef<int64_t> from = getTensorType(operand).getShape(), onto = getTensorType(input).getShape();
  if (broadcastsOnto(from, onto))
    return success();
  return emitOptionalError(location, "expects ", name, " of shape ", formatList(from),
                           " to broadcast onto input of shape ", formatList(onto));
}

/// Checks what both normalisations have.
static LogicalResult checkNorm(OptionalLocation location, Value input, Value scale, int64_t axis,
                               const APFloat &epsilon) {
  if (failed(checkAxis(location, axis, getTensorType(input).getRank())))
    return failure();
  if (!epsilon.isFinite() || epsilon.isNegative())
    return emitOptionalError(location, "expects a finite epsilon of at least 0");
  return checkBroadcastsOnto(location, scale, "scale", input);
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  Value input = adaptor.getInput(), bias = adaptor.getBias();
  if (failed(checkNorm(location, input, adaptor.getScale(), adaptor.getAxis(), adaptor.getEpsilon())) ||
      failed(checkSameElementType(location, input, adaptor.getScale())))
    return failure();
  if (bias && (failed(checkBroadcastsOnto(location, bias, "bias", input)) ||
               failed(checkSameElementType(location, input, bias))))
    return failure();
  types.push_back(input.getType());
  return success();
}

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  Value input = adaptor.getInput(), scale = adaptor.getScale();
  if (failed(checkNorm(location, input, scale, adaptor.getAxis(), adaptor.getEpsilon())))
    return failure();
  types.push_back(getTensorType(input).clone(getTensorType(scale).getElementType()));
  return success();
}

//===------------------------------------------------------------------------------------------------------------===//
// Quantisation.
//===------------------------------------------------------------------------------------------------------------===//

/// The shape that a scale has which isn't a scalar.
static Extents getScaleShape(RankedTensorType input, int64_t axis, int64_t blockSize) {
  if (blockSize == 0)
    return {input.getDimSize(axis)};
  Extents shape(input.getShape());
  if (shape[axis] != kDynamic)
    shape[axis] = shape[axis] / blockSize + (shape[axis] % blockSize != 0);
  return shape;
}

/// Checks axis, block size, scale and zero point of a quantised tensor with elements of type |code|.
static LogicalResult checkParameters(OptionalLocation location, Value input, Value scale, Value zeroPoint, Type code,
                                     int64_t axis, int64_t blockSize) {
  RankedTensorType inputType = getTensorType(input), scaleType = getTensorType(scale);
  if (blockSize < 0)
    return emitOptionalError(location, "expects a block size of at least 0, got ", blockSize);
  if (scaleType.getRank() != 0) {
    if (failed(checkAxis(location, axis, inputType.getRank())))
      return failure();
    Extents shape = getScaleShape(inputType, axis, blockSize);
    bool fits = shape.size() == static_cast<size_t>(scaleType.getRank()) &&
                llvm::all_of(llvm::zip(shape, scaleType.getShape()),
                             [](auto pair) { return mayEqual(std::get<0>(pair), std::get<1>(pair)); });
    if (!fits)
      return emitOptionalError(location, "expects a scale of shape ", formatList(shape), ", got ",
                               formatList(scaleType.getShape()));
  }
  if (!zeroPoint)
    return success();
  RankedTensorType zeroType = getTensorType(zeroPoint);
  if (zeroType.getElementType() != code)
    return emitOptionalError(location, "expects a zero point of type ", code, ", got ", zeroType.getElementType());
  if (failed(verifyCompatibleShape(zeroType, scaleType)))
    return emitOptionalError(location, "expects a zero point of the scale's shape ", formatList(scaleType.getShape()),
                             ", got ", formatList(zeroType.getShape()));
  return success();
}

LogicalResult QuantizeLinearOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  Type to = adaptor.getTo();
  if (!isa<IntegerType>(to))
    return emitOptionalError(location, "expects an integer type to quantise to, got ", to);
  if (failed(checkParameters(location, adaptor.getInput(), adaptor.getScale(), adaptor.getZeroPoint(), to,
                             adaptor.getAxis(), adaptor.getBlockSize())))
    return failure();
  types.push_back(getTensorType(adaptor.getInput()).clone(to));
  return success();
}

LogicalResult DequantizeLinearOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                                   SmallVectorImpl<Type> &types) {
  RankedTensorType input = getTensorType(adaptor.getInput());
  if (failed(checkParameters(location, adaptor.getInput(), adaptor.getScale(), adaptor.getZeroPoint(),
                             input.getElementType(), adaptor.getAxis(), adaptor.getBlockSize())))
    return failure();
  types.push_back(input.clone(getTensorType(adaptor.getScale()).getElementType()));
  return success();
}

LogicalResult DynamicQuantizeLinearOp::inferReturnTypes(MLIRContext *context, OptionalLocation, Adaptor adaptor,
                                                        SmallVectorImpl<Type> &types) {
  RankedTensorType input = getTensorType(adaptor.getInput());
  Type code = IntegerType::get(context, 8, IntegerType::Unsigned);
  types.push_back(input.clone(code));
  types.push_back(RankedTensorType::get({}, input.getElementType()));
  types.push_back(RankedTensorType::get({}, code));
  return success();
}

LogicalResult QuantizeRowsOp::inferReturnTypes(MLIRContext *context, OptionalLocation location, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  RankedTensorType input = getTensorType(adaptor.getInput());
  if (input.getRank() == 0)
    return emitOptionalError(location, "expects rows, got a scalar");
  Type code = IntegerType::get(context, 8, IntegerType::Unsigned);
  Extents rows(input.getShape());
  rows.back() = 1;
  types.push_back(input.clone(code));
  types.push_back(input.clone(rows));
  types.push_back(RankedTensorType::get(rows, code));
  return success();
}

LogicalResult QuantizeWeightOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  RankedTensorType input = getTensorType(adaptor.getInput());
  int64_t axis = adaptor.getAxis(), blockSize = adaptor.getBlockSize();
  if (axis != 0 && axis != 1)
    return emitOptionalError(location, "expects axis 0 or 1, got ", axis);
  if (blockSize < 0)
    return emitOptionalError(location, "expects blocks of one element or more, got ", blockSize);
  if (adaptor.getPairSafe() && (blockSize != 0 || !adaptor.getTo().isSignlessInteger(8)))
    return emitOptionalError(location, "expects codes of i8 without blocks to be pair-safe");
  types.push_back(input.clone(adaptor.getTo()));
  if (blockSize == 0) {
    types.push_back(input.clone({input.getDimSize(axis)}));
    return success();
  }
  Extents blocks(input.getShape());
  if (int64_t &extent = blocks[1 - axis]; !ShapedType::isDynamic(extent))
    extent = llvm::divideCeil(extent, blockSize);
  types.push_back(input.clone(blocks));
  return success();
}
