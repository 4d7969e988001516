// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recipes of constants, found from a value backwards.

#include "compiler/transforms/outlining/ConstantRecipe.h"

#include "compiler/transforms/outlining/KernelBuilder.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/NnOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace heddle;

/// A step of |kind| with the further |entries|.
static Attribute makeStep(MLIRContext *context, StringRef kind, ArrayRef<std::pair<StringRef, Attribute>> entries) {
  Builder b(context);
  NamedAttrList step;
  step.set("kind", b.getStringAttr(kind));
  for (auto [name, value] : entries)
    step.set(name, value);
  return step.getDictionary(context);
}

static Attribute makeScalesStep(MLIRContext *context, StringRef kind, WeightScales form) {
  Builder b(context);
  SmallVector<std::pair<StringRef, Attribute>> entries = {{"axis", b.getI64IntegerAttr(form.axis)}};
  if (form.pairSafe)
    entries.push_back({"pair_safe", b.getBoolAttr(true)});
  if (form.block > 0)
    entries.push_back({"block", b.getI64IntegerAttr(form.block)});
  if (form.bits != 8)
    entries.push_back({"bits", b.getI64IntegerAttr(form.bits)});
  return makeStep(context, kind, entries);
}

bool ConstantRecipe::flatten() {
  if (type.getRank() == 2)
    return true;
  if (type.getRank() < 2 || !steps.empty())
    return false;
  int64_t first = type.getDimSize(0);
  SmallVector<int64_t> matrix = {first, type.getNumElements() / std::max<int64_t>(first, 1)};
  sourceType = sourceType.clone(matrix);
  if (auto dense = dyn_cast<DenseElementsAttr>(source))
    source = dense.reshape(sourceType);
  type = type.clone(matrix);
  return true;
}

void ConstantRecipe::deinterleave(int64_t count) {
  Builder b(type.getContext());
  auto takeEvery = [&](int64_t begin) {
    return makeStep(type.getContext(), "slice",
                    {{"axis", b.getI64IntegerAttr(1)},
                     {"begin", b.getI64IntegerAttr(begin)},
                     {"size", b.getI64IntegerAttr(type.getDimSize(1) / count)},
                     {"every", b.getI64IntegerAttr(count)}});
  };
  if (count == 1)
    return;
  steps.push_back(takeEvery(0));
  for (int64_t i = 1; i < count; ++i)
    steps.push_back(makeStep(type.getContext(), "concat",
                             {{"axis", b.getI64IntegerAttr(1)},
                              {"source", source},
                              {"source_type", TypeAttr::get(sourceType)},
                              {"recipe", b.getArrayAttr(takeEvery(i))}}));
  axis = 1;
}

void ConstantRecipe::transpose(ArrayRef<int64_t> permutation) {
  Builder b(type.getContext());
  steps.push_back(makeStep(type.getContext(), "transpose", {{"permutation", b.getDenseI64ArrayAttr(permutation)}}));
  SmallVector<int64_t> dims;
  for (int64_t dim : permutation)
    dims.push_back(type.getDimSize(dim));
  type = type.clone(dims);
  if (axis)
    axis = llvm::find(permutation, *axis) - permutation.begin();
}

void ConstantRecipe::multiply(int64_t along, const ConstantRecipe &vector) {
  Builder b(type.getContext());
  steps.push_back(makeStep(type.getContext(), "multiply",
                           {{"axis", b.getI64IntegerAttr(along)},
                            {"source", vector.source},
                            {"source_type", TypeAttr::get(vector.sourceType)}}));
  isComputed = true;
}

void ConstantRecipe::quantize(WeightScales form) {
  steps.push_back(makeScalesStep(type.getContext(), "quantize", form));
  type = type.clone(IntegerType::get(type.getContext(), form.bits));
  isComputed = true;
}

void ConstantRecipe::scales(WeightScales form) {
  steps.push_back(makeScalesStep(type.getContext(), "scales", form));
  SmallVector<int64_t> dims = {type.getDimSize(form.axis)};
  if (form.block > 0) // the place of the blocks' axis is kept
    dims.insert(form.axis == 0 ? dims.end() : dims.begin(),
                llvm::divideCeil(type.getDimSize(1 - form.axis), form.block));
  becomeStored(type.clone(dims));
}

void ConstantRecipe::sums(int64_t along) {
  Builder b(type.getContext());
  steps.push_back(makeStep(type.getContext(), "sums", {{"axis", b.getI64IntegerAttr(along)}}));
  becomeStored(RankedTensorType::get(type.getDimSize(1 - along), b.getI32Type()));
}

void ConstantRecipe::flip() {
  steps.push_back(makeStep(type.getContext(), "flip", {}));
  isComputed = true;
}

void ConstantRecipe::widen(bool isUnsigned) {
  Builder b(type.getContext());
  SmallVector<std::pair<StringRef, Attribute>> entries;
  if (isUnsigned)
    entries.push_back({"is_unsigned", b.getBoolAttr(true)});
  steps.push_back(makeStep(type.getContext(), "widen", entries));
  type = type.clone(b.getI8Type());
  isComputed = true;
}

void ConstantRecipe::becomeStored(RankedTensorType stored) {
  type = stored;
  axis = std::nullopt;
  isComputed = false;
}

void ConstantRecipe::pack(int64_t panel) {
  Builder b(type.getContext());
  steps.push_back(makeStep(type.getContext(), "pack", {{"panel", b.getI64IntegerAttr(panel)}}));
  int64_t rows = type.getDimSize(0), panels = llvm::divideCeil(type.getDimSize(1), panel);
  type = type.clone({panels, rows, panel});
}

void ConstantRecipe::packPairs(int64_t panel) {
  Builder b(type.getContext());
  steps.push_back(makeStep(type.getContext(), "pack",
                           {{"panel", b.getI64IntegerAttr(panel)}, {"pairs_of", TypeAttr::get(b.getBF16Type())}}));
  int64_t pairs = llvm::divideCeil(type.getDimSize(0), 2), panels = llvm::divideCeil(type.getDimSize(1), panel);
  type = RankedTensorType::get({panels, pairs, panel, 2}, b.getBF16Type());
}

void ConstantRecipe::packGroups(int64_t panel) {
  Builder b(type.getContext());
  constexpr int64_t kGroup = 4; // what one lane of a dot product of bytes adds up
  steps.push_back(makeStep(type.getContext(), "pack",
                           {{"panel", b.getI64IntegerAttr(panel)}, {"group", b.getI64IntegerAttr(kGroup)}}));
  int64_t groups = llvm::divideCeil(type.getDimSize(0), kGroup), panels = llvm::divideCeil(type.getDimSize(1), panel);
  type = type.clone({panels, groups, panel, kGroup});
}

void ConstantRecipe::packNibbles(int64_t panel) {
  Builder b(type.getContext());
  steps.push_back(
      makeStep(type.getContext(), "pack", {{"panel", b.getI64IntegerAttr(panel)}, {"nibbles", b.getBoolAttr(true)}}));
  int64_t bytes = llvm::divideCeil(type.getDimSize(0), 2), panels = llvm::divideCeil(type.getDimSize(1), panel);
  type = RankedTensorType::get({panels, bytes, panel}, b.getI8Type());
}

static std::optional<ConstantRecipe> sliceRecipe(nn::SliceOp op) {
  std::optional<ConstantRecipe> recipe = findConstantRecipe(op.getData());
  auto type = dyn_cast<RankedTensorType>(op.getOutput().getType());
  std::optional<SmallVector<int64_t>> starts = nn::getConstantInts(op.getStarts());
  std::optional<SmallVector<int64_t>> axes = op.getAxes() ? nn::getConstantInts(op.getAxes()) : std::nullopt;
  std::optional<SmallVector<int64_t>> stride = op.getSteps() ? nn::getConstantInts(op.getSteps()) : std::nullopt;
  if (!recipe || recipe->isComputed || !type.hasStaticShape() || !starts || (op.getAxes() && !axes) ||
      (op.getSteps() && !stride) || (stride && llvm::any_of(*stride, [](int64_t step) { return step != 1; })))
    return std::nullopt;
  Builder b(op.getContext());
  for (size_t i = 0; i < starts->size(); ++i) {
    int64_t axis = axes ? (*axes)[i] : static_cast<int64_t>(i);
    axis += axis < 0 ? type.getRank() : 0;
    int64_t extent = recipe->type.getDimSize(axis), begin = (*starts)[i];
    begin = std::clamp<int64_t>(begin < 0 ? begin + extent : begin, 0, extent);
    recipe->steps.push_back(makeStep(op.getContext(), "slice",
                                     {{"axis", b.getI64IntegerAttr(axis)},
                                      {"begin", b.getI64IntegerAttr(begin)},
                                      {"size", b.getI64IntegerAttr(type.getDimSize(axis))}}));
  }
  recipe->type = recipe->type.clone(type.getShape());
  return recipe;
}

static std::optional<ConstantRecipe> concatRecipe(nn::ConcatOp op) {
  int64_t axis = op.getAxis();
  std::optional<ConstantRecipe> result;
  Builder b(op.getContext());
  for (Value input : op.getInputs()) {
    std::optional<ConstantRecipe> part = findConstantRecipe(input);
    if (!part || part->isComputed || part->axis.value_or(axis) != axis)
      return std::nullopt;
    if (!result) {
      result = part;
      continue;
    }
    result->steps.push_back(makeStep(op.getContext(), "concat",
                                     {{"axis", b.getI64IntegerAttr(axis)},
                                      {"source", part->source},
                                      {"source_type", TypeAttr::get(part->sourceType)},
                                      {"recipe", b.getArrayAttr(part->steps)}}));
  }
  if (!result)
    return std::nullopt;
  result->axis = axis;
  auto type = cast<RankedTensorType>(op.getOutput().getType());
  result->type = result->type.clone(type.getShape());
  return result;
}

/// The axis of |matrix| along which |vector| broadcasts against it with one element for each index; none otherwise.
static std::optional<int64_t> findVectorAxis(RankedTensorType matrix, RankedTensorType vector) {
  if (vector.getRank() == 1 && vector.getDimSize(0) == matrix.getDimSize(1))
    return 1;
  if (vector.getRank() != 2)
    return std::nullopt;
  for (int64_t axis : {0, 1})
    if (vector.getDimSize(axis) == matrix.getDimSize(axis) && vector.getDimSize(1 - axis) == 1)
      return axis;
  return std::nullopt;
}

/// The weight of a quantisation: as findConstantRecipe, or a product with one number for each row or column.
static std::optional<ConstantRecipe> weightRecipe(Value value) {
  auto product = value.getDefiningOp<nn::BinaryOp>();
  if (!product || product.getKind() != nn::BinaryKind::Mul)
    return findConstantRecipe(value);
  auto type = cast<RankedTensorType>(value.getType());
  for (auto [matrix, factors] : {std::pair(product.getLhs(), product.getRhs()), {product.getRhs(), product.getLhs()}}) {
    std::optional<ConstantRecipe> recipe = weightRecipe(matrix), vector = findConstantRecipe(factors);
    // The product of vectors is a matrix as well.
    if (!recipe || recipe->type.getShape() != type.getShape() || !vector || !vector->steps.empty())
      continue;
    if (std::optional<int64_t> axis = findVectorAxis(recipe->type, vector->type)) {
      recipe->multiply(*axis, *vector);
      return recipe;
    }
  }
  return std::nullopt;
}

static std::optional<ConstantRecipe> quantizedRecipe(nn::QuantizeWeightOp op, unsigned result) {
  std::optional<ConstantRecipe> recipe = weightRecipe(op.getInput());
  if (!recipe)
    return std::nullopt;
  unsigned bits = cast<IntegerType>(op.getTo()).getWidth();
  WeightScales form = {static_cast<int64_t>(op.getAxis()), op.getPairSafe(), static_cast<int64_t>(op.getBlockSize()),
                       bits};
  if (result == 0)
    recipe->quantize(form);
  else
    recipe->scales(form);
  return recipe;
}

/// Codes of 4 bits as bytes: what can be read one by one.
static std::optional<ConstantRecipe> widenedRecipe(nn::CastOp op) {
  auto from = dyn_cast<IntegerType>(cast<RankedTensorType>(op.getInput().getType()).getElementType());
  auto to = dyn_cast<IntegerType>(op.getTo());
  if (!from || !to || from.getWidth() != 4 || to.getWidth() != 8 || from.getSignedness() != to.getSignedness())
    return std::nullopt;
  std::optional<ConstantRecipe> recipe = findConstantRecipe(op.getInput());
  if (!recipe || recipe->type.getRank() != 2)
    return std::nullopt;
  recipe->widen(from.isUnsigned());
  return recipe;
}

std::optional<ConstantRecipe> heddle::findConstantRecipe(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return std::nullopt;
  if (auto constant = value.getDefiningOp<nn::ConstantOp>()) {
    auto plain = type.clone(kernelElementType(type.getElementType()));
    return ConstantRecipe{constant.getValue(), type, {}, cast<RankedTensorType>(plain), std::nullopt};
  }
  if (auto transpose = value.getDefiningOp<nn::TransposeOp>()) {
    std::optional<ConstantRecipe> recipe = findConstantRecipe(transpose.getInput());
    if (recipe)
      recipe->transpose(transpose.getPerm());
    return recipe;
  }
  if (auto slice = value.getDefiningOp<nn::SliceOp>())
    return sliceRecipe(slice);
  if (auto concat = value.getDefiningOp<nn::ConcatOp>())
    return concatRecipe(concat);
  if (auto widened = value.getDefiningOp<nn::CastOp>())
    return widenedRecipe(widened);
  if (auto quantize = value.getDefiningOp<nn::QuantizeWeightOp>())
    return quantizedRecipe(quantize, cast<OpResult>(value).getResultNumber());
  return std::nullopt;
}

bool heddle::makesConstant(Operation *op) {
  return isa_and_nonnull<nn::ConcatOp, nn::CastOp>(op) && findConstantRecipe(op->getResult(0));
}
