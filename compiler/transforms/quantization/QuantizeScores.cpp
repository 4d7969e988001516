// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn-quantize-scores: decides where queries and keys multiply as codes of 8 bits, and says so at the attention.

#include "compiler/transforms/quantization/Comparison.h"
#include "compiler/transforms/quantization/KeyBias.h"
#include "compiler/transforms/quantization/NodePatterns.h"
#include "compiler/transforms/quantization/Passes.h"
#include "compiler/transforms/quantization/PlaceReport.h"
#include "compiler/transforms/shapes/ShapeAnalysis.h"
#include "dialects/attn/AttnOps.h"
#include "dialects/nn/Locations.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

#define DEBUG_TYPE "attn-quantize-scores"

using namespace mlir;

namespace heddle::nn {

#define GEN_PASS_DEF_QUANTIZESCORESPASS
#include "compiler/transforms/quantization/Passes.h.inc"

/// Below this head size a product of floats takes no longer than making its codes and undoing their scales.
static constexpr int64_t kMinHeadSize = 32;

namespace {

/// One attention; strings live as long as the context.
struct ScoreSite {
  attn::SdpaOp op;
  SmallVector<StringRef> nodes; ///< of the model, that it stands for
  StringRef reason;             ///< why it stays float; empty where it is quantised
};

struct QuantizeScoresPass : impl::QuantizeScoresPassBase<QuantizeScoresPass> {
  using QuantizeScoresPassBase::QuantizeScoresPassBase;

  void runOnOperation() override;

private:
  FailureOr<SmallVector<ScoreSite>> findSites(func::FuncOp func, NodePatterns &patterns);
  void follow(MutableArrayRef<ScoreSite> sites);
  StringRef whyNotWorthwhile(attn::SdpaOp op, const ShapeAnalysis &shapes);
  void quantize(func::FuncOp func, ArrayRef<ScoreSite> sites);

  /// Reasons of the general entry point's attention, by all of its nodes.
  std::map<SmallVector<StringRef>, StringRef> reasons;
};

} // namespace

/// Extent of |dimension| of a tensor that |map| lays out; |extents| are the tensor's.
template <typename T> static T extentOf(AffineMap map, attn::Dimension dimension, ArrayRef<T> extents) {
  for (auto [expr, extent] : llvm::zip(map.getResults(), extents))
    if (cast<AffineDimExpr>(expr).getPosition() == dimension)
      return extent;
  return T();
}

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static int64_t headSizeOf(attn::SdpaOp op) {
  return extentOf(op.getQueryMapOrDefault(), attn::kHeadSize, typeOf(op.getQuery()).getShape());
}

/// Why the scores of |op| can't be products of codes.
static StringRef whyImpossible(attn::SdpaOp op) {
  if (!typeOf(op.getQuery()).getElementType().isF32() || !typeOf(op.getKey()).getElementType().isF32())
    return "its queries and keys aren't f32";
  int64_t size = headSizeOf(op),
          keySize = extentOf(op.getKeyMapOrDefault(), attn::kHeadSize, typeOf(op.getKey()).getShape());
  if (ShapedType::isDynamic(size) || size != keySize || size > attn::SdpaOp::kMaxQkInt8HeadSize)
    return "its head size isn't a constant of at most 1024";
  if (op.getLse() || op.getProbabilities())
    return "its weights are results of the model";
  return "";
}

/// Why codes would take as long as floats, or longer.
StringRef QuantizeScoresPass::whyNotWorthwhile(attn::SdpaOp op, const ShapeAnalysis &shapes) {
  if (headSizeOf(op) < kMinHeadSize)
    return "its head size is below 32";
  ShapeExpr queries = extentOf(op.getQueryMapOrDefault(), attn::kQuery, shapes.getDims(op.getQuery()));
  ShapeExpr keys = extentOf(op.getKeyMapOrDefault(), attn::kKey, shapes.getDims(op.getKey()));
  // A step of a decoder would make codes of all keys for one row of queries.
  return queries == keys ? "" : "its queries may be fewer than its keys";
}

FailureOr<SmallVector<ScoreSite>> QuantizeScoresPass::findSites(func::FuncOp func, NodePatterns &patterns) {
  SmallVector<ScoreSite> sites;
  for (auto op : func.getOps<attn::SdpaOp>()) {
    ScoreSite site{op, {}, whyImpossible(op)};
    for (const OnnxNode &node : findOnnxNodes(op.getLoc()))
      site.nodes.push_back(node.name);
    sites.push_back(std::move(site));
  }
  std::unique_ptr<ShapeAnalysis> shapes;
  if (selective && !sites.empty() && !(shapes = ShapeAnalysis::create(func)))
    return failure();
  auto isLossy = [&](const ScoreSite &site) {
    return llvm::any_of(lossy, [&](const std::string &name) { return llvm::is_contained(site.nodes, name); });
  };
  for (ScoreSite &site : sites) {
    bool isExcluded = patterns.matches(site.nodes);
    if (!site.reason.empty())
      continue;
    if (isExcluded)
      site.reason = "excluded";
    else if (!unless.empty())
      site.reason = StringAttr::get(&getContext(), unless);
    else if (shapes)
      site.reason = whyNotWorthwhile(site.op, *shapes);
    if (site.reason.empty() && isLossy(site))
      site.reason = "it would lose too much";
  }
  return sites;
}

/// Decides as for the general entry point: which one a run takes must not show in its numbers.
void QuantizeScoresPass::follow(MutableArrayRef<ScoreSite> sites) {
  for (ScoreSite &site : sites)
    if (auto found = reasons.find(site.nodes); found != reasons.end() && whyImpossible(site.op).empty())
      site.reason = found->second;
}

void QuantizeScoresPass::quantize(func::FuncOp func, ArrayRef<ScoreSite> sites) {
  auto isQuantized = [](const ScoreSite &site) { return site.reason.empty(); };
  int64_t count = llvm::count_if(sites, isQuantized), index = 0;
  if (count == 0)
    return;
  numAttentions += count;
  std::optional<Comparison> comparison;
  if (compare)
    comparison.emplace(func, count);
  for (const ScoreSite &site : llvm::make_filter_range(sites, isQuantized)) {
    attn::SdpaOp op = site.op;
    // Both forms that are compared lose it: to the float one it makes no difference.
    numKeyBiases += dropKeyBias(op);
    if (!comparison) {
      op.setQkInt8(true);
      continue;
    }
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    Value plain = op.getOutput();
    SmallVector<OpOperand *> uses = llvm::to_vector(llvm::make_pointer_range(plain.getUses()));
    auto coded = cast<attn::SdpaOp>(builder.clone(*op));
    coded.setQkInt8(true);
    coded->removeAttr(NnDialect::getOutputsAttrName());
    Value result = comparison->select(builder, index++, plain, coded.getOutput(), /*activation=*/nullptr);
    if (Attribute names = op->removeAttr(NnDialect::getOutputsAttrName()))
      result.getDefiningOp()->setAttr(NnDialect::getOutputsAttrName(), names);
    for (OpOperand *use : uses)
      use->set(result);
  }
  if (comparison)
    comparison->finish();
}

void QuantizeScoresPass::runOnOperation() {
  ModuleOp module = getOperation();
  NodePatterns patterns(SmallVector<std::string>(exclude.begin(), exclude.end()));
  reasons.clear();
  // The general entry point comes before those that specialise it.
  for (auto func : module.getOps<func::FuncOp>()) {
    FailureOr<SmallVector<ScoreSite>> sites = findSites(func, patterns);
    if (failed(sites))
      return signalPassFailure();
    bool isSpecial = func->hasAttr(NnDialect::getSpecializesAttrName());
    if (isSpecial)
      follow(*sites);
    quantize(func, *sites);
    for (const ScoreSite &site : isSpecial ? ArrayRef<ScoreSite>() : ArrayRef<ScoreSite>(*sites)) {
      reasons[site.nodes] = site.reason;
      addPlaceReport(module, "attention", site.nodes, site.reason);
    }
  }
}

} // namespace heddle::nn
