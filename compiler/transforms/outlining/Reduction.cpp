// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel.reduce around terms and results that its caller emits, and sums that kernels share.

#include "compiler/transforms/outlining/Reduction.h"

#include "compiler/transforms/outlining/ScalarOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;

void heddle::buildReduction(Outliner &outliner, const Reduction &reduction, Operation *root, Operation *end,
                            llvm::function_ref<SmallVector<Value>(ScalarEmitter &)> emitTerms,
                            llvm::function_ref<Value(ScalarEmitter &, ArrayRef<Value>)> emitRoot) {
  ShapeContext &shapes = outliner.getShapes();
  MLIRContext *context = outliner.getContext();
  KernelBuilder builder(context, outliner.getSymbols(), shapes);
  KernelScope scope{builder, {}};
  scope.ops.insert(root);

  unsigned body = builder.addRegion({}, /*firstInput=*/0, {});
  ScalarEmitter bodyEmitter(outliner, scope, body);
  builder.yield(body, emitTerms(bodyEmitter));
  builder.closeInputs(body);
  int64_t inputCount = builder.getNumInputs();

  unsigned finish = builder.addRegion(reduction.types, inputCount, {});
  ScalarEmitter emitter(outliner, scope, finish);
  SmallVector<Value> accumulators;
  for (unsigned i = 0; i < reduction.types.size(); ++i)
    accumulators.push_back(builder.getLeading(finish, i));
  emitter.bind(root->getResult(0), emitRoot(emitter, accumulators));
  builder.startCaptures();
  // What follows may part or join the root's rows.
  AffineIndex endIndex = reshapeIndex(outliner.getDims(end->getResult(0)), outliner.getDims(root->getResult(0)),
                                      reduction.resultIndex, outliner.getSymbols(), shapes);
  builder.yield(finish, emitter.emit(end->getResult(0), endIndex));

  auto combiners = llvm::map_to_vector(reduction.combiners, [&](kernel::Combiner combiner) -> Attribute {
    return kernel::CombinerAttr::get(context, combiner);
  });
  int64_t opCount = builder.getRegion(body).front().getOperations().size();
  outliner.finishKernel(scope, {{end->getResult(0), endIndex}}, reduction.bounds,
                        shapes.mul(shapes.product(reduction.bounds), shapes.constant(opCount)),
                        [&](OpBuilder &b, Location loc, TypeRange results, ValueRange inputs, ValueRange sizes,
                            AffineMap bounds, ArrayAttr maps) -> Operation * {
                          return b.create<kernel::ReduceOp>(loc, results, inputs, sizes, bounds, maps,
                                                            reduction.reduced, inputCount, b.getArrayAttr(combiners));
                        });
}

const TensorView &Outliner::getSums(Operation *op, Value value, int64_t axis) {
  if (auto it = sums.find({value, axis}); it != sums.end())
    return it->second;
  Type elementType = cast<RankedTensorType>(value.getType()).getElementType();
  TensorView result =
      storeSums(op, elementType, getDims(value), axis,
                [&](ScalarEmitter &emitter, ArrayRef<AffineExpr> index) { return emitter.emit(value, index); });
  return sums[{value, axis}] = result;
}

TensorView Outliner::storeSums(Operation *op, Type elementType, ArrayRef<ShapeExpr> dims, int64_t axis,
                               llvm::function_ref<Value(ScalarEmitter &, ArrayRef<AffineExpr>)> emitElement) {
  Type type = isa<IntegerType>(elementType) ? Type(builder.getI32Type()) : Type(builder.getF32Type());
  ShapeDims resultDims(dims);
  AffineIndex loops = identityIndex(dims.size(), getContext()), resultIndex(loops);
  resultDims.erase(resultDims.begin() + axis);
  resultIndex.erase(resultIndex.begin() + axis);

  KernelBuilder kernel(getContext(), symbols, getShapes());
  KernelScope scope{kernel, {}};
  unsigned body = kernel.addRegion({}, /*firstInput=*/0, {});
  ScalarEmitter emitter(*this, scope, body);
  kernel.yield(body, emitCast(emitter.getBuilder(), emitElement(emitter, loops), elementType, type));
  kernel.closeInputs(body);
  unsigned finish = kernel.addRegion(type, kernel.getNumInputs(), {});
  kernel.yield(finish, kernel.getLeading(finish, 0));
  int64_t inputCount = kernel.getNumInputs();
  auto combiner = kernel::CombinerAttr::get(getContext(), kernel::Combiner::Sum);
  return storeTemporary(scope, op, {type, resultDims, resultIndex}, dims, getShapes().product(dims),
                        [&](OpBuilder &b, Location loc, TypeRange results, ValueRange inputs, ValueRange sizes,
                            AffineMap bounds, ArrayAttr maps) -> Operation * {
                          return b.create<kernel::ReduceOp>(loc, results, inputs, sizes, bounds, maps,
                                                            ArrayRef<int64_t>(axis), inputCount,
                                                            b.getArrayAttr(combiner));
                        });
}
