// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions as kernel.reduce.

#include "compiler/transforms/outlining/Contraction.h"
#include "compiler/transforms/outlining/Reduction.h"
#include "compiler/transforms/outlining/ScalarOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;

static Type elementTypeOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

static kernel::Combiner combinerOf(nn::ReduceKind kind) {
  switch (kind) {
  case nn::ReduceKind::Max:
    return kernel::Combiner::Maximum;
  case nn::ReduceKind::Min:
    return kernel::Combiner::Minimum;
  case nn::ReduceKind::Prod:
    return kernel::Combiner::Product;
  default:
    return kernel::Combiner::Sum;
  }
}

/// What a reduction of elements of |type| accumulates in. A bool's maximum is taken on i32, since combiners work on
/// numbers; a mean of integers must not wrap before it is divided.
static Type accumulatorType(nn::ReduceKind kind, Type type) {
  if (type.isInteger(1))
    return IntegerType::get(type.getContext(), 32);
  if (kind == nn::ReduceKind::Mean && isa<IntegerType>(type))
    return IntegerType::get(type.getContext(), 64, cast<IntegerType>(type).getSignedness());
  return getSumType(type);
}

/// What one element |x| of |type| adds.
static Value emitTerm(OpBuilder &b, nn::ReduceKind kind, Value x, Type type) {
  switch (kind) {
  case nn::ReduceKind::L1:
    return emitUnary(b, nn::UnaryKind::Abs, x, type);
  case nn::ReduceKind::L2:
  case nn::ReduceKind::SumSquare:
    return emitBinary(b, nn::BinaryKind::Mul, x, x, type, type);
  case nn::ReduceKind::Max:
  case nn::ReduceKind::Min:
    return emitOrdered(b, x, type);
  default:
    return x;
  }
}

static Value emitFinished(OpBuilder &b, nn::ReduceKind kind, Value total, Value count, Type type) {
  switch (kind) {
  case nn::ReduceKind::Mean:
    return emitBinary(b, nn::BinaryKind::Div, total, count, type, type);
  case nn::ReduceKind::L2:
    return emitUnary(b, nn::UnaryKind::Sqrt, total, type);
  case nn::ReduceKind::LogSum:
    return emitUnary(b, nn::UnaryKind::Log, total, type);
  case nn::ReduceKind::Max:
  case nn::ReduceKind::Min:
    return emitOrdered(b, total, type);
  default:
    return total;
  }
}

/// Index of the result over the input's loops.
static AffineIndex reducedIndex(nn::ReduceOp op, unsigned rank) {
  AffineIndex index;
  for (unsigned i = 0; i < rank; ++i) {
    if (!llvm::is_contained(op.getAxes(), i))
      index.push_back(getAffineDimExpr(i, op.getContext()));
    else if (op.getKeepdims())
      index.push_back(getAffineConstantExpr(0, op.getContext()));
  }
  return index;
}

void heddle::outlineReduce(Outliner &outliner, nn::ReduceOp root, Operation *end) {
  ShapeDims dims = outliner.getDims(root.getInput()), reduced;
  for (int64_t axis : root.getAxes())
    reduced.push_back(dims[axis]);
  AffineIndex loops = identityIndex(dims.size(), outliner.getContext());
  nn::ReduceKind kind = root.getKind();
  Type elementType = elementTypeOf(root.getInput()), type = accumulatorType(kind, elementType);
  Reduction reduction{dims,
                      SmallVector<int64_t>(root.getAxes()),
                      reducedIndex(root, dims.size()),
                      {combinerOf(kind)},
                      {kernelElementType(type)}};
  buildReduction(
      outliner, reduction, root, end,
      [&](ScalarEmitter &emitter) -> SmallVector<Value> {
        Value x = emitCast(emitter.getBuilder(), emitter.emit(root.getInput(), loops), elementType, type);
        return {emitTerm(emitter.getBuilder(), kind, x, type)};
      },
      [&](ScalarEmitter &emitter, ArrayRef<Value> totals) {
        OpBuilder &b = emitter.getBuilder();
        Value count =
            kind == nn::ReduceKind::Mean ? emitter.emitSize(outliner.getShapes().product(reduced), type) : Value();
        return emitCast(b, emitFinished(b, kind, totals[0], count, type), type, elementType);
      });
}
