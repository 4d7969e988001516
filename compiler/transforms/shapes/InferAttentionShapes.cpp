// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of attn.sdpa's results: each dimension of the index space (b, n, q, kv, d) gets its size from the tensors that
// have it, and all that have it must agree.

#include "compiler/transforms/shapes/ShapeAnalyzer.h"
#include "dialects/attn/AttnOps.h"

using namespace mlir;
using namespace heddle;

namespace {
/// Dimensions of attn.sdpa's index space. The value's last dimension is another one than the query's and key's.
enum Space : unsigned { kBatch, kHead, kQuery, kKey, kSize, kValueSize, kSpaceRank };

/// What the tensors say about the index space.
struct SdpaSizes {
  ShapeAnalyzer &analyzer;
  attn::SdpaOp op;
  ShapeExpr sizes[kSpaceRank];

  /// Takes in |tensor|, whose dimensions |map| names; heads of key and value are no query heads.
  LogicalResult add(Value tensor, AffineMap map, bool ofKeys, unsigned size) {
    for (auto [expr, extent] : llvm::zip(map.getResults(), analyzer.getDims(tensor))) {
      unsigned place = cast<AffineDimExpr>(expr).getPosition();
      if (place == kHead && ofKeys)
        continue;
      ShapeExpr &known = sizes[place == kSize ? size : place];
      if (!known) {
        known = extent;
        continue;
      }
      FailureOr<ShapeExpr> unified =
          analyzer.unify(op, known, extent, "expects query, key and value of equal sizes, got {a} and {b}");
      if (failed(unified))
        return failure();
      known = *unified;
    }
    return success();
  }

  /// The size of |place|, of which there is one where no tensor has the dimension.
  ShapeExpr get(unsigned place) const { return sizes[place] ? sizes[place] : analyzer.context.constant(1); }

  /// Regions read captures at (b, n, q, kv): these must have all elements that the space has.
  LogicalResult checkCaptures(OperandRange captures, ArrayRef<AffineMap> maps) {
    for (auto [capture, map] : llvm::zip(captures, maps))
      for (auto [expr, extent] : llvm::zip(map.getResults(), analyzer.getDims(capture)))
        if (auto dim = dyn_cast<AffineDimExpr>(expr))
          if (failed(analyzer.requireEqual(op, extent, get(dim.getPosition()),
                                           "expects captures of the attention's sizes, got {a} instead of {b}")))
            return failure();
    return success();
  }

  /// Offsets and lengths are scalars, or one a batch.
  LogicalResult checkPerBatch(Value numbers) {
    if (!numbers || analyzer.getDims(numbers).empty())
      return success();
    return analyzer.requireEqual(op, analyzer.getDims(numbers)[0], get(kBatch),
                                 "expects one offset or length a batch, got {a} for {b}");
  }
};
} // namespace

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, attn::SdpaOp op) {
  SdpaSizes space{analyzer, op, {}};
  if (failed(space.add(op.getQuery(), op.getQueryMapOrDefault(), false, kSize)) ||
      failed(space.add(op.getKey(), op.getKeyMapOrDefault(), true, kSize)) ||
      failed(space.add(op.getValue(), op.getValueMapOrDefault(), true, kValueSize)))
    return failure();
  space.sizes[kHead] = analyzer.context.constant(op.getQNumHeads());
  if (failed(space.checkCaptures(op.getScoreCaptures(), op.getScoreCaptureMapList())) ||
      failed(space.checkCaptures(op.getMaskCaptures(), op.getMaskCaptureMapList())) ||
      failed(space.checkCaptures(op.getProbabilityCaptures(), op.getProbabilityCaptureMapList())) ||
      failed(space.checkPerBatch(op.getQOffset())) || failed(space.checkPerBatch(op.getKvLen())))
    return failure();
  ShapeExprs output;
  for (AffineExpr expr : op.getOutputMapOrDefault().getResults()) {
    unsigned place = cast<AffineDimExpr>(expr).getPosition();
    output.push_back(space.get(place == kSize ? unsigned(kValueSize) : place));
  }
  if (failed(analyzer.setDims(op.getOutput(), output)))
    return failure();
  ShapeExprs rows{space.get(kBatch), space.get(kHead), space.get(kQuery)};
  if (op.getLse() && failed(analyzer.setDims(op.getLse(), rows)))
    return failure();
  rows.push_back(space.get(kKey));
  return op.getProbabilities() ? analyzer.setDims(op.getProbabilities(), rows) : success();
}
