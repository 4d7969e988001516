// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Softmax, normalisations and reductions as kernel.rowwise and kernel.reduce.

#include "compiler/transforms/outlining/Outliner.h"
#include "compiler/transforms/outlining/ScalarOps.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

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

/// The row runs along |axis|, whatever its place.
static void setRowAxis(Rowwise &row, int64_t axis) {
  ShapeDims dims = row.outliner.getDims(row.input());
  for (int64_t i = 0, e = dims.size(); i < e; ++i) {
    row.index.push_back(getAffineDimExpr(i == axis ? e - 1 : row.bounds.size(), row.outliner.getContext()));
    if (i != axis)
      row.bounds.push_back(dims[i]);
  }
  row.rowLength = dims[axis];
  row.bounds.push_back(row.rowLength);
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

/// Adds all regions: each stage's value and, last, the root's own, which the group's ops then continue.
/// |emitStage|(emitter, stats, stage number, earlier stats) gives a stage's value, or the root's for the last number.
static void buildRowwise(Rowwise &row, ArrayRef<kernel::Combiner> combiners, ArrayRef<AffineExpr> resultIndex,
                         llvm::function_ref<Value(ScalarEmitter &, Stats, unsigned, ArrayRef<Value>)> emitStage) {
  Type type = statType(elementTypeOf(row.input()));
  unsigned count = combiners.size();
  for (unsigned stage = 0; stage <= count; ++stage)
    row.builder.addRegion({}, /*firstInput=*/0, SmallVector<Type>(stage, type));
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
    emitter.bind(row.root->getResult(0), emitCast(emitter.getBuilder(), value, type, resultType));
    row.builder.yield(stage, emitter.emit(row.end->getResult(0), resultIndex));
  }
  ShapeContext &shapes = row.outliner.getShapes();
  int64_t opCount = 0;
  for (unsigned stage = 0; stage <= count; ++stage)
    opCount += row.builder.getRegion(stage).front().getOperations().size();
  ShapeExpr flops = shapes.mul(shapes.product(row.bounds), shapes.constant(opCount));
  row.outliner.finishKernel(row.scope, {{row.end->getResult(0), AffineIndex(resultIndex)}}, row.bounds, flops,
                            [&](OpBuilder &b, Location loc, TypeRange results, ValueRange inputs, ValueRange sizes,
                                AffineMap bounds, ArrayAttr maps) -> Operation * {
                              return b.create<kernel::RowwiseOp>(loc, results, inputs, sizes, bounds, maps,
                                                                 combinerAttrs(b.getContext(), combiners), count + 1);
                            });
}

//===----------------------------------------------------------------------===//
// Softmax and normalisations
//===----------------------------------------------------------------------===//

static void outlineSoftmax(Rowwise &row, int64_t axis, bool logarithm) {
  setRowAxis(row, axis);
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
                 Value y = s.div(centred, deviation);
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

/// log(sum(exp(x))) as max + log(sum(exp(x - max))), one value a row.
static void outlineLogSumExp(Rowwise &row, nn::ReduceOp op) {
  int64_t axis = op.getAxes()[0];
  setRowAxis(row, axis);
  AffineIndex resultIndex(row.index);
  if (op.getKeepdims())
    resultIndex[axis] = getAffineConstantExpr(0, op.getContext());
  else
    resultIndex.erase(resultIndex.begin() + axis);
  buildRowwise(row, {kernel::Combiner::Maximum, kernel::Combiner::Sum}, resultIndex,
               [&](ScalarEmitter &emitter, Stats s, unsigned stage, ArrayRef<Value> stats) {
                 if (stage == 2)
                   return s.add(stats[0], s.un(nn::UnaryKind::Log, stats[1]));
                 Value x = emitter.emitAsF32(op.getInput(), row.index);
                 return stage == 0 ? x : s.un(nn::UnaryKind::Exp, s.sub(x, stats[0]));
               });
}

void heddle::outlineRowwise(Outliner &outliner, Operation *root, Operation *end) {
  Rowwise row(outliner, root, end);
  if (auto softmax = dyn_cast<nn::SoftmaxOp>(root))
    return outlineSoftmax(row, softmax.getAxis(), /*logarithm=*/false);
  if (auto softmax = dyn_cast<nn::LogSoftmaxOp>(root))
    return outlineSoftmax(row, softmax.getAxis(), /*logarithm=*/true);
  if (auto norm = dyn_cast<nn::LayerNormOp>(root))
    return outlineLayerNorm(row, norm);
  if (auto norm = dyn_cast<nn::RmsNormOp>(root))
    return outlineRmsNorm(row, norm);
  outlineLogSumExp(row, cast<nn::ReduceOp>(root));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

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

static Value emitReduced(Stats s, nn::ReduceKind kind, Value x) {
  switch (kind) {
  case nn::ReduceKind::L1:
    return s.un(nn::UnaryKind::Abs, x);
  case nn::ReduceKind::L2:
  case nn::ReduceKind::SumSquare:
    return s.mul(x, x);
  default:
    return x;
  }
}

static Value emitFinished(Stats s, nn::ReduceKind kind, Value total, Value count) {
  switch (kind) {
  case nn::ReduceKind::Mean:
    return s.div(total, count);
  case nn::ReduceKind::L2:
    return s.un(nn::UnaryKind::Sqrt, total);
  case nn::ReduceKind::LogSum:
    return s.un(nn::UnaryKind::Log, total);
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
  ShapeContext &shapes = outliner.getShapes();
  KernelBuilder builder(outliner.getContext(), outliner.getSymbols(), shapes);
  KernelScope scope{builder, {}};
  scope.ops.insert(root);
  ShapeDims dims = outliner.getDims(root.getInput());
  AffineIndex loops = identityIndex(dims.size(), outliner.getContext());
  AffineIndex resultIndex = reducedIndex(root, dims.size());
  Type elementType = elementTypeOf(root.getInput());
  // A bool's maximum is taken on i32: combiners work on numbers.
  Type type = elementType.isInteger(1) ? Type(IntegerType::get(root.getContext(), 32)) : statType(elementType);

  unsigned body = builder.addRegion({}, /*firstInput=*/0, {});
  ScalarEmitter bodyEmitter(outliner, scope, body);
  Value element = emitCast(bodyEmitter.getBuilder(), bodyEmitter.emit(root.getInput(), loops), elementType, type);
  builder.yield(body, emitReduced({bodyEmitter.getBuilder(), type}, root.getKind(), element));
  builder.closeInputs(body);
  int64_t inputCount = builder.getNumInputs();

  unsigned finish = builder.addRegion({type}, inputCount, {});
  ScalarEmitter emitter(outliner, scope, finish);
  ShapeDims reduced;
  for (int64_t axis : root.getAxes())
    reduced.push_back(dims[axis]);
  Value count = root.getKind() == nn::ReduceKind::Mean ? emitter.emitSize(shapes.product(reduced), type) : Value();
  Value total = emitFinished({emitter.getBuilder(), type}, root.getKind(), builder.getLeading(finish, 0), count);
  emitter.bind(root.getOutput(), emitCast(emitter.getBuilder(), total, type, elementTypeOf(root.getOutput())));
  builder.startCaptures();
  builder.yield(finish, emitter.emit(end->getResult(0), resultIndex));

  int64_t opCount = builder.getRegion(body).front().getOperations().size();
  outliner.finishKernel(
      scope, {{end->getResult(0), resultIndex}}, dims, shapes.mul(shapes.product(dims), shapes.constant(opCount)),
      [&](OpBuilder &b, Location loc, TypeRange results, ValueRange inputs, ValueRange sizes, AffineMap bounds,
          ArrayAttr maps) -> Operation * {
        return b.create<kernel::ReduceOp>(loc, results, inputs, sizes, bounds, maps, root.getAxes(), inputCount,
                                          combinerAttrs(b.getContext(), combinerOf(root.getKind())));
      });
}
