// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// key = reshape(matmul + bias), or the same of one part of a projection that gives query, key and value at once.

#include "compiler/transforms/quantization/KeyBias.h"

#include "dialects/nn/NnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::nn;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// True if the region adds to a score something that doesn't depend on it, or leaves it.
static bool isAdditive(Region &score) {
  if (score.empty())
    return true;
  Value sum = score.getArgument(0);
  while (sum.hasOneUse()) {
    OpOperand &use = *sum.use_begin();
    if (isa<attn::YieldOp>(use.getOwner()))
      return true;
    bool isSum =
        isa<arith::AddFOp>(use.getOwner()) || (isa<arith::SubFOp>(use.getOwner()) && use.getOperandNumber() == 0);
    if (!isSum)
      return false;
    sum = use.getOwner()->getResult(0);
  }
  return false;
}

/// The operand of the sum |value| that has one number a channel, the last dimension; null if there is none.
static OpOperand *findBias(Value value) {
  auto sum = value.getDefiningOp<BinaryOp>();
  if (!sum || sum.getKind() != BinaryKind::Add)
    return nullptr;
  for (OpOperand &operand : sum->getOpOperands()) {
    RankedTensorType type = typeOf(operand.get());
    if (type.getRank() == 1 && !type.isDynamicDim(0) && type.getDimSize(0) == typeOf(value).getShape().back())
      return &operand;
  }
  return nullptr;
}

/// The reshape that cuts channels to |op|'s heads, (..., h * d) to (..., h, d), for its keys alone: no key's number is
/// part of a channel's.
static ReshapeOp findHeads(attn::SdpaOp op) {
  auto heads = op.getKey().getDefiningOp<ReshapeOp>();
  AffineMap map = op.getKeyMapOrDefault();
  unsigned rank = map.getNumResults();
  if (!heads || rank < 3 || map.getDimPosition(rank - 1) != attn::kHeadSize ||
      map.getDimPosition(rank - 2) != attn::kHead)
    return nullptr;
  ArrayRef<int64_t> shape = typeOf(op.getKey()).getShape(), joined = typeOf(heads.getData()).getShape();
  ArrayRef<int64_t> last = shape.take_back(2);
  bool isCut =
      joined.size() + 1 == shape.size() && !ShapedType::isDynamicShape(last) && joined.back() == last[0] * last[1];
  return isCut && heads->hasOneUse() ? heads : nullptr;
}

/// Makes result |number| of |split|, of a sum, one without its share of the bias.
static bool dropShare(SplitOp split, unsigned number) {
  OpOperand *bias = split.getInput().hasOneUse() ? findBias(split.getInput()) : nullptr;
  auto parts = bias ? bias->get().getDefiningOp<ConcatOp>() : ConcatOp();
  if (!parts || parts.getInputs().size() != split.getNumResults())
    return false;
  auto axis = static_cast<int64_t>(typeOf(split.getInput()).getRank()) - 1;
  for (auto [input, result] : llvm::zip(parts.getInputs(), split.getResults()))
    if (split.getAxis() != axis || typeOf(input).getDimSize(0) != typeOf(result).getShape().back() ||
        typeOf(input).isDynamicDim(0))
      return false;
  OpBuilder builder(bias->getOwner());
  SmallVector<Value> inputs(parts.getInputs());
  RankedTensorType type = typeOf(inputs[number]);
  inputs[number] = builder.create<ConstantOp>(parts.getLoc(),
                                              DenseElementsAttr::get(type, builder.getZeroAttr(type.getElementType())));
  bias->set(builder.create<ConcatOp>(parts.getLoc(), inputs, /*axis=*/0));
  return true;
}

/// True if something sees the scores as they are, not their differences in a row.
static bool seesScores(attn::SdpaOp op) { return op.getLse() || !isAdditive(op.getScore()); }

bool nn::dropKeyBias(attn::SdpaOp op) {
  // 1. What sees the scores as they are.
  if (seesScores(op))
    return false;
  // 2. Who else reads the keys.
  ReshapeOp heads = findHeads(op);
  if (!heads || !heads.getData().hasOneUse())
    return false;
  // 3. Where the constant comes in.
  Value joined = heads.getData();
  if (auto split = joined.getDefiningOp<SplitOp>())
    return dropShare(split, cast<OpResult>(joined).getResultNumber());
  OpOperand *bias = findBias(joined);
  if (!bias)
    return false;
  Operation *sum = bias->getOwner();
  heads->setOperand(0, sum->getOperand(1 - bias->getOperandNumber()));
  sum->erase();
  return true;
}

std::optional<SmallVector<int64_t>> nn::findKeyAxes(attn::SdpaOp op) {
  if (seesScores(op))
    return std::nullopt;
  SmallVector<int64_t> axes;
  for (auto [axis, expr] : llvm::enumerate(op.getKeyMapOrDefault().getResults()))
    if (unsigned position = cast<AffineDimExpr>(expr).getPosition();
        position == attn::kHead || position == attn::kHeadSize) {
      axes.push_back(static_cast<int64_t>(axis));
      if (typeOf(op.getKey()).isDynamicDim(axis))
        return std::nullopt;
    }
  return axes;
}

bool nn::subtractKeyOffsets(attn::SdpaOp op, ArrayRef<float> offsets) {
  std::optional<SmallVector<int64_t>> axes = findKeyAxes(op);
  if (!axes)
    return false;
  RankedTensorType keys = typeOf(op.getKey());
  SmallVector<int64_t> shape(keys.getRank(), 1);
  for (int64_t axis : *axes)
    shape[axis] = keys.getDimSize(axis);
  if (ShapedType::getNumElements(shape) != static_cast<int64_t>(offsets.size()))
    return false;
  // In front of what cuts channels to heads, where it joins the projection's kernel.
  ReshapeOp heads = findHeads(op);
  OpOperand &operand = heads ? heads->getOpOperand(0) : op.getKeyMutable();
  if (heads)
    shape = {static_cast<int64_t>(offsets.size())};
  OpBuilder builder(heads ? heads : op);
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  Value constant = builder.create<ConstantOp>(op.getLoc(), DenseElementsAttr::get(type, offsets));
  operand.set(builder.create<BinaryOp>(op.getLoc(), BinaryKind::Sub, operand.get(), constant));
  return true;
}
