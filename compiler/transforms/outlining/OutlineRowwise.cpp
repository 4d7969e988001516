// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Softmax, normalisations, quantisation and searches along an axis as kernel.rowwise.

#include "compiler/transforms/outlining/Outliner.h"
#include "compiler/transforms/outlining/ScalarOps.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace mlir;
using namespace heddle;

static Type elementTypeOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// What statistics of a tensor of |type| are taken in: f32 at least.
static Type statType(Type type) {
  return type.isF16() || type.isBF16() ? Float32Type::get(type.getContext()) : kernelElementType(type);
}

static ArrayAttr combinerAttrs(MLIRContext *context, ArrayRef<kernel::Combiner> combiners) {
  return ArrayAttr::get(context, llvm::map_to_vector(combiners, [&](kernel::Combiner combiner) -> Attribute {
                          return kernel::CombinerAttr::get(context, combiner);
                        }));
}

namespace {
/// Arithmetic on statistics, as nn's binary and unary kinds.
struct Stats {
  OpBuilder &builder;
  Type type;
  Value bin(nn::BinaryKind kind, Value x, Value y) { return emitBinary(builder, kind, x, y, type, type); }
  Value un(nn::UnaryKind kind, Value x) { return emitUnary(builder, kind, x, type); }
  Value sub(Value x, Value y) { return bin(nn::BinaryKind::Sub, x, y); }
  Value add(Value x, Value y) { return bin(nn::BinaryKind::Add, x, y); }
  Value mul(Value x, Value y) { return bin(nn::BinaryKind::Mul, x, y); }
  Value div(Value x, Value y) { return bin(nn::BinaryKind::Div, x, y); }
};

/// A row-wise root under construction: the loops, and the stages' regions.
struct Rowwise {
  Outliner &outliner;
  Operation *root, *end;
  KernelBuilder builder;
  KernelScope scope;
  /// Loops: the dimensions outside the row, then the row.
  ShapeDims bounds;
  /// Index of the input (and of a result of its shape) over the loops.
  AffineIndex index;
  ShapeExpr rowLength;

  Rowwise(Outliner &outliner, Operation *root, Operation *end)
      : outliner(outliner), root(root), end(end),
        builder(outliner.getContext(), outliner.getSymbols(), outliner.getShapes()), scope{builder, {}} {
    scope.ops.insert(root);
  }
  Value input() { return root->getOperand(0); }
};
} // namespace

/// The row runs along |axes|, whatever their places.
static void setRowAxes(Rowwise &row, ArrayRef<int64_t> axes) {
  ShapeContext &shapes = row.outliner.getShapes();
  ShapeDims dims = row.outliner.getDims(row.input()), along;
  for (auto [i, dim] : llvm::enumerate(dims))
    (llvm::is_contained(axes, static_cast<int64_t>(i)) ? along : row.bounds).push_back(dim);
  row.rowLength = shapes.product(along);
  AffineExpr loop = getAffineDimExpr(row.bounds.size(), row.outliner.getContext());
  AffineIndex position = reshapeIndex(along, {row.rowLength}, {loop}, row.outliner.getSymbols(), shapes);
  unsigned outer = 0, inner = 0;
  for (int64_t i = 0, e = dims.size(); i < e; ++i) {
    bool isAlong = llvm::is_contained(axes, i);
    row.index.push_back(isAlong ? position[inner++] : getAffineDimExpr(outer++, row.outliner.getContext()));
  }
  row.bounds.push_back(row.rowLength);
}

/// The index of one value per row: that of the input without |axes|, or 0 there.
static AffineIndex rowResultIndex(const Rowwise &row, ArrayRef<int64_t> axes, bool keepdims) {
  AffineIndex index;
  for (auto [i, expr] : llvm::enumerate(row.index)) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      index.push_back(expr);
    else if (keepdims)
      index.push_back(getAffineConstantExpr(0, expr.getContext()));
  }
  return index;
}

/// The row runs along all dimensions from |axis| on.
static void setRowFrom(Rowwise &row, int64_t axis) {
  MLIRContext *context = row.outliner.getContext();
  ShapeDims dims = row.outliner.getDims(row.input());
  row.index = identityIndex(axis, context);
  row.bounds.assign(dims.begin(), dims.begin() + axis);
  ShapeDims inner(ArrayRef(dims).drop_front(axis));
  row.rowLength = row.outliner.getShapes().product(inner);
  row.bounds.push_back(row.rowLength);
  row.index.append(reshapeIndex(inner, {row.rowLength}, {getAffineDimExpr(axis, context)}, row.outliner.getSymbols(),
                                row.outliner.getShapes()));
}

/// The kernel of the regions that are there: one for each combiner and the last, which gives |values|.
static void finishRowwise(Rowwise &row, ArrayRef<kernel::Combiner> combiners,
                          ArrayRef<Outliner::ComputedValue> values) {
  unsigned count = combiners.size();
  ShapeContext &shapes = row.outliner.getShapes();
  int64_t opCount = 0;
  for (unsigned stage = 0; stage <= count; ++stage)
    opCount += row.builder.getRegion(stage).front().getOperations().size();
  ShapeExpr flops = shapes.mul(shapes.product(row.bounds), shapes.constant(opCount));
  row.outliner.finishKernel(row.scope, values, row.bounds, flops,
                            [&](OpBuilder &b, Location loc, TypeRange results, ValueRange inputs, ValueRange sizes,
                                AffineMap bounds, ArrayAttr maps) -> Operation * {
                              return b.create<kernel::RowwiseOp>(loc, results, inputs, sizes, bounds, maps,
                                                                 combinerAttrs(b.getContext(), combiners), count + 1);
                            });
}

/// Adds all regions: each stage's value and, last, the root's own, which the group's ops then continue.
/// |emitStage|(emitter, stats, stage number, earlier stats) gives a stage's value, or the root's for the last number.
/// Statistics are of the input's type, or of |types|, the last of which then is the root's too.
static void buildRowwise(Rowwise &row, ArrayRef<kernel::Combiner> combiners, ArrayRef<AffineExpr> resultIndex,
                         llvm::function_ref<Value(ScalarEmitter &, Stats, unsigned, ArrayRef<Value>)> emitStage,
                         ArrayRef<Type> types = {}) {
  Type type = statType(elementTypeOf(row.input()));
  unsigned count = combiners.size();
  SmallVector<Type> statTypes(types.empty() ? SmallVector<Type>(count, type) : SmallVector<Type>(types));
  for (unsigned stage = 0; stage <= count; ++stage)
    row.builder.addRegion({}, /*firstInput=*/0, ArrayRef(statTypes).take_front(stage));
  for (unsigned stage = 0; stage <= count; ++stage) {
    ScalarEmitter emitter(row.outliner, row.scope, stage);
    SmallVector<Value> stats;
    for (unsigned i = 0; i < stage; ++i)
      stats.push_back(row.builder.getTrailing(stage, i));
    Value value = emitStage(emitter, {emitter.getBuilder(), type}, stage, stats);
    if (stage < count) {
      row.builder.yield(stage, value);
      continue;
    }
    Type resultType = elementTypeOf(row.root->getResult(0));
    emitter.bind(row.root->getResult(0), emitCast(emitter.getBuilder(), value, statTypes.back(), resultType));
    row.builder.yield(stage, emitter.emit(row.end->getResult(0), resultIndex));
  }
  finishRowwise(row, combiners, {{row.end->getResult(0), AffineIndex(resultIndex)}});
}

/// Least and greatest of each row, then the codes of its elements, its scale and its zero point. What lies beyond 0 on
/// one side is in order as a signed integer too, with infinities and NaN at its end, and one instruction merges those.
static void outlineQuantizeRows(Rowwise &row, nn::QuantizeRowsOp op) {
  setRowAxes(row, row.outliner.getDims(op.getInput()).size() - 1);
  Type i32 = IntegerType::get(op.getContext(), 32), f32 = Float32Type::get(op.getContext());
  Location loc = UnknownLoc::get(op.getContext());
  for (unsigned stage = 0; stage <= 2; ++stage)
    row.builder.addRegion({}, /*firstInput=*/0, SmallVector<Type>(stage, i32));
  auto emitRegion = [&](unsigned stage, llvm::function_ref<SmallVector<Value>(OpBuilder &, Value)> emitValues) {
    ScalarEmitter emitter(row.outliner, row.scope, stage);
    Value x = emitter.emit(op.getInput(), row.index);
    row.builder.yield(stage, emitValues(emitter.getBuilder(), x));
  };
  auto toBits = [&](OpBuilder &b, Value x) -> Value { return b.create<arith::BitcastOp>(loc, i32, x); };
  auto negated = [&](OpBuilder &b, Value x) { return emitUnary(b, nn::UnaryKind::Neg, x, f32); };
  emitRegion(0, [&](OpBuilder &b, Value x) { return SmallVector<Value>{toBits(b, negated(b, x))}; });
  emitRegion(1, [&](OpBuilder &b, Value x) { return SmallVector<Value>{toBits(b, x)}; });
  emitRegion(2, [&](OpBuilder &b, Value x) {
    // At least 0, whose bits are 0.
    auto bound = [&](unsigned stat) -> Value {
      Value bits = b.create<arith::MaxSIOp>(loc, row.builder.getTrailing(2, stat), emitNumber(b, i32, 0));
      return b.create<arith::BitcastOp>(loc, f32, bits);
    };
    return emitRowCodes(b, x, negated(b, bound(0)), bound(1), elementTypeOf(op.getOutput()));
  });
  AffineIndex perRow = rowResultIndex(row, row.index.size() - 1, /*keepdims=*/true);
  finishRowwise(row, {kernel::Combiner::Maximum, kernel::Combiner::Maximum},
                {{op.getOutput(), row.index}, {op.getScale(), perRow}, {op.getZeroPoint(), perRow}});
}

//===----------------------------------------------------------------------===//
// Softmax and normalisations
//===----------------------------------------------------------------------===//

static void outlineSoftmax(Rowwise &row, int64_t axis, bool logarithm) {
  setRowAxes(row, axis);
  buildRowwise(row, {kernel::Combiner::Maximum, kernel::Combiner::Sum}, row.index,
               [&](ScalarEmitter &emitter, Stats s, unsigned stage, ArrayRef<Value> stats) {
                 Value x = emitter.emitAsF32(row.input(), row.index);
                 if (stage == 0)
                   return x;
                 Value shifted = s.sub(x, stats[0]);
                 if (stage == 2 && logarithm)
                   return s.sub(shifted, s.un(nn::UnaryKind::Log, stats[1]));
                 Value exponential = s.un(nn::UnaryKind::Exp, shifted);
                 return stage == 1 ? exponential : s.div(exponential, stats[1]);
               });
}

/// (x - mean) / sqrt(variance + epsilon) * scale + bias; the variance from differences to the mean, so that rows far
/// from zero keep their digits.
static void outlineLayerNorm(Rowwise &row, nn::LayerNormOp op) {
  setRowFrom(row, op.getAxis());
  buildRowwise(row, {kernel::Combiner::Sum, kernel::Combiner::Sum}, row.index,
               [&](ScalarEmitter &emitter, Stats s, unsigned stage, ArrayRef<Value> stats) {
                 Value x = emitter.emitAsF32(op.getInput(), row.index);
                 if (stage == 0)
                   return x;
                 Value length = emitter.emitSize(row.rowLength, s.type);
                 Value centred = s.sub(x, s.div(stats[0], length));
                 if (stage == 1)
                   return s.mul(centred, centred);
                 Value epsilon = emitNumber(s.builder, s.type, op.getEpsilon().convertToDouble());
                 Value deviation = s.un(nn::UnaryKind::Sqrt, s.add(s.div(stats[1], length), epsilon));
                 // Multiplied by the inverse, as the operator's definition does: one division for each row.
                 Value y = s.mul(centred, s.div(emitNumber(s.builder, s.type, 1), deviation));
                 y = s.mul(y, emitter.emitBroadcastAsF32(op.getScale(), op.getOutput(), row.index));
                 return op.getBias() ? s.add(y, emitter.emitBroadcastAsF32(op.getBias(), op.getOutput(), row.index))
                                     : y;
               });
}

static void outlineRmsNorm(Rowwise &row, nn::RmsNormOp op) {
  setRowFrom(row, op.getAxis());
  buildRowwise(row, {kernel::Combiner::Sum}, row.index,
               [&](ScalarEmitter &emitter, Stats s, unsigned stage, ArrayRef<Value> stats) {
                 Value x = emitter.emitAsF32(op.getInput(), row.index);
                 if (stage == 0)
                   return s.mul(x, x);
                 Value epsilon = emitNumber(s.builder, s.type, op.getEpsilon().convertToDouble());
                 Value meanSquare = s.div(stats[0], emitter.emitSize(row.rowLength, s.type));
                 Value y = s.div(x, s.un(nn::UnaryKind::Sqrt, s.add(meanSquare, epsilon)));
                 // Rounded to the input's type before scaling, as the operator's definition does.
                 Type inputType = elementTypeOf(op.getInput());
                 y = emitCast(s.builder, emitCast(s.builder, y, s.type, inputType), inputType, s.type);
                 return s.mul(y, emitter.emitBroadcastAsF32(op.getScale(), op.getOutput(), row.index));
               });
}

/// log(sum(exp(x))) as max + log(sum(exp(x - max))), one value a row. An infinite maximum shifts nothing: it would
/// leave NaN where the sum is the infinity itself.
static void outlineLogSumExp(Rowwise &row, nn::ReduceOp op) {
  setRowAxes(row, op.getAxes());
  buildRowwise(row, {kernel::Combiner::Maximum, kernel::Combiner::Sum},
               rowResultIndex(row, op.getAxes(), op.getKeepdims()),
               [&](ScalarEmitter &emitter, Stats s, unsigned stage, ArrayRef<Value> stats) {
                 if (stage == 0)
                   return emitter.emitAsF32(op.getInput(), row.index);
                 Value isInfinite = s.un(nn::UnaryKind::IsInf, stats[0]);
                 Value shift = s.builder.create<arith::SelectOp>(UnknownLoc::get(op.getContext()), isInfinite,
                                                                 emitNumber(s.builder, s.type, 0), stats[0]);
                 if (stage == 2)
                   return s.add(shift, s.un(nn::UnaryKind::Log, stats[1]));
                 return s.un(nn::UnaryKind::Exp, s.sub(emitter.emitAsF32(op.getInput(), row.index), shift));
               });
}

/// Where the greatest or least element is: stage 0 finds it, stage 1 the first or last index that has it. A NaN is
/// found by itself, since nothing equals it.
static void outlineArgReduce(Rowwise &row, nn::ArgReduceOp op) {
  setRowAxes(row, op.getAxis());
  Type type = elementTypeOf(op.getInput()), i64 = IntegerType::get(op.getContext(), 64);
  bool wantsMax = op.getKind() == nn::ArgReduceKind::Max, wantsLast = op.getSelectLastIndex();
  kernel::Combiner extreme = wantsMax ? kernel::Combiner::Maximum : kernel::Combiner::Minimum;
  kernel::Combiner place = wantsLast ? kernel::Combiner::Maximum : kernel::Combiner::Minimum;
  auto emitStage = [&](ScalarEmitter &emitter, Stats s, unsigned stage, ArrayRef<Value> stats) -> Value {
    if (stage == 2)
      return stats[1];
    OpBuilder &b = s.builder;
    Location loc = UnknownLoc::get(op.getContext());
    Value x = emitOrdered(b, emitter.emitAsF32(op.getInput(), row.index), type);
    if (stage == 0)
      return x;
    Value found = emitCompare(b, nn::CompareKind::Eq, x, stats[0], s.type);
    if (isa<FloatType>(s.type))
      found = b.create<arith::OrIOp>(loc, found, s.un(nn::UnaryKind::IsNan, x));
    Value index = b.create<arith::IndexCastOp>(
        loc, i64, emitter.emitIndex(getAffineDimExpr(row.bounds.size() - 1, op.getContext())));
    Value none = b.create<arith::ConstantIntOp>(loc, wantsLast ? -1 : std::numeric_limits<int64_t>::max(), 64);
    return b.create<arith::SelectOp>(loc, found, index, none);
  };
  buildRowwise(row, {extreme, place}, rowResultIndex(row, op.getAxis(), op.getKeepdims()), emitStage,
               {statType(type), i64});
}

void heddle::outlineRowwise(Outliner &outliner, Operation *root, Operation *end) {
  Rowwise row(outliner, root, end);
  if (auto quantize = dyn_cast<nn::QuantizeRowsOp>(root))
    return outlineQuantizeRows(row, quantize);
  if (auto softmax = dyn_cast<nn::SoftmaxOp>(root))
    return outlineSoftmax(row, softmax.getAxis(), /*logarithm=*/false);
  if (auto softmax = dyn_cast<nn::LogSoftmaxOp>(root))
    return outlineSoftmax(row, softmax.getAxis(), /*logarithm=*/true);
  if (auto norm = dyn_cast<nn::LayerNormOp>(root))
    return outlineLayerNorm(row, norm);
  if (auto norm = dyn_cast<nn::RmsNormOp>(root))
    return outlineRmsNorm(row, norm);
  if (auto arg = dyn_cast<nn::ArgReduceOp>(root))
    return outlineArgReduce(row, arg);
  outlineLogSumExp(row, cast<nn::ReduceOp>(root));
}
