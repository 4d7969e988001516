// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emission of one element's expression into a kernel's region: what is stored becomes an operand, the rest is computed.

#include "compiler/transforms/outlining/Outliner.h"
#include "compiler/transforms/outlining/ScalarOps.h"

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Locations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;

static Type elementTypeOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// An nn scalar attribute as arith constants hold it: without a sign.
static TypedAttr signless(Attribute value) {
  auto integer = dyn_cast<IntegerAttr>(value);
  if (!integer)
    return cast<TypedAttr>(value);
  return IntegerAttr::get(kernelElementType(integer.getType()), integer.getValue());
}

Value ScalarEmitter::emit(Value value, ArrayRef<AffineExpr> index) {
  if (Value scalar = bound.lookup(value))
    return scalar;
  for (auto &[cachedValue, cachedIndex, scalar] : cache)
    if (cachedValue == value && ArrayRef(cachedIndex) == index)
      return scalar;
  Value scalar = emitUncached(value, index);
  cache.emplace_back(value, AffineIndex(index), scalar);
  return scalar;
}

Value ScalarEmitter::emitUncached(Value value, ArrayRef<AffineExpr> index) {
  if (outliner.analysis.getElements(value))
    return emitElements(value, index);
  if (auto constant = value.getDefiningOp<nn::ConstantOp>())
    return emitConstant(constant, index);
  if (const TensorView *view = outliner.findView(value))
    return emitElement(*view, index);
  Operation *op = value.getDefiningOp();
  scope.ops.insert(op);
  if (getOutlineRole(op) == OutlineRole::View)
    return emit(op->getOperand(0), viewOperandIndex(outliner, outliner.analysis, cast<OpResult>(value), index));
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](nn::ClipOp clip) { return emitClip(clip, index); })
      .Case([&](nn::GatherOp gather) { return emitGather(gather, index); })
      .Case([&](nn::GatherElementsOp gather) { return emitGatherElements(gather, index); })
      .Case([&](nn::GatherNdOp gather) { return emitGatherNd(gather, index); })
      .Case([&](nn::RangeOp range) { return emitRange(range, index); })
      .Case([&](nn::TriluOp trilu) { return emitTrilu(trilu, index); })
      .Case([&](nn::ConcatOp concat) { return emitConcat(concat, index); })
      .Case([&](nn::PadOp pad) { return emitPad(pad, index); })
      .Case([&](nn::ResizeOp resize) { return emitResize(resize, index); })
      .Case([&](nn::OneHotOp oneHot) { return emitOneHot(oneHot, index); })
      .Case([&](nn::QuantizeLinearOp quantize) { return emitQuantize(quantize, index); })
      .Case([&](nn::DequantizeLinearOp dequantize) { return emitDequantize(dequantize, index); })
      .Case([&](nn::DynamicQuantizeLinearOp quantize) { return emitDynamicQuantize(quantize, index); })
      .Case([&](nn::ConstantOfShapeOp fill) -> Value {
        return builder.create<arith::ConstantOp>(UnknownLoc::get(fill.getContext()), signless(fill.getValue()));
      })
      .Default([&](Operation *elementwise) { return emitElementwise(elementwise, index); });
}

Value ScalarEmitter::emitParameter(Value value, ArrayRef<AffineExpr> index) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!dense || dense.getNumElements() != 1)
    return emit(value, index);
  auto number = dyn_cast<IntegerAttr>(dense.getSplatValue<Attribute>());
  return number && number.getValue().isZero() ? emit(value, index) : emitElement(*outliner.findView(value), index);
}

Value ScalarEmitter::emitElement(const TensorView &view, ArrayRef<AffineExpr> index) {
  if (isWalkable(view, index, outliner.symbols, outliner.getShapes()))
    return kernel.getElement(region, kernel.addInput(view, index));
  // Divisions that don't cancel: the address is computed for each element.
  kernel.markUnstrided();
  SmallVector<Value> places;
  for (AffineExpr expr : index)
    places.push_back(emitIndex(expr));
  return emitLoad(view, places, nullptr);
}

Value ScalarEmitter::emitAsF32(Value value, ArrayRef<AffineExpr> index) {
  Type type = elementTypeOf(value);
  Value scalar = emit(value, index);
  return type.isF16() || type.isBF16() ? emitCast(builder, scalar, type, builder.getF32Type()) : scalar;
}

//===----------------------------------------------------------------------===//
// Sizes, indices and constants
//===----------------------------------------------------------------------===//

Value ScalarEmitter::emitSize(ShapeExpr expr, Type type) {
  Location loc = UnknownLoc::get(builder.getContext());
  if (std::optional<int64_t> value = expr.getConstant())
    return isa<FloatType>(type)
               ? emitNumber(builder, type, static_cast<double>(*value))
               : builder.create<arith::ConstantOp>(loc, builder.getIntegerAttr(kernelElementType(type), *value));
  Value size = kernel.getSize(builder, expr);
  Value wide = builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), size);
  return emitCast(builder, wide, builder.getI64Type(), type);
}

Value ScalarEmitter::emitIndex(AffineExpr expr) {
  SmallVector<Value> loops;
  expr.walk([&](AffineExpr part) {
    auto dim = dyn_cast<AffineDimExpr>(part);
    if (!dim)
      return;
    loops.resize(std::max<size_t>(loops.size(), dim.getPosition() + 1));
    Value &loop = loops[dim.getPosition()];
    if (!loop)
      loop = builder.create<kernel::IndexOp>(UnknownLoc::get(builder.getContext()), builder.getIndexType(),
                                             dim.getPosition());
  });
  return evaluate(expr, loops);
}

Value ScalarEmitter::evaluate(AffineExpr expr, ArrayRef<Value> dims) {
  Location loc = UnknownLoc::get(builder.getContext());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return builder.create<arith::ConstantIndexOp>(loc, constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return kernel.getSize(builder, outliner.symbols.of(symbol.getPosition()));
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = evaluate(binary.getLHS(), dims), rhs = evaluate(binary.getRHS(), dims);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return builder.create<arith::AddIOp>(loc, lhs, rhs);
  case AffineExprKind::Mul:
    return builder.create<arith::MulIOp>(loc, lhs, rhs);
  // Positions are never negative, so truncation is the floor.
  case AffineExprKind::FloorDiv:
    return builder.create<arith::DivUIOp>(loc, lhs, rhs);
  default:
    return builder.create<arith::RemUIOp>(loc, lhs, rhs);
  }
}

Value ScalarEmitter::emitElements(Value value, ArrayRef<AffineExpr> index) {
  ArrayRef<ShapeExpr> elements = *outliner.analysis.getElements(value);
  if (!elements.empty() && llvm::all_equal(elements))
    return emitSize(elements.front(), elementTypeOf(value));
  return kernel.getElement(region, kernel.addInput(outliner.storeElements(value), index));
}

Value ScalarEmitter::emitConstant(nn::ConstantOp op, ArrayRef<AffineExpr> index) {
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (dense && dense.isSplat() && dense.getNumElements() > 0)
    return builder.create<arith::ConstantOp>(UnknownLoc::get(op.getContext()),
                                             signless(dense.getSplatValue<Attribute>()));
  return kernel.getElement(region, kernel.addInput(*outliner.findView(op.getOutput()), index));
}

//===----------------------------------------------------------------------===//
// Element-wise ops
//===----------------------------------------------------------------------===//

Value ScalarEmitter::emitElementwise(Operation *op, ArrayRef<AffineExpr> index) {
  // What is computed once for a whole tensor is a parameter: the product of two scales.
  bool isParameter = cast<RankedTensorType>(op->getResult(0).getType()).getRank() == 0;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    AffineIndex place = broadcastIndex(operand, op->getResult(0), index);
    operands.push_back(isParameter ? emitParameter(operand, place) : emit(operand, place));
  }
  return emitElementwiseOp(op, operands);
}

Value ScalarEmitter::emitElementwiseOp(Operation *op, ArrayRef<Value> operands) {
  Value result = op->getResult(0);
  Type type = elementTypeOf(op->getOperand(0));
  if (auto unary = dyn_cast<nn::UnaryOp>(op))
    return emitUnary(builder, unary.getKind(), operands[0], type);
  if (auto binary = dyn_cast<nn::BinaryOp>(op))
    return emitBinary(builder, binary.getKind(), operands[0], operands[1], type, elementTypeOf(binary.getRhs()));
  if (auto compare = dyn_cast<nn::CompareOp>(op))
    return emitCompare(builder, compare.getKind(), operands[0], operands[1], type);
  if (auto cast = dyn_cast<nn::CastOp>(op))
    return emitCast(builder, operands[0], type, elementTypeOf(result));
  // nn.where
  return builder.create<arith::SelectOp>(UnknownLoc::get(op->getContext()), operands[0], operands[1], operands[2]);
}

Value ScalarEmitter::emitClip(nn::ClipOp op, ArrayRef<AffineExpr> index) {
  Type type = elementTypeOf(op.getInput());
  Value x = emit(op.getInput(), index);
  if (op.getMin())
    x = emitBinary(builder, nn::BinaryKind::Max, x, emit(op.getMin(), {}), type, type);
  if (op.getMax())
    x = emitBinary(builder, nn::BinaryKind::Min, x, emit(op.getMax(), {}), type, type);
  return x;
}

Value ScalarEmitter::emitRange(nn::RangeOp op, ArrayRef<AffineExpr> index) {
  Type type = elementTypeOf(op.getOutput());
  Location loc = UnknownLoc::get(op.getContext());
  Value place = builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), emitIndex(index[0]));
  Value step = emitBinary(builder, nn::BinaryKind::Mul, emitCast(builder, place, builder.getI64Type(), type),
                          emit(op.getDelta(), {}), type, type);
  return emitBinary(builder, nn::BinaryKind::Add, emit(op.getStart(), {}), step, type, type);
}

Value ScalarEmitter::emitTrilu(nn::TriluOp op, ArrayRef<AffineExpr> index) {
  Type type = elementTypeOf(op.getOutput()), i64 = builder.getI64Type();
  Location loc = UnknownLoc::get(op.getContext());
  auto place = [&](AffineExpr expr) -> Value { return builder.create<arith::IndexCastOp>(loc, i64, emitIndex(expr)); };
  Value offset = builder.create<arith::SubIOp>(loc, place(index.back()), place(index[index.size() - 2]));
  Value k = op.getK() ? emit(op.getK(), {}) : emitNumber(builder, i64, 0);
  auto kind = op.getUpper() ? nn::CompareKind::Ge : nn::CompareKind::Le;
  Value keeps = emitCompare(builder, kind, offset, k, i64);
  return builder.create<arith::SelectOp>(loc, keeps, emit(op.getInput(), index), emitNumber(builder, type, 0));
}

//===----------------------------------------------------------------------===//
// Reads at computed places
//===----------------------------------------------------------------------===//

Value ScalarEmitter::emitLoad(const TensorView &view, ArrayRef<Value> index, Operation *op) {
  ShapeExpr reads = outliner.getShapes().product(op ? outliner.getDims(op->getResult(0)) : view.baseDims);
  Value table = kernel.addTable(view.buffer, view.baseDims, view.elementType, reads);
  SmallVector<Value> places;
  for (AffineExpr expr : view.indices)
    places.push_back(evaluate(expr, index));
  IntegerAttr site;
  if (llvm::any_of(places, [](Value place) { return !place.getType().isIndex(); })) {
    std::optional<nn::OnnxNode> node = nn::findOnnxNode(op->getLoc());
    site = builder.getI64IntegerAttr(
        kernel.addErrorSite(builder.getStrArrayAttr({node ? node->name : "", node ? node->type : "", "index"})));
  }
  return builder.create<kernel::GatherOp>(UnknownLoc::get(builder.getContext()), kernelElementType(view.elementType),
                                          table, places, site);
}

/// True if dimension |axis| of the tensor is a base dimension as it is: an index into one is an index into the other.
static bool isPlainAxis(const TensorView &view, int64_t axis, ShapeExpr extent) {
  unsigned uses = 0;
  for (auto [dim, expr] : llvm::zip(view.baseDims, view.indices)) {
    if (!expr.isFunctionOfDim(axis))
      continue;
    ++uses;
    if (!isa<AffineDimExpr>(expr) || dim != extent)
      return false;
  }
  return uses == 1;
}

const TensorView &Outliner::getIndexableView(Value value, ArrayRef<int64_t> axes) {
  ShapeDims dims = getDims(value);
  const TensorView *view = findView(value);
  bool isPlain = view && llvm::all_of(axes, [&](int64_t axis) { return isPlainAxis(*view, axis, dims[axis]); });
  return isPlain ? *view : materialize(value);
}

Value ScalarEmitter::emitGather(nn::GatherOp op, ArrayRef<AffineExpr> index) {
  int64_t axis = op.getAxis(), indexRank = cast<RankedTensorType>(op.getIndices().getType()).getRank();
  int64_t dataRank = cast<RankedTensorType>(op.getData().getType()).getRank();
  SmallVector<Value> places;
  for (int64_t i = 0; i < dataRank; ++i) {
    if (i == axis)
      places.push_back(emit(op.getIndices(), index.slice(axis, indexRank)));
    else
      places.push_back(emitIndex(index[i < axis ? i : i + indexRank - 1]));
  }
  if (!outliner.findView(op.getData()) && isDequantizedTable(op.getData()))
    return emitPart(op.getData(), places, op);
  return emitLoad(outliner.getIndexableView(op.getData(), {axis}), places, op);
}

Value ScalarEmitter::emitGatherElements(nn::GatherElementsOp op, ArrayRef<AffineExpr> index) {
  int64_t axis = op.getAxis();
  const TensorView view = outliner.getIndexableView(op.getData(), {axis});
  SmallVector<Value> places;
  for (auto [i, expr] : llvm::enumerate(index))
    places.push_back(static_cast<int64_t>(i) == axis ? emit(op.getIndices(), index) : emitIndex(expr));
  return emitLoad(view, places, op);
}

Value ScalarEmitter::emitGatherNd(nn::GatherNdOp op, ArrayRef<AffineExpr> index) {
  auto indicesType = cast<RankedTensorType>(op.getIndices().getType());
  int64_t batch = op.getBatchDims(), tuple = indicesType.getShape().back();
  int64_t dataRank = cast<RankedTensorType>(op.getData().getType()).getRank();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(batch, batch + tuple));
  const TensorView view = outliner.getIndexableView(op.getData(), axes);
  ArrayRef<AffineExpr> outer = index.take_front(indicesType.getRank() - 1);
  SmallVector<Value> places;
  for (int64_t i = 0; i < dataRank; ++i) {
    if (i < batch) {
      places.push_back(emitIndex(index[i]));
    } else if (i < batch + tuple) {
      AffineIndex place(outer);
      place.push_back(getAffineConstantExpr(i - batch, op.getContext()));
      places.push_back(emit(op.getIndices(), place));
    } else {
      places.push_back(emitIndex(index[outer.size() + i - batch - tuple]));
    }
  }
  return emitLoad(view, places, op);
}

SmallVector<Value> ScalarEmitter::broadcastPlaces(Value operand, Value result, ArrayRef<Value> places) {
  ShapeDims dims = outliner.getDims(operand), resultDims = outliner.getDims(result);
  SmallVector<Value> operandPlaces(places.take_back(dims.size()));
  for (auto [place, dim, resultDim] : llvm::zip(operandPlaces, dims, ArrayRef(resultDims).take_back(dims.size())))
    if (dim.isConstant(1) && !resultDim.isConstant(1))
      place = builder.create<arith::ConstantIndexOp>(UnknownLoc::get(builder.getContext()), 0);
  return operandPlaces;
}

/// Each part is read at its own index, clamped into it, and the one that the index falls into is selected.
Value ScalarEmitter::emitConcat(nn::ConcatOp op, ArrayRef<AffineExpr> index) {
  Location loc = UnknownLoc::get(op.getContext());
  int64_t axis = op.getAxis();
  ShapeContext &shapes = outliner.getShapes();
  SmallVector<Value> places = llvm::map_to_vector(index, [&](AffineExpr expr) { return emitIndex(expr); });
  Value along = places[axis], selected;
  ShapeExpr begin = shapes.constant(0);
  for (Value part : op.getInputs()) {
    ShapeExpr extent = outliner.getDims(part)[axis];
    if (extent.isConstant(0))
      continue;
    Value zero = builder.create<arith::ConstantIndexOp>(loc, 0);
    Value last = kernel.getSize(builder, shapes.max(shapes.sub(extent, shapes.constant(1)), shapes.constant(0)));
    Value start = kernel.getSize(builder, begin);
    Value offset = builder.create<arith::SubIOp>(loc, along, start);
    offset = builder.create<arith::MinSIOp>(loc, builder.create<arith::MaxSIOp>(loc, offset, zero), last);
    places[axis] = offset;
    Value element = emitPart(part, places);
    Value isPast = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, along, start);
    selected = selected ? builder.create<arith::SelectOp>(loc, isPast, element, selected).getResult() : element;
    begin = shapes.add(begin, extent);
  }
  return selected ? selected : emitNumber(builder, elementTypeOf(op.getOutput()), 0);
}

Value ScalarEmitter::clampPlaces(ArrayRef<ShapeExpr> dims, MutableArrayRef<Value> places) {
  Location loc = UnknownLoc::get(builder.getContext());
  ShapeContext &shapes = outliner.getShapes();
  Value zero = builder.create<arith::ConstantIndexOp>(loc, 0), isInside;
  for (auto [place, extent] : llvm::zip(places, dims)) {
    // One unsigned comparison: what is negative is beyond every extent.
    Value fits = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, place, kernel.getSize(builder, extent));
    isInside = isInside ? builder.create<arith::AndIOp>(loc, isInside, fits).getResult() : fits;
    Value last = kernel.getSize(builder, shapes.max(shapes.sub(extent, shapes.constant(1)), shapes.constant(0)));
    place = builder.create<arith::MinSIOp>(loc, builder.create<arith::MaxSIOp>(loc, place, zero), last);
  }
  return isInside;
}

Value ScalarEmitter::emitPadded(Value value, SmallVector<Value> places, Value padding) {
  Value isInside = clampPlaces(outliner.getDims(value), places), element = emitPart(value, places);
  if (!isInside)
    return element;
  return builder.create<arith::SelectOp>(UnknownLoc::get(builder.getContext()), isInside, element, padding);
}

Value ScalarEmitter::emitPadded(const TensorView &view, SmallVector<Value> places, Value padding) {
  Value isInside = clampPlaces(view.baseDims, places), element = emitLoad(view, places, nullptr);
  return builder.create<arith::SelectOp>(UnknownLoc::get(builder.getContext()), isInside, element, padding);
}

Value ScalarEmitter::emitPart(Value part, ArrayRef<Value> places, Operation *reader) {
  if (outliner.analysis.getElements(part))
    return emitLoad(outliner.storeElements(part), places, reader);
  if (auto constant = part.getDefiningOp<nn::ConstantOp>(); constant && isa<SplatElementsAttr>(constant.getValue()))
    return emitConstant(constant, {});
  Operation *op = part.getDefiningOp();
  if (!outliner.findView(part) && getOutlineRole(op) == OutlineRole::View) {
    scope.ops.insert(op);
    AffineIndex index = identityIndex(places.size(), op->getContext());
    SmallVector<Value> source;
    for (AffineExpr expr : viewOperandIndex(outliner, outliner.analysis, cast<OpResult>(part), index))
      source.push_back(evaluate(expr, places));
    return emitPart(op->getOperand(0), source, reader);
  }
  if (!outliner.findView(part) && op->hasTrait<nn::Broadcasting>() && !isa<nn::ClipOp>(op)) {
    scope.ops.insert(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(emitPart(operand, broadcastPlaces(operand, part, places), reader));
    return emitElementwiseOp(op, operands);
  }
  if (auto dequantize = dyn_cast_or_null<nn::DequantizeLinearOp>(op); dequantize && !outliner.findView(part))
    return emitDequantizedPart(dequantize, places, reader);
  return emitLoad(outliner.getIndexableView(part, {}), places, reader);
}
