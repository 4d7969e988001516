// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn-quantize-attention: decides where queries and keys, and where weights and values, multiply as codes of 8 bits,
// and says so at the attention.

#include "compiler/transforms/quantization/Comparison.h"
#include "compiler/transforms/quantization/KeyBias.h"
#include "compiler/transforms/quantization/NodePatterns.h"
#include "compiler/transforms/quantization/Passes.h"
#include "compiler/transforms/quantization/PlaceReport.h"
#include "compiler/transforms/quantization/ValueScales.h"
#include "compiler/transforms/shapes/ShapeAnalysis.h"
#include "dialects/attn/AttnOps.h"
#include "dialects/nn/Locations.h"
#include "llvm/ADT/STLExtras.h"

#include <array>
#include <cmath>
#include <map>

#define DEBUG_TYPE "attn-quantize-attention"

using namespace mlir;

namespace heddle::nn {

#define GEN_PASS_DEF_QUANTIZEATTENTIONPASS
#include "compiler/transforms/quantization/Passes.h.inc"

/// Below this head size a product of floats takes no longer than making its codes and undoing their scales.
static constexpr int64_t kMinHeadSize = 32;

namespace {

/// The two products of an attention, each a place of its own.
enum Product : unsigned { Scores, Values, NumProducts };

/// One attention; strings live as long as the context.
struct AttentionSite {
  attn::SdpaOp op;
  SmallVector<StringRef> nodes;                  ///< of the model, that it stands for
  std::array<StringRef, NumProducts> reasons;    ///< why a product stays float; empty where it is quantised
  ArrayRef<float> ranges;                        ///< of its values; empty where they aren't known
  ArrayRef<float> offsets;                       ///< of its keys; empty where they aren't known
  bool needsOffsets = false;                     ///< these are to be found
  std::array<int64_t, NumProducts> indices = {}; ///< numbers of the places that are quantised

  bool quantizes(Product product) const { return reasons[product].empty(); }
};

struct QuantizeAttentionPass : impl::QuantizeAttentionPassBase<QuantizeAttentionPass> {
  using QuantizeAttentionPassBase::QuantizeAttentionPassBase;

  void runOnOperation() override;

private:
  FailureOr<SmallVector<AttentionSite>> findSites(func::FuncOp func, NodePatterns &patterns);
  ArrayRef<float> findNumbers(const AttentionSite &site, StringRef name);
  ArrayRef<float> findRanges(const AttentionSite &site);
  StringRef whyImpossible(const AttentionSite &site, Product product);
  void follow(MutableArrayRef<AttentionSite> sites);
  StringRef whyNotWorthwhile(attn::SdpaOp op, Product product, const ShapeAnalysis &shapes);
  void quantize(func::FuncOp func, MutableArrayRef<AttentionSite> sites);
  void compareForms(Comparison &comparison, const AttentionSite &site);

  /// Reasons of the general entry point's attention, by all of its nodes.
  std::map<SmallVector<StringRef>, std::array<StringRef, NumProducts>> reasons;
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

/// The length of the sums, or of the rows, that |product| is about.
static int64_t headSizeOf(attn::SdpaOp op, Product product) {
  return product == Scores ? extentOf(op.getQueryMapOrDefault(), attn::kHeadSize, typeOf(op.getQuery()).getShape())
                           : extentOf(op.getValueMapOrDefault(), attn::kHeadSize, typeOf(op.getValue()).getShape());
}

/// Why the scores of |op| can't be products of codes.
static StringRef whyFloatScores(attn::SdpaOp op) {
  if (!typeOf(op.getQuery()).getElementType().isF32() || !typeOf(op.getKey()).getElementType().isF32())
    return "its queries and keys aren't f32";
  int64_t size = headSizeOf(op, Scores),
          keySize = extentOf(op.getKeyMapOrDefault(), attn::kHeadSize, typeOf(op.getKey()).getShape());
  if (ShapedType::isDynamic(size) || size != keySize || size > attn::SdpaOp::kMaxQkInt8HeadSize)
    return "its head size isn't a constant of at most 1024";
  return "";
}

/// Why |product| of |site| can't be one of codes.
StringRef QuantizeAttentionPass::whyImpossible(const AttentionSite &site, Product product) {
  attn::SdpaOp op = site.op;
  if (StringRef reason = product == Scores ? whyFloatScores(op) : ""; !reason.empty())
    return reason;
  if (op.getLse() || op.getProbabilities())
    return "its weights are results of the model";
  if (product == Scores)
    return "";
  if (!typeOf(op.getValue()).getElementType().isF32())
    return "its values aren't f32";
  if (!countValueScales(op))
    return "its heads and their size aren't constants";
  if (!op.getProbability().empty())
    return "the model rounds its weights itself";
  return llvm::all_of(site.ranges, [](float range) { return std::isfinite(range); }) ? "" : "its values aren't finite";
}

/// Why codes would take as long as floats, or longer.
StringRef QuantizeAttentionPass::whyNotWorthwhile(attn::SdpaOp op, Product product, const ShapeAnalysis &shapes) {
  if (headSizeOf(op, product) < kMinHeadSize)
    return "its head size is below 32";
  ShapeExpr queries = extentOf(op.getQueryMapOrDefault(), attn::kQuery, shapes.getDims(op.getQuery()));
  ShapeExpr keys = extentOf(op.getKeyMapOrDefault(), attn::kKey, shapes.getDims(op.getKey()));
  // A step of a decoder would make codes of all keys for one row of queries.
  return queries == keys ? "" : "its queries may be fewer than its keys";
}

/// What the module's attribute |name| has for |site|, by one of its nodes.
ArrayRef<float> QuantizeAttentionPass::findNumbers(const AttentionSite &site, StringRef name) {
  auto known = getOperation()->getAttrOfType<DictionaryAttr>(name);
  for (StringRef node : known ? ArrayRef<StringRef>(site.nodes) : ArrayRef<StringRef>())
    if (auto found = known.getAs<DenseF32ArrayAttr>(node))
      return found;
  return {};
}

/// The ranges of |site|'s values; none where there are as many as it has no use for.
ArrayRef<float> QuantizeAttentionPass::findRanges(const AttentionSite &site) {
  ArrayRef<float> found = findNumbers(site, NnDialect::getValueRangesAttrName());
  return static_cast<int64_t>(found.size()) == countValueScales(site.op) ? found : ArrayRef<float>();
}

FailureOr<SmallVector<AttentionSite>> QuantizeAttentionPass::findSites(func::FuncOp func, NodePatterns &patterns) {
  SmallVector<AttentionSite> sites;
  for (auto op : func.getOps<attn::SdpaOp>()) {
    AttentionSite site{op, {}, {}, {}, {}};
    for (const OnnxNode &node : findOnnxNodes(op.getLoc()))
      site.nodes.push_back(node.name);
    site.ranges = findRanges(site);
    site.offsets = findNumbers(site, NnDialect::getKeyOffsetsAttrName());
    sites.push_back(std::move(site));
  }
  std::unique_ptr<ShapeAnalysis> shapes;
  if (selective && !sites.empty() && !(shapes = ShapeAnalysis::create(func)))
    return failure();
  for (AttentionSite &site : sites) {
    bool isExcluded = patterns.matches(site.nodes);
    for (Product product : {Scores, Values}) {
      auto isNode = [&](const std::string &name) { return llvm::is_contained(site.nodes, name); };
      const std::string &blanket = product == Scores ? unless : unlessValues;
      StringRef reason = whyImpossible(site, product);
      if (reason.empty() && isExcluded)
        reason = "excluded";
      if (reason.empty() && !blanket.empty())
        reason = StringAttr::get(&getContext(), blanket);
      if (reason.empty() && product == Values && site.ranges.empty() && !(ranges && compare))
        reason = "what its values reach takes calibration data";
      if (reason.empty() && shapes)
        reason = whyNotWorthwhile(site.op, product, *shapes);
      if (reason.empty() && (product == Scores ? llvm::any_of(lossy, isNode) : llvm::any_of(lossyValues, isNode)))
        reason = "it would lose too much";
      site.reasons[product] = reason;
    }
  }
  return sites;
}

/// Decides as for the general entry point: which one a run takes must not show in its numbers.
void QuantizeAttentionPass::follow(MutableArrayRef<AttentionSite> sites) {
  for (AttentionSite &site : sites)
    if (auto found = reasons.find(site.nodes); found != reasons.end())
      for (Product product : {Scores, Values})
        if (whyImpossible(site, product).empty())
          site.reasons[product] = found->second[product];
}

/// Makes products of |op| ones of codes. Values whose ranges are still looked for stay as they are.
static void setForm(attn::SdpaOp op, const AttentionSite &site, bool scores, bool values) {
  if (scores)
    op.setQkInt8(true);
  if (values && !site.ranges.empty())
    quantizeValues(op, site.ranges);
}

/// Puts all forms of |site| side by side. Each product is compared for itself, the other one being of floats.
void QuantizeAttentionPass::compareForms(Comparison &comparison, const AttentionSite &site) {
  attn::SdpaOp op = site.op;
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  Value plain = op.getOutput();
  SmallVector<OpOperand *> uses = llvm::to_vector(llvm::make_pointer_range(plain.getUses()));
  Attribute names = op->removeAttr(NnDialect::getOutputsAttrName());
  auto makeForm = [&](bool scores, bool values) -> Value {
    auto form = cast<attn::SdpaOp>(builder.clone(*op));
    setForm(form, site, scores, values);
    return form.getOutput();
  };
  Value result = plain, scores;
  auto choose = [&](Product product, Value off, Value on) {
    return comparison.choose(builder, site.indices[product], off, on);
  };
  if (site.quantizes(Scores)) {
    scores = makeForm(true, false);
    comparison.measure(builder, site.indices[Scores], plain, scores, /*activation=*/nullptr, {});
    if (site.needsOffsets)
      comparison.measureKeys(builder, site.indices[Scores], op.getKey(), *findKeyAxes(op));
    result = choose(Scores, plain, scores);
  }
  if (site.quantizes(Values)) {
    Value values = makeForm(false, true);
    comparison.measure(builder, site.indices[Values], plain, values, op.getValue(), getScaledAxes(op));
    if (scores)
      values = choose(Scores, values, makeForm(true, true));
    result = choose(Values, result, values);
  }
  if (names)
    result.getDefiningOp()->setAttr(NnDialect::getOutputsAttrName(), names);
  for (OpOperand *use : uses)
    use->set(result);
}

void QuantizeAttentionPass::quantize(func::FuncOp func, MutableArrayRef<AttentionSite> sites) {
  int64_t count = 0;
  for (Product product : {Scores, Values})
    for (AttentionSite &site : sites)
      if (site.quantizes(product))
        site.indices[product] = count++;
  // Also of nothing: whoever measures hands a selection in.
  std::optional<Comparison> comparison;
  if (compare)
    comparison.emplace(func, count);
  for (AttentionSite &site : sites) {
    numScores += site.quantizes(Scores);
    numValues += site.quantizes(Values);
    // All forms that are compared lose it: to float ones it makes no difference.
    if (site.quantizes(Scores) && dropKeyBias(site.op))
      ++numKeyBiases;
    else if (site.quantizes(Scores) && subtractKeyOffsets(site.op, site.offsets))
      ++numKeyOffsets;
    else if (site.quantizes(Scores))
      site.needsOffsets = ranges && findKeyAxes(site.op);
    if (!comparison)
      setForm(site.op, site, site.quantizes(Scores), site.quantizes(Values));
    else if (site.quantizes(Scores) || site.quantizes(Values))
      compareForms(*comparison, site);
  }
  if (comparison)
    comparison->finish();
}

void QuantizeAttentionPass::runOnOperation() {
  ModuleOp module = getOperation();
  NodePatterns patterns(SmallVector<std::string>(exclude.begin(), exclude.end()));
  reasons.clear();
  // The general entry point comes before those that specialise it.
  for (auto func : module.getOps<func::FuncOp>()) {
    FailureOr<SmallVector<AttentionSite>> sites = findSites(func, patterns);
    if (failed(sites))
      return signalPassFailure();
    bool isSpecial = func->hasAttr(NnDialect::getSpecializesAttrName());
    if (isSpecial)
      follow(*sites);
    quantize(func, *sites);
    if (isSpecial)
      continue;
    for (Product product : {Scores, Values})
      for (const AttentionSite &site : *sites)
        addPlaceReport(module, product == Scores ? "attention" : "attention values", site.nodes, site.reasons[product]);
    for (const AttentionSite &site : *sites)
      reasons[site.nodes] = site.reasons;
  }
  module->removeAttr(NnDialect::getValueRangesAttrName());
  module->removeAttr(NnDialect::getKeyOffsetsAttrName());
}

} // namespace heddle::nn
