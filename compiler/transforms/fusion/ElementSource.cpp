// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where elements come from, seen through views, gathers and integer arithmetic.

#include "compiler/transforms/fusion/ElementEmitter.h"
#include "dialects/nn/ConstantData.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

/// Chains of exporters are a dozen ops long. Sums count more, since both sides are followed: that bounds the work.
static constexpr unsigned kMaxDepth = 64, kSumDepth = 8;

static std::optional<LinearIndex> getLinear(const LoopSpace &space, KnownDims &dims, Value tensor,
                                            ArrayRef<LinearIndex> index, unsigned depth);

/// Places in data of a gather whose indices are linear and provably inside; |placeOf| gives the index of dimension i.
static std::optional<Element> gatherAt(const LoopSpace &space, KnownDims &dims, Value data,
                                       function_ref<std::optional<LinearIndex>(unsigned)> placeOf) {
  LoopDims extents = dims.get(data);
  Element source{data, {}};
  for (unsigned i = 0; i < extents.size(); ++i) {
    std::optional<LinearIndex> place = placeOf(i);
    if (!place || !space.isWithin(*place, extents[i]))
      return std::nullopt;
    source.index.push_back(*place);
  }
  return source;
}

static std::optional<Element> gatherSource(const LoopSpace &space, KnownDims &dims, nn::GatherOp op,
                                           ArrayRef<LinearIndex> index, unsigned depth) {
  unsigned axis = op.getAxis(), indexRank = cast<RankedTensorType>(op.getIndices().getType()).getRank();
  return gatherAt(space, dims, op.getData(), [&](unsigned i) -> std::optional<LinearIndex> {
    if (i != axis)
      return index[i < axis ? i : i + indexRank - 1];
    return getLinear(space, dims, op.getIndices(), index.slice(axis, indexRank), depth + 1);
  });
}

static std::optional<Element> gatherNdSource(const LoopSpace &space, KnownDims &dims, nn::GatherNdOp op,
                                             ArrayRef<LinearIndex> index, unsigned depth) {
  auto type = cast<RankedTensorType>(op.getIndices().getType());
  unsigned batch = op.getBatchDims(), tuple = type.getShape().back(), outer = type.getRank() - 1;
  return gatherAt(space, dims, op.getData(), [&](unsigned i) -> std::optional<LinearIndex> {
    if (i < batch)
      return index[i];
    if (i >= batch + tuple)
      return index[outer + i - batch - tuple];
    TensorIndex place(index.take_front(outer));
    place.push_back(space.constant(space.getContext().constant(i - batch)));
    return getLinear(space, dims, op.getIndices(), place, depth + 1);
  });
}

static std::optional<Element> sourceOf(const LoopSpace &space, KnownDims &dims, const Element &element,
                                       unsigned depth) {
  auto result = dyn_cast<OpResult>(element.tensor);
  if (!result)
    return std::nullopt;
  if (std::optional<TensorIndex> index = viewSource(space, dims, result, element.index))
    return Element{result.getOwner()->getOperand(0), *index};
  if (auto gather = dyn_cast<nn::GatherOp>(result.getOwner()))
    return gatherSource(space, dims, gather, element.index, depth);
  if (auto gather = dyn_cast<nn::GatherNdOp>(result.getOwner()))
    return gatherNdSource(space, dims, gather, element.index, depth);
  return std::nullopt;
}

std::optional<Element> heddle::attn::getElementSource(const LoopSpace &space, KnownDims &dims, const Element &element) {
  return sourceOf(space, dims, element, 0);
}

static std::optional<LinearIndex> getLinearBinary(const LoopSpace &space, KnownDims &dims, nn::BinaryOp op,
                                                  ArrayRef<LinearIndex> index, unsigned depth) {
  LoopDims resultDims = dims.get(op.getOutput());
  auto operand = [&](Value value) {
    return getLinear(space, dims, value, broadcastSource(space, dims.get(value), resultDims, index), depth + kSumDepth);
  };
  std::optional<LinearIndex> lhs = operand(op.getLhs()), rhs = lhs ? operand(op.getRhs()) : std::nullopt;
  if (!lhs || !rhs)
    return std::nullopt;
  ShapeContext &context = space.getContext();
  auto isConstant = [&](const LinearIndex &value) { return value == space.constant(value.offset); };
  switch (op.getKind()) {
  case nn::BinaryKind::Add:
    return space.add(*lhs, *rhs);
  case nn::BinaryKind::Sub:
    return space.add(*lhs, space.scale(*rhs, context.constant(-1)));
  case nn::BinaryKind::Mul:
    if (isConstant(*rhs))
      return space.scale(*lhs, rhs->offset);
    return isConstant(*lhs) ? std::optional(space.scale(*rhs, lhs->offset)) : std::nullopt;
  default:
    return std::nullopt;
  }
}

static std::optional<LinearIndex> getLinearConcat(const LoopSpace &space, KnownDims &dims, nn::ConcatOp op,
                                                  ArrayRef<LinearIndex> index, unsigned depth) {
  const LinearIndex &along = index[op.getAxis()];
  std::optional<int64_t> place = along.offset ? along.offset.getConstant() : std::nullopt;
  if (!place || !(along == space.constant(along.offset)))
    return std::nullopt;
  TensorIndex source(index);
  for (Value part : op.getInputs()) {
    std::optional<int64_t> extent = dims.get(part)[op.getAxis()].getConstant();
    if (!extent)
      return std::nullopt;
    if (*place < *extent) {
      source[op.getAxis()] = space.constant(space.getContext().constant(*place));
      return getLinear(space, dims, part, source, depth + 1);
    }
    *place -= *extent;
  }
  return std::nullopt;
}

static std::optional<LinearIndex> getLinearRange(const LoopSpace &space, KnownDims &dims, nn::RangeOp op,
                                                 ArrayRef<LinearIndex> index) {
  auto start = dims.getElements(op.getStart()), delta = dims.getElements(op.getDelta());
  if (!start || !delta)
    return std::nullopt;
  return space.add(space.scale(index[0], delta->front()), space.constant(start->front()));
}

/// Numbers of a constant that follow from their places. Past its end there are none, where a range would go on.
static std::optional<LinearIndex> getLinearConstant(const LoopSpace &space, KnownDims &dims, nn::ConstantOp op,
                                                    ArrayRef<LinearIndex> index) {
  const std::optional<AffineSequence> &sequence = dims.getConstantForms().getSequence(op);
  if (!sequence)
    return std::nullopt;
  ShapeContext &context = space.getContext();
  LinearIndex sum = space.constant(context.constant(sequence->offset));
  for (auto [entry, factor, extent] : llvm::zip_equal(index, sequence->factors, op.getType().getShape())) {
    if (!space.isWithin(entry, context.constant(extent)))
      return std::nullopt;
    sum = space.add(sum, space.scale(entry, context.constant(factor)));
  }
  return sum;
}

static std::optional<LinearIndex> getLinear(const LoopSpace &space, KnownDims &dims, Value tensor,
                                            ArrayRef<LinearIndex> index, unsigned depth) {
  using Linear = std::optional<LinearIndex>;
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || !type.getElementType().isSignlessInteger() || type.getElementType().isInteger(1) || depth > kMaxDepth ||
      dims.get(tensor).size() != index.size())
    return std::nullopt;
  if (auto elements = dims.getElements(tensor); elements && !elements->empty() && llvm::all_equal(*elements))
    return space.constant(elements->front());
  if (std::optional<Element> source = sourceOf(space, dims, {tensor, TensorIndex(index)}, depth))
    return getLinear(space, dims, source->tensor, source->index, depth + 1);
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, Linear>(op)
      .Case([&](nn::ConstantOp constant) { return getLinearConstant(space, dims, constant, index); })
      .Case([&](nn::RangeOp range) { return getLinearRange(space, dims, range, index); })
      .Case([&](nn::BinaryOp binary) { return getLinearBinary(space, dims, binary, index, depth); })
      .Case([&](nn::ConcatOp concat) { return getLinearConcat(space, dims, concat, index, depth); })
      .Case([&](nn::CastOp cast) { return getLinear(space, dims, cast.getInput(), index, depth + 1); })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<LinearIndex> heddle::attn::getLinearElement(const LoopSpace &space, KnownDims &dims, Value tensor,
                                                          ArrayRef<LinearIndex> index) {
  return getLinear(space, dims, tensor, index, 0);
}

llvm::SmallSetVector<Value, 4> heddle::attn::getScoreOperands(Operation *op) {
  llvm::SmallSetVector<Value, 4> operands;
  if (isa<nn::QuantizeLinearOp, nn::DequantizeLinearOp>(op)) {
    operands.insert(op->getOperand(0));
    return operands;
  }
  for (Value operand : op->getOperands())
    if (isa<FloatType>(getElementTypeOrSelf(operand.getType())))
      operands.insert(operand);
  return operands;
}

TypedAttr heddle::attn::getSplat(Value tensor) {
  // Stretching and reshaping leave equal elements equal.
  while (Operation *op = tensor.getDefiningOp()) {
    if (!isa<nn::ExpandOp, nn::ReshapeOp, nn::UnsqueezeOp, nn::SqueezeOp, nn::FlattenOp>(op))
      break;
    tensor = op->getOperand(0);
  }
  Attribute value;
  if (auto constant = tensor.getDefiningOp<nn::ConstantOp>()) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (dense && dense.isSplat() && dense.getNumElements() > 0)
      value = dense.getSplatValue<Attribute>();
  } else if (auto fill = tensor.getDefiningOp<nn::ConstantOfShapeOp>()) {
    value = fill.getValue();
  }
  auto typed = dyn_cast_or_null<TypedAttr>(value);
  return typed && !typed.getType().isUnsignedInteger() ? typed : TypedAttr();
}

bool heddle::attn::isScoreStep(Operation *op) {
  // A product of the integers themselves isn't one of scores.
  if (isa<nn::QuantizeLinearOp>(op))
    return true;
  if (auto dequantize = dyn_cast<nn::DequantizeLinearOp>(op))
    return dequantize.getInput().getDefiningOp<nn::QuantizeLinearOp>() != nullptr;
  if (op->getNumResults() != 1 || !isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())))
    return false;
  if (auto cast = dyn_cast<nn::CastOp>(op))
    return cast.getInput().getType() == cast.getOutput().getType();
  return isa<nn::UnaryOp, nn::BinaryOp, nn::WhereOp, nn::ReshapeOp, nn::FlattenOp, nn::TransposeOp, nn::SqueezeOp,
             nn::UnsqueezeOp, nn::ExpandOp>(op);
}
