// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From what an operator says of its attention to attn.sdpa with its regions.

#include "compiler/import/onnx/AttentionForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Verifier.h"

#include <cmath>

using namespace mlir;

namespace heddle::importer {

/// Fills from here on hide a key in every row that sees another one: exp of the distance is 0 in f32. What is milder
/// only changes scores. As in compiler/transforms/fusion.
static constexpr double kMaskFill = -9999;

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

AffineMap Heads::map(attn::Dimension sequence) const {
  MLIRContext *context = tensor.getContext();
  return isBnsd ? attn::getBnsdMap(context, sequence) : attn::getBsndMap(context, sequence);
}

LogicalResult splitHeads(NodeContext &node, Value rows, int64_t count, const llvm::Twine &what, Heads &heads) {
  if (node.hasFailed())
    return failure();
  auto type = cast<RankedTensorType>(rows.getType());
  int64_t channels = type.getRank() == 3 ? type.getDimSize(2) : 0;
  if (type.getRank() != 3)
    return node.malformed(what + " must have 3 dimensions, not " + llvm::Twine(type.getRank()));
  if (ShapedType::isDynamic(channels))
    return node.unsupported("the number of channels of " + what + " must be known",
                            "export the model with a fixed extent for it");
  if (count < 1 || channels > kMostChannels || channels % count != 0)
    return node.malformed(what + " has " + llvm::Twine(channels) + " channels, which can't be " + llvm::Twine(count) +
                          " heads");
  // A 0 copies the extent.
  Value shape = node.createVector({0, 0, count, channels / count});
  heads = {node.createValue<nn::ReshapeOp>(rows, shape, /*allowzero=*/false), count, channels / count,
           /*isBnsd=*/false};
  return success(!node.hasFailed());
}

Value joinHeads(NodeContext &node, const Heads &heads, bool keepsHeads) {
  if (keepsHeads)
    return heads.tensor;
  Value shape = node.createVector({0, 0, heads.count * heads.size});
  return node.createValue<nn::ReshapeOp>(heads.tensor, shape, /*allowzero=*/false);
}

Value toBnsd(NodeContext &node, const Heads &heads) {
  return heads.isBnsd ? heads.tensor
                      : node.createValue<nn::TransposeOp>(heads.tensor, llvm::ArrayRef<int64_t>{0, 2, 1, 3});
}

Value appendToPast(NodeContext &node, Value past, Heads &heads) {
  heads.tensor = node.createValue<nn::ConcatOp>(ValueRange{past, toBnsd(node, heads)}, int64_t(2));
  heads.isBnsd = true;
  return heads.tensor;
}

Value extentOf(NodeContext &node, Value tensor, unsigned axis) {
  return node.createValue<nn::ShapeOp>(tensor, int64_t(axis), int64_t(axis) + 1);
}

Capture Capture::alignRight(Value tensor) {
  auto rank = static_cast<unsigned>(cast<RankedTensorType>(tensor.getType()).getRank());
  Capture capture{tensor, {}};
  for (unsigned axis = 4 - rank; axis < 4; ++axis)
    capture.axes.push_back(axis);
  return capture;
}

AffineMap Capture::getMap() const {
  auto type = cast<RankedTensorType>(tensor.getType());
  MLIRContext *context = tensor.getContext();
  llvm::SmallVector<AffineExpr> place;
  for (auto [dim, axis] : llvm::enumerate(axes))
    place.push_back(type.getDimSize(static_cast<unsigned>(dim)) == 1 ? getAffineConstantExpr(0, context)
                                                                     : getAffineDimExpr(axis, context));
  return AffineMap::get(4, 0, place, context);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

namespace {
/// Writes into a region of attn.sdpa. |leading| arguments stand before the indices, captures follow these.
class RegionWriter {
public:
  RegionWriter(Region &region, Location loc, TypeRange leading) : block(region.emplaceBlock()), loc(loc) {
    builder.setInsertionPointToStart(&block);
    for (Type type : leading)
      block.addArgument(type, loc);
    first = block.getNumArguments();
    for (unsigned i = 0; i < 4; ++i)
      block.addArgument(builder.getIndexType(), loc);
  }

  Value capture(Value tensor) { return block.addArgument(getElementTypeOrSelf(tensor.getType()), loc); }
  Value getLeading() { return block.getArgument(0); }
  void yield(Value value) { builder.create<attn::YieldOp>(loc, value); }

  Value real(Type type, double value) {
    // Beyond f32 a fill stays the lowest number: -inf would make NaN of a row without keys.
    auto floats = cast<FloatType>(type);
    llvm::APFloat number(value);
    bool isInexact = false;
    number.convert(floats.getFloatSemantics(), llvm::APFloat::rmTowardZero, &isInexact);
    return builder.create<arith::ConstantOp>(loc, FloatAttr::get(type, number));
  }

  /// Whether the query sees the key as far as |mask| says.
  Value keeps(const KeyMask &mask, Value element) {
    switch (mask.kind) {
    case KeyMask::Kind::Keep:
      return element;
    case KeyMask::Kind::Positive:
      return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sgt, element, zero(element.getType()));
    case KeyMask::Kind::Before:
      return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, keyPosition(), toIndex(element));
    case KeyMask::Kind::From:
      return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, keyPosition(), toIndex(element));
    case KeyMask::Kind::Finite:
      return builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, element, real(element.getType(), -INFINITY));
    }
    llvm_unreachable("all kinds are above");
  }

  /// Whether the query sees the key as far as positions say; null where they say nothing.
  Value keepsOrder(const AttentionForm &form) {
    Value keep;
    auto require = [&](arith::CmpIPredicate predicate, int64_t distance) {
      Value bound = block.getArgument(first + attn::kQuery);
      if (distance != 0)
        bound = builder.create<arith::AddIOp>(loc, bound, builder.create<arith::ConstantIndexOp>(loc, distance));
      // Signed: an offset may be negative, and then the first rows see nothing.
      keep = both(keep, builder.create<arith::CmpIOp>(loc, predicate, keyPosition(), bound));
    };
    if (form.isCausal)
      require(arith::CmpIPredicate::sle, 0);
    if (form.left >= 0)
      require(arith::CmpIPredicate::sge, -form.left);
    if (form.right >= 0)
      require(arith::CmpIPredicate::sle, form.right);
    return keep;
  }

  Value both(Value keep, Value condition) {
    return keep ? builder.create<arith::AndIOp>(loc, keep, condition).getResult() : condition;
  }

  OpBuilder &getBuilder() { return builder; }

private:
  Value keyPosition() { return block.getArgument(first + attn::kKey); }
  Value zero(Type type) { return builder.create<arith::ConstantOp>(loc, builder.getIntegerAttr(type, 0)); }
  Value toIndex(Value value) { return builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), value); }

  Block &block;
  Location loc;
  OpBuilder builder{loc.getContext()};
  unsigned first = 0;
};
} // namespace

/// The soft cap comes before all that is added: behind it a bias of -inf would become a finite score. Captures are the
/// biases and then, where there is a fill, the masks.
static void writeScore(const AttentionForm &form, attn::SdpaOp op, Type scoreType) {
  bool hasMaskFill = form.maskFill && !form.masks.empty();
  bool hasOrderFill = form.causalFill && form.isCausal;
  if (form.softcap == 0 && form.biases.empty() && !hasMaskFill && !hasOrderFill)
    return;
  Location loc = op.getLoc();
  RegionWriter writer(op.getScore(), loc, scoreType);
  OpBuilder &inside = writer.getBuilder();
  Value score = writer.getLeading();
  if (form.softcap != 0) {
    Value cap = writer.real(scoreType, form.softcap);
    Value bent = inside.create<math::TanhOp>(loc, inside.create<arith::DivFOp>(loc, score, cap));
    score = inside.create<arith::MulFOp>(loc, bent, cap);
  }
  Value added;
  auto add = [&](Value term) { added = added ? inside.create<arith::AddFOp>(loc, added, term).getResult() : term; };
  for (const Capture &bias : form.biases)
    add(writer.capture(bias.tensor));
  // A key that is hidden twice gets the fill of its position, not the sum.
  Value fill, zero = hasMaskFill || hasOrderFill ? writer.real(scoreType, 0) : Value();
  if (hasMaskFill) {
    Value keep;
    for (const KeyMask &mask : form.masks)
      keep = writer.both(keep, writer.keeps(mask, writer.capture(mask.capture.tensor)));
    fill = inside.create<arith::SelectOp>(loc, keep, zero, writer.real(scoreType, *form.maskFill));
  }
  if (hasOrderFill)
    fill = inside.create<arith::SelectOp>(loc, writer.keepsOrder(form), fill ? fill : zero,
                                          writer.real(scoreType, *form.causalFill));
  if (fill)
    add(fill);
  if (added)
    score = inside.create<arith::AddFOp>(loc, score, added);
  writer.yield(score);
}

static void writeMask(const AttentionForm &form, attn::SdpaOp op, llvm::ArrayRef<KeyMask> skipped) {
  bool hasPositions = form.isCausal || form.left >= 0 || form.right >= 0;
  if (skipped.empty() && !hasPositions)
    return;
  RegionWriter writer(op.getMask(), op.getLoc(), TypeRange());
  Value keep = writer.keepsOrder(form);
  for (const KeyMask &mask : skipped)
    keep = writer.both(keep, writer.keeps(mask, writer.capture(mask.capture.tensor)));
  writer.yield(keep);
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

Type AttentionForm::scoreType() const {
  Type type = getElementTypeOrSelf(query.tensor.getType());
  return type.isF64() ? type : Float32Type::get(type.getContext());
}

/// The same with f32 for all halves.
AttentionForm AttentionForm::widen() const {
  AttentionForm wide = *this;
  // A mask that is added is there twice.
  llvm::DenseMap<Value, Value> casts;
  auto visit = [&](Value &tensor) {
    Type type = getElementTypeOrSelf(tensor.getType());
    if (!type.isF16() && !type.isBF16())
      return;
    Value &cast = casts[tensor];
    if (!cast)
      cast = node.createValue<nn::CastOp>(tensor, Float32Type::get(type.getContext()));
    tensor = cast;
  };
  for (Heads *heads : {&wide.query, &wide.key, &wide.value})
    visit(heads->tensor);
  for (Capture &bias : wide.biases)
    visit(bias.tensor);
  for (KeyMask &mask : wide.masks)
    visit(mask.capture.tensor);
  return wide;
}

/// The masks that may be skipped by: all that a fill doesn't merely dampen.
llvm::SmallVector<KeyMask> AttentionForm::getSkipped() const {
  return maskFill && *maskFill > kMaskFill ? llvm::SmallVector<KeyMask>() : masks;
}

attn::SdpaOp AttentionForm::createOp(llvm::ArrayRef<KeyMask> skipped) const {
  OpBuilder &builder = node.getBuilder();
  MLIRContext *context = builder.getContext();
  llvm::SmallVector<Value> scoreCaptures, maskCaptures;
  llvm::SmallVector<AffineMap> scoreMaps, maskMaps;
  auto capture = [](const Capture &from, auto &tensors, auto &maps) {
    tensors.push_back(from.tensor);
    maps.push_back(from.getMap());
  };
  for (const Capture &bias : biases)
    capture(bias, scoreCaptures, scoreMaps);
  for (const KeyMask &mask : maskFill ? llvm::ArrayRef(masks) : llvm::ArrayRef<KeyMask>())
    capture(mask.capture, scoreCaptures, scoreMaps);
  for (const KeyMask &mask : skipped)
    capture(mask.capture, maskCaptures, maskMaps);

  auto queryType = cast<RankedTensorType>(query.tensor.getType()),
       keyType = cast<RankedTensorType>(key.tensor.getType());
  llvm::SmallVector<int64_t> shape(queryType.getShape());
  shape.back() = value.size;
  llvm::SmallVector<int64_t> rows{queryType.getDimSize(0), query.count, queryType.getDimSize(query.sequenceAxis())};
  Type lseType = wantsLse ? RankedTensorType::get(rows, scoreType()) : Type();
  rows.push_back(keyType.getDimSize(key.sequenceAxis()));
  Type weightsType = wantsWeights ? RankedTensorType::get(rows, queryType.getElementType()) : Type();
  // Without a fill rows that see no key are zero, decided by the mask alone.
  bool isZero = !hasFills() && (!skipped.empty() || hasPositions());
  auto rule = isZero ? attn::FullyMasked::Zero : attn::FullyMasked::Literal;
  auto mapAttr = [](AffineMap map) { return AffineMapAttr::get(map); };
  Value none;
  return builder.create<attn::SdpaOp>(
      node.getLoc(), RankedTensorType::get(shape, queryType.getElementType()), lseType, weightsType, query.tensor,
      key.tensor, value.tensor, /*scale_operand=*/none, queryOffset, keyLength, scoreCaptures, maskCaptures, none, none,
      none, none, none, none, /*probability_captures=*/ValueRange(), builder.getI64IntegerAttr(query.count),
      builder.getI64IntegerAttr(key.count), builder.getF32FloatAttr(static_cast<float>(scale)),
      mapAttr(query.map(attn::kQuery)), mapAttr(key.map(attn::kKey)), mapAttr(value.map(attn::kKey)),
      mapAttr(query.map(attn::kQuery)), builder.getAffineMapArrayAttr(scoreMaps),
      builder.getAffineMapArrayAttr(maskMaps),
      /*probability_scale=*/FloatAttr(), attn::NormalizerAttr::get(context, attn::Normalizer::Softmax),
      attn::FullyMaskedAttr::get(context, rule), /*probability_capture_maps=*/builder.getAffineMapArrayAttr({}),
      /*qk_int8=*/UnitAttr(), /*pv_int8_block=*/IntegerAttr());
}

FailureOr<AttentionForm::Result> AttentionForm::build() const {
  if (node.hasFailed())
    return failure();
  AttentionForm wide = widen();
  if (node.hasFailed())
    return failure();
  llvm::SmallVector<KeyMask> skipped = wide.getSkipped();
  attn::SdpaOp op = wide.createOp(skipped);
  writeScore(wide, op, wide.scoreType());
  writeMask(wide, op, skipped);
  if (failed(verify(op))) {
    op.erase();
    return failure();
  }
  Type type = getElementTypeOrSelf(query.tensor.getType());
  auto round = [&](Value tensor) {
    return getElementTypeOrSelf(tensor.getType()) == type ? tensor : node.createValue<nn::CastOp>(tensor, type);
  };
  Result result{{round(op.getOutput()), query.count, value.size, query.isBnsd}, {}, op.getLse()};
  if (wantsWeights)
    result.weights = round(op.getProbabilities());
  return node.hasFailed() ? FailureOr<Result>(failure()) : result;
}

} // namespace heddle::importer
