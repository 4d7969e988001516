// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A range of max |value| takes 127 codes on each side of 0. Values beyond it, which calibration didn't see, saturate.

#include "compiler/transforms/quantization/ValueScales.h"

#include "dialects/nn/NnOps.h"

#include <limits>

using namespace mlir;
using namespace heddle;

/// Keys whose weights have codes relative to one score; the parts that attention is cut into for few queries.
static constexpr int64_t kBlock = 256;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

SmallVector<int64_t> nn::getScaledAxes(attn::SdpaOp op) {
  SmallVector<int64_t> axes;
  for (auto [axis, expr] : llvm::enumerate(op.getValueMapOrDefault().getResults()))
    if (unsigned position = cast<AffineDimExpr>(expr).getPosition();
        position == attn::kHead || position == attn::kHeadSize)
      axes.push_back(static_cast<int64_t>(axis));
  return axes;
}

std::optional<int64_t> nn::countValueScales(attn::SdpaOp op) {
  int64_t count = 1;
  for (int64_t axis : getScaledAxes(op)) {
    int64_t extent = typeOf(op.getValue()).getDimSize(axis);
    if (ShapedType::isDynamic(extent))
      return std::nullopt;
    count *= extent;
  }
  return count;
}

void nn::quantizeValues(attn::SdpaOp op, ArrayRef<float> ranges) {
  SmallVector<float> scales;
  for (float range : ranges) {
    float scale = range / 127.0F;
    scales.push_back(scale < std::numeric_limits<float>::min() ? 1.0F : scale);
  }
  SmallVector<int64_t> shape(typeOf(op.getValue()).getRank(), 1);
  for (int64_t axis : getScaledAxes(op))
    shape[axis] = typeOf(op.getValue()).getDimSize(axis);
  OpBuilder builder(op);
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  op.getValueScaleMutable().assign(
      builder.create<ConstantOp>(op.getLoc(), DenseElementsAttr::get(type, ArrayRef<float>(scales))));
  op.setPvInt8Block(kBlock);
}
