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

static std::optional<ConstantRecipe> sliceRecipe(nn::SliceOp op) {
  std::optional<ConstantRecipe> recipe = findConstantRecipe(op.getData());
  auto type = dyn_cast<RankedTensorType>(op.getOutput().getType());
  std::optional<SmallVector<int64_t>> starts = nn::getConstantInts(op.getStarts());
  std::optional<SmallVector<int64_t>> axes = op.getAxes() ? nn::getConstantInts(op.getAxes()) : std::nullopt;
  std::optional<SmallVector<int64_t>> stride = op.getSteps() ? nn::getConstantInts(op.getSteps()) : std::nullopt;
  if (!recipe || !type.hasStaticShape() || !starts || (op.getAxes() && !axes) || (op.getSteps() && !stride) ||
      (stride && llvm::any_of(*stride, [](int64_t step) { return step != 1; })))
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
    if (!part || part->axis.value_or(axis) != axis)
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
  return std::nullopt;
}

bool heddle::isConstantConcat(Operation *op) {
  return isa_and_nonnull<nn::ConcatOp>(op) && findConstantRecipe(op->getResult(0));
}
