// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Result types of the ops that give the same elements another shape or order, repeat, join or part them.

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/ShapeInference.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

#include <numeric>

using namespace mlir;
using namespace heddle::nn;

//===------------------------------------------------------------------------------------------------------------===//
// nn.reshape
//===------------------------------------------------------------------------------------------------------------===//

/// Replaces copies in |shape|; |rest| keeps the input's extents that aren't copied, and 1 in place of those that are.
static LogicalResult copyExtents(OptionalLocation location, ArrayRef<int64_t> input, bool allowzero, Extents &shape,
                                 Extents &rest) {
  rest.assign(input.begin(), input.end());
  for (auto [i, extent] : llvm::enumerate(shape)) {
    if (extent != 0 || allowzero)
      continue;
    if (i >= input.size())
      return emitOptionalError(location, "expects an input dimension to copy for the 0 at position ", i);
    extent = input[i];
    rest[i] = 1;
  }
  return success();
}

/// Fills in the extent that -1 stands for, and compares the numbers of elements where they are known.
static LogicalResult resolveLeftover(OptionalLocation location, ArrayRef<int64_t> input, int64_t leftover,
                                     ArrayRef<int64_t> rest, ArrayRef<int64_t> given, Extents &shape) {
  std::optional<int64_t> restCount = multiplyExtents(rest), givenCount = multiplyExtents(given);
  if (!restCount || !givenCount)
    return emitOptionalError(location, "expects fewer than 2^63 elements");
  if (leftover < 0) {
    if (!mayEqual(*restCount, *givenCount))
      return emitOptionalError(location, "expects a shape of ", *multiplyExtents(input), " elements, got ",
                               formatList(shape));
    return success();
  }
  shape[leftover] = kDynamic;
  // An empty tensor leaves open what -1 is, and so does an unknown extent.
  if (*restCount == kDynamic || *givenCount == kDynamic || *givenCount == 0)
    return success();
  if (*restCount % *givenCount != 0)
    return emitOptionalError(location, "expects a shape that divides ", formatList(input), ", got ", formatList(shape));
  shape[leftover] = *restCount / *givenCount;
  return success();
}

LogicalResult ReshapeOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  RankedTensorType data = getTensorType(adaptor.getData());
  if (failed(getStaticLength(location, adaptor.getShape(), "a shape")))
    return failure();
  Extents shape = getKnownExtents(adaptor.getShape());
  bool allowzero = adaptor.getAllowzero();
  int64_t leftover = -1;
  for (auto [i, extent] : llvm::enumerate(shape)) {
    if (extent < -1 && extent != kDynamic)
      return emitOptionalError(location, "expects extents of at least -1, got ", extent);
    if (extent != -1)
      continue;
    if (leftover >= 0)
      return emitOptionalError(location, "expects one -1 in the shape at most");
    if (allowzero && llvm::is_contained(shape, 0))
      return emitOptionalError(location, "expects no -1 beside a 0 with allowzero");
    leftover = i;
  }
  Extents rest, given;
  // Copied extents are left out of both products, so that -1 is found although a batch is unknown.
  for (auto [i, extent] : llvm::enumerate(shape))
    given.push_back(extent == -1 || (extent == 0 && !allowzero) ? 1 : extent);
  if (failed(copyExtents(location, data.getShape(), allowzero, shape, rest)) ||
      failed(resolveLeftover(location, data.getShape(), leftover, rest, given, shape)))
    return failure();
  types.push_back(RankedTensorType::get(shape, data.getElementType()));
  return success();
}

SmallVector<Value> ReshapeOp::getShapeOperands() { return {getShape()}; }

//===------------------------------------------------------------------------------------------------------------===//
// Views.
//===------------------------------------------------------------------------------------------------------------===//

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType input = getTensorType(adaptor.getInput());
  ArrayRef<int64_t> perm = adaptor.getPerm();
  Extents sorted(perm);
  llvm::sort(sorted);
  Extents identity(input.getRank());
  std::iota(identity.begin(), identity.end(), 0);
  if (sorted != identity)
    return emitOptionalError(location, "expects a permutation of ", input.getRank(), " axes, got ", formatList(perm));
  Extents shape;
  for (int64_t axis : perm)
    shape.push_back(input.getDimSize(axis));
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

LogicalResult SqueezeOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  RankedTensorType input = getTensorType(adaptor.getInput());
  if (failed(checkAxes(location, adaptor.getAxes(), input.getRank())))
    return failure();
  Extents shape;
  for (auto [axis, extent] : llvm::enumerate(input.getShape())) {
    if (!llvm::is_contained(adaptor.getAxes(), static_cast<int64_t>(axis)))
      shape.push_back(extent);
    else if (!mayEqual(extent, 1))
      return emitOptionalError(location, "expects extent 1 at axis ", axis, ", got ", extent);
  }
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

LogicalResult UnsqueezeOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType input = getTensorType(adaptor.getInput());
  ArrayRef<int64_t> axes = adaptor.getAxes();
  if (failed(checkAxes(location, axes, input.getRank() + axes.size())))
    return failure();
  Extents shape(input.getShape());
  for (int64_t axis : axes)
    shape.insert(shape.begin() + axis, 1);
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

LogicalResult FlattenOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  RankedTensorType input = getTensorType(adaptor.getInput());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis > input.getRank())
    return emitOptionalError(location, "expects axis within [0, ", input.getRank(), "], got ", axis);
  std::optional<int64_t> rows = multiplyExtents(input.getShape().take_front(axis)),
                         columns = multiplyExtents(input.getShape().drop_front(axis));
  if (!rows || !columns)
    return emitOptionalError(location, "expects fewer than 2^63 elements");
  types.push_back(RankedTensorType::get({*rows, *columns}, input.getElementType()));
  return success();
}

//===------------------------------------------------------------------------------------------------------------===//
// Repeating.
//===------------------------------------------------------------------------------------------------------------===//

LogicalResult ExpandOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType input = getTensorType(adaptor.getInput());
  if (failed(getStaticLength(location, adaptor.getShape(), "a shape")))
    return failure();
  Extents given = getKnownExtents(adaptor.getShape()), shape;
  for (int64_t extent : given)
    if (extent < 0 && extent != kDynamic)
      return emitOptionalError(location, "expects extents of at least 0, got ", extent);
  if (failed(broadcast(location, input.getShape(), given, shape)))
    return failure();
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

SmallVector<Value> ExpandOp::getShapeOperands() { return {getShape()}; }

LogicalResult TileOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  RankedTensorType input = getTensorType(adaptor.getInput());
  int64_t length = getTensorType(adaptor.getRepeats()).getDimSize(0);
  if (!mayEqual(length, input.getRank()))
    return emitOptionalError(location, "expects ", input.getRank(), " repeat counts, got ", length);
  Extents repeats(input.getRank(), kDynamic), shape;
  if (length != kDynamic)
    repeats = getKnownExtents(adaptor.getRepeats());
  for (auto [extent, repeat] : llvm::zip(input.getShape(), repeats)) {
    if (repeat < 0 && repeat != kDynamic)
      return emitOptionalError(location, "expects repeat counts of at least 0, got ", repeat);
    std::optional<int64_t> product = multiplyExtents({extent, repeat});
    if (!product)
      return emitOptionalError(location, "expects fewer than 2^63 elements");
    shape.push_back(*product);
  }
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

SmallVector<Value> TileOp::getShapeOperands() { return {getRepeats()}; }

//===------------------------------------------------------------------------------------------------------------===//
// Joining and parting.
//===------------------------------------------------------------------------------------------------------------===//

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  if (adaptor.getInputs().empty())
    return emitOptionalError(location, "expects at least one input");
  Value front = adaptor.getInputs().front();
  Extents shape(getTensorType(front).getShape());
  int64_t axis = adaptor.getAxis(), rank = shape.size();
  if (failed(checkAxis(location, axis, rank)))
    return failure();
  for (Value input : adaptor.getInputs().drop_front()) {
    ArrayRef<int64_t> extents = getTensorType(input).getShape();
    if (failed(checkSameElementType(location, front, input)))
      return failure();
    if (static_cast<int64_t>(extents.size()) != rank)
      return emitOptionalError(location, "expects inputs of one rank, got ", rank, " and ", extents.size());
    for (int64_t i = 0; i < rank; ++i) {
      if (i == axis) {
        bool isKnown = shape[i] != kDynamic && extents[i] != kDynamic;
        std::optional<int64_t> sum = isKnown ? llvm::checkedAdd(shape[i], extents[i]) : kDynamic;
        if (!sum)
          return emitOptionalError(location, "expects fewer than 2^63 elements");
        shape[i] = *sum;
      } else if (!mayEqual(shape[i], extents[i])) {
        return emitOptionalError(location, "expects equal extents but along axis ", axis, ", got ", shape[i], " and ",
                                 extents[i], " at axis ", i);
      } else {
        shape[i] = meet(shape[i], extents[i]);
      }
    }
  }
  types.push_back(RankedTensorType::get(shape, getTensorType(front).getElementType()));
  return success();
}

/// The sizes of the parts, as far as they are known.
static LogicalResult resolveSizes(OptionalLocation location, SplitOp::Adaptor adaptor, int64_t extent, Extents &sizes) {
  int64_t count = adaptor.getNumOutputs();
  if (std::optional<ArrayRef<int64_t>> given = adaptor.getSplitSizes()) {
    if (static_cast<int64_t>(given->size()) != count)
      return emitOptionalError(location, "expects ", count, " sizes, got ", given->size());
    int64_t sum = 0;
    for (int64_t size : *given) {
      std::optional<int64_t> next = llvm::checkedAdd(sum, size);
      if (size < 0 || !next)
        return emitOptionalError(location, "expects sizes of at least 0, got ", formatList(*given));
      sum = *next;
    }
    if (!mayEqual(sum, extent))
      return emitOptionalError(location, "expects sizes that sum to ", extent, ", got ", sum);
    sizes.assign(given->begin(), given->end());
    return success();
  }
  if (extent == kDynamic) {
    sizes.assign(count, kDynamic);
    return success();
  }
  int64_t size = extent / count + (extent % count != 0);
  for (int64_t left = extent; static_cast<int64_t>(sizes.size()) < count; left -= sizes.back())
    sizes.push_back(std::min(size, left));
  return success();
}

LogicalResult SplitOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  RankedTensorType input = getTensorType(adaptor.getInput());
  int64_t axis = adaptor.getAxis(), count = adaptor.getNumOutputs();
  if (failed(checkAxis(location, axis, input.getRank())))
    return failure();
  // The upper bound is far above any model's and keeps a bad file from filling the memory.
  if (count < 1 || count > 65536)
    return emitOptionalError(location, "expects 1 to 65536 outputs, got ", count);
  Extents sizes, shape(input.getShape());
  if (failed(resolveSizes(location, adaptor, input.getDimSize(axis), sizes)))
    return failure();
  for (int64_t size : sizes) {
    shape[axis] = size;
    types.push_back(RankedTensorType::get(shape, input.getElementType()));
  }
  return success();
}
