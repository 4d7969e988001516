// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn-fold-heads: heads that were pruned to zero aren't computed, keys and values that are equal are computed once.

#include "compiler/transforms/fusion/AttentionReport.h"
#include "compiler/transforms/fusion/HeadWeights.h"
#include "compiler/transforms/fusion/Passes.h"
#include "compiler/transforms/fusion/Sweep.h"
#include "dialects/attn/AttnOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace heddle::nn {

#define GEN_PASS_DEF_FOLDHEADSPASS
#include "compiler/transforms/fusion/Passes.h.inc"

namespace {

using namespace heddle::attn;

/// True if the heads of a tensor lie beside each other: (..., n, d).
bool isHeadsLast(AffineMap map) {
  unsigned rank = map.getNumResults();
  return rank >= 2 && map.getResult(rank - 1) == getAffineDimExpr(kHeadSize, map.getContext()) &&
         map.getResult(rank - 2) == getAffineDimExpr(kHead, map.getContext());
}

/// True if a head's number matters to the attention: heads then can't change places.
bool dependsOnHead(SdpaOp op) {
  auto asks = [](Region &region, unsigned argument) {
    return !region.empty() && !region.getArgument(argument).use_empty();
  };
  auto isPerHead = [](AffineMap map) { return map.isFunctionOfDim(kHead); };
  return asks(op.getScore(), 1 + kHead) || asks(op.getMask(), kHead) || asks(op.getProbability(), 1 + kHead) ||
         llvm::any_of(op.getScoreCaptureMapList(), isPerHead) || llvm::any_of(op.getMaskCaptureMapList(), isPerHead) ||
         llvm::any_of(op.getProbabilityCaptureMapList(), isPerHead);
}

SmallVector<int64_t> range(int64_t count) { return llvm::to_vector(llvm::seq<int64_t>(0, count)); }

struct FoldHeadsPass : impl::FoldHeadsPassBase<FoldHeadsPass> {
  void runOnOperation() override {
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>()) {
      if (func.isDeclaration())
        continue;
      for (SdpaOp op : llvm::to_vector(func.getOps<SdpaOp>())) {
        dropZeroHeads(op);
        shareEqualHeads(op);
      }
      sweep(func.getBody().front());
    }
  }

private:
  void dropZeroHeads(SdpaOp op);
  void shareEqualHeads(SdpaOp op);
};

/// A head whose values are zero, or whose output meets weights of zero, adds nothing. Heads that share a key and value
/// go together.
void FoldHeadsPass::dropZeroHeads(SdpaOp op) {
  if (op.getLse() || op.getProbabilities() || dependsOnHead(op) || !isHeadsLast(op.getQueryMapOrDefault()) ||
      !isHeadsLast(op.getKeyMapOrDefault()) || !isHeadsLast(op.getValueMapOrDefault()) ||
      !isHeadsLast(op.getOutputMapOrDefault()))
    return;
  auto query = HeadWeights::before(op.getQuery()), key = HeadWeights::before(op.getKey()),
       value = HeadWeights::before(op.getValue()), output = HeadWeights::behind(op.getOutput());
  int64_t kvHeads = op.getKvNumHeads(), groupSize = op.getQNumHeads() / kvHeads;
  if (!query || !key || !value || !output || query->getNumHeads() != static_cast<int64_t>(op.getQNumHeads()) ||
      key->getNumHeads() != kvHeads || value->getNumHeads() != kvHeads)
    return;
  SmallVector<int64_t> kept, keptQueries, dropped;
  for (int64_t kv = 0; kv < kvHeads; ++kv) {
    auto members = llvm::map_to_vector(range(groupSize), [&](int64_t i) { return kv * groupSize + i; });
    bool isZero = value->isZero(kv) || llvm::all_of(members, [&](int64_t head) { return output->isZero(head); });
    // One stays, so that the shapes do.
    if (isZero && (!kept.empty() || kv + 1 < kvHeads)) {
      llvm::append_range(dropped, members);
      continue;
    }
    kept.push_back(kv);
    llvm::append_range(keptQueries, members);
  }
  if (dropped.empty())
    return;
  OpBuilder builder(op);
  op.getQueryMutable().assign(query->project(builder, keptQueries));
  op.getKeyMutable().assign(key->project(builder, kept));
  op.getValueMutable().assign(value->project(builder, kept));
  op.setQNumHeads(keptQueries.size());
  op.setKvNumHeads(kept.size());
  auto type = cast<RankedTensorType>(op.getOutput().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[shape.size() - 2] = keptQueries.size();
  op.getOutput().setType(type.clone(shape));
  builder.setInsertionPoint(output->getProjection().end);
  Value result = output->project(builder, keptQueries, op.getOutput());
  output->getProjection().end->getResult(0).replaceAllUsesWith(result);
  numDropped += dropped.size();
  changeReport(getOperation(), op.getLoc(), [&](NamedAttrList &entry) {
    entry.set("heads", op.getQNumHeadsAttr());
    entry.set("kv_heads", op.getKvNumHeadsAttr());
    entry.set("pruned_heads", builder.getStringAttr(llvm::join(
                                  llvm::map_range(dropped, [](int64_t i) { return std::to_string(i); }), ", ")));
  });
}

/// Neighbouring heads with the same weights for key and value become a group, as if the model had been written so.
void FoldHeadsPass::shareEqualHeads(SdpaOp op) {
  int64_t kvHeads = op.getKvNumHeads();
  if (kvHeads == 1 || !isHeadsLast(op.getKeyMapOrDefault()) || !isHeadsLast(op.getValueMapOrDefault()))
    return;
  auto key = HeadWeights::before(op.getKey()), value = HeadWeights::before(op.getValue());
  if (!key || !value || key->getNumHeads() != kvHeads || value->getNumHeads() != kvHeads)
    return;
  auto sharesWithFirst = [&](int64_t head, int64_t size) {
    int64_t first = head / size * size;
    return head == first || (key->areEqual(head, first) && value->areEqual(head, first));
  };
  int64_t size = kvHeads;
  while (size > 1 && (kvHeads % size != 0 ||
                      !llvm::all_of(range(kvHeads), [&](int64_t head) { return sharesWithFirst(head, size); })))
    --size;
  if (size == 1)
    return;
  auto firsts = llvm::map_to_vector(range(kvHeads / size), [&](int64_t group) { return group * size; });
  OpBuilder builder(op);
  op.getKeyMutable().assign(key->project(builder, firsts));
  op.getValueMutable().assign(value->project(builder, firsts));
  op.setKvNumHeads(firsts.size());
  numShared += kvHeads - firsts.size();
  changeReport(getOperation(), op.getLoc(), [&](NamedAttrList &entry) {
    entry.set("kv_heads", op.getKvNumHeadsAttr());
    entry.set("duplicated_kv_heads", builder.getI64IntegerAttr(kvHeads - firsts.size()));
  });
}

} // namespace
} // namespace heddle::nn
