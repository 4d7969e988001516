// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Canonicalisation patterns: those that need a new op. What folds to an existing value is in NnFolders.cpp.

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Pieces.h"
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

/// The range that all of |values| make up in their order; nothing where they aren't neighbours of equal size.
std::optional<Piece> joinPieces(ArrayRef<Value> values) {
  std::optional<Piece> all;
  for (auto [i, value] : llvm::enumerate(values)) {
    std::optional<Piece> piece = getPiece(value);
    if (!piece)
      return std::nullopt;
    if (i == 0)
      all = piece;
    else if (piece->source != all->source || piece->axis != all->axis || piece->size != all->size ||
             piece->begin != all->begin + static_cast<int64_t>(i) * piece->size)
      return std::nullopt;
  }
  if (all)
    all->size *= static_cast<int64_t>(values.size());
  return all;
}

/// concat (unsqueeze (pieces of x along its last axis)) ==> reshape x, where each piece becomes a place on the new axis
/// before the last one; a slice of x where the pieces aren't all of it.
struct JoinPiecesPattern : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> parts;
    int64_t rank = getTensorType(op.getOutput()).getRank(), axis = op.getAxis();
    for (Value input : op.getInputs()) {
      auto unsqueeze = input.getDefiningOp<UnsqueezeOp>();
      if (!unsqueeze || unsqueeze.getAxes() != ArrayRef<int64_t>{axis} || axis != rank - 2)
        return rewriter.notifyMatchFailure(op, "inputs aren't given an axis before their last one");
      parts.push_back(unsqueeze.getInput());
    }
    std::optional<Piece> all = joinPieces(parts);
    if (!all || all->axis != rank - 2)
      return rewriter.notifyMatchFailure(op, "inputs aren't neighbouring pieces of one tensor");
    Location loc = op.getLoc();
    auto ints = [&](ArrayRef<int64_t> values) -> Value {
      auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, rewriter.getI64Type());
      return rewriter.create<ConstantOp>(loc, DenseElementsAttr::get(type, values));
    };
    Value source = all->source;
    if (all->size != getTensorType(source).getDimSize(all->axis))
      source = rewriter.create<SliceOp>(loc, source, ints({all->begin}), ints({all->begin + all->size}),
                                        ints({all->axis}), Value());
    SmallVector<int64_t> shape(rank, 0); // 0 copies the extent
    shape[rank - 2] = parts.size();
    shape[rank - 1] = all->size / static_cast<int64_t>(parts.size());
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), source, ints(shape), /*allowzero=*/false);
    return success();
  }
};

/// gather x, i along an axis, i a known number ==> squeeze (slice x, i): a view. Where the axis is too short the slice
/// is empty and squeezing it fails, as the gather would.
struct SliceKnownIndexPattern : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GatherOp op, PatternRewriter &rewriter) const override {
    auto index = getConstantInts(op.getIndices());
    auto type = getTensorType(op.getData());
    int64_t axis = op.getAxis();
    if (!index || getTensorType(op.getIndices()).getRank() != 0 || getKnownInts(op.getOutput()))
      return rewriter.notifyMatchFailure(op, "index isn't one known number, or the result is shape arithmetic");
    int64_t begin = index->front(), extent = type.getDimSize(axis);
    if (!ShapedType::isDynamic(extent) && (begin < -extent || begin >= extent))
      return rewriter.notifyMatchFailure(op, "index is out of range, which is for folding to report");
    auto ints = [&](int64_t value) -> Value {
      auto vector = RankedTensorType::get({1}, rewriter.getI64Type());
      return rewriter.create<ConstantOp>(op.getLoc(), DenseElementsAttr::get(vector, ArrayRef(value)));
    };
    int64_t end = begin == -1 ? std::numeric_limits<int64_t>::max() : begin + 1;
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = ShapedType::isDynamic(extent) ? extent : 1;
    Value slice = rewriter.create<SliceOp>(op.getLoc(), type.clone(shape), op.getData(), ints(begin), ints(end),
                                           ints(axis), Value());
    auto squeeze = rewriter.create<SqueezeOp>(op.getLoc(), op.getType(), slice, ArrayRef<int64_t>{axis});
    squeeze->setDiscardableAttrs(op->getDiscardableAttrDictionary()); // the tensor's name
    rewriter.replaceOp(op, squeeze);
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

void GatherOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SliceKnownIndexPattern>(context);
}

void ConcatOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<FlattenConcatPattern, JoinPiecesPattern>(context);
}
