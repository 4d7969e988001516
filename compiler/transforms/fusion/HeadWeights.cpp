// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and picking the weights of heads.

#include "compiler/transforms/fusion/HeadWeights.h"

#include "dialects/nn/Pieces.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::nn;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// A vector of i64 as a constant.
static Value makeInts(OpBuilder &builder, Location loc, ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, builder.getI64Type());
  return builder.create<ConstantOp>(loc, DenseElementsAttr::get(type, values));
}

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

/// True if |reshape| parts the last dimension into heads and changes no other order: (..., heads * size) to
/// (..., heads, size). The dimensions before may be grouped in any way.
static bool partsHeads(RankedTensorType whole, RankedTensorType parted) {
  int64_t rank = parted.getRank();
  // Heads without channels have no weights to look at.
  return rank >= 2 && whole.getRank() >= 1 && whole.getShape().back() > 0 && !parted.isDynamicDim(rank - 1) &&
         !parted.isDynamicDim(rank - 2) &&
         whole.getShape().back() == parted.getDimSize(rank - 1) * parted.getDimSize(rank - 2);
}

std::optional<HeadWeights> HeadWeights::create(const Projection &projection, bool isBehind) {
  auto constant = projection.weight.getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  auto load = [](Value value) { return ConstantData::get(value.getDefiningOp<ConstantOp>()); };
  HeadWeights heads;
  heads.projection = projection;
  heads.isBehind = isBehind;
  FailureOr<ConstantData> weight = load(projection.weight);
  if (failed(weight))
    return std::nullopt;
  heads.weight = *weight;
  if (projection.bias && !isBehind) {
    FailureOr<ConstantData> bias = load(projection.bias);
    if (failed(bias))
      return std::nullopt;
    heads.bias = *bias;
  }
  return heads;
}

std::optional<HeadWeights> HeadWeights::before(Value value) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  if (!reshape || !value.hasOneUse() || !partsHeads(typeOf(reshape.getData()), typeOf(value)))
    return std::nullopt;
  Value whole = reshape.getData();
  int64_t begin = 0;
  if (std::optional<Piece> piece = getPiece(whole); piece && piece->axis + 1 == typeOf(whole).getRank()) {
    begin = piece->begin;
    whole = piece->source;
  } else if (!whole.hasOneUse()) {
    return std::nullopt;
  }
  std::optional<Projection> projection = findProjection(whole);
  std::optional<HeadWeights> heads = projection ? create(*projection, /*isBehind=*/false) : std::nullopt;
  if (!heads)
    return std::nullopt;
  heads->setHeads(reshape, typeOf(value));
  heads->begin = begin;
  return heads;
}

std::optional<HeadWeights> HeadWeights::behind(Value output) {
  auto reshape = output.hasOneUse() ? dyn_cast<ReshapeOp>(*output.user_begin()) : ReshapeOp();
  if (!reshape || !reshape.getOutput().hasOneUse() || !partsHeads(typeOf(reshape.getOutput()), typeOf(output)))
    return std::nullopt;
  Operation *product = *reshape.getOutput().user_begin();
  if (!isa<MatMulOp, GemmOp>(product) || product->getOperand(0) != reshape.getOutput())
    return std::nullopt;
  std::optional<Projection> projection = matchProjection(product);
  std::optional<HeadWeights> heads = projection ? create(*projection, /*isBehind=*/true) : std::nullopt;
  if (!heads)
    return std::nullopt;
  heads->setHeads(reshape, typeOf(output));
  return heads;
}

void HeadWeights::setHeads(ReshapeOp op, RankedTensorType type) {
  reshape = op;
  headSize = type.getShape().back();
  numHeads = type.getShape().drop_back().back();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

float HeadWeights::at(int64_t line, int64_t i) const {
  int64_t columns = weight.getType().getDimSize(1);
  // Heads are the columns of a K x N weight before attention, and the rows of one behind it.
  bool isAlongRows = isBehind == projection.isTransposed;
  int64_t index = isAlongRows ? i * columns + line : line * columns + i;
  uint32_t bits = llvm::support::endian::read32le(weight.getBytes().data() + index * 4);
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

int64_t HeadWeights::getDepth() const {
  return weight.getType().getDimSize(isBehind == projection.isTransposed ? 0 : 1);
}

bool HeadWeights::isZero(int64_t head) const {
  for (int64_t i = 0; i < headSize; ++i) {
    int64_t line = begin + head * headSize + i;
    if (bias && bias->getDouble(line) != 0)
      return false;
    for (int64_t k = 0; k < getDepth(); ++k)
      if (at(line, k) != 0)
        return false;
  }
  return true;
}

bool HeadWeights::areEqual(int64_t a, int64_t b) const {
  for (int64_t i = 0; i < headSize; ++i) {
    int64_t left = begin + a * headSize + i, right = begin + b * headSize + i;
    if (bias && bias->getDouble(left) != bias->getDouble(right))
      return false;
    for (int64_t k = 0; k < getDepth(); ++k)
      if (at(left, k) != at(right, k))
        return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Picking
//===----------------------------------------------------------------------===//

/// The ranges of |heads| along |axis| of |tensor|, beside each other.
Value HeadWeights::pick(OpBuilder &builder, Value tensor, int64_t axis, ArrayRef<int64_t> heads) const {
  Location loc = projection.product->getLoc();
  SmallVector<Value> parts;
  for (size_t i = 0; i < heads.size();) {
    size_t end = i + 1;
    while (end < heads.size() && heads[end] == heads[end - 1] + 1)
      ++end;
    int64_t first = begin + heads[i] * headSize, last = begin + (heads[end - 1] + 1) * headSize;
    parts.push_back(builder.create<SliceOp>(loc, tensor, makeInts(builder, loc, {first}),
                                            makeInts(builder, loc, {last}), makeInts(builder, loc, {axis}), Value()));
    i = end;
  }
  return parts.size() == 1 ? parts.front() : builder.create<ConcatOp>(loc, parts, axis);
}

/// K x N.
Value HeadWeights::pickWeight(OpBuilder &builder, ArrayRef<int64_t> heads) const {
  Value picked = pick(builder, projection.weight, isBehind == projection.isTransposed ? 1 : 0, heads);
  if (!projection.isTransposed)
    return picked;
  return builder.create<TransposeOp>(projection.product->getLoc(), picked, ArrayRef<int64_t>{1, 0});
}

/// |tensor| reshaped as the model does it, but that the last extents are |last|.
Value HeadWeights::reshapeAs(OpBuilder &builder, Value tensor, ArrayRef<int64_t> last) const {
  ReshapeOp model = reshape;
  Location loc = model.getLoc();
  auto type = typeOf(model.getOutput());
  SmallVector<int64_t> shape(type.getShape());
  llvm::copy(last, shape.end() - last.size());
  int64_t kept = type.getRank() - static_cast<int64_t>(last.size());
  Value extents;
  if (std::optional<SmallVector<int64_t>> known = getConstantInts(model.getShape())) {
    llvm::copy(last, known->end() - last.size());
    extents = makeInts(builder, loc, *known);
  } else {
    Value front = builder.create<SliceOp>(loc, model.getShape(), makeInts(builder, loc, {0}),
                                          makeInts(builder, loc, {kept}), Value(), Value());
    extents = builder.create<ConcatOp>(loc, ValueRange{front, makeInts(builder, loc, last)}, 0);
  }
  return builder.create<ReshapeOp>(loc, type.clone(shape), tensor, extents, model.getAllowzero());
}

Value HeadWeights::project(OpBuilder &builder, ArrayRef<int64_t> heads) const {
  Value result = builder.create<MatMulOp>(projection.product->getLoc(), projection.input, pickWeight(builder, heads));
  if (projection.bias)
    result = builder.create<BinaryOp>(projection.end->getLoc(), BinaryKind::Add, result,
                                      pick(builder, flattenBias(builder, projection), 0, heads));
  return reshapeAs(builder, result, {static_cast<int64_t>(heads.size()), headSize});
}

Value HeadWeights::project(OpBuilder &builder, ArrayRef<int64_t> heads, Value input) const {
  Value whole = reshapeAs(builder, input, {static_cast<int64_t>(heads.size()) * headSize});
  Value result = builder.create<MatMulOp>(projection.product->getLoc(), whole, pickWeight(builder, heads));
  if (projection.bias)
    result =
        builder.create<BinaryOp>(projection.end->getLoc(), BinaryKind::Add, result, flattenBias(builder, projection));
  return result;
}
