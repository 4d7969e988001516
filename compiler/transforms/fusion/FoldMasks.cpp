// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn-fold-masks: what computes a mask or a bias of an attention moves into its regions, where positions are known and
// nothing as large as the scores is read.

#include "compiler/transforms/fusion/MaskTerms.h"
#include "compiler/transforms/fusion/Passes.h"
#include "compiler/transforms/fusion/Sweep.h"
#include "dialects/attn/AttnOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace heddle::nn {

#define GEN_PASS_DEF_FOLDMASKSPASS
#include "compiler/transforms/fusion/Passes.h.inc"

namespace {

using namespace heddle::attn;

/// One region of an attention and what it reads.
struct RegionParts {
  Region &region;
  MutableOperandRange captures;
  SmallVector<AffineMap> maps;
  std::function<void(ArrayAttr)> setMaps;
  unsigned numLeading; // arguments in front of the indices
};

/// Arguments of a region that are the batch, the query head, the query's and the key's position.
constexpr unsigned kNumIndices = 4;

/// True if |map|, of a capture, tells queries and keys apart: the capture is as large as the scores of a head.
bool isLarge(AffineMap map) { return map.isFunctionOfDim(kQuery) && map.isFunctionOfDim(kKey); }

/// Bytes that a region reads for one score, of tensors as large as the scores.
int64_t getLargeBytes(const ElementEmitter &emitter) {
  int64_t bytes = 0;
  for (auto [tensor, map] : llvm::zip_equal(emitter.getCaptures(), emitter.getCaptureMaps()))
    if (isLarge(map))
      bytes += llvm::divideCeil(getElementTypeOrSelf(tensor.getType()).getIntOrFloatBitWidth(), 8);
  return bytes;
}

/// Where a region reads a capture.
struct CapturePlace {
  TensorIndex index;
  // Dimensions over (b, n, q, kv) and the capture's own extents of them, where only a run knows whether these are the
  // attention's.
  SmallVector<std::pair<AffineExpr, ShapeExpr>, 2> unproven;
};

/// Rewrites the regions of one attention.
class MaskFolder {
public:
  MaskFolder(SdpaOp op, KnownDims &dims) : op(op), dims(dims), space(getSpace(op, dims)) {}

  /// True if something changed.
  bool fold();

private:
  static LoopSpace getSpace(SdpaOp op, KnownDims &dims);
  std::optional<CapturePlace> getPlace(Value tensor, AffineMap map);
  bool checksSizes(const ElementEmitter &emitter, const CapturePlace &place);
  bool pays(const RegionParts &parts, unsigned capture, const CapturePlace &place);
  bool foldRegion(RegionParts parts);
  bool addLicence();
  void replace(RegionParts parts, ElementEmitter &emitter, Value yielded);
  RegionParts getMaskParts() {
    return {op.getMask(), op.getMaskCapturesMutable(), op.getMaskCaptureMapList(),
            [this](ArrayAttr maps) { op.setMaskCaptureMapsAttr(maps); }, 0};
  }
  RegionParts getScoreParts() {
    return {op.getScore(), op.getScoreCapturesMutable(), op.getScoreCaptureMapList(),
            [this](ArrayAttr maps) { op.setScoreCaptureMapsAttr(maps); }, 1};
  }

  SdpaOp op;
  KnownDims &dims;
  LoopSpace space;
  SmallVector<Element> biases; // what score captures were before they were folded
};

LoopSpace MaskFolder::getSpace(SdpaOp op, KnownDims &dims) {
  ShapeContext &context = dims.getContext();
  std::array<ShapeExpr, kNumLoops> extents;
  extents.fill(context.constant(1));
  auto read = [&](Value tensor, AffineMap map, unsigned dim, Loop loop) {
    for (auto [expr, extent] : llvm::zip_equal(map.getResults(), dims.get(tensor)))
      if (expr == getAffineDimExpr(dim, op.getContext()))
        extents[loop] = extent;
  };
  read(op.getOutput(), op.getOutputMapOrDefault(), kBatch, kLoopBatch);
  read(op.getOutput(), op.getOutputMapOrDefault(), kQuery, kLoopQuery);
  read(op.getKey(), op.getKeyMapOrDefault(), kKey, kLoopKey);
  extents[kLoopKeyHead] = context.constant(op.getKvNumHeads());
  extents[kLoopGroup] = context.constant(op.getQNumHeads() / op.getKvNumHeads());
  return LoopSpace(context, extents);
}

/// Where |map| reads |tensor|; nothing where that is no plain place.
std::optional<CapturePlace> MaskFolder::getPlace(Value tensor, AffineMap map) {
  static constexpr std::pair<unsigned, Loop> kPlain[] = {{kBatch, kLoopBatch}, {kQuery, kLoopQuery}, {kKey, kLoopKey}};
  LoopDims extents = dims.get(tensor);
  CapturePlace place;
  for (auto [expr, extent] : llvm::zip_equal(map.getResults(), extents)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (auto number = dyn_cast<AffineConstantExpr>(expr)) {
      place.index.push_back(space.constant(space.getContext().constant(number.getValue())));
      continue;
    }
    if (!dim)
      return std::nullopt;
    ShapeExpr size = space.getContext().constant(op.getQNumHeads());
    LinearIndex entry = space.head();
    for (auto [plain, loop] : kPlain)
      if (dim.getPosition() == plain) {
        size = space.extent(loop);
        entry = space.loop(loop);
      }
    if (extent != size)
      place.unproven.push_back({expr, extent});
    place.index.push_back(entry);
  }
  return place;
}

/// True if the captures of |emitter| make a run compare with the attention's sizes what the capture at |place| did.
bool MaskFolder::checksSizes(const ElementEmitter &emitter, const CapturePlace &place) {
  return llvm::all_of(place.unproven, [&](auto &size) {
    for (auto [tensor, map] : llvm::zip_equal(emitter.getCaptures(), emitter.getCaptureMaps()))
      for (auto [expr, extent] : llvm::zip_equal(map.getResults(), dims.get(tensor)))
        if (expr == size.first && extent == size.second)
          return true;
    return false;
  });
}

/// True if |capture| can be computed in the region and no more is read for it than before.
bool MaskFolder::pays(const RegionParts &parts, unsigned capture, const CapturePlace &place) {
  Value tensor = parts.captures[capture].get();
  ElementEmitter trial(dims, space, op.getContext(), TypeRange());
  Value value = trial.emit(tensor, place.index);
  if (!value)
    return false;
  bool isCapture = isa<BlockArgument>(value), isKnown = matchPattern(value, m_Constant());
  trial.finish(value);
  if (!checksSizes(trial, place))
    return false;
  ElementEmitter before(dims, space, op.getContext(), TypeRange());
  before.emitCapture(tensor, parts.maps[capture]);
  int64_t bytesBefore = getLargeBytes(before), bytes = getLargeBytes(trial);
  // All heads compute what they share: conditions cost less than their tensor does, other arithmetic may cost more.
  bool isCondition = parts.numLeading == 0 && !isCapture;
  return bytes < bytesBefore || (bytes == bytesBefore && (isCondition || isKnown));
}

/// Clones |parts| with its captures computed inside.
bool MaskFolder::foldRegion(RegionParts parts) {
  if (parts.region.empty() || parts.maps.empty())
    return false;
  Block &old = parts.region.front();
  SmallVector<std::optional<CapturePlace>, 0> folded;
  for (auto [i, map] : llvm::enumerate(parts.maps)) {
    std::optional<CapturePlace> place = getPlace(parts.captures[i].get(), map);
    folded.push_back(place && pays(parts, i, *place) ? place : std::nullopt);
  }
  if (llvm::none_of(folded, [](const auto &place) { return place.has_value(); }))
    return false;
  unsigned numFixed = parts.numLeading + kNumIndices;
  ElementEmitter emitter(dims, space, op.getContext(), ValueRange(old.getArguments().take_front(parts.numLeading)));
  IRMapping mapping;
  mapping.map(old.getArguments().take_front(numFixed), emitter.getRegion().getArguments());
  for (auto [i, place] : llvm::enumerate(folded)) {
    Value tensor = parts.captures[i].get();
    mapping.map(old.getArgument(numFixed + i),
                place ? emitter.emit(tensor, place->index) : emitter.emitCapture(tensor, parts.maps[i]));
    if (place && parts.numLeading == 1)
      biases.push_back({tensor, place->index});
  }
  for (Operation &inner : old.without_terminator()) {
    Operation *clone = emitter.getBuilder().clone(inner, mapping);
    Value result = clone->getResult(0);
    if (isa<arith::AndIOp>(clone))
      result = emitter.emitAnd(clone->getOperand(0), clone->getOperand(1));
    else if (isa<arith::CmpIOp, arith::CmpFOp>(clone))
      result = emitter.simplify(result);
    mapping.map(inner.getResult(0), result);
  }
  replace(parts, emitter, mapping.lookup(old.getTerminator()->getOperand(0)));
  return true;
}

/// Makes the region of |parts| the one of |emitter|.
void MaskFolder::replace(RegionParts parts, ElementEmitter &emitter, Value yielded) {
  emitter.finish(yielded);
  parts.captures.assign(emitter.getCaptures());
  parts.setMaps(Builder(op.getContext()).getAffineMapArrayAttr(emitter.getCaptureMaps()));
  parts.region.takeBody(emitter.getRegion());
}

/// True if |value| of a score region reaches the score by additions alone.
bool isOnlyAdded(Value value) {
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (isa<YieldOp>(user))
      return true;
    if (!isa<arith::AddFOp>(user))
      return false;
    value = user->getResult(0);
  }
  return false;
}

/// Makes a mask region of the fills that are added to the scores, where there is none: rows without keys give what the
/// scores say, and the region is no more than a licence to skip keys.
bool MaskFolder::addLicence() {
  if (!op.getMask().empty() || op.getScore().empty())
    return false;
  ElementEmitter mask(dims, space, op.getContext(), TypeRange());
  Value keep;
  for (const Element &bias : biases) {
    SmallVector<Element> opaque;
    for (const MaskTerm &term : findBiasTerms(mask, bias, opaque)) {
      ElementEmitter trial(dims, space, op.getContext(), TypeRange());
      Value part = term.emitKeep(trial);
      if (!part)
        continue;
      trial.finish(part);
      if (getLargeBytes(trial) == 0)
        keep = keep ? mask.emitAnd(keep, term.emitKeep(mask)) : term.emitKeep(mask);
    }
  }
  if (!keep || mask.isTrue(keep))
    return false;
  replace(getMaskParts(), mask, keep);
  op.setFullyMasked(FullyMasked::Literal);
  return true;
}

bool MaskFolder::fold() {
  // Regions see positions that an offset moves, and captures rows.
  if (op.getQOffset())
    return false;
  // 1. Which biases are only added shows as long as the region has them as arguments.
  SmallVector<Value> added;
  if (!op.getScore().empty())
    for (auto [tensor, argument] :
         llvm::zip_equal(op.getScoreCaptures(), op.getScore().getArguments().drop_front(1 + kNumIndices)))
      if (isOnlyAdded(argument))
        added.push_back(tensor);
  bool changed = foldRegion(getMaskParts());
  changed |= foldRegion(getScoreParts());
  llvm::erase_if(biases, [&](const Element &bias) { return !llvm::is_contained(added, bias.tensor); });
  // 2. A mask that always holds hides no row's keys.
  if (!op.getMask().empty() && matchPattern(op.getMask().front().getTerminator()->getOperand(0), m_One())) {
    op.getMask().dropAllReferences();
    op.getMask().getBlocks().clear();
    op.getMaskCapturesMutable().clear();
    op.setMaskCaptureMapsAttr(Builder(op.getContext()).getAffineMapArrayAttr({}));
    op.setFullyMasked(FullyMasked::Literal);
    changed = true;
  }
  return addLicence() || changed;
}

struct FoldMasksPass : impl::FoldMasksPassBase<FoldMasksPass> {
  void runOnOperation() override {
    auto ops = llvm::to_vector(getOperation().getOps<SdpaOp>());
    if (ops.empty())
      return;
    // What has no shape before it runs is an error of the outliner, which needs it; here nothing is folded.
    ScopedDiagnosticHandler silence(&getContext(), [](Diagnostic &) { return success(); });
    std::unique_ptr<ShapeAnalysis> analysis = ShapeAnalysis::create(getOperation());
    if (!analysis)
      return;
    KnownDims dims(*analysis);
    for (SdpaOp op : ops)
      numFolded += MaskFolder(op, dims).fold();
    eraseDeadOps(getOperation().getBody().front());
  }
};

} // namespace
} // namespace heddle::nn
