// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes attn.sdpa and puts it in place of what it computes.

#include "compiler/transforms/fusion/SdpaBuilder.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// |value| without |axes|, which have extent 1.
static Value squeeze(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> axes) {
  if (axes.empty())
    return value;
  SmallVector<int64_t> shape;
  for (auto [axis, extent] : llvm::enumerate(typeOf(value).getShape()))
    if (!llvm::is_contained(axes, static_cast<int64_t>(axis)))
      shape.push_back(extent);
  auto type = RankedTensorType::get(shape, typeOf(value).getElementType());
  return builder.create<nn::SqueezeOp>(loc, type, value, axes);
}

/// |value| with new axes of extent 1 that are |axes| of the result.
static Value unsqueeze(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> axes) {
  if (axes.empty())
    return value;
  SmallVector<int64_t> shape(typeOf(value).getShape());
  for (int64_t axis : axes)
    shape.insert(shape.begin() + axis, 1);
  auto type = RankedTensorType::get(shape, typeOf(value).getElementType());
  return builder.create<nn::UnsqueezeOp>(loc, type, value, axes);
}

static SmallVector<int64_t> firstAxes(unsigned count) { return llvm::to_vector(llvm::seq<int64_t>(0, count)); }

static AffineMap getMap(const Placement &placement, MLIRContext *context) {
  SmallVector<AffineExpr> exprs;
  for (unsigned dim : placement.dims)
    exprs.push_back(getAffineDimExpr(dim, context));
  return AffineMap::get(kHeadSize + 1, 0, exprs, context);
}

namespace {
/// Builds one op.
class SdpaBuilder {
public:
  SdpaBuilder(const SoftmaxPattern &pattern, const SdpaPlan &plan, SdpaRegions &regions, KnownDims &dims)
      : pattern(pattern), plan(plan), regions(regions), dims(dims), builder(pattern.output.op),
        loc(nn::SoftmaxOp(pattern.softmax).getLoc()) {}

  SdpaOp build();

private:
  Value place(const PlacedTensor &operand) {
    Value value = squeeze(builder, loc, operand.tensor, operand.placement.unitAxes);
    return unsqueeze(builder, loc, value, firstAxes(operand.placement.numAdded));
  }
  Value buildScaleOperand();
  RankedTensorType getOutputType();
  RankedTensorType getProbabilitiesType();
  void replace(Value old, Value replacement) {
    dims.note(replacement, dims.get(old));
    old.replaceAllUsesWith(replacement);
  }
  void replaceOutput(Value output);
  void replaceProbabilities(Value probabilities);

  const SoftmaxPattern &pattern;
  const SdpaPlan &plan;
  SdpaRegions &regions;
  KnownDims &dims;
  OpBuilder builder;
  Location loc;
};
} // namespace

/// The scale as a scalar where it isn't a number; null where it is.
Value SdpaBuilder::buildScaleOperand() {
  const Scale &scale = plan.scale;
  if (scale.factors.empty() && scale.divisors.empty())
    return nullptr;
  auto type = RankedTensorType::get({}, builder.getF32Type());
  auto toScalar = [&](Value factor) { return squeeze(builder, loc, factor, firstAxes(typeOf(factor).getRank())); };
  auto number = DenseElementsAttr::get(type, builder.getF32FloatAttr(scale.number).getValue());
  Value product = builder.create<nn::ConstantOp>(loc, number);
  for (Value factor : scale.factors)
    product = builder.create<nn::BinaryOp>(loc, type, nn::BinaryKind::Mul, product, toScalar(factor));
  for (Value divisor : scale.divisors)
    product = builder.create<nn::BinaryOp>(loc, type, nn::BinaryKind::Div, product, toScalar(divisor));
  return product;
}

RankedTensorType SdpaBuilder::getOutputType() {
  SmallVector<int64_t> shape(plan.targetPlacement.numAdded, 1);
  for (auto [axis, extent] : llvm::enumerate(typeOf(plan.target).getShape()))
    if (!llvm::is_contained(plan.targetPlacement.unitAxes, static_cast<int64_t>(axis)))
      shape.push_back(extent);
  return RankedTensorType::get(shape, typeOf(plan.target).getElementType());
}

RankedTensorType SdpaBuilder::getProbabilitiesType() {
  if (!pattern.hasOtherUsers)
    return nullptr;
  auto extent = [&](Loop loop) { return plan.space->extent(loop).getConstant().value_or(ShapedType::kDynamic); };
  return RankedTensorType::get({extent(kLoopBatch), plan.reading.numHeads, extent(kLoopQuery), extent(kLoopKey)},
                               typeOf(plan.softmaxInput.tensor).getElementType());
}

void SdpaBuilder::replaceOutput(Value output) {
  output = squeeze(builder, loc, output, firstAxes(plan.targetPlacement.numAdded));
  replace(plan.target, unsqueeze(builder, loc, output, plan.targetPlacement.unitAxes));
}

/// (b, n, q, kv) as the softmax had it.
void SdpaBuilder::replaceProbabilities(Value probabilities) {
  using Kind = AxisReading::Kind;
  ArrayRef<Kind> axes = plan.reading.axes;
  if (axes == ArrayRef<Kind>{Kind::Batch, Kind::Query, Kind::Head}) {
    ArrayRef<int64_t> shape = typeOf(probabilities).getShape();
    auto type = RankedTensorType::get({shape[0], shape[2], shape[1], shape[3]}, typeOf(probabilities).getElementType());
    probabilities = builder.create<nn::TransposeOp>(loc, type, probabilities, ArrayRef<int64_t>{0, 2, 1, 3});
  }
  SmallVector<int64_t> absent;
  if (!llvm::is_contained(axes, Kind::Batch))
    absent.push_back(0);
  if (!llvm::is_contained(axes, Kind::Head))
    absent.push_back(1);
  replace(getProbabilities(pattern), squeeze(builder, loc, probabilities, absent));
}

SdpaOp SdpaBuilder::build() {
  Value query = place(plan.query), key = place(plan.key), value = place(plan.value), scale = buildScaleOperand();
  MLIRContext *context = builder.getContext();
  auto captures = [](const std::unique_ptr<ElementEmitter> &region) {
    return region ? region->getCaptures() : ArrayRef<Value>();
  };
  auto maps = [&](const std::unique_ptr<ElementEmitter> &region) {
    return builder.getAffineMapArrayAttr(region ? region->getCaptureMaps() : ArrayRef<AffineMap>());
  };
  auto number = scale ? FloatAttr() : builder.getF32FloatAttr(plan.scale.number);
  auto map = [&](const Placement &placement) { return AffineMapAttr::get(getMap(placement, context)); };
  Value none;
  auto op = builder.create<SdpaOp>(
      loc, getOutputType(), /*lse=*/Type(), getProbabilitiesType(), query, key, value, scale, /*q_offset=*/none,
      /*kv_len=*/none, captures(regions.score), captures(regions.mask), none, none, none, none, none, none,
      captures(regions.probability), builder.getI64IntegerAttr(plan.reading.numHeads),
      builder.getI64IntegerAttr(plan.kvNumHeads), number, map(plan.query.placement), map(plan.key.placement),
      map(plan.value.placement), map(plan.targetPlacement), maps(regions.score), maps(regions.mask),
      /*probability_scale=*/FloatAttr(), NormalizerAttr::get(context, Normalizer::Softmax),
      FullyMaskedAttr::get(context, regions.rule), maps(regions.probability), /*qk_int8=*/UnitAttr(),
      /*pv_int8_block=*/IntegerAttr());
  if (regions.score)
    op.getScore().takeBody(regions.score->getRegion());
  if (regions.mask)
    op.getMask().takeBody(regions.mask->getRegion());
  if (regions.probability)
    op.getProbability().takeBody(regions.probability->getRegion());
  if (Value probabilities = op.getProbabilities())
    replaceProbabilities(probabilities);
  replaceOutput(op.getOutput());
  return op;
}

std::optional<SdpaOp> heddle::attn::buildSdpa(const SoftmaxPattern &pattern, const SdpaPlan &plan, SdpaRegions &regions,
                                              KnownDims &dims, std::string &reason) {
  using Kind = AxisReading::Kind;
  if (pattern.hasOtherUsers &&
      llvm::any_of(plan.reading.axes, [](Kind kind) { return kind == Kind::BatchAndHead || kind == Kind::KeyHead; })) {
    reason = "the probabilities have other users, and their heads are folded with another axis";
    return std::nullopt;
  }
  return SdpaBuilder(pattern, plan, regions, dims).build();
}
