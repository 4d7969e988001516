// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What nn's view ops do to indices over attention's loops, in both directions.

#include "compiler/transforms/fusion/LoopIndex.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/NnOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

TensorIndex heddle::attn::broadcastSource(const LoopSpace &space, ArrayRef<ShapeExpr> operandDims,
                                          ArrayRef<ShapeExpr> resultDims, ArrayRef<LinearIndex> index) {
  TensorIndex source;
  size_t offset = resultDims.size() - operandDims.size();
  for (auto [i, dim] : llvm::enumerate(operandDims)) {
    bool stretches = dim.isConstant(1) && !resultDims[offset + i].isConstant(1);
    source.push_back(stretches ? space.zero() : index[offset + i]);
  }
  return source;
}

/// A start or end as nn.slice counts it: from the back where negative, never before the first element.
static ShapeExpr clampStart(ShapeContext &context, ShapeExpr start, ShapeExpr extent) {
  ShapeExpr zero = context.constant(0);
  ShapeExpr fromFront = context.select(context.less(start, zero), context.add(start, extent), start);
  return context.min(context.max(fromFront, zero), extent);
}

static std::optional<TensorIndex> sliceSource(const LoopSpace &space, KnownDims &dims, nn::SliceOp op,
                                              ArrayRef<LinearIndex> index) {
  ShapeContext &context = space.getContext();
  LoopDims extents = dims.get(op.getData());
  auto elements = [&](Value value) { return value ? dims.getElements(value) : std::nullopt; };
  auto starts = dims.getElements(op.getStarts()), axes = elements(op.getAxes()), steps = elements(op.getSteps());
  if (!starts || (op.getAxes() && !axes) || (op.getSteps() && !steps))
    return std::nullopt;
  TensorIndex source(index);
  for (size_t i = 0; i < starts->size(); ++i) {
    std::optional<int64_t> axis = axes ? (*axes)[i].getConstant() : static_cast<int64_t>(i);
    ShapeExpr step = steps ? (*steps)[i] : context.constant(1);
    if (!axis || step.getConstant().value_or(0) < 1)
      return std::nullopt;
    *axis += *axis < 0 ? extents.size() : 0;
    ShapeExpr start = clampStart(context, (*starts)[i], extents[*axis]);
    source[*axis] = space.add(space.scale(index[*axis], step), space.constant(start));
  }
  return source;
}

static std::optional<TensorIndex> splitSource(const LoopSpace &space, KnownDims &dims, OpResult result,
                                              ArrayRef<LinearIndex> index) {
  auto op = cast<nn::SplitOp>(result.getOwner());
  ShapeExpr offset = space.getContext().constant(0);
  for (Value before : op.getOutputs().take_front(result.getResultNumber()))
    offset = space.getContext().add(offset, dims.get(before)[op.getAxis()]);
  TensorIndex source(index);
  source[op.getAxis()] = space.add(index[op.getAxis()], space.constant(offset));
  return source;
}

/// A gather by constant indices is a view where index i is i, or i floordiv the group size: heads repeated in turn.
static std::optional<TensorIndex> gatherSource(const LoopSpace &space, KnownDims &dims, nn::GatherOp op,
                                               ArrayRef<LinearIndex> index) {
  auto indicesType = cast<RankedTensorType>(op.getIndices().getType());
  std::optional<SmallVector<int64_t>> places = nn::getConstantInts(op.getIndices());
  std::optional<int64_t> group = space.extent(kLoopGroup).getConstant();
  if (indicesType.getRank() != 1 || !places || !group)
    return std::nullopt;
  const LinearIndex &along = index[op.getAxis()];
  TensorIndex source(index);
  auto repeats = [&](int64_t count) {
    return llvm::all_of(llvm::enumerate(*places),
                        [&](auto item) { return item.value() == static_cast<int64_t>(item.index()) / count; });
  };
  if (along == space.head() && repeats(*group))
    source[op.getAxis()] = space.loop(kLoopKeyHead);
  else if (!repeats(1))
    return std::nullopt;
  return source;
}

/// One head joined with itself is that head.
static std::optional<TensorIndex> concatSource(const LoopSpace &space, KnownDims &dims, nn::ConcatOp op,
                                               ArrayRef<LinearIndex> index) {
  LoopDims extents = dims.get(op.getInputs().front());
  if (!llvm::all_equal(op.getInputs()) || extents.size() != index.size() || !extents[op.getAxis()].isConstant(1))
    return std::nullopt;
  TensorIndex source(index);
  source[op.getAxis()] = space.zero();
  return source;
}

/// Repeating what has one element along an axis is a broadcast.
static std::optional<TensorIndex> tileSource(const LoopSpace &space, ArrayRef<ShapeExpr> operandDims,
                                             ArrayRef<ShapeExpr> resultDims, ArrayRef<LinearIndex> index) {
  for (auto [from, to] : llvm::zip_equal(operandDims, resultDims))
    if (from != to && !from.isConstant(1))
      return std::nullopt;
  return broadcastSource(space, operandDims, resultDims, index);
}

std::optional<TensorIndex> heddle::attn::viewSource(const LoopSpace &space, KnownDims &dims, OpResult result,
                                                    ArrayRef<LinearIndex> index) {
  using Index = std::optional<TensorIndex>;
  Operation *op = result.getOwner();
  if (op->getNumOperands() == 0)
    return std::nullopt;
  LoopDims operandDims = dims.get(op->getOperand(0)), resultDims = dims.get(result);
  auto operandType = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  if (!operandType || operandDims.size() != static_cast<size_t>(operandType.getRank()) ||
      resultDims.size() != index.size())
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, Index>(op)
      .Case([&](nn::TransposeOp transpose) -> Index {
        TensorIndex source(index);
        for (auto [i, dim] : llvm::enumerate(transpose.getPerm()))
          source[dim] = index[i];
        return source;
      })
      .Case([&](nn::SqueezeOp squeeze) -> Index {
        TensorIndex source(index);
        for (int64_t axis : squeeze.getAxes())
          source.insert(source.begin() + axis, space.zero());
        return source;
      })
      .Case([&](nn::UnsqueezeOp unsqueeze) -> Index {
        TensorIndex source;
        for (auto [i, entry] : llvm::enumerate(index))
          if (!llvm::is_contained(unsqueeze.getAxes(), static_cast<int64_t>(i)))
            source.push_back(entry);
        return source;
      })
      .Case([&](nn::ExpandOp) -> Index { return broadcastSource(space, operandDims, resultDims, index); })
      .Case([&](nn::TileOp) { return tileSource(space, operandDims, resultDims, index); })
      .Case<nn::ReshapeOp, nn::FlattenOp>([&](Operation *) { return space.reshape(resultDims, index, operandDims); })
      .Case([&](nn::SliceOp slice) { return sliceSource(space, dims, slice, index); })
      .Case([&](nn::SplitOp) { return splitSource(space, dims, result, index); })
      .Case([&](nn::GatherOp gather) { return gatherSource(space, dims, gather, index); })
      .Case([&](nn::ConcatOp concat) { return concatSource(space, dims, concat, index); })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<TensorIndex> heddle::attn::viewTarget(const LoopSpace &space, KnownDims &dims, Operation *view,
                                                    ArrayRef<LinearIndex> index) {
  using Index = std::optional<TensorIndex>;
  if (view->getNumOperands() == 0 || dims.get(view->getOperand(0)).size() != index.size())
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, Index>(view)
      .Case([&](nn::TransposeOp transpose) -> Index {
        TensorIndex target;
        for (int64_t dim : transpose.getPerm())
          target.push_back(index[dim]);
        return target;
      })
      .Case([&](nn::SqueezeOp squeeze) -> Index {
        TensorIndex target;
        for (auto [i, entry] : llvm::enumerate(index))
          if (!llvm::is_contained(squeeze.getAxes(), static_cast<int64_t>(i)))
            target.push_back(entry);
        return target;
      })
      .Case([&](nn::UnsqueezeOp unsqueeze) -> Index {
        TensorIndex target(index);
        for (int64_t axis : unsqueeze.getAxes())
          target.insert(target.begin() + axis, space.zero());
        return target;
      })
      .Case<nn::ReshapeOp, nn::FlattenOp>(
          [&](Operation *op) { return space.reshape(dims.get(op->getOperand(0)), index, dims.get(op->getResult(0))); })
      .Default([](Operation *) { return std::nullopt; });
}
