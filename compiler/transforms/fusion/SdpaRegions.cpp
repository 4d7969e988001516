// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Score and mask region of an attention, and its rule for rows without keys.

#include "compiler/transforms/fusion/SdpaBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

/// A float tensor that is added and may hold -inf: its key is kept where it doesn't.
static MaskTerm getOpaqueTerm(const Element &bias) {
  return {-INFINITY, [bias](ElementEmitter &mask) -> Value {
            Value value = mask.emit(bias.tensor, bias.index);
            auto type = value ? dyn_cast<FloatType>(value.getType()) : FloatType();
            if (!type)
              return nullptr;
            OpBuilder &builder = mask.getBuilder();
            APFloat infinity = APFloat::getInf(type.getFloatSemantics(), /*Negative=*/true);
            Value fill = builder.create<arith::ConstantOp>(builder.getUnknownLoc(), FloatAttr::get(type, infinity));
            return builder.create<arith::CmpFOp>(builder.getUnknownLoc(), arith::CmpFPredicate::UNE, value, fill);
          }};
}

/// Leaves in |terms| those that the mask region is made of and returns the rule for rows that none of them keeps.
static FullyMasked chooseRule(SmallVectorImpl<MaskTerm> &terms, ArrayRef<Element> opaque, bool isGuarded) {
  auto isInfinite = [](const MaskTerm &term) { return std::isinf(term.fill); };
  if (!isGuarded)
    return !terms.empty() && llvm::all_of(terms, isInfinite) ? FullyMasked::Nan : FullyMasked::Literal;
  // The guard turns rows to zero whose scores are all -inf; of a finite fill it knows nothing.
  if (terms.empty())
    llvm::transform(opaque, std::back_inserter(terms), getOpaqueTerm);
  if (!llvm::any_of(terms, isInfinite))
    return FullyMasked::Literal;
  llvm::erase_if(terms, [&](const MaskTerm &term) { return !isInfinite(term); });
  return FullyMasked::Zero;
}

/// True if one of |values| is computed from |source|.
static bool anyDependsOn(ArrayRef<Value> values, Operation *source) {
  SmallVector<Value> pending(values);
  llvm::SmallPtrSet<Operation *, 16> visited;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (op == source)
      return true;
    if (op && visited.insert(op).second)
      llvm::append_range(pending, op->getOperands());
  }
  return false;
}

/// Builds the region on probabilities, where something happens to them; false and a reason where it can't be said.
static bool buildProbability(const SoftmaxPattern &pattern, const SdpaPlan &plan, KnownDims &dims, SdpaRegions &regions,
                             std::string &reason) {
  MLIRContext *context = plan.target.getContext();
  Type element = getElementTypeOrSelf(plan.target.getType());
  if (plan.weights.tensor == plan.probabilities.tensor)
    return true;
  auto probability = std::make_unique<ElementEmitter>(dims, *plan.space, context, TypeRange(element));
  // A guard is the region's first step, which sees NaN from other sources than the mask too.
  probability->bindScore({nn::SoftmaxOp(pattern.softmax).getOutput(), plan.probabilities.index});
  Value weight = probability->emit(plan.weights.tensor, plan.weights.index);
  if (!weight) {
    reason = "the probabilities are changed by a tensor that a region can't read";
    return false;
  }
  probability->finish(weight);
  if (anyDependsOn(probability->getCaptures(), nn::SoftmaxOp(pattern.softmax))) {
    reason = "the probabilities are changed by what is computed from several of them";
    return false;
  }
  regions.probability = std::move(probability);
  return true;
}

std::optional<SdpaRegions> heddle::attn::buildRegions(const SoftmaxPattern &pattern, const SdpaPlan &plan,
                                                      KnownDims &dims, std::string &reason) {
  SdpaRegions regions;
  MLIRContext *context = plan.target.getContext();
  Type element = getElementTypeOrSelf(plan.target.getType());
  auto score = std::make_unique<ElementEmitter>(dims, *plan.space, context, TypeRange(element));
  score->bindScore(plan.score);
  SmallVector<Element> opaque;
  SmallVector<MaskTerm> terms = findMaskTerms(*score, plan.softmaxInput, opaque);
  regions.hasOpaqueBias = !opaque.empty();
  regions.rule = chooseRule(terms, opaque, pattern.isGuarded);
  auto mask = std::make_unique<ElementEmitter>(dims, *plan.space, context, TypeRange());
  Value keep;
  for (const MaskTerm &term : terms) {
    Value part = term.emitKeep(*mask);
    if (!part && regions.rule == FullyMasked::Zero) {
      reason = "the mask, whose rows without keys give zero, is a tensor that a region can't read";
      return std::nullopt;
    }
    if (part && regions.rule != FullyMasked::Literal && term.selection)
      score->assumeKept(term.selection, term.kept);
    if (part)
      keep = keep ? mask->emitAnd(keep, part) : part;
  }
  if (keep && !mask->isTrue(keep)) {
    mask->finish(keep);
    regions.mask = std::move(mask);
  } else {
    regions.rule = FullyMasked::Literal;
  }
  Value value = score->emit(plan.softmaxInput.tensor, plan.softmaxInput.index);
  if (!value) {
    reason = "the scores are changed by a tensor that a region can't read";
    return std::nullopt;
  }
  if (value != score->getRegion().getArgument(0)) {
    score->finish(value);
    regions.score = std::move(score);
  }
  if (!buildProbability(pattern, plan, dims, regions, reason))
    return std::nullopt;
  return regions;
}
