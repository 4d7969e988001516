// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel.reduce around terms and results that its caller emits.

#include "compiler/transforms/outlining/Reduction.h"

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
  builder.yield(finish, emitter.emit(end->getResult(0), reduction.resultIndex));

  auto combiners = llvm::map_to_vector(reduction.combiners, [&](kernel::Combiner combiner) -> Attribute {
    return kernel::CombinerAttr::get(context, combiner);
  });
  int64_t opCount = builder.getRegion(body).front().getOperations().size();
  outliner.finishKernel(scope, {{end->getResult(0), reduction.resultIndex}}, reduction.bounds,
                        shapes.mul(shapes.product(reduction.bounds), shapes.constant(opCount)),
                        [&](OpBuilder &b, Location loc, TypeRange results, ValueRange inputs, ValueRange sizes,
                            AffineMap bounds, ArrayAttr maps) -> Operation * {
                          return b.create<kernel::ReduceOp>(loc, results, inputs, sizes, bounds, maps,
                                                            reduction.reduced, inputCount, b.getArrayAttr(combiners));
                        });
}
