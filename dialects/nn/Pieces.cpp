// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Splits and slices read as ranges.

#include "dialects/nn/Pieces.h"

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/ShapeInference.h"

#include <algorithm>

using namespace mlir;
using namespace heddle::nn;

std::optional<Piece> heddle::nn::getPiece(Value value) {
  auto type = getTensorType(value);
  if (auto split = value.getDefiningOp<SplitOp>()) {
    Piece piece{split.getInput(), static_cast<int64_t>(split.getAxis()), 0, type.getDimSize(split.getAxis())};
    for (Value before : split.getOutputs().take_front(cast<OpResult>(value).getResultNumber())) {
      int64_t size = getTensorType(before).getDimSize(piece.axis);
      if (ShapedType::isDynamic(size))
        return std::nullopt;
      piece.begin += size;
    }
    return ShapedType::isDynamic(piece.size) ? std::nullopt : std::optional(piece);
  }
  auto slice = value.getDefiningOp<SliceOp>();
  if (!slice)
    return std::nullopt;
  auto starts = getConstantInts(slice.getStarts());
  auto axes = slice.getAxes() ? getConstantInts(slice.getAxes()) : SmallVector<int64_t>{0};
  auto steps = slice.getSteps() ? getConstantInts(slice.getSteps()) : SmallVector<int64_t>{1};
  if (!starts || starts->size() != 1 || !axes || axes->size() != 1 || !steps || steps->front() != 1)
    return std::nullopt;
  int64_t axis = axes->front() + (axes->front() < 0 ? type.getRank() : 0);
  int64_t extent = getTensorType(slice.getData()).getDimSize(axis), begin = starts->front();
  if (ShapedType::isDynamic(extent) || ShapedType::isDynamic(type.getDimSize(axis)))
    return std::nullopt;
  begin = std::clamp<int64_t>(begin < 0 ? begin + extent : begin, 0, extent);
  return Piece{slice.getData(), axis, begin, type.getDimSize(axis)};
}
