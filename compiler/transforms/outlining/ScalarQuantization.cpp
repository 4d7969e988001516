// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantisation of one element, in f32 whatever the types: true division, half to even, zero point, saturation.

#include "compiler/transforms/outlining/Outliner.h"
#include "compiler/transforms/outlining/ScalarOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace heddle;

static Type elementTypeOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// Index of the scale, and of the zero point, that serves the element at |index|.
template <typename OpTy> static AffineIndex parameterIndex(OpTy op, Value parameter, ArrayRef<AffineExpr> index) {
  if (cast<RankedTensorType>(parameter.getType()).getRank() == 0)
    return {};
  if (op.getBlockSize() == 0)
    return {index[op.getAxis()]};
  AffineIndex blocks(index);
  blocks[op.getAxis()] = blocks[op.getAxis()].floorDiv(op.getBlockSize());
  return blocks;
}

/// |value| within [low, high]; NaN goes to a bound, so that codes are written whatever comes.
static Value emitWithin(OpBuilder &b, Value value, double low, double high) {
  Type f32 = b.getF32Type();
  Location loc = UnknownLoc::get(b.getContext());
  Value least = emitNumber(b, f32, low), most = emitNumber(b, f32, high);
  value = b.create<arith::SelectOp>(loc, emitCompare(b, nn::CompareKind::Gt, value, least, f32), value, least);
  return b.create<arith::SelectOp>(loc, emitCompare(b, nn::CompareKind::Lt, value, most, f32), value, most);
}

/// |value|, a whole number that |to|, of at most 16 bits, holds: the low bits once 1.5 * 2^23 is added. A conversion
/// would guard against more.
static Value emitLowBits(OpBuilder &b, Value value, Type to) {
  Type f32 = b.getF32Type();
  Location loc = UnknownLoc::get(b.getContext());
  Value shifted = emitBinary(b, nn::BinaryKind::Add, value, emitNumber(b, f32, 12582912), f32, f32);
  return b.create<arith::TruncIOp>(loc, kernelElementType(to),
                                   b.create<arith::BitcastOp>(loc, b.getI32Type(), shifted));
}

Value heddle::emitQuantized(OpBuilder &b, Value x, Value scale, Value zero, Type to) {
  Type f32 = b.getF32Type();
  Value steps = emitBinary(b, nn::BinaryKind::Div, x, scale, f32, f32);
  Value rounded = emitUnary(b, nn::UnaryKind::Round, steps, f32);
  if (!zero)
    zero = emitNumber(b, f32, 0);
  Value sum = emitBinary(b, nn::BinaryKind::Add, rounded, zero, f32, f32);
  Value isNan = emitUnary(b, nn::UnaryKind::IsNan, sum, f32);
  Value code = b.create<arith::SelectOp>(UnknownLoc::get(b.getContext()), isNan, zero, sum);
  unsigned bits = to.getIntOrFloatBitWidth();
  if (bits != 8 && bits != 16)
    return emitCast(b, code, f32, to);
  double low = to.isUnsignedInteger() ? 0 : -std::ldexp(1.0, bits - 1);
  return emitLowBits(b, emitWithin(b, code, low, low + std::ldexp(1.0, bits) - 1), to);
}

Value heddle::emitDequantized(OpBuilder &b, Value code, Value scale, Value zero) {
  // Exact: differences of 16-bit integers fit, and 32-bit ones come without a zero point.
  Type i32 = b.getI32Type(), f32 = b.getF32Type();
  if (zero)
    code = emitBinary(b, nn::BinaryKind::Sub, code, zero, i32, i32);
  return emitBinary(b, nn::BinaryKind::Mul, emitCast(b, code, i32, f32), scale, f32, f32);
}

Value ScalarEmitter::emitQuantize(nn::QuantizeLinearOp op, ArrayRef<AffineExpr> index) {
  Type f32 = builder.getF32Type();
  auto asF32 = [&](Value value, ArrayRef<AffineExpr> place) {
    return emitCast(builder, emitParameter(value, place), elementTypeOf(value), f32);
  };
  Value x = asF32(op.getInput(), index);
  Value scale = asF32(op.getScale(), parameterIndex(op, op.getScale(), index));
  Value zero = op.getZeroPoint() ? asF32(op.getZeroPoint(), parameterIndex(op, op.getZeroPoint(), index)) : Value();
  return emitQuantized(builder, x, scale, zero, op.getTo());
}

Value ScalarEmitter::emitDequantize(nn::DequantizeLinearOp op, ArrayRef<AffineExpr> index) {
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type(), scaleType = elementTypeOf(op.getScale());
  auto as = [&](Value value, ArrayRef<AffineExpr> place, Type type) {
    return emitCast(builder, emitParameter(value, place), elementTypeOf(value), type);
  };
  Value code = as(op.getInput(), index, i32), zero;
  if (Value zeroPoint = op.getZeroPoint())
    zero = as(zeroPoint, parameterIndex(op, zeroPoint, index), i32);
  Value scale = as(op.getScale(), parameterIndex(op, op.getScale(), index), f32);
  return emitCast(builder, emitDequantized(builder, code, scale, zero), f32, scaleType);
}

Value ScalarEmitter::emitDequantizedPart(nn::DequantizeLinearOp op, ArrayRef<Value> places, Operation *reader) {
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type(), scaleType = elementTypeOf(op.getScale());
  scope.ops.insert(op);
  auto as = [&](Value value, Type type) {
    SmallVector<Value> place(places);
    if (value != op.getInput()) // a scalar or a vector
      place.assign(cast<RankedTensorType>(value.getType()).getRank(), places[op.getAxis()]);
    return emitCast(builder, emitPart(value, place, reader), elementTypeOf(value), type);
  };
  Value code = as(op.getInput(), i32), zero = op.getZeroPoint() ? as(op.getZeroPoint(), i32) : Value();
  return emitCast(builder, emitDequantized(builder, code, as(op.getScale(), f32), zero), f32, scaleType);
}

Value ScalarEmitter::emitDynamicQuantize(nn::DynamicQuantizeLinearOp op, ArrayRef<AffineExpr> index) {
  Type f32 = builder.getF32Type(), u8 = elementTypeOf(op.getOutput());
  Value scale = emit(op.getScale(), {}), zeroPoint = emit(op.getZeroPoint(), {});
  Value code = emitQuantized(builder, emit(op.getInput(), index), scale, emitCast(builder, zeroPoint, u8, f32), u8);
  // All elements are 0, and so are their codes.
  Value isFlat = emitCompare(builder, nn::CompareKind::Eq, scale, emitNumber(builder, f32, 0), f32);
  return builder.create<arith::SelectOp>(UnknownLoc::get(op.getContext()), isFlat, emitNumber(builder, u8, 0), code);
}

SmallVector<Value> heddle::emitRowCodes(OpBuilder &b, Value x, Value low, Value high, Type to) {
  Type f32 = b.getF32Type();
  Location loc = UnknownLoc::get(b.getContext());
  auto bin = [&](nn::BinaryKind kind, Value l, Value r) { return emitBinary(b, kind, l, r, f32, f32); };
  auto number = [&](double value) { return emitNumber(b, f32, value); };
  auto clamp = [&](Value value) { return emitWithin(b, value, 0, 255); };
  auto round = [&](Value value) { return emitUnary(b, nn::UnaryKind::Round, value, f32); };
  auto toCode = [&](Value value) { return emitLowBits(b, value, to); };
  Value range = bin(nn::BinaryKind::Div, bin(nn::BinaryKind::Sub, high, low), number(255));
  Value isTiny = emitCompare(b, nn::CompareKind::Lt, range, number(std::numeric_limits<float>::min()), f32);
  Value scale = b.create<arith::SelectOp>(loc, isTiny, number(1), range);
  // 0, and NaN where a bound is infinite; one that is NaN has made the range so.
  Value spread = bin(nn::BinaryKind::Sub, low, low);
  spread = bin(nn::BinaryKind::Add, spread, bin(nn::BinaryKind::Sub, high, high));
  Value zero = clamp(round(bin(nn::BinaryKind::Div, emitUnary(b, nn::UnaryKind::Neg, low, f32), scale)));
  Value steps = round(bin(nn::BinaryKind::Mul, x, bin(nn::BinaryKind::Div, number(1), scale)));
  return {toCode(clamp(bin(nn::BinaryKind::Add, steps, zero))), bin(nn::BinaryKind::Add, scale, spread), toCode(zero)};
}

/// Scale and zero point of the whole tensor, from its range. The elements follow as a map over them.
void heddle::outlineQuantizationRange(Outliner &outliner, nn::DynamicQuantizeLinearOp root) {
  ShapeContext &shapes = outliner.getShapes();
  KernelBuilder kernel(outliner.getContext(), outliner.getSymbols(), shapes);
  KernelScope scope{kernel, {}};
  scope.ops.insert(root);
  ShapeDims dims = outliner.getDims(root.getInput());
  Type f32 = Float32Type::get(root.getContext()), u8 = elementTypeOf(root.getOutput());
  Location loc = UnknownLoc::get(root.getContext());

  unsigned body = kernel.addRegion({}, /*firstInput=*/0, {});
  ScalarEmitter bodyEmitter(outliner, scope, body);
  OpBuilder &inBody = bodyEmitter.getBuilder();
  Value x = bodyEmitter.emit(root.getInput(), identityIndex(dims.size(), root.getContext()));
  // The range includes 0, which also stands in for what is no number.
  Value isNan = emitUnary(inBody, nn::UnaryKind::IsNan, x, f32);
  x = inBody.create<arith::SelectOp>(loc, isNan, emitNumber(inBody, f32, 0), x);
  kernel.yield(body, {x, x});
  kernel.closeInputs(body);
  int64_t inputCount = kernel.getNumInputs();

  unsigned finish = kernel.addRegion({f32, f32}, inputCount, {});
  OpBuilder b = kernel.at(finish);
  auto bin = [&](nn::BinaryKind kind, Value l, Value r) { return emitBinary(b, kind, l, r, f32, f32); };
  Value zero = emitNumber(b, f32, 0);
  Value low = bin(nn::BinaryKind::Min, kernel.getLeading(finish, 0), zero);
  Value high = bin(nn::BinaryKind::Max, kernel.getLeading(finish, 1), zero);
  Value scale = bin(nn::BinaryKind::Div, bin(nn::BinaryKind::Sub, high, low), emitNumber(b, f32, 255));
  Value code = emitQuantized(b, emitUnary(b, nn::UnaryKind::Neg, low, f32), scale, Value(), u8);
  Value isFlat = emitCompare(b, nn::CompareKind::Eq, scale, zero, f32);
  kernel.yield(finish, {scale, b.create<arith::SelectOp>(loc, isFlat, emitNumber(b, u8, 0), code)});

  auto reduced = llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
  Attribute combiners[] = {kernel::CombinerAttr::get(root.getContext(), kernel::Combiner::Minimum),
                           kernel::CombinerAttr::get(root.getContext(), kernel::Combiner::Maximum)};
  outliner.finishKernel(scope, {{root.getScale(), {}}, {root.getZeroPoint(), {}}}, dims,
                        shapes.mul(shapes.product(dims), shapes.constant(2)),
                        [&](OpBuilder &at, Location where, TypeRange results, ValueRange inputs, ValueRange sizes,
                            AffineMap bounds, ArrayAttr maps) -> Operation * {
                          return at.create<kernel::ReduceOp>(where, results, inputs, sizes, bounds, maps, reduced,
                                                             inputCount, at.getArrayAttr(combiners));
                        });
}
