// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements whose place in an operand, or whose value, is decided by an index: padding and one-hot vectors.

#include "compiler/transforms/outlining/Outliner.h"
#include "compiler/transforms/outlining/ScalarOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;

static Type elementTypeOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

namespace {
/// Arithmetic on indices.
struct Indices {
  OpBuilder &b;
  Location loc = UnknownLoc::get(b.getContext());
  Value number(int64_t value) { return b.create<arith::ConstantIndexOp>(loc, value); }
  Value add(Value x, Value y) { return b.create<arith::AddIOp>(loc, x, y); }
  Value sub(Value x, Value y) { return b.create<arith::SubIOp>(loc, x, y); }
  Value min(Value x, Value y) { return b.create<arith::MinSIOp>(loc, x, y); }
  Value max(Value x, Value y) { return b.create<arith::MaxSIOp>(loc, x, y); }
  /// |x| mod |y|, never negative; y is at least 1.
  Value mod(Value x, Value y) {
    Value rest = b.create<arith::RemSIOp>(loc, x, y);
    Value isNegative = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, rest, number(0));
    return b.create<arith::SelectOp>(loc, isNegative, add(rest, y), rest);
  }
};
} // namespace

/// Where in a dimension of |extent| the element at |place|, which may lie outside, comes from.
static Value emitPadSource(OpBuilder &builder, nn::PadMode mode, Value place, Value extent) {
  Indices s{builder};
  // An extent of 0 has no element: none is asked for.
  Value one = s.number(1), last = s.max(s.sub(extent, one), s.number(0));
  switch (mode) {
  case nn::PadMode::Edge:
    return s.min(s.max(place, s.number(0)), last);
  case nn::PadMode::Wrap:
    return s.mod(place, s.max(extent, one));
  default: {
    // Forth and back again without repeating the ends: a period of 2 (extent - 1).
    Value period = s.max(s.add(last, last), one);
    Value forth = s.mod(place, period);
    return s.min(forth, s.sub(period, forth));
  }
  }
}

Value ScalarEmitter::emitPad(nn::PadOp op, ArrayRef<AffineExpr> index) {
  Location loc = UnknownLoc::get(op.getContext());
  ArrayRef<ShapeExpr> pads = *outliner.analysis.getElements(op.getPads());
  std::optional<ArrayRef<ShapeExpr>> axes = op.getAxes() ? outliner.analysis.getElements(op.getAxes()) : std::nullopt;
  ShapeDims dims = outliner.getDims(op.getData());
  SmallVector<Value> places = llvm::map_to_vector(index, [&](AffineExpr expr) { return emitIndex(expr); });
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    int64_t axis = axes ? (*axes)[i].getConstant().value_or(0) : static_cast<int64_t>(i);
    axis += axis < 0 ? index.size() : 0;
    Value place = builder.create<arith::SubIOp>(loc, places[axis], kernel.getSize(builder, pads[i]));
    places[axis] = op.getMode() == nn::PadMode::Constant
                       ? place
                       : emitPadSource(builder, op.getMode(), place, kernel.getSize(builder, dims[axis]));
  }
  if (op.getMode() != nn::PadMode::Constant)
    return emitPart(op.getData(), places);
  Value padding = op.getValue() ? emit(op.getValue(), {}) : emitNumber(builder, elementTypeOf(op.getOutput()), 0);
  return emitPadded(op.getData(), places, padding);
}

/// The second value where the place along the axis is the index given, the first elsewhere.
Value ScalarEmitter::emitOneHot(nn::OneHotOp op, ArrayRef<AffineExpr> index) {
  Location loc = UnknownLoc::get(op.getContext());
  Type i64 = builder.getI64Type();
  int64_t axis = op.getAxis();
  AffineIndex place(index);
  place.erase(place.begin() + axis);
  Value wanted = emitCast(builder, emit(op.getIndices(), place), elementTypeOf(op.getIndices()), i64);
  Value depth = emitSize(outliner.getDims(op.getOutput())[axis], i64);
  Value isNegative = emitCompare(builder, nn::CompareKind::Lt, wanted, emitNumber(builder, i64, 0), i64);
  Value wrapped = builder.create<arith::AddIOp>(loc, wanted, depth);
  wanted = builder.create<arith::SelectOp>(loc, isNegative, wrapped, wanted);
  Value here = builder.create<arith::IndexCastOp>(loc, i64, emitIndex(index[axis]));
  Value isOn = emitCompare(builder, nn::CompareKind::Eq, here, wanted, i64);
  auto value = [&](int64_t i) { return emit(op.getValues(), getAffineConstantExpr(i, op.getContext())); };
  Value on = value(1), off = value(0);
  return builder.create<arith::SelectOp>(loc, isOn, on, off);
}
