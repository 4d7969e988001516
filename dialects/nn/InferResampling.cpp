// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Result types of interpolation and pooling.

#include "dialects/nn/NnOps.h"
#include "dialects/nn/ShapeInference.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace heddle::nn;

LogicalResult ResizeOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType input = getTensorType(adaptor.getInput());
  ArrayRef<int64_t> axes = adaptor.getAxes();
  int64_t count = axes.size(), length = getTensorType(adaptor.getSizes()).getDimSize(0);
  if (failed(checkAxes(location, axes, input.getRank())))
    return failure();
  if (length != count)
    return emitOptionalError(location, "expects ", count, " sizes, got ", formatList(length));
  if (adaptor.getKind() != ResizeKind::Nearest && !isa<FloatType>(input.getElementType()))
    return emitOptionalError(location, "expects floats to interpolate, got ", input.getElementType());
  if (std::optional<ArrayRef<float>> scales = adaptor.getScales()) {
    bool isPositive = llvm::all_of(*scales, [](float scale) { return scale > 0 && std::isfinite(scale); });
    if (static_cast<int64_t>(scales->size()) != count || !isPositive)
      return emitOptionalError(location, "expects ", count, " positive scales, got ", scales->size());
  }
  Extents shape(input.getShape()), sizes = getKnownExtents(adaptor.getSizes());
  for (auto [axis, size] : llvm::zip(axes, sizes)) {
    if (size < 0 && size != kDynamic)
      return emitOptionalError(location, "expects sizes of at least 0, got ", size);
    shape[axis] = size;
  }
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

SmallVector<Value> ResizeOp::getShapeOperands() { return {getSizes()}; }

static bool areWithin(ArrayRef<int64_t> values, size_t count, int64_t least) {
  // The upper bound keeps sums from overflowing.
  return values.size() == count &&
         llvm::all_of(values, [&](int64_t value) { return value >= least && value < (int64_t(1) << 31); });
}

LogicalResult PoolOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  RankedTensorType input = getTensorType(adaptor.getInput());
  if (input.getRank() < 3)
    return emitOptionalError(location, "expects an input of rank 3 or more, got ", input.getRank());
  size_t spatial = input.getRank() - 2;
  ArrayRef<int64_t> kernel = adaptor.getKernel(), strides = adaptor.getStrides(), pads = adaptor.getPads();
  if (!areWithin(kernel, spatial, 1))
    return emitOptionalError(location, "expects ", spatial, " kernel extents of at least 1");
  if (!areWithin(strides, spatial, 1))
    return emitOptionalError(location, "expects ", spatial, " strides of at least 1");
  if (!areWithin(adaptor.getDilations(), spatial, 1))
    return emitOptionalError(location, "expects ", spatial, " dilations of at least 1");
  if (!areWithin(pads, 2 * spatial, 0))
    return emitOptionalError(location, "expects ", 2 * spatial, " pads of at least 0");
  if (adaptor.getP() < 1)
    return emitOptionalError(location, "expects a p of at least 1, got ", adaptor.getP());
  if (adaptor.getKind() != PoolKind::Max && !isa<FloatType>(input.getElementType()))
    return emitOptionalError(location, "expects floats for a mean or a root, got ", input.getElementType());
  Extents shape(input.getShape().take_front(2));
  for (size_t i = 0; i < spatial; ++i) {
    int64_t extent = input.getDimSize(i + 2), reach = adaptor.getDilations()[i] * (kernel[i] - 1) + 1;
    if (extent == kDynamic || extent >= (int64_t(1) << 31)) {
      shape.push_back(kDynamic);
      continue;
    }
    int64_t padded = extent + pads[i] + pads[i + spatial];
    if (reach > padded)
      return emitOptionalError(location, "expects a kernel that fits the padded input, got extent ", reach, " in ",
                               padded, " at spatial dimension ", i);
    int64_t room = padded - reach + (adaptor.getCeilMode() ? strides[i] - 1 : 0), count = room / strides[i] + 1;
    bool startsBeyond = adaptor.getCeilMode() && (count - 1) * strides[i] >= extent + pads[i];
    shape.push_back(startsBeyond ? count - 1 : count);
  }
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}
