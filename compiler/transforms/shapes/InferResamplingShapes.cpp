// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of grids: interpolation, windows, transposed convolution.

#include "compiler/transforms/shapes/ShapeAnalyzer.h"

using namespace heddle;
using namespace mlir;

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::ResizeOp op) {
  ShapeExprs dims(analyzer.getDims(op.getInput()));
  FailureOr<ArrayRef<ShapeExpr>> sizes = analyzer.readElements(op, op.getSizes(), "the sizes");
  if (failed(sizes))
    return failure();
  for (auto [axis, size] : llvm::zip(op.getAxes(), *sizes)) {
    if (failed(analyzer.require(op, rt::CheckKind::LessEqual, analyzer.context.constant(0), size,
                                "expects sizes of at least {a}, got {b}")) ||
        failed(analyzer.require(op, rt::CheckKind::LessEqual, analyzer.context.min(size, analyzer.context.constant(1)),
                                dims[axis], "expects elements to interpolate along axis " + Twine(axis))))
      return failure();
    dims[axis] = size;
  }
  return analyzer.setDims(op.getOutput(), dims);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::PoolOp op) {
  ShapeContext &context = analyzer.context;
  ShapeExprs dims(analyzer.getDims(op.getInput()));
  size_t spatial = dims.size() - 2;
  for (size_t i = 0; i < spatial; ++i) {
    int64_t stride = op.getStrides()[i], before = op.getPads()[i];
    ShapeExpr begun = context.add(dims[i + 2], context.constant(before));
    ShapeExpr padded = context.add(begun, context.constant(op.getPads()[i + spatial]));
    ShapeExpr reach = context.constant(op.getDilations()[i] * (op.getKernel()[i] - 1) + 1);
    if (failed(analyzer.require(
            op, rt::CheckKind::LessEqual, reach, padded,
            "expects a kernel that fits the padded input, got extent {a} in {b} at spatial dimension " + Twine(i))))
      return failure();
    ShapeExpr room = context.sub(padded, reach), one = context.constant(1), step = context.constant(stride);
    if (op.getCeilMode()) {
      // As many as start before the padding behind: those at 0, stride, ... below |begun|.
      ShapeExpr all = context.add(context.ceilDiv(room, step), one);
      dims[i + 2] = context.min(all, context.ceilDiv(begun, step));
    } else {
      dims[i + 2] = context.add(context.floorDiv(room, step), one);
    }
  }
  return analyzer.setDims(op.getOutput(), dims);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::ConvTransposeOp op) {
  ShapeContext &context = analyzer.context;
  ArrayRef<ShapeExpr> input = analyzer.getDims(op.getInput()), weight = analyzer.getDims(op.getWeight());
  ShapeExpr one = context.constant(1), features = context.mul(weight[1], context.constant(op.getGroup()));
  if (failed(analyzer.requireEqual(op, input[1], weight[0], "expects {b} input channels, got {a}")))
    return failure();
  if (op.getBias() && failed(analyzer.requireEqual(op, analyzer.getDims(op.getBias())[0], features,
                                                   "expects a bias of {b} entries, got {a}")))
    return failure();
  ShapeExprs dims{input[0], features};
  size_t spatial = input.size() - 2;
  for (size_t i = 0; i < spatial; ++i) {
    ShapeExpr steps = context.mul(context.sub(input[i + 2], one), context.constant(op.getStrides()[i]));
    ShapeExpr reach = context.mul(context.sub(weight[i + 2], one), context.constant(op.getDilations()[i]));
    int64_t rest = 1 + op.getOutputPadding()[i] - op.getPads()[i] - op.getPads()[i + spatial];
    ShapeExpr dim = context.add(context.add(steps, reach), context.constant(rest));
    if (failed(analyzer.require(op, rt::CheckKind::LessEqual, one, dim,
                                "expects a result of at least one element, got {b} at spatial dimension " + Twine(i))))
      return failure();
    dims.push_back(dim);
  }
  return analyzer.setDims(op.getOutput(), dims);
}
