// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the table has for other devices, then tiles around it. That a tile is for GPUs ("shared_tiles") is the table's
// guess, which a measurement replaces: no candidate asks for it.

#include "compiler/targets/vulkan/ConfigSpace.h"

#include "compiler/targets/common/EvaluateSizes.h"
#include "compiler/targets/vulkan/AttentionShader.h"
#include "compiler/targets/vulkan/ContractConfig.h"
#include "compiler/targets/vulkan/ContractFactors.h"
#include "compiler/targets/vulkan/VulkanConfig.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"

#include <cmath>

using namespace mlir;

namespace heddle::vulkan {

namespace {

constexpr llvm::StringLiteral kDots = "integer_dot_product_accelerated";

class ConfigSpace {
public:
  ConfigSpace(const ShaderPlan &plan, ArrayRef<int64_t> sizes, const DeviceLimits &limits)
      : plan(plan), sizes(sizes), limits(limits) {}

  std::vector<ConfigCandidate> enumerate();

private:
  bool hasFeature(StringRef feature) const { return llvm::is_contained(limits.features, feature); }
  double extent(unsigned axis) const { return evaluateSizes(plan.extents[axis], sizes); }
  void add(Variant variant);
  void addContracts(kernel::ContractOp op);
  void addAttentions(kernel::AttentionOp op);
  double estimate(const Variant &variant) const;

  const ShaderPlan &plan;
  ArrayRef<int64_t> sizes;
  const DeviceLimits &limits;
  std::vector<ConfigCandidate> candidates;
  llvm::DenseSet<Attribute> seen;
};

} // namespace

static int64_t countInvocations(const Variant &variant) {
  return variant.workgroup[0] * variant.workgroup[1] * variant.workgroup[2];
}

/// Whether every device can run |variant|, so that it needs no other one behind it: it keeps to the least limits of
/// Vulkan 1.1.
static bool runsAnywhere(const Variant &variant) {
  constexpr int64_t kInvocations = 128, kSharedBytes = 16 << 10;
  return variant.features.empty() && countInvocations(variant) <= kInvocations && variant.sharedBytes <= kSharedBytes;
}

/// Seconds by the work of whole tiles: what lies behind the last row or column is computed as well, and workgroups of
/// which there are few leave parts of the device idle.
double ConfigSpace::estimate(const Variant &variant) const {
  constexpr double kUnits = 16; // of a device: subgroups that run at a time, about, for each thread of a CPU
  double groups = 1, waste = 1;
  for (unsigned axis = 0; axis < kNumAxes; ++axis) {
    double units = std::max(extent(axis), 1.0), tiles = std::ceil(units / variant.tile[axis]);
    groups *= tiles;
    waste *= tiles * variant.tile[axis] / units;
  }
  double parallel = limits.isCpu ? limits.threads : kUnits * limits.threads;
  double idle = std::ceil(groups / parallel) * parallel / groups;
  double work = 0;
  for (const Polynomial &elements : plan.bindingElements)
    work += evaluateSizes(plan.toExpr(elements), sizes);
  // Where invocations are a CPU's lanes, shared memory is memory like any other, and barriers cost registers.
  bool isShared = variant.sharedBytes != 0 || variant.form == kSharedAttention;
  double form = isShared == limits.isCpu ? 2 : 1;
  // Larger tiles read operands less often.
  double reads = 1 + 16.0 / std::max<int64_t>(variant.tile[kX] * variant.tile[kY] * variant.tile[kZ], 1);
  return work * 4 / limits.memory * waste * idle * form * reads;
}

void ConfigSpace::add(Variant variant) {
  variant.most = {0, 0, 0};
  llvm::erase(variant.features, "shared_tiles");
  if (!llvm::all_of(variant.features, [&](const std::string &feature) { return hasFeature(feature); }) ||
      countInvocations(variant) > static_cast<int64_t>(limits.invocations) ||
      variant.sharedBytes > static_cast<int64_t>(limits.sharedBytes))
    return;
  MLIRContext *context = plan.func->getContext();
  DictionaryAttr config = variant.toAttr(context);
  if (!seen.insert(config).second)
    return;
  SmallVector<Attribute> variants = {config};
  if (!runsAnywhere(variant))
    variants.push_back(plan.variants.back().toAttr(context));
  Builder b(context);
  DictionaryAttr lowering = b.getDictionaryAttr(b.getNamedAttr(kVariantsKey, b.getArrayAttr(variants)));
  candidates.push_back({config, lowering, estimate(variant)});
}

void ConfigSpace::addContracts(kernel::ContractOp op) {
  bool isInteger = op.getForm() == kernel::ContractOp::Form::Integer;
  // Blocks with scales hold two sums for each element.
  int64_t sums = op.getBlockSize() ? 2 : 1;
  SmallVector<StringRef> suffixes = {""};
  if (isInteger && hasFeature(kDots))
    suffixes.push_back("_dots");
  auto addForm = [&](StringRef form, StringRef suffix, const TileShape &shape) {
    // A panel has four groups of four columns, which a tile has whole ones of; sums are in registers.
    if (shape.rows * shape.columns4 * sums > 32 || shape.lanes * shape.columns4 % 4 != 0 ||
        shape.rows * shape.rowLanes > 4 * std::max(extent(kY), 1.0))
      return;
    Variant variant = makeContractVariant(op, (form + suffix).str(), shape);
    if (!suffix.empty())
      variant.features = {kDots.str()};
    add(variant);
  };
  for (StringRef suffix : suffixes) {
    for (int64_t rows : {1, 2, 4, 6, 8, 12, 16})
      for (int64_t columns4 : {1, 2, 4})
        for (int64_t lanes : {8, 16, 32, 64})
          addForm("tile", suffix, {rows, columns4, lanes});
    for (int64_t rows : {2, 4, 8})
      for (int64_t columns4 : {1, 2})
        for (int64_t lanes : {8, 16})
          for (int64_t rowLanes : {8, 16})
            for (int64_t depth : {8, 16, 32})
              addForm("shared", suffix, {rows, columns4, lanes, rowLanes, isInteger ? depth * 4 : depth});
  }
}

void ConfigSpace::addAttentions(kernel::AttentionOp op) {
  for (int64_t rows : {1, 2, 4, 8})
    for (auto [lanes, groups] : {std::pair<int64_t, int64_t>(8, 1), {8, 2}, {16, 1}})
      for (int64_t rowGroups : {1, 2, 4, 8})
        add(makeSharedAttention(op, rows, lanes, groups, rowGroups, 0));
  for (int64_t rows : {1, 2, 4, 6, 8, 12, 16}) {
    add(makePrivateAttention(kSubgroupAttention, kAttentionPeers, rows));
    for (int64_t invocations : {8, 16, 32, 64})
      add(makePrivateAttention(kPrivateAttention, invocations, rows));
  }
}

std::vector<ConfigCandidate> ConfigSpace::enumerate() {
  kernel::FuncOp func = plan.func;
  DictionaryAttr own = func->getAttrOfType<kernel::LoweringConfigAttr>(kernel::kConfigAttrName).getEntries();
  candidates.push_back({own, own, estimate(plan.variants.back())});
  for (const Variant &variant : chooseVariants(func))
    add(variant);
  size_t kept = candidates.size();
  if (isa<kernel::MapOp>(plan.root)) {
    for (int64_t invocations : {32, 64, 128, 256})
      for (int64_t elements : {1, 2, 4, 8, 16})
        add(makeMapVariant(invocations, elements));
  } else if (auto contract = dyn_cast<kernel::ContractOp>(plan.root)) {
    addContracts(contract);
  } else if (auto attention = dyn_cast<kernel::AttentionOp>(plan.root)) {
    addAttentions(attention);
  }
  orderCandidates(candidates, kept, [](DictionaryAttr lowering) {
    auto variants = lowering.getAs<ArrayAttr>(kVariantsKey);
    Variant variant = Variant::fromAttr(cast<DictionaryAttr>(variants[0]));
    bool isShared = variant.sharedBytes != 0;
    return (isShared ? 1000000 : 0) + variant.workgroup[0] * 1000 + variant.tile[kY];
  });
  return std::move(candidates);
}

std::vector<ConfigCandidate> enumerateConfigs(kernel::FuncOp func, ArrayRef<int64_t> sizes,
                                              const DeviceLimits &limits) {
  FailureOr<ShaderPlan> plan = ShaderPlan::create(func);
  if (failed(plan))
    return {};
  return ConfigSpace(*plan, sizes, limits).enumerate();
}

} // namespace heddle::vulkan
