// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Canonicalisation patterns: those that need a new op. What folds to an existing value is in NnFolders.cpp.

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/ShapeInference.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle::nn;

namespace {

/// not (a == b) ==> a != b. The other relations have no such counterpart: with a NaN both a < b and a >= b are false.
struct InvertEqualityPattern : OpRewritePattern<UnaryOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(UnaryOp op, PatternRewriter &rewriter) const override {
    auto compare = op.getInput().getDefiningOp<CompareOp>();
    if (op.getKind() != UnaryKind::Not || !compare)
      return rewriter.notifyMatchFailure(op, "not the negation of a comparison");
    bool isEq = compare.getKind() == CompareKind::Eq;
    if (!isEq && compare.getKind() != CompareKind::Ne)
      return rewriter.notifyMatchFailure(op, "relation isn't an equality");
    rewriter.replaceOpWithNewOp<CompareOp>(op, op.getType(), isEq ? CompareKind::Ne : CompareKind::Eq, compare.getLhs(),
                                           compare.getRhs());
    return success();
  }
};

/// reshape (reshape x, s), t ==> reshape x, t, where t copies no extent of the inner result.
struct MergeReshapesPattern : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getData().getDefiningOp<ReshapeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "input isn't a reshape");
    auto shape = getKnownInts(op.getShape());
    // An unknown extent may turn out to be 0, which would copy.
    bool mayCopy = !shape || llvm::is_contained(*shape, 0) || llvm::is_contained(*shape, kDynamic);
    if (!op.getAllowzero() && mayCopy)
      return rewriter.notifyMatchFailure(op, "shape may copy extents of the inner result");
    rewriter.modifyOpInPlace(op, [&] { op.getDataMutable().assign(inner.getData()); });
    return success();
  }
};

/// transpose (transpose x) ==> transpose x.
struct MergeTransposesPattern : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<TransposeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "input isn't a transpose");
    SmallVector<int64_t> perm;
    for (int64_t axis : op.getPerm())
      perm.push_back(inner.getPerm()[axis]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner.getInput(), perm);
    return success();
  }
};

/// unsqueeze (unsqueeze x) ==> unsqueeze x.
struct MergeUnsqueezesPattern : OpRewritePattern<UnsqueezeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(UnsqueezeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<UnsqueezeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "input isn't an unsqueeze");
    SmallVector<int64_t> axes(op.getAxes());
    // An inner axis moves right past each outer one inserted at or before it.
    int64_t innerAxis = 0;
    for (int64_t axis = 0; axis < getTensorType(op.getOutput()).getRank(); ++axis) {
      if (llvm::is_contained(op.getAxes(), axis))
        continue;
      if (llvm::is_contained(inner.getAxes(), innerAxis++))
        axes.push_back(axis);
    }
    llvm::sort(axes);
    rewriter.replaceOpWithNewOp<UnsqueezeOp>(op, op.getType(), inner.getInput(), axes);
    return success();
  }
};

/// concat (concat a, b), empty, c ==> concat a, b, c, along one axis.
struct FlattenConcatPattern : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> inputs;
    for (Value input : op.getInputs()) {
      auto inner = input.getDefiningOp<ConcatOp>();
      if (inner && inner.getAxis() == op.getAxis())
        llvm::append_range(inputs, inner.getInputs());
      else if (getTensorType(input).getDimSize(op.getAxis()) != 0)
        inputs.push_back(input);
    }
    if (inputs.empty())
      return rewriter.notifyMatchFailure(op, "all inputs are empty");
    if (llvm::equal(inputs, op.getInputs()))
      return rewriter.notifyMatchFailure(op, "no input is a concat along this axis, or empty");
    rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(inputs); });
    return success();
  }
};

} // namespace

void UnaryOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<InvertEqualityPattern>(context);
}

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeReshapesPattern>(context);
}

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeTransposesPattern>(context);
}

void UnsqueezeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeUnsqueezesPattern>(context);
}

void ConcatOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<FlattenConcatPattern>(context);
}
