// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pooling as kernel.reduce over the positions of a window.

#include "compiler/transforms/outlining/Contraction.h"
#include "compiler/transforms/outlining/Reduction.h"
#include "compiler/transforms/outlining/ScalarOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace heddle;

static Type elementTypeOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

static Value emitConstantIndex(OpBuilder &b, int64_t value) {
  return b.create<arith::ConstantIndexOp>(UnknownLoc::get(b.getContext()), value);
}

/// |x| + |offset|
static Value emitMoved(OpBuilder &b, Value x, int64_t offset) {
  if (offset == 0)
    return x;
  return b.create<arith::AddIOp>(UnknownLoc::get(b.getContext()), x, emitConstantIndex(b, offset));
}

namespace {
/// Loops (image, channel, window position..., kernel offset...).
struct Pooling {
  Outliner &outliner;
  nn::PoolOp op;
  ShapeDims input;
  size_t spatial;
  AffineIndex loops;
  Type type, sumType;

  Pooling(Outliner &outliner, nn::PoolOp op)
      : outliner(outliner), op(op), input(outliner.getDims(op.getInput())), spatial(input.size() - 2),
        loops(identityIndex(input.size() + spatial, outliner.getContext())), type(elementTypeOf(op.getInput())),
        sumType(getSumType(type)) {}

  /// Places in the input of the window's current element, which may lie in the padding.
  SmallVector<Value> emitPlaces(ScalarEmitter &emitter) {
    SmallVector<Value> places{emitter.emitIndex(loops[0]), emitter.emitIndex(loops[1])};
    for (size_t i = 0; i < spatial; ++i) {
      AffineExpr place = loops[2 + i] * op.getStrides()[i] + loops[2 + spatial + i] * op.getDilations()[i];
      places.push_back(emitMoved(emitter.getBuilder(), emitter.emitIndex(place), -op.getPads()[i]));
    }
    return places;
  }

  /// 1 where the element at |places| counts for a mean, else 0.
  Value emitCount(ScalarEmitter &emitter, ArrayRef<Value> places) {
    OpBuilder &b = emitter.getBuilder();
    Location loc = UnknownLoc::get(b.getContext());
    Value counts = b.create<arith::ConstantIntOp>(loc, true, 1);
    for (size_t i = 0; i < spatial; ++i) {
      bool withPads = op.getCountIncludePad();
      Value extent = emitter.emitIndex(outliner.getSymbols().get(input[2 + i]));
      Value place = emitMoved(b, places[2 + i], withPads ? op.getPads()[i] : 0);
      extent = emitMoved(b, extent, withPads ? op.getPads()[i] + op.getPads()[i + spatial] : 0);
      Value isInside = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, place, extent);
      counts = b.create<arith::AndIOp>(loc, counts, isInside);
    }
    return b.create<arith::SelectOp>(loc, counts, emitNumber(b, sumType, 1), emitNumber(b, sumType, 0));
  }

  Value emitPower(OpBuilder &b, Value x, double exponent) {
    return emitBinary(b, nn::BinaryKind::Pow, x, emitNumber(b, sumType, exponent), sumType, sumType);
  }

  SmallVector<Value> emitTerms(ScalarEmitter &emitter) {
    OpBuilder &b = emitter.getBuilder();
    SmallVector<Value> places = emitPlaces(emitter);
    // Padding is never the greatest element: it is the least number there is.
    Value padding = emitNumber(b, type, 0);
    if (op.getKind() == nn::PoolKind::Max && isa<FloatType>(type))
      padding = emitNumber(b, type, -INFINITY);
    else if (op.getKind() == nn::PoolKind::Max && !type.isUnsignedInteger())
      padding = b.create<arith::ConstantOp>(
          UnknownLoc::get(b.getContext()),
          b.getIntegerAttr(kernelElementType(type), APInt::getSignedMinValue(type.getIntOrFloatBitWidth())));
    Value x = emitCast(b, emitter.emitPadded(op.getInput(), places, padding), type, sumType);
    switch (op.getKind()) {
    case nn::PoolKind::Max:
      return {emitOrdered(b, x, type)};
    case nn::PoolKind::Average:
      return {x, emitCount(emitter, places)};
    case nn::PoolKind::Lp:
      return {emitPower(b, emitUnary(b, nn::UnaryKind::Abs, x, sumType), static_cast<double>(op.getP()))};
    }
    return {x};
  }

  Value emitRoot(OpBuilder &b, ArrayRef<Value> sums) {
    Value value = sums[0];
    if (op.getKind() == nn::PoolKind::Max)
      value = emitOrdered(b, value, type);
    if (op.getKind() == nn::PoolKind::Average)
      value = emitBinary(b, nn::BinaryKind::Div, value, sums[1], sumType, sumType);
    if (op.getKind() == nn::PoolKind::Lp)
      value = emitPower(b, value, 1.0 / static_cast<double>(op.getP()));
    return emitCast(b, value, sumType, type);
  }
};
} // namespace

void heddle::outlinePool(Outliner &outliner, nn::PoolOp root, Operation *end) {
  Pooling pooling(outliner, root);
  ShapeDims bounds(outliner.getDims(root.getOutput()));
  size_t numParallel = bounds.size();
  for (int64_t extent : root.getKernel())
    bounds.push_back(outliner.getShapes().constant(extent));
  auto reduced = llvm::to_vector(llvm::seq<int64_t>(numParallel, bounds.size()));
  AffineIndex resultIndex(ArrayRef(pooling.loops).take_front(numParallel));
  Type plain = kernelElementType(pooling.sumType);
  Reduction reduction{bounds, reduced, resultIndex, {kernel::Combiner::Sum}, {plain}};
  if (root.getKind() == nn::PoolKind::Max)
    reduction.combiners = {kernel::Combiner::Maximum};
  if (root.getKind() == nn::PoolKind::Average) { // beside the sum the number of what it holds
    reduction.combiners.push_back(kernel::Combiner::Sum);
    reduction.types.push_back(plain);
  }
  buildReduction(
      outliner, reduction, root, end, [&](ScalarEmitter &emitter) { return pooling.emitTerms(emitter); },
      [&](ScalarEmitter &emitter, ArrayRef<Value> sums) { return pooling.emitRoot(emitter.getBuilder(), sums); });
}
