// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index arithmetic of view ops: where in the operand an element of the result lies.

#include "compiler/transforms/outlining/Outliner.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;

/// Index into a tensor of |operandDims| that broadcasts onto |resultDims|.
static AffineIndex broadcast(ArrayRef<ShapeExpr> operandDims, ArrayRef<ShapeExpr> resultDims,
                             ArrayRef<AffineExpr> index) {
  AffineIndex operandIndex;
  size_t offset = resultDims.size() - operandDims.size();
  for (auto [i, dim] : llvm::enumerate(operandDims)) {
    bool stretches = dim.isConstant(1) && !resultDims[offset + i].isConstant(1);
    operandIndex.push_back(stretches ? getAffineConstantExpr(0, index[offset + i].getContext()) : index[offset + i]);
  }
  return operandIndex;
}

/// Where a slice starts along a dimension of |extent|: negative counts from the back, then clamped as nn.slice says.
static ShapeExpr sliceStart(ShapeContext &shapes, ShapeExpr start, ShapeExpr extent, bool forward) {
  ShapeExpr zero = shapes.constant(0);
  ShapeExpr fromFront = shapes.select(shapes.less(start, zero), shapes.add(start, extent), start);
  ShapeExpr last = forward ? extent : shapes.sub(extent, shapes.constant(1));
  return shapes.min(shapes.max(fromFront, zero), last);
}

static AffineIndex sliceIndex(Outliner &outliner, const ShapeAnalysis &analysis, nn::SliceOp op,
                              ArrayRef<AffineExpr> index) {
  ShapeContext &shapes = outliner.getShapes();
  ShapeSymbols &symbols = outliner.getSymbols();
  ShapeDims extents = outliner.getDims(op.getData());
  auto elements = [&](Value value) { return value ? analysis.getElements(value) : std::nullopt; };
  auto starts = analysis.getElements(op.getStarts()), axes = elements(op.getAxes()), steps = elements(op.getSteps());
  AffineIndex operandIndex(index);
  for (size_t i = 0; starts && i < starts->size(); ++i) {
    // The verifier and the shape analysis have made sure that axes are constant and in range.
    int64_t axis = axes ? (*axes)[i].getConstant().value_or(0) : static_cast<int64_t>(i);
    if (axis < 0)
      axis += extents.size();
    ShapeExpr step = steps ? (*steps)[i] : shapes.constant(1);
    bool forward = step.getConstant().value_or(1) > 0;
    ShapeExpr start = sliceStart(shapes, (*starts)[i], extents[axis], forward);
    operandIndex[axis] = index[axis] * symbols.get(step) + symbols.get(start);
  }
  return operandIndex;
}

/// Counted round the operand: a dimension of extent 1 is a broadcast, one that isn't repeated stays as it is.
static AffineIndex tileIndex(Outliner &outliner, ArrayRef<ShapeExpr> operandDims, ArrayRef<ShapeExpr> resultDims,
                             ArrayRef<AffineExpr> index) {
  AffineIndex operandIndex;
  for (auto [operand, result, expr] : llvm::zip(operandDims, resultDims, index)) {
    if (operand.isConstant(1))
      operandIndex.push_back(getAffineConstantExpr(0, expr.getContext()));
    else
      operandIndex.push_back(operand == result ? expr : expr % outliner.getSymbols().get(operand));
  }
  return operandIndex;
}

static AffineIndex splitIndex(Outliner &outliner, nn::SplitOp op, unsigned result, ArrayRef<AffineExpr> index) {
  ShapeContext &shapes = outliner.getShapes();
  ShapeExpr offset = shapes.constant(0);
  for (Value before : op.getOutputs().take_front(result))
    offset = shapes.add(offset, outliner.getDims(before)[op.getAxis()]);
  AffineIndex operandIndex(index);
  operandIndex[op.getAxis()] = index[op.getAxis()] + outliner.getSymbols().get(offset);
  return operandIndex;
}

AffineIndex heddle::viewOperandIndex(Outliner &outliner, const ShapeAnalysis &analysis, OpResult result,
                                     ArrayRef<AffineExpr> index) {
  Operation *op = result.getOwner();
  ShapeDims operandDims = outliner.getDims(op->getOperand(0)), resultDims = outliner.getDims(result);
  AffineExpr zero = getAffineConstantExpr(0, op->getContext());
  if (auto transpose = dyn_cast<nn::TransposeOp>(op)) {
    AffineIndex operandIndex(index.size());
    for (auto [i, dim] : llvm::enumerate(transpose.getPerm()))
      operandIndex[dim] = index[i];
    return operandIndex;
  }
  if (auto squeeze = dyn_cast<nn::SqueezeOp>(op)) {
    AffineIndex operandIndex(index);
    for (int64_t axis : squeeze.getAxes())
      operandIndex.insert(operandIndex.begin() + axis, zero);
    return operandIndex;
  }
  if (auto unsqueeze = dyn_cast<nn::UnsqueezeOp>(op)) {
    AffineIndex operandIndex;
    for (auto [i, expr] : llvm::enumerate(index))
      if (!llvm::is_contained(unsqueeze.getAxes(), static_cast<int64_t>(i)))
        operandIndex.push_back(expr);
    return operandIndex;
  }
  if (isa<nn::ExpandOp>(op))
    return broadcast(operandDims, resultDims, index);
  if (isa<nn::TileOp>(op))
    return tileIndex(outliner, operandDims, resultDims, index);
  if (auto slice = dyn_cast<nn::SliceOp>(op))
    return sliceIndex(outliner, analysis, slice, index);
  if (auto split = dyn_cast<nn::SplitOp>(op))
    return splitIndex(outliner, split, result.getResultNumber(), index);
  // nn.reshape, nn.flatten
  return reshapeIndex(operandDims, resultDims, index, outliner.getSymbols(), outliner.getShapes());
}

AffineIndex ScalarEmitter::broadcastIndex(Value operand, Value result, ArrayRef<AffineExpr> index) {
  return broadcast(outliner.getDims(operand), outliner.getDims(result), index);
}
