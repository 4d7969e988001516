// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of registers, then how rows and panels are cut into items, then what few rows, tails and prefetching do. What
// makes no difference at the sizes that are measured stays as it is, and so does what the artifact's numbers depend on:
// block_kv, accumulators, vectors_per_item of reductions, the instructions that multiply bytes.

#include "compiler/targets/cpu/ConfigSpace.h"

#include "compiler/targets/common/EvaluateSizes.h"
#include "compiler/targets/cpu/CheckConfig.h"
#include "compiler/targets/cpu/ConfigBuckets.h"
#include "compiler/targets/cpu/CpuConfig.h"
#include "compiler/targets/cpu/CpuCost.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;

namespace heddle::cpu {

namespace {

class ConfigSpace {
public:
  ConfigSpace(kernel::FuncOp func, ArrayRef<int64_t> sizes, const CpuTarget &target, const DeviceLimits &limits)
      : func(cast<kernel::FuncOp>(func->clone())), sizes(sizes), limits(limits), target(target),
        registers(target.hasFeature("avx512f") ? VectorRegisters{32, 1} : VectorRegisters{16, 2}),
        own(findConfig(func, sizes).getEntries()) {}
  ~ConfigSpace() { func->destroy(); }

  std::vector<ConfigCandidate> enumerate();

private:
  using Choice = std::pair<StringRef, int64_t>;

  void add(DictionaryAttr config);
  /// The kernel's own config but for |choices|.
  void add(ArrayRef<Choice> choices);
  /// The same for each of |values| under |key|.
  void addEach(StringRef key, ArrayRef<int64_t> values, ArrayRef<Choice> choices,
               llvm::function_ref<void(ArrayRef<Choice>)> next);
  int64_t get(StringRef key) const { return kernel::LoweringConfigAttr::get(own.getContext(), own).getInteger(key); }
  void addContracts(const KernelPlan &plan);
  void addAttentions(const KernelPlan &plan);
  void addStreams(const KernelPlan &plan);
  SmallVector<int64_t> chooseItemRows(int64_t rows, int64_t unit) const;
  SmallVector<int64_t> chooseGrains() const;

  kernel::FuncOp func;
  ArrayRef<int64_t> sizes;
  const DeviceLimits &limits;
  const CpuTarget &target;
  VectorRegisters registers;
  DictionaryAttr own;
  std::vector<ConfigCandidate> candidates;
  llvm::DenseSet<Attribute> seen;
};

} // namespace

void ConfigSpace::add(DictionaryAttr config) {
  // What a file may not say is no candidate.
  if (!seen.insert(config).second || !checkConfig(func, config, target).empty())
    return;
  FailureOr<KernelPlan> plan = KernelPlan::create(func, kernel::LoweringConfigAttr::get(func.getContext(), config));
  if (succeeded(plan))
    candidates.push_back({config, config, estimateSeconds(*plan, sizes, registers, limits)});
}

void ConfigSpace::add(ArrayRef<Choice> choices) {
  NamedAttrList entries(own);
  Builder b(own.getContext());
  for (auto [key, value] : choices)
    entries.set(key, b.getI64IntegerAttr(value));
  add(entries.getDictionary(own.getContext()));
}

void ConfigSpace::addEach(StringRef key, ArrayRef<int64_t> values, ArrayRef<Choice> choices,
                          llvm::function_ref<void(ArrayRef<Choice>)> next) {
  SmallVector<Choice> more(choices);
  more.emplace_back(key, 0);
  for (int64_t value : values) {
    more.back().second = value;
    next(more);
  }
}

/// Heights of items in which |rows| are cut: all at once, halves and so on down to a few tiles.
SmallVector<int64_t> ConfigSpace::chooseItemRows(int64_t rows, int64_t unit) const {
  constexpr int64_t kMost = 512;
  SmallVector<int64_t> heights;
  for (int64_t parts : {1, 2, 3, 4, 6, 8, 16, 32}) {
    int64_t height = llvm::alignTo(llvm::divideCeil(rows, parts), unit);
    if (height <= kMost && !llvm::is_contained(heights, height))
      heights.push_back(height);
  }
  if (heights.empty())
    heights.push_back(kMost / unit * unit);
  return heights;
}

/// Work that is worth a thread: the kernel's own number, and what lets all threads or one do a small kernel.
SmallVector<int64_t> ConfigSpace::chooseGrains() const {
  int64_t grain = get(config::kGrainWork);
  return {grain, std::max<int64_t>(grain / 8, 1), grain * 8};
}

void ConfigSpace::addContracts(const KernelPlan &plan) {
  auto bound = [&](unsigned i) {
    return static_cast<int64_t>(evaluateSizes(plan.toExpr(plan.nest.bounds[plan.contract.panelLoops[i]]), sizes));
  };
  int64_t rows = bound(0), panels = llvm::divideCeil(bound(1), kLanes), depth = bound(2);
  bool packs = plan.contract.packedRhs, copies = plan.contract.lhsCopy != LhsCopy::None;
  // Blocks with scales hold two sums for each element.
  int64_t sums = plan.contract.blockSteps != 0 ? 2 : 1;
  SmallVector<int64_t> groupCounts = {1};
  // Groups of an item share what is copied for them.
  for (int64_t groups : {2, 4, 8})
    if (copies && groups < panels)
      groupCounts.push_back(groups);
  SmallVector<int64_t> fetching =
      packs ? SmallVector<int64_t>{get(config::kPrefetchRows), 0, 1} : SmallVector<int64_t>{get(config::kPrefetchRows)};
  if (packs && rows <= 4) {
    for (int64_t vectors : {2, 4, 6, 8})
      if (vectors <= std::max<int64_t>(panels, 2))
        addEach(config::kPrefetchFewRows, {0, 1}, {{config::kFewRows, rows}, {config::kFewRowVectors, vectors}},
                [&](ArrayRef<Choice> choices) {
                  addEach(config::kGrainWork, chooseGrains(), choices, [&](auto all) { add(all); });
                });
  }
  for (int64_t height = 1; height <= 8; ++height)
    for (int64_t vectors = 1; vectors <= std::min<int64_t>(4, panels); ++vectors) {
      // Fewer accumulators than these leave multipliers waiting whatever else is done.
      int64_t accumulators = height * vectors * registers.perVector;
      if (!registers.hold(height * sums, vectors) || (accumulators < 6 && height < rows) ||
          height > std::max<int64_t>(rows, 1))
        continue;
      for (int64_t itemRows : chooseItemRows(rows, height)) {
        // Copied rows stay in the L2 cache.
        if (copies && itemRows * depth * 4 > 2 * limits.l2Bytes)
          continue;
        SmallVector<Choice> tile = {
            {config::kRowTile, height}, {config::kColumnVectors, vectors}, {config::kRowsPerItem, itemRows}};
        // Few rows would have no use for the tile.
        if (rows <= get(config::kFewRows))
          tile.append({{config::kFewRows, 0}, {config::kFewRowVectors, 0}});
        addEach(config::kGroupsPerItem, groupCounts, tile, [&](ArrayRef<Choice> grouped) {
          addEach(config::kPrefetchRows, fetching, grouped, [&](ArrayRef<Choice> choices) { add(choices); });
        });
      }
    }
}

void ConfigSpace::addAttentions(const KernelPlan &plan) {
  int64_t queries =
      evaluateSizes(plan.toExpr(plan.nest.bounds[kernel::AttentionOp::Row]), sizes) * plan.attention.heads;
  constexpr int64_t kLowest = 3, kHighest = 8;
  for (int64_t height = kLowest; height <= kHighest; ++height)
    if (registers.hold(height, plan.attention.columnVectors))
      addEach(config::kBlockQ, chooseItemRows(queries, height), {{config::kRowTile, height}},
              [&](ArrayRef<Choice> choices) {
                addEach(config::kGrainWork, chooseGrains(), choices, [&](ArrayRef<Choice> all) { add(all); });
              });
}

void ConfigSpace::addStreams(const KernelPlan &plan) {
  auto withGrains = [&](ArrayRef<Choice> choices) {
    addEach(config::kGrainWork, chooseGrains(), choices, [&](ArrayRef<Choice> all) { add(all); });
  };
  if (isa<kernel::MapOp>(plan.root))
    addEach(config::kElementsPerItem, {512, 1024, 2048, 4096, 8192, 16384, 65536}, {}, withGrains);
  else if (isa<kernel::ScanOp, kernel::ScatterOp>(plan.root))
    addEach(config::kVectorsPerItem, {1, 2, 4}, {}, withGrains);
  else
    withGrains({});
}

std::vector<ConfigCandidate> ConfigSpace::enumerate() {
  // A config that the kernel can't have is none; why is no news.
  ScopedDiagnosticHandler silence(func.getContext(), [](Diagnostic &) { return success(); });
  add(own);
  add(selectConfig(func, target).getEntries());
  size_t kept = candidates.size();
  FailureOr<KernelPlan> plan = KernelPlan::create(func, kernel::LoweringConfigAttr::get(func.getContext(), own));
  if (failed(plan))
    return candidates;
  if (isa<kernel::ContractOp>(plan->root))
    addContracts(*plan);
  else if (isa<kernel::AttentionOp>(plan->root))
    addAttentions(*plan);
  else
    addStreams(*plan);
  orderCandidates(candidates, kept, [](DictionaryAttr config) {
    auto number = [&](StringRef key) {
      auto value = config.getAs<IntegerAttr>(key);
      return value ? value.getInt() : 0;
    };
    return number(config::kRowTile) * 1000 + number(config::kColumnVectors) * 100 + number(config::kFewRowVectors);
  });
  return std::move(candidates);
}

std::vector<ConfigCandidate> enumerateConfigs(kernel::FuncOp func, ArrayRef<int64_t> sizes, const CpuTarget &target,
                                              const DeviceLimits &limits) {
  return ConfigSpace(func, sizes, target, limits).enumerate();
}

} // namespace heddle::cpu
