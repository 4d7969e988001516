// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running sums as kernel.scan.

#include "compiler/transforms/outlining/Outliner.h"
#include "compiler/transforms/outlining/ScalarOps.h"

using namespace mlir;
using namespace heddle;

static Type elementTypeOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

void heddle::outlineScan(Outliner &outliner, nn::CumSumOp root, Operation *end) {
  ShapeContext &shapes = outliner.getShapes();
  KernelBuilder builder(outliner.getContext(), outliner.getSymbols(), shapes);
  KernelScope scope{builder, {}};
  scope.ops.insert(root);
  ShapeDims dims = outliner.getDims(root.getInput()), bounds;
  int64_t axis = root.getAxis(), rank = dims.size();
  // Loops: all dimensions but the axis, then the axis.
  AffineIndex index;
  for (int64_t i = 0; i < rank; ++i) {
    index.push_back(getAffineDimExpr(i == axis ? rank - 1 : bounds.size(), outliner.getContext()));
    if (i != axis)
      bounds.push_back(dims[i]);
  }
  bounds.push_back(dims[axis]);
  if (root.getReverse())
    index[axis] = outliner.getSymbols().get(dims[axis]) - 1 - index[axis];

  Type elementType = elementTypeOf(root.getInput());
  Type type = elementType.isF16() || elementType.isBF16() ? Type(Float32Type::get(root.getContext())) : elementType;
  Type plain = kernelElementType(type);
  unsigned body = builder.addRegion({}, /*firstInput=*/0, {});
  ScalarEmitter bodyEmitter(outliner, scope, body);
  Value element = bodyEmitter.emit(root.getInput(), index);
  builder.yield(body, emitCast(bodyEmitter.getBuilder(), element, elementType, type));
  builder.closeInputs(body);
  int64_t inputCount = builder.getNumInputs();

  unsigned finish = builder.addRegion({plain}, inputCount, {});
  ScalarEmitter emitter(outliner, scope, finish);
  Value sum = builder.getLeading(finish, 0);
  // A sum of floats starts at -0, which changes no term; what comes before the first one is +0.
  if (root.getExclusive() && isa<FloatType>(type))
    sum = emitBinary(emitter.getBuilder(), nn::BinaryKind::Add, sum, emitNumber(emitter.getBuilder(), type, 0), type,
                     type);
  emitter.bind(root.getOutput(), emitCast(emitter.getBuilder(), sum, type, elementType));
  builder.startCaptures();
  builder.yield(finish, emitter.emit(end->getResult(0), index));

  outliner.finishKernel(scope, {{end->getResult(0), index}}, bounds, shapes.product(dims),
                        [&](OpBuilder &b, Location loc, TypeRange results, ValueRange inputs, ValueRange sizes,
                            AffineMap boundsMap, ArrayAttr maps) -> Operation * {
                          return b.create<kernel::ScanOp>(loc, results, inputs, sizes, boundsMap, maps, inputCount,
                                                          kernel::Combiner::Sum, root.getExclusive());
                        });
}
