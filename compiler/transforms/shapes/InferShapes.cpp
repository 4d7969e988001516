// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass nn-infer-shapes: writes what the shape analysis proves into types and constants.

#include "compiler/transforms/shapes/Passes.h"
#include "compiler/transforms/shapes/ShapeAnalyzer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define DEBUG_TYPE "nn-infer-shapes"

namespace heddle::nn {
#define GEN_PASS_DEF_INFERSHAPESPASS
#include "compiler/transforms/shapes/Passes.h.inc"
} // namespace heddle::nn

using namespace heddle;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// |value|'s type with the sizes that are constants.
static RankedTensorType getRefinedType(const ShapeAnalysis &analysis, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  for (ShapeExpr dim : analysis.getDims(value))
    shape.push_back(dim.getConstant().value_or(ShapedType::kDynamic));
  return type.clone(shape);
}

static bool isReturned(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) { return isa<func::ReturnOp>(user); });
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static Value createConstant(OpBuilder &builder, Location loc, RankedTensorType type, ArrayRef<int64_t> values) {
  unsigned width = type.getElementTypeBitWidth();
  SmallVector<APInt> bits;
  for (int64_t value : values)
    bits.push_back(APInt(64, value, /*isSigned=*/true).trunc(width));
  return builder.create<nn::ConstantOp>(loc, DenseElementsAttr::get(type, bits));
}

static std::optional<SmallVector<int64_t>> getConstants(std::optional<ArrayRef<ShapeExpr>> exprs) {
  if (!exprs)
    return std::nullopt;
  SmallVector<int64_t> values;
  for (ShapeExpr expr : *exprs) {
    if (!expr.getConstant())
      return std::nullopt;
    values.push_back(*expr.getConstant());
  }
  return values;
}

/// The shape that makes |op| give what it gives, in constants: extents copied from the input as 0, and one that is left
/// over as -1.
static std::optional<SmallVector<int64_t>> getConstantShape(ShapeAnalysis &analysis, nn::ReshapeOp op) {
  if (op.getAllowzero())
    return std::nullopt;
  ArrayRef<ShapeExpr> input = analysis.getDims(op.getData()), output = analysis.getDims(op.getOutput());
  SmallVector<int64_t> shape;
  std::optional<size_t> leftOver;
  ShapeExpr given = analysis.getContext().constant(1);
  for (auto [i, dim] : llvm::enumerate(output)) {
    std::optional<int64_t> size = dim.getConstant();
    bool isCopied = i < input.size() && input[i] == dim;
    if (size && (*size != 0 || isCopied)) {
      shape.push_back(*size);
    } else if (isCopied) {
      shape.push_back(0);
    } else if (!leftOver) {
      leftOver = i;
      shape.push_back(-1);
      continue;
    } else {
      return std::nullopt;
    }
    given = analysis.getContext().mul(given, dim);
  }
  // Only a quotient that holds for all sizes says the same as the extent in its place.
  if (leftOver && analysis.getContext().divideExactly(analysis.getContext().product(input), given) != output[*leftOver])
    return std::nullopt;
  return shape;
}

/// Likewise for an expand, where 1 keeps the input's extent.
static std::optional<SmallVector<int64_t>> getConstantShape(ShapeAnalysis &analysis, nn::ExpandOp op) {
  ArrayRef<ShapeExpr> input = analysis.getDims(op.getInput()), output = analysis.getDims(op.getOutput());
  SmallVector<int64_t> shape;
  size_t padding = output.size() - input.size();
  for (auto [i, dim] : llvm::enumerate(output)) {
    std::optional<int64_t> size = dim.getConstant();
    if (i >= padding && input[i - padding] == dim)
      shape.push_back(1);
    else if (size)
      shape.push_back(*size);
    else
      return std::nullopt;
  }
  return shape;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct InferShapesPass : nn::impl::InferShapesPassBase<InferShapesPass> {
  void runOnOperation() override;

private:
  void refineTypes(Operation *op);
  /// True where all results of |op| have been replaced by constants.
  bool foldResults(Operation *op);
  template <typename OpTy> void foldShapeOperand(OpTy op, Value shape);
  /// The operand that |op| gives back unchanged; null where it may not.
  Value getUnchangedInput(Operation *op);

  /// Alive while the pass runs.
  ShapeAnalysis *analysis = nullptr;
};

} // namespace

void InferShapesPass::refineTypes(Operation *op) {
  for (Value result : op->getResults()) {
    if (!isa<RankedTensorType>(result.getType()))
      continue; // a scalar constant
    RankedTensorType refined = getRefinedType(*analysis, result);
    // The function's signature promises the type of what it returns.
    if (refined == result.getType() || isReturned(result))
      continue;
    result.setType(refined);
    ++numRefinedResults;
  }
}

bool InferShapesPass::foldResults(Operation *op) {
  if (isa<nn::ConstantOp, arith::ConstantOp>(op))
    return false;
  bool areAllFolded = true;
  for (Value result : op->getResults()) {
    std::optional<SmallVector<int64_t>> values = getConstants(analysis->getElements(result));
    auto type = cast<RankedTensorType>(result.getType());
    if (!values || !type.hasStaticShape()) {
      areAllFolded = false;
      continue;
    }
    OpBuilder builder(op);
    result.replaceAllUsesWith(createConstant(builder, op->getLoc(), type, *values));
    ++numFoldedValues;
  }
  return areAllFolded;
}

template <typename OpTy> void InferShapesPass::foldShapeOperand(OpTy op, Value shape) {
  if (shape.getDefiningOp<nn::ConstantOp>())
    return;
  std::optional<SmallVector<int64_t>> values = getConstantShape(*analysis, op);
  auto type = cast<RankedTensorType>(shape.getType());
  if (!values || !type.hasStaticShape() || type.getNumElements() != static_cast<int64_t>(values->size()))
    return;
  OpBuilder builder(op);
  op->replaceUsesOfWith(shape, createConstant(builder, shape.getLoc(), type, *values));
  ++numFoldedValues;
}

Value InferShapesPass::getUnchangedInput(Operation *op) {
  if (!isa<nn::ReshapeOp, nn::ExpandOp, nn::SliceOp>(op))
    return {};
  Value input = op->getOperand(0), output = op->getResult(0);
  if (input.getType() != output.getType() || analysis->getDims(input) != analysis->getDims(output))
    return {};
  // A slice of all elements may still turn them around.
  if (auto slice = dyn_cast<nn::SliceOp>(op)) {
    std::optional<SmallVector<int64_t>> steps;
    if (slice.getSteps())
      steps = getConstants(analysis->getElements(slice.getSteps()));
    if (slice.getSteps() && (!steps || llvm::any_of(*steps, [](int64_t step) { return step < 0; })))
      return {};
  }
  return input;
}

void InferShapesPass::runOnOperation() {
  std::unique_ptr<ShapeAnalysis> result = ShapeAnalysis::create(getOperation());
  if (!result)
    return signalPassFailure();
  analysis = result.get();
  Block &body = getOperation().getBody().front();
  for (Operation &op : body.without_terminator())
    refineTypes(&op);
  // Nothing is erased before the end: the analysis knows values by their addresses, which a new op might get.
  for (Operation &op : body.without_terminator()) {
    if (foldResults(&op))
      continue;
    if (Value input = getUnchangedInput(&op)) {
      op.getResult(0).replaceAllUsesWith(input);
      ++numRemovedOps;
    } else if (auto reshape = dyn_cast<nn::ReshapeOp>(op)) {
      foldShapeOperand(reshape, reshape.getShape());
    } else if (auto expand = dyn_cast<nn::ExpandOp>(op)) {
      foldShapeOperand(expand, expand.getShape());
    }
  }
  // Users first, so that what only they read is dead in turn.
  SmallVector<Operation *> ops = llvm::map_to_vector(body.without_terminator(), [](Operation &op) { return &op; });
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}
