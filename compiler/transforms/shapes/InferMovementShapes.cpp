// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of tensors whose elements are moved, repeated, joined, parted or reduced.

#include "compiler/transforms/shapes/ShapeAnalyzer.h"
#include "llvm/ADT/STLExtras.h"

using namespace heddle;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Reshape
//===----------------------------------------------------------------------===//

/// The extents that the shape operand names. A place for -1 stays null. An extent that is 0 only when the model runs
/// copies nothing: there the total decides.
static FailureOr<ShapeExprs> readExtents(ShapeAnalyzer &analyzer, nn::ReshapeOp op) {
  FailureOr<ArrayRef<ShapeExpr>> shape = analyzer.readElements(op, op.getShape(), "the extents of the shape");
  if (failed(shape))
    return failure();
  ArrayRef<ShapeExpr> input = analyzer.getDims(op.getData());
  ShapeExprs extents;
  for (auto [i, extent] : llvm::enumerate(*shape)) {
    if (extent.isConstant(0) && !op.getAllowzero()) {
      if (i >= input.size())
        return op.emitOpError() << "expects an input dimension to copy for the 0 at position " << i;
      extents.push_back(input[i]);
    } else {
      extents.push_back(extent.isConstant(-1) ? ShapeExpr() : extent);
    }
  }
  if (llvm::count(extents, ShapeExpr()) > 1)
    return op.emitOpError() << "expects one -1 in the shape at most";
  return extents;
}

/// What is left for the place of -1 when |total| elements are spread over the product |given| of the others.
static FailureOr<ShapeExpr> inferLeftOver(ShapeAnalyzer &analyzer, nn::ReshapeOp op, ShapeExpr total, ShapeExpr given) {
  ShapeContext &context = analyzer.context;
  if (ShapeExpr quotient = context.divideExactly(total, given))
    return quotient;
  if (failed(analyzer.require(op, rt::CheckKind::LessEqual, context.constant(1), given,
                              "expects extents beside -1 of at least {a} element, got {b}")))
    return failure();
  ShapeExpr quotient = context.floorDiv(total, given);
  if (failed(analyzer.requireEqual(op, total, context.mul(quotient, given),
                                   "expects an extent for -1 that gives {a} elements, got {b} at most")))
    return failure();
  return quotient;
}

/// True if |expr| depends on an element of a host input.
static bool readsInput(ShapeExpr expr) {
  if (expr.getKind() == ShapeExprKind::InputValue)
    return true;
  if (expr.getKind() == ShapeExprKind::Constant || expr.getKind() == ShapeExprKind::Symbol)
    return false;
  if (expr.getKind() != ShapeExprKind::Sum)
    return llvm::any_of(expr.getOperands(), readsInput);
  return llvm::any_of(expr.getTerms(), [](const ShapeTerm &term) { return llvm::any_of(term.atoms, readsInput); });
}

/// True if the caller chooses |extent|, which then may turn out to be 0 or -1.
static bool isFromInput(ShapeExpr extent) {
  return extent && !extent.getConstant() && !extent.isNonNegative() && readsInput(extent);
}

/// Extents that the caller chooses when the program runs: a 0 copies, a -1 takes what is left, as selections.
static LogicalResult inferRunTimeReshape(ShapeAnalyzer &analyzer, nn::ReshapeOp op, ShapeExpr total,
                                         ArrayRef<ShapeExpr> extents) {
  ShapeContext &context = analyzer.context;
  ShapeExpr one = context.constant(1), zero = context.constant(0), minusOne = context.constant(-1);
  ArrayRef<ShapeExpr> input = analyzer.getDims(op.getData());
  ShapeExpr given = one, leftOverCount = zero;
  ShapeExprs chosen; // 1 in the place of a -1
  for (auto [i, extent] : llvm::enumerate(extents)) {
    ShapeExpr isLeftOver = extent ? context.equal(extent, minusOne) : one;
    ShapeExpr size = extent ? extent : one;
    if (!op.getAllowzero() && i < input.size())
      size = context.select(context.equal(size, zero), input[i], size);
    chosen.push_back(context.select(isLeftOver, one, size));
    given = context.mul(given, chosen.back());
    leftOverCount = context.add(leftOverCount, isLeftOver);
  }
  ShapeExpr divisor = context.max(given, one);
  ShapeExpr leftOver = context.floorDiv(total, divisor);
  ShapeExprs dims;
  for (auto [extent, size] : llvm::zip(extents, chosen))
    dims.push_back(extent ? context.select(context.equal(extent, minusOne), leftOver, size) : leftOver);
  if (failed(analyzer.require(op, rt::CheckKind::LessEqual, leftOverCount, one,
                              "expects at most {b} extent of -1, got {a}")) ||
      failed(analyzer.requireEqual(op, total, context.product(dims), "expects a shape of {a} elements, got {b}")))
    return failure();
  return analyzer.setDims(op.getOutput(), dims);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::ReshapeOp op) {
  ShapeContext &context = analyzer.context;
  FailureOr<ShapeExprs> extents = readExtents(analyzer, op);
  if (failed(extents))
    return failure();
  ShapeExpr total = context.product(analyzer.getDims(op.getData()));
  if (llvm::any_of(*extents, isFromInput))
    return inferRunTimeReshape(analyzer, op, total, *extents);
  auto leftOver = llvm::find(*extents, ShapeExpr());
  if (leftOver == extents->end()) {
    if (failed(analyzer.requireEqual(op, total, context.product(*extents), "expects a shape of {a} elements, got {b}")))
      return failure();
    return analyzer.setDims(op.getOutput(), *extents);
  }
  *leftOver = context.constant(1);
  FailureOr<ShapeExpr> extent = inferLeftOver(analyzer, op, total, context.product(*extents));
  if (failed(extent))
    return failure();
  *leftOver = *extent;
  return analyzer.setDims(op.getOutput(), *extents);
}

//===----------------------------------------------------------------------===//
// The same elements
//===----------------------------------------------------------------------===//

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::TransposeOp op) {
  ArrayRef<ShapeExpr> input = analyzer.getDims(op.getInput());
  return analyzer.setDims(op.getOutput(), llvm::map_to_vector(op.getPerm(), [&](int64_t i) { return input[i]; }));
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::SqueezeOp op) {
  ShapeExprs dims;
  for (auto [i, dim] : llvm::enumerate(analyzer.getDims(op.getInput()))) {
    if (!llvm::is_contained(op.getAxes(), static_cast<int64_t>(i)))
      dims.push_back(dim);
    else if (failed(analyzer.requireEqual(op, dim, analyzer.context.constant(1),
                                          "expects extent {b} at axis " + Twine(i) + ", got {a}")))
      return failure();
  }
  return analyzer.setDims(op.getOutput(), dims);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::UnsqueezeOp op) {
  ShapeExprs dims(analyzer.getDims(op.getInput()));
  for (int64_t axis : op.getAxes())
    dims.insert(dims.begin() + axis, analyzer.context.constant(1));
  return analyzer.setDims(op.getOutput(), dims);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::FlattenOp op) {
  ArrayRef<ShapeExpr> input = analyzer.getDims(op.getInput());
  return analyzer.setDims(op.getOutput(), {analyzer.context.product(input.take_front(op.getAxis())),
                                           analyzer.context.product(input.drop_front(op.getAxis()))});
}

//===----------------------------------------------------------------------===//
// Repeated, joined, parted
//===----------------------------------------------------------------------===//

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::ExpandOp op) {
  FailureOr<ArrayRef<ShapeExpr>> shape = analyzer.readElements(op, op.getShape(), "the shape to expand to");
  if (failed(shape))
    return failure();
  FailureOr<ShapeExprs> dims = analyzer.broadcast(op, analyzer.getDims(op.getInput()), *shape);
  return failed(dims) ? failure() : analyzer.setDims(op.getOutput(), *dims);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::TileOp op) {
  FailureOr<ArrayRef<ShapeExpr>> repeats = analyzer.readElements(op, op.getRepeats(), "repeat counts");
  if (failed(repeats))
    return failure();
  ShapeExprs dims;
  for (auto [dim, count] : llvm::zip(analyzer.getDims(op.getInput()), *repeats)) {
    if (failed(analyzer.require(op, rt::CheckKind::LessEqual, analyzer.context.constant(0), count,
                                "expects repeat counts of at least {a}, got {b}")))
      return failure();
    dims.push_back(analyzer.context.mul(dim, count));
  }
  return analyzer.setDims(op.getOutput(), dims);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::ConcatOp op) {
  ShapeExprs dims(analyzer.getDims(op.getInputs().front()));
  for (Value input : op.getInputs().drop_front()) {
    for (auto [i, dim] : llvm::enumerate(analyzer.getDims(input))) {
      if (i == op.getAxis()) {
        dims[i] = analyzer.context.add(dims[i], dim);
        continue;
      }
      FailureOr<ShapeExpr> merged = analyzer.unify(op, dims[i], dim,
                                                   "expects equal extents but along axis " + Twine(op.getAxis()) +
                                                       ", got {a} and {b} at axis " + Twine(i));
      if (failed(merged))
        return failure();
      dims[i] = *merged;
    }
  }
  return analyzer.setDims(op.getOutput(), dims);
}

/// The extents along the axis of the parts of |extent|.
static FailureOr<ShapeExprs> getPartSizes(ShapeAnalyzer &analyzer, nn::SplitOp op, ShapeExpr extent) {
  ShapeContext &context = analyzer.context;
  ShapeExprs sizes;
  if (auto given = op.getSplitSizes()) {
    ShapeExpr sum = context.constant(0);
    for (int64_t size : *given) {
      sizes.push_back(context.constant(size));
      sum = context.add(sum, sizes.back());
    }
    if (failed(analyzer.requireEqual(op, extent, sum, "expects sizes that sum to {a}, got {b}")))
      return failure();
    return sizes;
  }
  int64_t count = op.getNumOutputs();
  ShapeExpr size = context.ceilDiv(extent, context.constant(count));
  sizes.assign(count - 1, size);
  sizes.push_back(context.sub(extent, context.mul(size, context.constant(count - 1))));
  return sizes;
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::SplitOp op) {
  ShapeExprs dims(analyzer.getDims(op.getInput()));
  FailureOr<ShapeExprs> sizes = getPartSizes(analyzer, op, dims[op.getAxis()]);
  if (failed(sizes))
    return failure();
  for (auto [output, size] : llvm::zip(op.getOutputs(), *sizes)) {
    dims[op.getAxis()] = size;
    if (failed(analyzer.setDims(output, dims)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Reduced
//===----------------------------------------------------------------------===//

static LogicalResult inferReduced(ShapeAnalyzer &analyzer, Operation *op, ArrayRef<int64_t> axes, bool keepsDims) {
  ShapeExprs dims;
  for (auto [i, dim] : llvm::enumerate(analyzer.getDims(op->getOperand(0)))) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      dims.push_back(dim);
    else if (keepsDims)
      dims.push_back(analyzer.context.constant(1));
  }
  return analyzer.setDims(op->getResult(0), dims);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::ReduceOp op) {
  return inferReduced(analyzer, op, op.getAxes(), op.getKeepdims());
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::ArgReduceOp op) {
  int64_t axis = op.getAxis();
  if (failed(analyzer.require(op, rt::CheckKind::LessEqual, analyzer.context.constant(1),
                              analyzer.getDims(op.getInput())[axis],
                              "expects at least {a} element along axis " + Twine(axis) + ", got {b}")))
    return failure();
  return inferReduced(analyzer, op, axis, op.getKeepdims());
}
