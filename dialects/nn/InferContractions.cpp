// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Result types of products.

#include "dialects/nn/EinsumEquation.h"
#include "dialects/nn/NnOps.h"
#include "dialects/nn/ShapeInference.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle::nn;

LogicalResult MatMulOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType lhs = getTensorType(adaptor.getLhs()), rhs = getTensorType(adaptor.getRhs());
  Extents shape;
  if (failed(checkSameElementType(location, adaptor.getLhs(), adaptor.getRhs())) ||
      failed(inferMatMulShape(location, lhs.getShape(), rhs.getShape(), shape)))
    return failure();
  types.push_back(RankedTensorType::get(shape, lhs.getElementType()));
  return success();
}

/// True if |zeroPoint| has |lhs|'s shape but for a last extent of 1.
static bool hasOneEachRow(RankedTensorType lhs, RankedTensorType zeroPoint) {
  if (zeroPoint.getRank() < 2 || zeroPoint.getRank() != lhs.getRank() || !mayEqual(zeroPoint.getShape().back(), 1))
    return false;
  auto leading = llvm::zip(lhs.getShape().drop_back(), zeroPoint.getShape().drop_back());
  return llvm::all_of(leading, [](auto pair) { return mayEqual(std::get<0>(pair), std::get<1>(pair)); });
}

/// Checks that a zero point has its operand's type and is a scalar or a vector of |extent| entries.
static LogicalResult checkZeroPoint(OptionalLocation location, StringRef side, Value operand, Value zeroPoint,
                                    int64_t extent) {
  RankedTensorType type = getTensorType(zeroPoint);
  Type element = getTensorType(operand).getElementType();
  if (type.getElementType() != element)
    return emitOptionalError(location, "expects a ", side, " zero point of type ", element, ", got ",
                             type.getElementType());
  if (side == "left" && hasOneEachRow(getTensorType(operand), type))
    return success();
  if (type.getRank() > 1 || (type.getRank() == 1 && !mayEqual(type.getDimSize(0), extent)))
    return emitOptionalError(location, "expects a ", side, " zero point of shape [] or ", formatList(extent), ", got ",
                             formatList(type.getShape()));
  return success();
}

LogicalResult MatMulIntegerOp::inferReturnTypes(MLIRContext *context, OptionalLocation location, Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  Value lhs = adaptor.getLhs(), rhs = adaptor.getRhs();
  ArrayRef<int64_t> lhsShape = getTensorType(lhs).getShape(), rhsShape = getTensorType(rhs).getShape();
  Extents shape;
  if (failed(inferMatMulShape(location, lhsShape, rhsShape, shape)))
    return failure();
  // A vector is one row, or one column.
  int64_t rows = lhsShape.size() > 1 ? lhsShape[lhsShape.size() - 2] : 1;
  int64_t columns = rhsShape.size() > 1 ? rhsShape.back() : 1;
  if (Value zeroPoint = adaptor.getLhsZeroPoint())
    if (failed(checkZeroPoint(location, "left", lhs, zeroPoint, rows)))
      return failure();
  if (Value zeroPoint = adaptor.getRhsZeroPoint())
    if (failed(checkZeroPoint(location, "right", rhs, zeroPoint, columns)))
      return failure();
  types.push_back(RankedTensorType::get(shape, IntegerType::get(context, 32)));
  return success();
}

LogicalResult GemmOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  RankedTensorType lhs = getTensorType(adaptor.getLhs()), rhs = getTensorType(adaptor.getRhs());
  if (lhs.getRank() != 2 || rhs.getRank() != 2)
    return emitOptionalError(location, "expects matrices, got ranks ", lhs.getRank(), " and ", rhs.getRank());
  if (failed(checkSameElementType(location, adaptor.getLhs(), adaptor.getRhs())))
    return failure();
  bool transA = adaptor.getTransA(), transB = adaptor.getTransB();
  int64_t inner = lhs.getDimSize(transA ? 0 : 1), other = rhs.getDimSize(transB ? 1 : 0);
  if (!mayEqual(inner, other))
    return emitOptionalError(location, "expects equal inner dimensions, got ", inner, " and ", other);
  Extents shape{lhs.getDimSize(transA ? 1 : 0), rhs.getDimSize(transB ? 0 : 1)};
  if (Value addend = adaptor.getAddend()) {
    if (failed(checkSameElementType(location, adaptor.getLhs(), addend)))
      return failure();
    ArrayRef<int64_t> addendShape = getTensorType(addend).getShape();
    if (!broadcastsOnto(addendShape, shape))
      return emitOptionalError(location, "expects C of shape ", formatList(addendShape), " to broadcast onto ",
                               formatList(shape));
  }
  types.push_back(RankedTensorType::get(shape, lhs.getElementType()));
  return success();
}

LogicalResult EinsumOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  std::string fault;
  std::optional<EinsumEquation> equation = EinsumEquation::parse(adaptor.getEquation(), fault);
  if (!equation)
    return emitOptionalError(location, fault);
  SmallVector<ArrayRef<int64_t>> shapes;
  for (Value input : adaptor.getInputs()) {
    if (failed(checkSameElementType(location, adaptor.getInputs().front(), input)))
      return failure();
    shapes.push_back(getTensorType(input).getShape());
  }
  Extents shape;
  if (!equation->inferShape(shapes, shape, fault))
    return emitOptionalError(location, fault);
  types.push_back(RankedTensorType::get(shape, getTensorType(adaptor.getInputs().front()).getElementType()));
  return success();
}

//===------------------------------------------------------------------------------------------------------------===//
// Convolution.
//===------------------------------------------------------------------------------------------------------------===//

/// Checks ranks, element types, and the number of channels.
template <typename AdaptorTy> static LogicalResult checkConv(OptionalLocation location, AdaptorTy adaptor) {
  RankedTensorType input = getTensorType(adaptor.getInput()), weight = getTensorType(adaptor.getWeight());
  if (input.getRank() < 3 || weight.getRank() != input.getRank())
    return emitOptionalError(location, "expects input and weight of equal rank of at least 3, got ", input.getRank(),
                             " and ", weight.getRank());
  if (failed(checkSameElementType(location, adaptor.getInput(), adaptor.getWeight())))
    return failure();
  // A transposed convolution's weight has channels and features the other way round.
  constexpr bool isTransposed = std::is_same_v<AdaptorTy, ConvTransposeOp::Adaptor>;
  int64_t group = adaptor.getGroup(), channels = input.getDimSize(1), perGroup = weight.getDimSize(1);
  if (group < 1)
    return emitOptionalError(location, "expects at least 1 group, got ", group);
  int64_t outputs = weight.getDimSize(0);
  if (isTransposed) {
    if (!mayEqual(channels, outputs))
      return emitOptionalError(location, "expects a weight of ", channels, " input channels, got ", outputs);
    outputs = perGroup == kDynamic ? kDynamic : perGroup * group;
    perGroup = meet(channels, weight.getDimSize(0));
    perGroup = perGroup == kDynamic || perGroup % group != 0 ? perGroup : perGroup / group;
  }
  bool fits = channels == kDynamic || (channels % group == 0 && mayEqual(channels / group, perGroup));
  if (!fits)
    return emitOptionalError(location, "expects ", group, " group(s) of ", perGroup, " input channels, got ", channels,
                             " channels");
  if (outputs != kDynamic && outputs % group != 0)
    return emitOptionalError(location, "expects output channels in ", group, " equal groups, got ", outputs);
  if (Value bias = adaptor.getBias()) {
    RankedTensorType type = getTensorType(bias);
    if (failed(checkSameElementType(location, adaptor.getInput(), bias)))
      return failure();
    if (type.getRank() != 1 || !mayEqual(type.getDimSize(0), outputs))
      return emitOptionalError(location, "expects a bias of shape ", formatList(outputs), ", got ",
                               formatList(type.getShape()));
  }
  return success();
}

static bool allAtLeast(ArrayRef<int64_t> values, int64_t least) {
  // The upper bound keeps the sums below from overflowing.
  return llvm::all_of(values, [&](int64_t value) { return value >= least && value < (int64_t(1) << 31); });
}

/// The attributes of a convolution of either direction over |spatial| dimensions.
static LogicalResult checkWindows(OptionalLocation location, size_t spatial, ArrayRef<int64_t> strides,
                                  ArrayRef<int64_t> dilations, ArrayRef<int64_t> pads) {
  if (strides.size() != spatial || !allAtLeast(strides, 1))
    return emitOptionalError(location, "expects ", spatial, " strides of at least 1");
  if (dilations.size() != spatial || !allAtLeast(dilations, 1))
    return emitOptionalError(location, "expects ", spatial, " dilations of at least 1");
  if (pads.size() != 2 * spatial || !allAtLeast(pads, 0))
    return emitOptionalError(location, "expects ", 2 * spatial, " pads of at least 0");
  return success();
}

LogicalResult ConvOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  if (failed(checkConv(location, adaptor)))
    return failure();
  RankedTensorType input = getTensorType(adaptor.getInput()), weight = getTensorType(adaptor.getWeight());
  size_t spatial = input.getRank() - 2;
  ArrayRef<int64_t> strides = adaptor.getStrides(), dilations = adaptor.getDilations(), pads = adaptor.getPads();
  if (failed(checkWindows(location, spatial, strides, dilations, pads)))
    return failure();
  Extents shape{input.getDimSize(0), weight.getDimSize(0)};
  for (size_t i = 0; i < spatial; ++i) {
    int64_t extent = input.getDimSize(i + 2), kernel = weight.getDimSize(i + 2);
    if (extent == kDynamic || kernel == kDynamic || !allAtLeast({extent, kernel}, 0)) {
      shape.push_back(kDynamic);
      continue;
    }
    int64_t padded = extent + pads[i] + pads[i + spatial], reach = dilations[i] * (kernel - 1) + 1;
    if (kernel < 1 || reach > padded)
      return emitOptionalError(location, "expects a kernel that fits the padded input, got extent ", reach, " in ",
                               padded, " at spatial dimension ", i);
    shape.push_back((padded - reach) / strides[i] + 1);
  }
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

LogicalResult ConvTransposeOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  if (failed(checkConv(location, adaptor)))
    return failure();
  RankedTensorType input = getTensorType(adaptor.getInput()), weight = getTensorType(adaptor.getWeight());
  size_t spatial = input.getRank() - 2;
  ArrayRef<int64_t> strides = adaptor.getStrides(), dilations = adaptor.getDilations(), pads = adaptor.getPads();
  ArrayRef<int64_t> extra = adaptor.getOutputPadding();
  if (failed(checkWindows(location, spatial, strides, dilations, pads)))
    return failure();
  if (extra.size() != spatial || !allAtLeast(extra, 0))
    return emitOptionalError(location, "expects ", spatial, " output paddings of at least 0");
  int64_t features = weight.getDimSize(1);
  Extents shape{input.getDimSize(0), features == kDynamic ? kDynamic : features * int64_t(adaptor.getGroup())};
  for (size_t i = 0; i < spatial; ++i) {
    int64_t extent = input.getDimSize(i + 2), kernel = weight.getDimSize(i + 2);
    if (extent == kDynamic || kernel == kDynamic || !allAtLeast({extent, kernel}, 0)) {
      shape.push_back(kDynamic);
      continue;
    }
    int64_t whole = (extent - 1) * strides[i] + dilations[i] * (kernel - 1) + 1 + extra[i];
    int64_t result = whole - pads[i] - pads[i + spatial];
    if (result < 1)
      return emitOptionalError(location, "expects a result of at least one element, got ", result,
                               " at spatial dimension ", i);
    shape.push_back(result);
  }
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}
