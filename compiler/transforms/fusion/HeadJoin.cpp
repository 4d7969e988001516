// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comparison of heads, and the attention of all of them.

#include "compiler/transforms/fusion/HeadJoin.h"

#include "dialects/nn/ConstantData.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

/// The attention of one head whose output |value| is, seen through axes of extent 1 that come and go; |axes| as in
/// HeadJoin.
static SdpaOp traceHead(Value value, SmallVector<unsigned> &axes) {
  SmallVector<Operation *> views;
  while (value.hasOneUse() && isa_and_nonnull<nn::SqueezeOp, nn::UnsqueezeOp>(value.getDefiningOp())) {
    views.push_back(value.getDefiningOp());
    value = views.back()->getOperand(0);
  }
  auto sdpa = value.getDefiningOp<SdpaOp>();
  if (!sdpa || value != sdpa.getOutput() || !value.hasOneUse() || sdpa.getLse() || sdpa.getProbabilities())
    return nullptr;
  axes.clear();
  for (AffineExpr axis : sdpa.getOutputMapOrDefault().getResults())
    axes.push_back(cast<AffineDimExpr>(axis).getPosition());
  for (Operation *view : llvm::reverse(views)) {
    if (auto squeeze = dyn_cast<nn::SqueezeOp>(view)) {
      for (int64_t axis : llvm::reverse(squeeze.getAxes()))
        axes.erase(axes.begin() + axis);
      continue;
    }
    for (int64_t axis : cast<nn::UnsqueezeOp>(view).getAxes())
      axes.insert(axes.begin() + axis, kUnitAxis);
  }
  return sdpa;
}

/// The op's attributes but the maps of its captures.
static DictionaryAttr getCommonAttributes(SdpaOp op) {
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.erase(op.getScoreCaptureMapsAttrName());
  attributes.erase(op.getMaskCaptureMapsAttrName());
  return attributes.getDictionary(op.getContext());
}

/// True if the heads are written alike: attributes, regions and types, and what must be one and the same for all.
static bool areAlike(SdpaOp a, SdpaOp b) {
  auto sameTypes = [](ValueRange left, ValueRange right) { return llvm::equal(left.getTypes(), right.getTypes()); };
  return getCommonAttributes(a) == getCommonAttributes(b) && sameTypes(a->getOperands(), b->getOperands()) &&
         a.getScaleOperand() == b.getScaleOperand() && a.getQOffset() == b.getQOffset() &&
         a.getKvLen() == b.getKvLen() &&
         OperationEquivalence::isRegionEquivalentTo(&a.getScore(), &b.getScore(),
                                                    OperationEquivalence::IgnoreLocations) &&
         OperationEquivalence::isRegionEquivalentTo(&a.getMask(), &b.getMask(), OperationEquivalence::IgnoreLocations);
}

/// The map of one capture for all heads, whose own maps are |maps|: the same for all, or number i reading place i of
/// one axis. Nothing where there is none.
static std::optional<AffineMap> joinMaps(ArrayRef<AffineMap> maps) {
  // A head alone may have had an axis for itself.
  MLIRContext *context = maps.front().getContext();
  AffineExpr head = getAffineDimExpr(kHead, context), zero = getAffineConstantExpr(0, context);
  AffineMap first = maps.front().replace(head, zero, maps.front().getNumDims(), 0);
  if (llvm::all_equal(maps))
    return first;
  for (unsigned axis = 0; axis < first.getNumResults(); ++axis) {
    auto readsOwnPlace = [&](auto indexed) {
      AffineMap map = indexed.value().replace(head, zero, first.getNumDims(), 0);
      return map.getResult(axis) == getAffineConstantExpr(indexed.index(), context) &&
             map.dropResult(axis) == first.dropResult(axis);
    };
    if (llvm::all_of(llvm::enumerate(maps), readsOwnPlace))
      return first.dropResult(axis).insertResult(head, axis);
  }
  return std::nullopt;
}

/// Capture number |number| of each head, and its map.
static void collectCaptures(ArrayRef<SdpaOp> heads, bool ofMask, size_t number, SmallVectorImpl<Value> &values,
                            SmallVectorImpl<AffineMap> &maps) {
  for (SdpaOp head : heads) {
    values.push_back((ofMask ? head.getMaskCaptures() : head.getScoreCaptures())[number]);
    maps.push_back((ofMask ? head.getMaskCaptureMapList() : head.getScoreCaptureMapList())[number]);
  }
}

static bool canJoinCaptures(ArrayRef<SdpaOp> heads, bool ofMask) {
  SdpaOp first = heads.front();
  for (size_t i = 0, count = (ofMask ? first.getMaskCaptures() : first.getScoreCaptures()).size(); i < count; ++i) {
    SmallVector<Value> values;
    SmallVector<AffineMap> maps;
    collectCaptures(heads, ofMask, i, values, maps);
    if (!joinMaps(maps) || (!llvm::all_equal(maps) && !llvm::all_equal(values)))
      return false;
  }
  return true;
}

/// Whether one head of |op| may become one of many: it is the only one, its regions don't ask which it is, and nothing
/// is quantised.
static bool isSingleHead(SdpaOp op) {
  auto ignoresHead = [](Region &region, unsigned argument) {
    return region.empty() || region.getArgument(argument).use_empty();
  };
  // Heads with a probability region stay: what quantises each has a scale of its own.
  bool isPlain = !op.getQueryScale() && !op.getKeyScale() && !op.getValueScale() && !op.getProbabilityScale() &&
                 op.getProbability().empty();
  // The score region's first argument is the score.
  return op.getQNumHeads() == 1 && op.getKvNumHeads() == 1 && isPlain && ignoresHead(op.getScore(), 1 + kHead) &&
         ignoresHead(op.getMask(), kHead);
}

/// How many neighbouring heads read the same key and value; 0 where that differs from head to head.
static size_t findGroupSize(ArrayRef<SdpaOp> heads) {
  auto shares = [](SdpaOp a, SdpaOp b) { return a.getKey() == b.getKey() && a.getValue() == b.getValue(); };
  size_t size = 1;
  while (size < heads.size() && shares(heads[0], heads[size]))
    ++size;
  if (heads.size() % size != 0)
    return 0;
  for (size_t i = 0; i < heads.size(); ++i)
    if (!shares(heads[i], heads[i / size * size]))
      return 0;
  return size;
}

std::optional<HeadJoin> attn::findHeads(nn::ConcatOp concat) {
  HeadJoin join;
  for (Value input : concat.getInputs()) {
    SmallVector<unsigned> axes;
    SdpaOp head = traceHead(input, axes);
    if (!head || !isSingleHead(head) || (!join.heads.empty() && (axes != join.axes || !areAlike(join.heads[0], head))))
      return std::nullopt;
    join.axes = axes;
    join.heads.push_back(head);
  }
  if (join.heads.size() < 2)
    return std::nullopt;
  // Heads lie side by side in the features, or each has its place on an axis of its own.
  unsigned axis = join.axes[concat.getAxis()];
  bool isBeside = axis == kHeadSize && concat.getAxis() + 1 == join.axes.size() &&
                  !llvm::is_contained(join.axes, static_cast<unsigned>(kHead));
  bool isStacked = axis == kHead || (axis == kUnitAxis && !llvm::is_contained(join.axes, static_cast<unsigned>(kHead)));
  join.groupSize = findGroupSize(join.heads);
  bool isStatic = !typeOf(concat.getInputs().front()).isDynamicDim(join.axes.size() - 1);
  if ((!isBeside && !isStacked) || join.groupSize == 0 || !isStatic || !canJoinCaptures(join.heads, false) ||
      !canJoinCaptures(join.heads, true))
    return std::nullopt;
  return join;
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

namespace {
class HeadJoiner {
public:
  HeadJoiner(const HeadJoin &join, nn::ConcatOp concat)
      : join(join), first(join.heads.front()), concat(concat), builder(concat), context(concat.getContext()),
        loc(FusedLoc::get(context, llvm::map_to_vector(join.heads, [](SdpaOp op) { return op.getLoc(); }))) {}

  SdpaOp run();

private:
  /// A tensor of all heads and its map.
  struct Joined {
    Value tensor;
    AffineMap map;
  };
  /// The operands |get| of each |stride|-th head, on an axis of their own before the features.
  Joined joinOperand(llvm::function_ref<Value(SdpaOp)> get, AffineMap map, size_t stride);
  /// The captures of one region, those that differ from head to head stacked.
  void joinCaptures(bool ofMask, SmallVectorImpl<Value> &captures, SmallVectorImpl<AffineMap> &maps);
  Value stack(ArrayRef<Value> values, int64_t axis);
  void replaceConcat(Value output, ArrayRef<unsigned> dims);

  const HeadJoin &join;
  SdpaOp first;
  nn::ConcatOp concat;
  OpBuilder builder;
  MLIRContext *context;
  Location loc;
};
} // namespace

/// Each value on its own place of a new axis |axis|.
Value HeadJoiner::stack(ArrayRef<Value> values, int64_t axis) {
  SmallVector<Value> parts;
  for (Value value : values)
    parts.push_back(builder.create<nn::UnsqueezeOp>(loc, value, ArrayRef<int64_t>{axis}));
  return builder.create<nn::ConcatOp>(loc, parts, axis);
}

HeadJoiner::Joined HeadJoiner::joinOperand(llvm::function_ref<Value(SdpaOp)> get, AffineMap map, size_t stride) {
  SmallVector<Value> values;
  for (size_t i = 0; i < join.heads.size(); i += stride)
    values.push_back(get(join.heads[i]));
  for (auto [axis, expr] : llvm::enumerate(map.getResults()))
    if (cast<AffineDimExpr>(expr).getPosition() == kHead) {
      if (values.size() == 1)
        return {values.front(), map};
      return {builder.create<nn::ConcatOp>(loc, values, axis), map};
    }
  if (values.size() == 1)
    return {values.front(), map}; // serves all heads
  auto features = llvm::find_if(map.getResults(),
                                [](AffineExpr expr) { return cast<AffineDimExpr>(expr).getPosition() == kHeadSize; });
  unsigned axis = features - map.getResults().begin();
  return {stack(values, axis), map.insertResult(getAffineDimExpr(kHead, context), axis)};
}

void HeadJoiner::joinCaptures(bool ofMask, SmallVectorImpl<Value> &captures, SmallVectorImpl<AffineMap> &maps) {
  for (size_t i = 0, count = (ofMask ? first.getMaskCaptures() : first.getScoreCaptures()).size(); i < count; ++i) {
    SmallVector<Value> values;
    SmallVector<AffineMap> own;
    collectCaptures(join.heads, ofMask, i, values, own);
    AffineMap map = *joinMaps(own);
    bool isShared = llvm::all_equal(values);
    captures.push_back(isShared ? values.front() : stack(values, 0));
    maps.push_back(isShared ? map : map.insertResult(getAffineDimExpr(kHead, context), 0));
  }
}

/// |output| has the axes |dims| of attention; the concat had them in the order of |join.axes|.
void HeadJoiner::replaceConcat(Value output, ArrayRef<unsigned> dims) {
  bool isBeside = join.axes[concat.getAxis()] == kHeadSize;
  SmallVector<unsigned> wanted(join.axes);
  if (isBeside)
    wanted.insert(wanted.end() - 1, kHead);
  else
    wanted[concat.getAxis()] = kHead;
  SmallVector<int64_t> perm, units;
  for (auto [axis, dim] : llvm::enumerate(wanted)) {
    if (dim == kUnitAxis)
      units.push_back(axis);
    else
      perm.push_back(llvm::find(dims, dim) - dims.begin());
  }
  if (!llvm::is_sorted(perm))
    output = builder.create<nn::TransposeOp>(loc, output, perm);
  if (!units.empty())
    output = builder.create<nn::UnsqueezeOp>(loc, output, units);
  if (isBeside) {
    auto type = typeOf(concat.getOutput());
    SmallVector<int64_t> shape(type.getRank(), 0); // 0 copies the extent
    shape.back() = type.getShape().back();
    auto shapeType = RankedTensorType::get({type.getRank()}, builder.getI64Type());
    Value extents = builder.create<nn::ConstantOp>(loc, DenseElementsAttr::get(shapeType, ArrayRef(shape)));
    output = builder.create<nn::ReshapeOp>(loc, type, output, extents, /*allowzero=*/false);
  }
  concat.getOutput().replaceAllUsesWith(output);
}

SdpaOp HeadJoiner::run() {
  Joined query = joinOperand([](SdpaOp op) { return op.getQuery(); }, first.getQueryMapOrDefault(), 1);
  Joined key = joinOperand([](SdpaOp op) { return op.getKey(); }, first.getKeyMapOrDefault(), join.groupSize);
  Joined value = joinOperand([](SdpaOp op) { return op.getValue(); }, first.getValueMapOrDefault(), join.groupSize);
  SmallVector<Value> scores, masks;
  SmallVector<AffineMap> scoreMaps, maskMaps;
  joinCaptures(/*ofMask=*/false, scores, scoreMaps);
  joinCaptures(/*ofMask=*/true, masks, maskMaps);

  // The heads of one row lie beside each other.
  SmallVector<unsigned> dims;
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> exprs;
  auto type = typeOf(first.getOutput());
  auto append = [&](unsigned dim, int64_t extent) {
    dims.push_back(dim);
    shape.push_back(extent);
    exprs.push_back(getAffineDimExpr(dim, context));
  };
  auto numHeads = static_cast<int64_t>(join.heads.size());
  for (auto [axis, expr] : llvm::enumerate(first.getOutputMapOrDefault().getResults())) {
    unsigned dim = cast<AffineDimExpr>(expr).getPosition();
    if (dim == kHeadSize)
      append(kHead, numHeads);
    if (dim != kHead)
      append(dim, type.getDimSize(axis));
  }
  Value none;
  auto op = builder.create<SdpaOp>(
      loc, type.clone(shape), /*lse=*/Type(), /*probabilities=*/Type(), query.tensor, key.tensor, value.tensor,
      first.getScaleOperand(), first.getQOffset(), first.getKvLen(), scores, masks, none, none, none, none, none, none,
      /*probability_captures=*/ValueRange(), builder.getI64IntegerAttr(numHeads),
      builder.getI64IntegerAttr(numHeads / join.groupSize), first.getScaleAttr(), AffineMapAttr::get(query.map),
      AffineMapAttr::get(key.map), AffineMapAttr::get(value.map),
      AffineMapAttr::get(AffineMap::get(kHeadSize + 1, 0, exprs, context)), builder.getAffineMapArrayAttr(scoreMaps),
      builder.getAffineMapArrayAttr(maskMaps), /*probability_scale=*/FloatAttr(), first.getNormalizerAttr(),
      first.getFullyMaskedAttr(), /*probability_capture_maps=*/builder.getAffineMapArrayAttr({}), first.getQkInt8Attr(),
      first.getPvInt8BlockAttr());
  IRMapping mapping;
  first.getScore().cloneInto(&op.getScore(), mapping);
  first.getMask().cloneInto(&op.getMask(), mapping);
  replaceConcat(op.getOutput(), dims);
  return op;
}

SdpaOp attn::joinHeads(const HeadJoin &join, nn::ConcatOp concat) { return HeadJoiner(join, concat).run(); }
