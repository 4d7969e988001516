// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One element of a tensor as scalar ops and captures.

#include "compiler/transforms/fusion/ElementEmitter.h"

#include "compiler/transforms/outlining/ScalarOps.h"
#include "dialects/attn/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

static Type elementTypeOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

ElementEmitter::ElementEmitter(KnownDims &dims, const LoopSpace &space, MLIRContext *context, TypeRange leading)
    : dims(dims), space(space), builder(context), loc(UnknownLoc::get(context)), numLeading(leading.size()) {
  Block &block = region.emplaceBlock();
  for (Type type : leading)
    block.addArgument(type, loc);
  for (unsigned i = 0; i < 4; ++i)
    block.addArgument(builder.getIndexType(), loc);
  builder.setInsertionPointToEnd(&block);
}

Value ElementEmitter::constant(TypedAttr value) { return builder.create<arith::ConstantOp>(loc, value); }

Value ElementEmitter::emit(Value tensor, ArrayRef<LinearIndex> index) {
  for (auto &[element, scalar] : cache)
    if (element.tensor == tensor && ArrayRef(element.index) == index)
      return scalar;
  Value scalar = emitUncached(tensor, index);
  if (scalar)
    cache.emplace_back(Element{tensor, TensorIndex(index)}, scalar);
  return scalar;
}

bool ElementEmitter::holdsScore(Value tensor) {
  if (!score)
    return false;
  if (tensor == score->tensor)
    return true;
  auto [it, isNew] = scoreHolders.try_emplace(tensor, false);
  Operation *op = tensor.getDefiningOp();
  if (isNew && op && isScoreStep(op)) {
    bool holds = llvm::any_of(op->getOperands(), [&](Value operand) { return holdsScore(operand); });
    scoreHolders[tensor] = holds;
    return holds;
  }
  return scoreHolders[tensor];
}

Value ElementEmitter::emitUncached(Value tensor, ArrayRef<LinearIndex> index) {
  if (score && tensor == score->tensor) {
    bool isSame = llvm::equal(score->index, index, [&](const LinearIndex &a, const LinearIndex &b) {
      return space.dropUnitLoops(a) == space.dropUnitLoops(b);
    });
    return isSame ? Value(region.getArgument(0)) : Value();
  }
  if (Value splat = emitSplat(tensor))
    return splat;
  if (dims.get(tensor).size() != index.size())
    return nullptr;
  // No exporter's chain is as long; what is, is computed outside.
  constexpr unsigned kMaxDepth = 128;
  if (depth > kMaxDepth)
    return capture(tensor, index);
  llvm::SaveAndRestore<unsigned> deeper(depth, depth + 1);
  if (holdsScore(tensor))
    return emitComputed(tensor, index);
  if (Value position = emitPosition(tensor, index))
    return position;
  if (Value value = emitBand(tensor, index))
    return value;
  // Indices are cheaper than what is computed of them, and an analysis of tiles understands them.
  if (auto compare = tensor.getDefiningOp<nn::CompareOp>())
    if (Value plain = emitPositions(compare, index))
      return plain;
  auto depends = [&](Loop loop) {
    return llvm::any_of(index, [&](const LinearIndex &entry) { return !entry.factors[loop].isConstant(0); });
  };
  // What is smaller than the scores is computed once, outside; of what is as large only indices and captures remain.
  if (depends(kLoopQuery) && depends(kLoopKey))
    if (Value scalar = emitComputed(tensor, index))
      return scalar;
  return captureSource(tensor, index);
}

Value ElementEmitter::emitSource(Value tensor, ArrayRef<LinearIndex> index) {
  std::optional<Element> source = getElementSource(space, dims, {tensor, TensorIndex(index)});
  if (!source)
    return nullptr;
  // What is picked out of a larger tensor says nothing about that tensor's size.
  bool picks = isa<nn::SliceOp, nn::SplitOp, nn::GatherOp, nn::GatherNdOp, nn::ConcatOp>(tensor.getDefiningOp());
  llvm::SaveAndRestore<bool> restore(trustsSizes, trustsSizes && !picks);
  return emit(source->tensor, source->index);
}

Value ElementEmitter::emitComputed(Value tensor, ArrayRef<LinearIndex> index) {
  if (Value scalar = emitSource(tensor, index))
    return scalar;
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return nullptr;
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](nn::CompareOp compare) { return emitCompareOp(compare, index); })
      .Case([&](nn::TriluOp trilu) { return emitTrilu(trilu, index); })
      .Case([&](nn::QuantizeLinearOp quantize) { return emitQuantize(quantize, index); })
      .Case([&](nn::DequantizeLinearOp dequantize) { return emitDequantize(dequantize, index); })
      .Case<nn::UnaryOp, nn::BinaryOp, nn::WhereOp, nn::CastOp>(
          [&](Operation *elementwise) { return emitElementwise(elementwise, index); })
      .Default([](Operation *) { return nullptr; });
}

/// Captures the tensor that |tensor| is a view of, or |tensor| where the view has no plain index.
Value ElementEmitter::captureSource(Value tensor, ArrayRef<LinearIndex> index) {
  Value scalar = emitSource(tensor, index);
  return scalar ? scalar : capture(tensor, index);
}

AffineExpr ElementEmitter::getAffine(const LinearIndex &index) const {
  static constexpr std::pair<Loop, unsigned> kPlain[] = {{kLoopBatch, kBatch}, {kLoopQuery, kQuery}, {kLoopKey, kKey}};
  MLIRContext *context = builder.getContext();
  auto constantOf = [](ShapeExpr expr) { return expr ? expr.getConstant() : std::nullopt; };
  std::optional<int64_t> offset = constantOf(index.offset);
  if (!offset || constantOf(index.factors[kLoopSize]) != 0)
    return nullptr;
  AffineExpr sum = getAffineConstantExpr(*offset, context);
  for (auto [loop, dim] : kPlain) {
    std::optional<int64_t> factor = constantOf(index.factors[loop]);
    if (!factor)
      return nullptr;
    sum = sum + getAffineDimExpr(dim, context) * *factor;
  }
  // Key head and group together are the query head, of which regions know.
  std::optional<int64_t> head = constantOf(index.factors[kLoopKeyHead]), group = constantOf(index.factors[kLoopGroup]);
  std::optional<int64_t> size = constantOf(space.extent(kLoopGroup)), heads = constantOf(space.extent(kLoopKeyHead));
  if (!head || !group || !size || !heads)
    return nullptr;
  int64_t factor = *size > 1 ? *group : *head;
  bool isPlain = (*size == 1 && *group == 0) || (*heads == 1 && *head == 0) || *head == *group * *size;
  return isPlain ? sum + getAffineDimExpr(kHead, context) * factor : nullptr;
}

Value ElementEmitter::capture(Value tensor, ArrayRef<LinearIndex> index) {
  Type type = elementTypeOf(tensor);
  if (!type.isSignlessIntOrFloat())
    return nullptr;
  SmallVector<AffineExpr> exprs;
  // Nothing may be read past the end of a tensor whose size only a run tells; where a capture's axis is one of
  // attention's, the op itself asks for equal sizes, as the broadcast did that it stands for.
  for (auto [entry, extent] : llvm::zip_equal(index, dims.get(tensor))) {
    AffineExpr expr = getAffine(entry);
    if (!expr || !(space.isWithin(entry, extent) || (trustsSizes && isa<AffineDimExpr>(expr))))
      return nullptr;
    exprs.push_back(expr);
  }
  return emitCapture(tensor, AffineMap::get(4, 0, exprs, builder.getContext()));
}

Value ElementEmitter::emitCapture(Value tensor, AffineMap map) {
  for (auto [i, captured] : llvm::enumerate(captures))
    if (captured == tensor && maps[i] == map)
      return region.getArgument(numLeading + 4 + i);
  captures.push_back(tensor);
  maps.push_back(map);
  return region.addArgument(elementTypeOf(tensor), loc);
}

Value ElementEmitter::emitSplat(Value tensor) {
  TypedAttr value = getSplat(tensor);
  return value ? constant(value) : Value();
}

Value ElementEmitter::emitElementwise(Operation *op, ArrayRef<LinearIndex> index) {
  LoopDims resultDims = dims.get(op->getResult(0));
  if (Value kept = assumed.lookup(op))
    return emit(kept, broadcastSource(space, dims.get(kept), resultDims, index));
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(emit(operand, broadcastSource(space, dims.get(operand), resultDims, index)));
    if (!operands.back())
      return nullptr;
  }
  Type type = elementTypeOf(op->getOperand(0));
  if (auto binary = dyn_cast<nn::BinaryOp>(op)) {
    if (binary.getKind() == nn::BinaryKind::And)
      return emitAnd(operands[0], operands[1]);
    // Where a fill was, 0 is left; to a softmax both zeros are one.
    if (binary.getKind() == nn::BinaryKind::Add && matchPattern(operands[1], m_AnyZeroFloat()))
      return operands[0];
    return emitBinary(builder, binary.getKind(), operands[0], operands[1], type, elementTypeOf(binary.getRhs()));
  }
  if (auto unary = dyn_cast<nn::UnaryOp>(op))
    return unary.getKind() == nn::UnaryKind::Not ? emitNot(operands[0])
                                                 : emitUnary(builder, unary.getKind(), operands[0], type);
  if (auto cast = dyn_cast<nn::CastOp>(op))
    return simplify(emitCast(builder, operands[0], type, elementTypeOf(cast.getOutput())));
  return builder.create<arith::SelectOp>(loc, operands[0], operands[1], operands[2]);
}

//===------------------------------------------------------------------------------------------------------------===//
// Comparisons of indices.
//===------------------------------------------------------------------------------------------------------------===//

Value ElementEmitter::emitIndex(const LinearIndex &index) {
  AffineExpr expr = getAffine(index);
  if (!expr)
    return nullptr;
  // A sum of products: small enough to write term by term.
  std::function<Value(AffineExpr)> build = [&](AffineExpr part) -> Value {
    if (auto dim = dyn_cast<AffineDimExpr>(part))
      return region.getArgument(numLeading + dim.getPosition());
    if (auto number = dyn_cast<AffineConstantExpr>(part))
      return builder.create<arith::ConstantIndexOp>(loc, number.getValue());
    auto binary = cast<AffineBinaryOpExpr>(part);
    Value lhs = build(binary.getLHS()), rhs = build(binary.getRHS());
    if (binary.getKind() == AffineExprKind::Add)
      return builder.create<arith::AddIOp>(loc, lhs, rhs);
    return builder.create<arith::MulIOp>(loc, lhs, rhs);
  };
  return build(expr);
}

/// An integer tensor of positions, as its own type; null where it is something else.
Value ElementEmitter::emitPosition(Value tensor, ArrayRef<LinearIndex> index) {
  std::optional<LinearIndex> linear = getLinearElement(space, dims, tensor, index);
  Value position = linear ? emitIndex(*linear) : Value();
  return position ? builder.create<arith::IndexCastOp>(loc, elementTypeOf(tensor), position).getResult() : Value();
}

static arith::CmpIPredicate getPredicate(nn::CompareKind kind) {
  switch (kind) {
  case nn::CompareKind::Eq:
    return arith::CmpIPredicate::eq;
  case nn::CompareKind::Ne:
    return arith::CmpIPredicate::ne;
  case nn::CompareKind::Lt:
    return arith::CmpIPredicate::slt;
  case nn::CompareKind::Le:
    return arith::CmpIPredicate::sle;
  case nn::CompareKind::Gt:
    return arith::CmpIPredicate::sgt;
  case nn::CompareKind::Ge:
    return arith::CmpIPredicate::sge;
  }
  return arith::CmpIPredicate::eq;
}

/// True only if |index| is at least 0 in all iterations: its greatest value bounds nothing.
static bool isNonNegative(const LoopSpace &space, const LinearIndex &index) {
  ShapeContext &context = space.getContext();
  return index.offset && context.isProvablyNonNegative(index.offset) &&
         llvm::all_of(index.factors, [&](ShapeExpr factor) { return factor && context.isProvablyNonNegative(factor); });
}

Value ElementEmitter::emitComparison(nn::CompareKind kind, const LinearIndex &lhs, const LinearIndex &rhs) {
  LinearIndex difference = space.add(lhs, space.scale(rhs, space.getContext().constant(-1)));
  LinearIndex opposite = space.scale(difference, space.getContext().constant(-1));
  if ((kind == nn::CompareKind::Ge && isNonNegative(space, difference)) ||
      (kind == nn::CompareKind::Le && isNonNegative(space, opposite)))
    return constant(builder.getBoolAttr(true));
  Value left = emitIndex(lhs), right = left ? emitIndex(rhs) : Value();
  return right ? builder.create<arith::CmpIOp>(loc, getPredicate(kind), left, right).getResult() : Value();
}

Value ElementEmitter::emitPositions(nn::CompareOp op, ArrayRef<LinearIndex> index) {
  LoopDims resultDims = dims.get(op.getOutput());
  auto linear = [&](Value side) {
    return getLinearElement(space, dims, side, broadcastSource(space, dims.get(side), resultDims, index));
  };
  std::optional<LinearIndex> left = linear(op.getLhs()), right = left ? linear(op.getRhs()) : std::nullopt;
  return right ? emitComparison(op.getKind(), *left, *right) : Value();
}

Value ElementEmitter::emitCompareOp(nn::CompareOp op, ArrayRef<LinearIndex> index) {
  if (Value plain = emitPositions(op, index))
    return plain;
  LoopDims resultDims = dims.get(op.getOutput());
  Element lhs{op.getLhs(), broadcastSource(space, dims.get(op.getLhs()), resultDims, index)};
  Element rhs{op.getRhs(), broadcastSource(space, dims.get(op.getRhs()), resultDims, index)};
  Value left = emit(lhs.tensor, lhs.index), right = left ? emit(rhs.tensor, rhs.index) : Value();
  return right ? simplify(emitCompare(builder, op.getKind(), left, right, elementTypeOf(op.getLhs()))) : Value();
}

Value ElementEmitter::emitTrilu(nn::TriluOp op, ArrayRef<LinearIndex> index) {
  std::optional<LinearIndex> bound = op.getK() ? getLinearElement(space, dims, op.getK(), {}) : space.zero();
  if (!bound)
    return nullptr;
  const LinearIndex &row = index[index.size() - 2], &column = index.back();
  // column - row <= k, or >= k for the upper triangle.
  Value inside =
      emitComparison(op.getUpper() ? nn::CompareKind::Ge : nn::CompareKind::Le, column, space.add(row, *bound));
  Value element = inside ? emit(op.getInput(), index) : Value();
  if (!element)
    return nullptr;
  if (element.getType().isInteger(1) && isTrue(element))
    return inside;
  Value zero = emitNumber(builder, elementTypeOf(op.getOutput()), 0);
  return builder.create<arith::SelectOp>(loc, inside, element, zero);
}

void ElementEmitter::finish(Value yielded) {
  builder.create<YieldOp>(loc, yielded);
  Block &block = region.front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (!isa<YieldOp>(op) && op.use_empty())
      op.erase();
  for (unsigned i = captures.size(); i-- > 0;) {
    unsigned argument = numLeading + 4 + i;
    if (!block.getArgument(argument).use_empty())
      continue;
    block.eraseArgument(argument);
    captures.erase(captures.begin() + i);
    maps.erase(maps.begin() + i);
  }
}
