// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn-quantize-weights: decides which products and tables are quantised, and replaces them.

#include "compiler/transforms/quantization/Comparison.h"
#include "compiler/transforms/quantization/NodePatterns.h"
#include "compiler/transforms/quantization/Passes.h"
#include "compiler/transforms/quantization/PlaceReport.h"
#include "compiler/transforms/quantization/QuantizedForms.h"
#include "compiler/transforms/quantization/WeightSites.h"
#include "dialects/attn/AttnOps.h"
#include "dialects/nn/Locations.h"
#include "llvm/ADT/STLExtras.h"

#define DEBUG_TYPE "nn-quantize-weights"

using namespace mlir;

namespace heddle::nn {

#define GEN_PASS_DEF_QUANTIZEWEIGHTSPASS
#include "compiler/transforms/quantization/Passes.h.inc"

namespace {

struct QuantizeWeightsPass : impl::QuantizeWeightsPassBase<QuantizeWeightsPass> {
  using QuantizeWeightsPassBase::QuantizeWeightsPassBase;

  void runOnOperation() override;

private:
  void quantize(func::FuncOp func, ArrayRef<WeightSite> sites);
  Value quantize(OpBuilder &builder, const WeightSite &site, QuantizedForms &forms, Value &activation);
};

void QuantizeWeightsPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto emitError = [&] { return mlir::emitError(module.getLoc()); };
  NodePatterns patterns(SmallVector<std::string>(exclude.begin(), exclude.end()));
  SmallVector<std::pair<func::FuncOp, SmallVector<WeightSite>>> functions;
  SmallVector<StringRef> candidates;
  for (auto func : module.getOps<func::FuncOp>()) {
    SmallVector<WeightSite> sites = findWeightSites(func);
    for (WeightSite &site : sites) {
      if (!site.reason.empty())
        continue;
      candidates.append(site.nodes);
      if (patterns.matches(site.nodes))
        site.reason = "excluded";
      else if (site.kind == WeightSiteKind::Table && !tables)
        site.reason = "tables stay float";
    }
    // A pattern may name attention, which is attn-quantize-attention' to leave float.
    for (auto attention : func.getOps<attn::SdpaOp>()) {
      SmallVector<StringRef> nodes;
      for (const OnnxNode &node : findOnnxNodes(attention.getLoc()))
        nodes.push_back(node.name);
      candidates.append(nodes);
      (void)patterns.matches(nodes);
    }
    functions.emplace_back(func, std::move(sites));
  }
  if (failed(patterns.checkAllMatched(candidates, emitError)))
    return signalPassFailure();
  for (auto &[func, sites] : functions) {
    quantize(func, sites);
    // Other entry points are copies of this one.
    if (!func->hasAttr(NnDialect::getSpecializesAttrName()))
      for (const WeightSite &site : sites)
        addPlaceReport(module, stringifyWeightSiteKind(site.kind), site.nodes, site.reason);
  }
  module->removeAttr(NnDialect::getChannelRangesAttrName());
}

void QuantizeWeightsPass::quantize(func::FuncOp func, ArrayRef<WeightSite> sites) {
  auto isQuantized = [](const WeightSite &site) { return site.reason.empty(); };
  std::optional<Comparison> comparison;
  if (compare)
    comparison.emplace(func, llvm::count_if(sites, isQuantized));
  SmoothingFactors smoothing;
  auto ranges = getOperation()->getAttrOfType<DictionaryAttr>(NnDialect::getChannelRangesAttrName());
  if (ranges && scheme == QuantizationScheme::W8A8)
    smoothing = findSmoothingFactors(sites, ranges);
  numSmoothed += smoothing.size();
  QuantizedForms forms(scheme, pairSafe, std::move(smoothing));
  int64_t index = 0;
  for (const WeightSite &site : llvm::make_filter_range(sites, isQuantized)) {
    OpBuilder builder(site.op);
    // What compares reads the float form, and so stands behind it.
    if (comparison)
      builder.setInsertionPointAfter(site.op);
    Value activation, plain = site.op->getResult(0);
    SmallVector<OpOperand *> uses = llvm::to_vector(llvm::make_pointer_range(plain.getUses()));
    Value result = quantize(builder, site, forms, activation);
    if (comparison)
      result = comparison->select(builder, index++, plain, result, activation);
    if (Attribute names = site.op->removeAttr(NnDialect::getOutputsAttrName()))
      result.getDefiningOp()->setAttr(NnDialect::getOutputsAttrName(), names);
    for (OpOperand *use : uses)
      use->set(result);
    if (!comparison)
      site.op->erase();
  }
  if (comparison)
    comparison->finish();
}

Value QuantizeWeightsPass::quantize(OpBuilder &builder, const WeightSite &site, QuantizedForms &forms,
                                    Value &activation) {
  if (site.kind == WeightSiteKind::Table) {
    ++numTables;
    return forms.buildTable(builder, cast<GatherOp>(site.op));
  }
  ++numProducts;
  ProductForm product = QuantizedForms::getProduct(builder, site.op);
  activation = product.lhs;
  return forms.buildProduct(builder, site.op, product);
}

} // namespace
} // namespace heddle::nn
