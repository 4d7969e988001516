// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of other types than kernel.contract multiplies, as kernel.reduce: integers, exact in their type, and f64.

#include "compiler/transforms/outlining/Contraction.h"
#include "compiler/transforms/outlining/Reduction.h"
#include "compiler/transforms/outlining/ScalarOps.h"

using namespace mlir;
using namespace heddle;

static Type elementTypeOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// The element of |value| at |index| in |type|, less its zero point at |zeroIndex|.
static Value emitFactor(ScalarEmitter &emitter, Value value, ArrayRef<AffineExpr> index, Value zeroPoint,
                        ArrayRef<AffineExpr> zeroIndex, Type type) {
  OpBuilder &builder = emitter.getBuilder();
  Value factor = emitCast(builder, emitter.emit(value, index), elementTypeOf(value), type);
  if (!zeroPoint)
    return factor;
  Value zero = emitter.emit(zeroPoint, zeroIndex);
  zero = emitCast(builder, zero, elementTypeOf(zeroPoint), type);
  return emitBinary(builder, nn::BinaryKind::Sub, factor, zero, type, type);
}

void heddle::outlineProductSum(Outliner &outliner, Operation *root, Operation *end) {
  MLIRContext *context = outliner.getContext();
  Value lhs = root->getOperand(0), rhs = root->getOperand(1);
  auto integer = dyn_cast<nn::MatMulIntegerOp>(root);
  auto gemm = dyn_cast<nn::GemmOp>(root);
  ProductLoops loops = describeProduct(outliner, root, /*collapse=*/false);
  int64_t k = loops.bounds.size() - 1;
  Value leftZero = integer ? integer.getLhsZeroPoint() : Value();
  Value rightZero = integer ? integer.getRhsZeroPoint() : Value();
  AffineIndex row, column;
  if (leftZero)
    row = rowParameterIndex(outliner, leftZero, loops.lhsIndex);
  if (rightZero && cast<RankedTensorType>(rightZero.getType()).getRank() != 0)
    column = {getAffineDimExpr(k - 1, context)};
  Type type = elementTypeOf(root->getResult(0));
  buildReduction(
      outliner, {loops.bounds, {k}, loops.resultIndex, {kernel::Combiner::Sum}, {kernelElementType(type)}}, root, end,
      [&](ScalarEmitter &emitter) -> SmallVector<Value> {
        Value left = emitFactor(emitter, lhs, loops.lhsIndex, leftZero, row, type);
        Value right = emitFactor(emitter, rhs, loops.rhsIndex, rightZero, column, type);
        return {emitBinary(emitter.getBuilder(), nn::BinaryKind::Mul, left, right, type, type)};
      },
      [&](ScalarEmitter &emitter, ArrayRef<Value> sums) {
        return gemm ? emitScaledProduct(emitter, gemm, sums[0], type, loops.resultIndex) : sums[0];
      });
}
