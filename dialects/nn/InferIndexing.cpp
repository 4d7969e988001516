// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Result types of the ops that choose, place or mask elements by index.

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/ShapeInference.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace heddle::nn;

//===------------------------------------------------------------------------------------------------------------===//
// nn.slice, nn.pad
//===------------------------------------------------------------------------------------------------------------===//

/// How many elements a slice takes of |extent|, by ONNX's clamping.
static int64_t countSliced(int64_t extent, int64_t start, int64_t end, int64_t step) {
  auto clamp = [&](int64_t bound, int64_t low, int64_t high) {
    // Adding the extent to a negative bound can't overflow.
    return std::clamp(bound < 0 ? bound + extent : bound, low, std::max(low, high));
  };
  if (step > 0) {
    int64_t begin = clamp(start, 0, extent), stop = clamp(end, 0, extent);
    return begin >= stop ? 0 : (stop - begin - 1) / step + 1;
  }
  int64_t begin = clamp(start, 0, extent - 1), stop = clamp(end, -1, extent - 1);
  if (extent == 0 || begin <= stop)
    return 0;
  // The least step has no positive counterpart, but it takes one element as any large one does.
  return step == std::numeric_limits<int64_t>::min() ? 1 : (begin - stop - 1) / -step + 1;
}

/// The axes of |op|'s vectors, counted from the front; nothing where they aren't known. Emits an error where they are
/// out of range or not distinct.
static FailureOr<std::optional<Extents>> resolveAxes(OptionalLocation location, Value axes, int64_t count,
                                                     int64_t rank) {
  Extents result;
  if (!axes) {
    if (count > rank)
      return emitOptionalError(location, "expects at most ", rank, " axes, got ", count);
    for (int64_t axis = 0; axis < count; ++axis)
      result.push_back(axis);
    return std::optional<Extents>(result);
  }
  auto known = getConstantInts(axes);
  if (!known)
    return std::optional<Extents>();
  for (int64_t axis : *known) {
    if (axis < -rank || axis >= rank)
      return emitOptionalError(location, "expects axes within [", -rank, ", ", rank, "), got ", axis);
    int64_t positive = axis < 0 ? axis + rank : axis;
    if (llvm::is_contained(result, positive))
      return emitOptionalError(location, "expects distinct axes");
    result.push_back(positive);
  }
  return std::optional<Extents>(result);
}

/// The extent of one sliced axis, `?` unless all is known.
static int64_t sliceExtent(int64_t extent, std::optional<int64_t> start, std::optional<int64_t> end,
                           std::optional<int64_t> step) {
  auto isKnown = [](std::optional<int64_t> bound) { return bound && *bound != kDynamic; };
  if (extent == kDynamic || !isKnown(start) || !isKnown(end) || !isKnown(step))
    return kDynamic;
  return countSliced(extent, *start, *end, *step);
}

/// What is known of starts or ends. Exporters write the least int64_t for "from the start", which is the mark of an
/// unknown number as well: the next greater one means the same.
static std::optional<SmallVector<int64_t>> getKnownBounds(Value bounds) {
  auto constants = getConstantInts(bounds);
  if (!constants)
    return getKnownInts(bounds);
  for (int64_t &bound : *constants)
    bound = std::max(bound, kDynamic + 1);
  return constants;
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  RankedTensorType data = getTensorType(adaptor.getData());
  int64_t count = getTensorType(adaptor.getStarts()).getDimSize(0);
  for (Value vector : {adaptor.getStarts(), adaptor.getEnds(), adaptor.getAxes(), adaptor.getSteps()})
    if (vector && (count == kDynamic || getTensorType(vector).getDimSize(0) != count))
      return emitOptionalError(location, "expects starts, ends, axes and steps of one static length");
  auto axes = resolveAxes(location, adaptor.getAxes(), count, data.getRank());
  if (failed(axes))
    return failure();
  auto steps = adaptor.getSteps() ? getKnownInts(adaptor.getSteps()) : SmallVector<int64_t>(count, 1);
  if (steps && llvm::is_contained(*steps, 0))
    return emitOptionalError(location, "expects a step other than 0");
  Extents shape(data.getShape());
  if (!*axes) {
    shape.assign(shape.size(), kDynamic);
  } else {
    auto starts = getKnownBounds(adaptor.getStarts()), ends = getKnownBounds(adaptor.getEnds());
    auto entry = [](auto &vector, size_t i) { return vector ? std::optional((*vector)[i]) : std::nullopt; };
    for (auto [i, axis] : llvm::enumerate(**axes))
      shape[axis] = sliceExtent(shape[axis], entry(starts, i), entry(ends, i), entry(steps, i));
  }
  types.push_back(RankedTensorType::get(shape, data.getElementType()));
  return success();
}

SmallVector<Value> SliceOp::getShapeOperands() {
  SmallVector<Value> operands{getStarts(), getEnds()};
  for (Value optional : {getAxes(), getSteps()})
    if (optional)
      operands.push_back(optional);
  return operands;
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  RankedTensorType data = getTensorType(adaptor.getData());
  if (Value value = adaptor.getValue())
    if (getTensorType(value).getElementType() != data.getElementType())
      return emitOptionalError(location, "expects a value of element type ", data.getElementType(), ", got ",
                               getTensorType(value).getElementType());
  int64_t count = adaptor.getAxes() ? getTensorType(adaptor.getAxes()).getDimSize(0) : data.getRank();
  int64_t length = getTensorType(adaptor.getPads()).getDimSize(0);
  if (count == kDynamic || count > data.getRank())
    return emitOptionalError(location, "expects at most ", data.getRank(), " axes, of static number");
  if (!mayEqual(length, 2 * count))
    return emitOptionalError(location, "expects ", 2 * count, " pads, got ", length);
  auto axes = resolveAxes(location, adaptor.getAxes(), count, data.getRank());
  if (failed(axes))
    return failure();
  Extents shape(data.getShape());
  auto pads = getKnownInts(adaptor.getPads());
  for (int64_t i = 0; i < (*axes ? count : data.getRank()); ++i) {
    int64_t &extent = shape[*axes ? (**axes)[i] : i];
    bool isKnown = *axes && pads && extent != kDynamic && (*pads)[i] != kDynamic && (*pads)[i + count] != kDynamic;
    auto widened = isKnown ? llvm::checkedAdd(extent, (*pads)[i]) : std::nullopt;
    auto padded = widened ? llvm::checkedAdd(*widened, (*pads)[i + count]) : std::nullopt;
    if (isKnown && (!padded || *padded < 0))
      return emitOptionalError(location, "expects pads that leave extents of at least 0");
    extent = padded ? *padded : kDynamic;
  }
  types.push_back(RankedTensorType::get(shape, data.getElementType()));
  return success();
}

SmallVector<Value> PadOp::getShapeOperands() {
  SmallVector<Value> operands{getPads()};
  if (getAxes())
    operands.push_back(getAxes());
  return operands;
}

//===------------------------------------------------------------------------------------------------------------===//
// Gather and scatter.
//===------------------------------------------------------------------------------------------------------------===//

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType data = getTensorType(adaptor.getData());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(location, axis, data.getRank())))
    return failure();
  Extents shape(data.getShape().take_front(axis));
  llvm::append_range(shape, getTensorType(adaptor.getIndices()).getShape());
  llvm::append_range(shape, data.getShape().drop_front(axis + 1));
  types.push_back(RankedTensorType::get(shape, data.getElementType()));
  return success();
}

/// Checks axis and ranks of the ops that index single elements.
static LogicalResult checkElementIndices(OptionalLocation location, Value data, Value indices, int64_t axis) {
  RankedTensorType dataType = getTensorType(data), indexType = getTensorType(indices);
  if (failed(checkAxis(location, axis, dataType.getRank())))
    return failure();
  if (indexType.getRank() != dataType.getRank())
    return emitOptionalError(location, "expects indices of rank ", dataType.getRank(), ", got ", indexType.getRank());
  for (auto [i, extent] : llvm::enumerate(indexType.getShape())) {
    int64_t limit = dataType.getDimSize(i);
    if (static_cast<int64_t>(i) != axis && extent != kDynamic && limit != kDynamic && extent > limit)
      return emitOptionalError(location, "expects at most ", limit, " indices at axis ", i, ", got ", extent);
  }
  return success();
}

LogicalResult GatherElementsOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  if (failed(checkElementIndices(location, adaptor.getData(), adaptor.getIndices(), adaptor.getAxis())))
    return failure();
  types.push_back(getTensorType(adaptor.getIndices()).clone(getTensorType(adaptor.getData()).getElementType()));
  return success();
}

LogicalResult ScatterElementsOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                                  SmallVectorImpl<Type> &types) {
  if (failed(checkElementIndices(location, adaptor.getData(), adaptor.getIndices(), adaptor.getAxis())) ||
      failed(checkSameElementType(location, adaptor.getData(), adaptor.getUpdates())))
    return failure();
  if (failed(verifyCompatibleShape(adaptor.getIndices().getType(), adaptor.getUpdates().getType())))
    return emitOptionalError(location, "expects indices and updates of one shape");
  types.push_back(adaptor.getData().getType());
  return success();
}

/// The static length of the tuples in the last dimension of |indices|, within [1, |most|].
static FailureOr<int64_t> getTupleLength(OptionalLocation location, RankedTensorType indices, int64_t most) {
  int64_t length = indices.getRank() == 0 ? 0 : indices.getShape().back();
  if (length < 1 || length > most)
    return emitOptionalError(location, "expects index tuples of a static length within [1, ", most, "], got ",
                             formatList(length));
  return length;
}

LogicalResult GatherNdOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  RankedTensorType data = getTensorType(adaptor.getData()), indices = getTensorType(adaptor.getIndices());
  int64_t batch = adaptor.getBatchDims();
  if (batch < 0 || batch >= data.getRank() || batch >= indices.getRank())
    return emitOptionalError(location, "expects batch_dims within [0, ", std::min(data.getRank(), indices.getRank()),
                             "), got ", batch);
  FailureOr<int64_t> length = getTupleLength(location, indices, data.getRank() - batch);
  if (failed(length))
    return failure();
  Extents shape(indices.getShape().drop_back());
  for (int64_t i = 0; i < batch; ++i) {
    if (!mayEqual(shape[i], data.getDimSize(i)))
      return emitOptionalError(location, "expects equal batch dimensions, got ", data.getDimSize(i), " and ", shape[i]);
    shape[i] = meet(shape[i], data.getDimSize(i));
  }
  llvm::append_range(shape, data.getShape().drop_front(batch + *length));
  types.push_back(RankedTensorType::get(shape, data.getElementType()));
  return success();
}

LogicalResult ScatterNdOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType data = getTensorType(adaptor.getData()), indices = getTensorType(adaptor.getIndices());
  if (failed(checkSameElementType(location, adaptor.getData(), adaptor.getUpdates())))
    return failure();
  FailureOr<int64_t> length = getTupleLength(location, indices, data.getRank());
  if (failed(length))
    return failure();
  Extents shape(indices.getShape().drop_back());
  llvm::append_range(shape, data.getShape().drop_front(*length));
  ArrayRef<int64_t> updates = getTensorType(adaptor.getUpdates()).getShape();
  if (failed(verifyCompatibleShape(shape, updates)))
    return emitOptionalError(location, "expects updates of shape ", formatList(shape), ", got ", formatList(updates));
  types.push_back(data);
  return success();
}

//===------------------------------------------------------------------------------------------------------------===//
// Triangles, one-hot vectors, the greatest elements.
//===------------------------------------------------------------------------------------------------------------===//

LogicalResult TriluOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  int64_t rank = getTensorType(adaptor.getInput()).getRank();
  if (rank < 2)
    return emitOptionalError(location, "expects an input of rank 2 or more, got ", rank);
  types.push_back(adaptor.getInput().getType());
  return success();
}

/// The value of a known scalar, `?` where it isn't.
static int64_t getKnownScalar(Value scalar) {
  auto known = getKnownInts(scalar);
  return known && known->size() == 1 ? known->front() : kDynamic;
}

LogicalResult OneHotOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType indices = getTensorType(adaptor.getIndices()), values = getTensorType(adaptor.getValues());
  int64_t axis = adaptor.getAxis(), depth = getKnownScalar(adaptor.getDepth());
  if (failed(checkAxis(location, axis, indices.getRank() + 1)))
    return failure();
  if (!mayEqual(values.getDimSize(0), 2))
    return emitOptionalError(location, "expects two values, got ", values.getDimSize(0));
  if (depth < 1 && depth != kDynamic)
    return emitOptionalError(location, "expects a depth of at least 1, got ", depth);
  Extents shape(indices.getShape());
  shape.insert(shape.begin() + axis, depth);
  types.push_back(RankedTensorType::get(shape, values.getElementType()));
  return success();
}

SmallVector<Value> OneHotOp::getShapeOperands() { return {getDepth()}; }

LogicalResult TopKOp::inferReturnTypes(MLIRContext *context, OptionalLocation location, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  RankedTensorType input = getTensorType(adaptor.getInput());
  int64_t axis = adaptor.getAxis(), k = getKnownScalar(adaptor.getK());
  if (failed(checkAxis(location, axis, input.getRank())))
    return failure();
  Extents shape(input.getShape());
  if (k != kDynamic && (k < 0 || (shape[axis] != kDynamic && k > shape[axis])))
    return emitOptionalError(location, "expects k within [0, ", shape[axis], "], got ", k);
  shape[axis] = k;
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  types.push_back(RankedTensorType::get(shape, IntegerType::get(context, 64)));
  return success();
}

SmallVector<Value> TopKOp::getShapeOperands() { return {getK()}; }
