// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scatters as kernel.scatter, the first elements of an order as kernel.top_k.

#include "compiler/transforms/outlining/Outliner.h"
#include "compiler/transforms/outlining/ScalarOps.h"

#include "dialects/nn/Locations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;

static Type elementTypeOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

namespace {
/// A scatter as loops: |numParallel| dimensions of the data that places don't reach, then those of the updates.
struct Scatter {
  Value data, indices, updates;
  nn::ScatterReduction reduction;
  ShapeDims bounds;
  unsigned numParallel = 0;
  /// Index of the result, 0 in the scattered dimensions.
  AffineIndex resultIndex;
  SmallVector<int64_t> scatteredDims;
};
} // namespace

static Value emitCombined(OpBuilder &b, nn::ScatterReduction reduction, Value old, Value update, Type type) {
  switch (reduction) {
  case nn::ScatterReduction::None:
    return update;
  case nn::ScatterReduction::Add:
    return emitBinary(b, nn::BinaryKind::Add, old, update, type, type);
  case nn::ScatterReduction::Mul:
    return emitBinary(b, nn::BinaryKind::Mul, old, update, type, type);
  case nn::ScatterReduction::Max:
    return emitBinary(b, nn::BinaryKind::Max, old, update, type, type);
  case nn::ScatterReduction::Min:
    return emitBinary(b, nn::BinaryKind::Min, old, update, type, type);
  }
  return update;
}

/// Makes the kernel: |emitBody| gives whether there is an update at the current loops, its places, and the update.
static void buildScatter(Outliner &outliner, const Scatter &scatter, Operation *op,
                         llvm::function_ref<SmallVector<Value>(ScalarEmitter &)> emitBody) {
  ShapeContext &shapes = outliner.getShapes();
  KernelBuilder kernel(outliner.getContext(), outliner.getSymbols(), shapes);
  KernelScope scope{kernel, {}};
  scope.ops.insert(op);
  kernel.addWholeInput(outliner.storeWhole(scatter.data), scatter.resultIndex);
  Type type = elementTypeOf(scatter.data), plain = kernelElementType(type);
  unsigned body = kernel.addRegion({}, /*firstInput=*/1, {});
  ScalarEmitter emitter(outliner, scope, body);
  kernel.yield(body, emitBody(emitter));
  unsigned combine = kernel.addRegion({plain, plain}, kernel.getNumInputs(), {});
  OpBuilder b = kernel.at(combine);
  kernel.yield(combine,
               emitCombined(b, scatter.reduction, kernel.getLeading(combine, 0), kernel.getLeading(combine, 1), type));
  std::optional<nn::OnnxNode> node = nn::findOnnxNode(op->getLoc());
  int64_t site = kernel.addErrorSite(b.getStrArrayAttr({node ? node->name : "", node ? node->type : "", "index"}));
  outliner.finishKernel(scope, {{op->getResult(0), scatter.resultIndex, /*keepsDims=*/true}}, scatter.bounds,
                        shapes.product(scatter.bounds),
                        [&](OpBuilder &at, Location loc, TypeRange results, ValueRange inputs, ValueRange sizes,
                            AffineMap bounds, ArrayAttr maps) -> Operation * {
                          return at.create<kernel::ScatterOp>(
                              loc, results.front(), inputs, sizes, AffineMapAttr::get(bounds), maps,
                              at.getI64IntegerAttr(scatter.numParallel), at.getDenseI64ArrayAttr(scatter.scatteredDims),
                              at.getI64IntegerAttr(site));
                        });
}

/// Indices may extend less far than the data along the other axes: beyond their end there is no update.
static void outlineScatterElements(Outliner &outliner, nn::ScatterElementsOp op) {
  ShapeDims dims = outliner.getDims(op.getData()), indexDims = outliner.getDims(op.getIndices());
  int64_t axis = op.getAxis();
  MLIRContext *context = op.getContext();
  Scatter scatter{op.getData(), op.getIndices(), op.getUpdates(), op.getReduction(), {}, 0, {}, {axis}};
  AffineIndex index;
  for (int64_t i = 0, e = dims.size(); i < e; ++i) {
    index.push_back(getAffineDimExpr(i == axis ? e - 1 : scatter.bounds.size(), context));
    scatter.resultIndex.push_back(i == axis ? getAffineConstantExpr(0, context) : index.back());
    if (i != axis)
      scatter.bounds.push_back(dims[i]);
  }
  scatter.numParallel = scatter.bounds.size();
  scatter.bounds.push_back(indexDims[axis]);
  buildScatter(outliner, scatter, op, [&](ScalarEmitter &emitter) -> SmallVector<Value> {
    OpBuilder &b = emitter.getBuilder();
    Location loc = UnknownLoc::get(context);
    Value exists = b.create<arith::ConstantIntOp>(loc, true, 1);
    bool isWhole = true;
    SmallVector<Value> places;
    for (int64_t i = 0, e = dims.size(); i < e; ++i) {
      places.push_back(emitter.emitIndex(index[i]));
      if (i == axis || dims[i] == indexDims[i])
        continue;
      isWhole = false;
      Value extent = emitter.emitIndex(outliner.getSymbols().get(indexDims[i]));
      Value isInside = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, places.back(), extent);
      exists = b.create<arith::AndIOp>(loc, exists, isInside);
    }
    auto read = [&](Value value) {
      return isWhole ? emitter.emit(value, index)
                     : emitter.emitPadded(value, places, emitNumber(b, elementTypeOf(value), 0));
    };
    Value place = read(op.getIndices());
    return {exists, place, read(op.getUpdates())};
  });
}

/// Parallel loops are the dimensions of the slices that tuples name.
static void outlineScatterNd(Outliner &outliner, nn::ScatterNdOp op) {
  ShapeDims dims = outliner.getDims(op.getData()), indexDims = outliner.getDims(op.getIndices());
  int64_t tuple = cast<RankedTensorType>(op.getIndices().getType()).getShape().back();
  MLIRContext *context = op.getContext();
  Scatter scatter{op.getData(), op.getIndices(), op.getUpdates(), op.getReduction(), {}, 0, {}, {}};
  for (int64_t i = 0, e = dims.size(); i < e; ++i) {
    if (i < tuple) {
      scatter.scatteredDims.push_back(i);
      scatter.resultIndex.push_back(getAffineConstantExpr(0, context));
      continue;
    }
    scatter.resultIndex.push_back(getAffineDimExpr(scatter.bounds.size(), context));
    scatter.bounds.push_back(dims[i]);
  }
  scatter.numParallel = scatter.bounds.size();
  scatter.bounds.append(indexDims.begin(), indexDims.end() - 1);
  AffineIndex updateIndex;
  for (unsigned loop = scatter.numParallel; loop < scatter.bounds.size(); ++loop)
    updateIndex.push_back(getAffineDimExpr(loop, context));
  AffineIndex tupleIndex(updateIndex);
  for (unsigned loop = 0; loop < scatter.numParallel; ++loop)
    updateIndex.push_back(getAffineDimExpr(loop, context));
  buildScatter(outliner, scatter, op, [&](ScalarEmitter &emitter) {
    SmallVector<Value> values{emitter.getBuilder().create<arith::ConstantIntOp>(UnknownLoc::get(context), true, 1)};
    for (int64_t i = 0; i < tuple; ++i) {
      AffineIndex place(tupleIndex);
      place.push_back(getAffineConstantExpr(i, context));
      values.push_back(emitter.emit(op.getIndices(), place));
    }
    values.push_back(emitter.emit(op.getUpdates(), updateIndex));
    return values;
  });
}

void heddle::outlineScatter(Outliner &outliner, Operation *root) {
  if (auto elements = dyn_cast<nn::ScatterElementsOp>(root))
    return outlineScatterElements(outliner, elements);
  outlineScatterNd(outliner, cast<nn::ScatterNdOp>(root));
}

//===----------------------------------------------------------------------===//
// Top k
//===----------------------------------------------------------------------===//

/// Whether |x| comes before |y|: greater, or less; a NaN before everything else.
static Value emitPrecedes(OpBuilder &b, bool largest, Value x, Value y, Type type) {
  Value precedes = emitCompare(b, largest ? nn::CompareKind::Gt : nn::CompareKind::Lt, x, y, type);
  if (!isa<FloatType>(type))
    return precedes;
  // Nothing is greater or less than a NaN, so these two cases don't meet.
  Location loc = UnknownLoc::get(b.getContext());
  Value isNan = emitUnary(b, nn::UnaryKind::IsNan, x, type), isOther = emitUnary(b, nn::UnaryKind::IsNan, y, type);
  Value isFirst = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ugt, isNan, isOther);
  return b.create<arith::OrIOp>(loc, precedes, isFirst);
}

void heddle::outlineTopK(Outliner &outliner, nn::TopKOp root) {
  ShapeContext &shapes = outliner.getShapes();
  MLIRContext *context = root.getContext();
  KernelBuilder kernel(context, outliner.getSymbols(), shapes);
  KernelScope scope{kernel, {}};
  scope.ops.insert(root);
  ShapeDims dims = outliner.getDims(root.getInput()), bounds;
  int64_t axis = root.getAxis(), rank = dims.size();
  // Loops: all dimensions but the axis, the row, the ranks.
  AffineIndex index, resultIndex;
  for (int64_t i = 0; i < rank; ++i) {
    index.push_back(getAffineDimExpr(i == axis ? rank - 1 : bounds.size(), context));
    resultIndex.push_back(i == axis ? getAffineDimExpr(rank, context) : index.back());
    if (i != axis)
      bounds.push_back(dims[i]);
  }
  bounds.append({dims[axis], outliner.getDims(root.getValues())[axis]});

  Type type = elementTypeOf(root.getInput()), plain = kernelElementType(type);
  unsigned body = kernel.addRegion({}, /*firstInput=*/0, {});
  kernel.yield(body, ScalarEmitter(outliner, scope, body).emit(root.getInput(), index));
  unsigned precedes = kernel.addRegion({plain, plain}, kernel.getNumInputs(), {});
  OpBuilder b = kernel.at(precedes);
  kernel.yield(precedes, emitPrecedes(b, root.getLargest(), kernel.getLeading(precedes, 0),
                                      kernel.getLeading(precedes, 1), type));
  outliner.finishKernel(scope, {{root.getValues(), resultIndex}, {root.getIndices(), resultIndex}}, bounds,
                        shapes.product(dims),
                        [&](OpBuilder &at, Location loc, TypeRange results, ValueRange inputs, ValueRange sizes,
                            AffineMap boundsMap, ArrayAttr maps) -> Operation * {
                          return at.create<kernel::TopKOp>(loc, results[0], results[1], inputs, sizes, boundsMap, maps);
                        });
}
