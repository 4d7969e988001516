// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds are those of code generation: what it unrolls must stay of a size that LLVM takes, and scratch of one that
// each thread can have. Slow configs are legal, wrong ones aren't.

#include "compiler/targets/cpu/CheckConfig.h"

#include "compiler/targets/cpu/CpuConfig.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace heddle::cpu {

/// Accumulators of a tile: as many as AVX-512 has registers. More would be nothing but spills, each of them unrolled.
static constexpr int64_t kMostAccumulators = 32;
static constexpr int64_t kMostScratchBytes = int64_t(64) << 20;

std::optional<NumberRange> getNumberRange(kernel::FuncOp func, StringRef key) {
  static const std::pair<StringRef, NumberRange> kRanges[] = {
      // Rows of a tile are the lanes of a vector where attention merges them.
      {config::kRowTile, {1, kLanes}},
      {config::kColumnVectors, {1, 8}},
      {config::kRowsPerItem, {1, 4096}},
      {config::kGroupsPerItem, {1, 64}},
      {config::kSplitRowTail, {0, 1}},
      // One body for each number of few rows.
      {config::kFewRows, {0, 8}},
      {config::kFewRowVectors, {0, 8}},
      {config::kPrefetchRows, {0, int64_t(1) << 20}},
      {config::kPrefetchFewRows, {0, 1}},
      {config::kBranchMasks, {0, 1}},
      {config::kGrainWork, {1, int64_t(1) << 40}},
      // Chunks start at whole vectors.
      {config::kElementsPerItem, {kLanes, int64_t(1) << 20, kLanes}},
      {config::kVectorsPerItem, {1, 64}},
      {config::kBlockQ, {1, 1024}},
  };
  Operation *root = func.getRoot();
  // Sums of weights have a lane for each key of a tile.
  bool isFixed = (isa<kernel::AttentionOp>(root) && key == config::kColumnVectors) ||
                 (isa<kernel::ReduceOp>(root) && key == config::kVectorsPerItem);
  const auto *found = llvm::find_if(kRanges, [&](const auto &range) { return range.first == key; });
  return isFixed || found == std::end(kRanges) ? std::nullopt : std::optional<NumberRange>(found->second);
}

namespace {
class Checker {
public:
  Checker(kernel::FuncOp func, DictionaryAttr config, const CpuTarget &target)
      : func(func), config(config), table(selectConfig(func, target).getEntries()) {}

  std::string check() {
    checkKeys();
    for (NamedAttribute entry : config)
      checkEntry(entry.getName().getValue(), entry.getValue());
    if (problem.empty())
      checkTogether();
    if (problem.empty())
      checkPlan();
    return problem;
  }

private:
  void fail(const Twine &text) {
    if (problem.empty())
      problem = text.str();
  }

  /// Keys that the table leaves out where they say nothing.
  bool isOptional(StringRef key) {
    return isa<kernel::ContractOp>(func.getRoot()) &&
           (key == config::kGroupsPerItem || key == config::kPrefetchFewRows);
  }

  void checkKeys() {
    for (NamedAttribute entry : table)
      if (!config.contains(entry.getName()) && !isOptional(entry.getName().getValue()))
        fail("lacks '" + entry.getName().getValue() + "'");
    for (NamedAttribute entry : config)
      if (StringRef key = entry.getName().getValue(); !table.contains(key) && !isOptional(key))
        fail("has '" + key + "', which this kernel has no use for");
  }

  void checkEntry(StringRef key, Attribute value) {
    std::optional<NumberRange> range = getNumberRange(func, key);
    if (!range) {
      if (value != table.get(key))
        fail("has another '" + key + "' than the target's table, which decides it for all sizes");
      return;
    }
    auto number = dyn_cast<IntegerAttr>(value);
    if (!number || number.getInt() < range->least || number.getInt() > range->most ||
        number.getInt() % range->multiple != 0)
      fail("has '" + key + "' of " + print(value) + ", expects " + Twine(range->least) + " to " + Twine(range->most) +
           (range->multiple == 1 ? "" : ", a multiple of " + std::to_string(range->multiple)));
  }

  static std::string print(Attribute value) {
    if (auto number = dyn_cast<IntegerAttr>(value))
      return std::to_string(number.getInt());
    return "another type";
  }

  int64_t get(StringRef key) const {
    auto number = config.getAs<IntegerAttr>(key);
    return number ? number.getInt() : 0;
  }

  /// Rules about several numbers.
  void checkTogether() {
    if (config.contains(config::kRowTile) && get(config::kRowTile) * get(config::kColumnVectors) > kMostAccumulators)
      fail("has more than " + Twine(kMostAccumulators) + " accumulators: row_tile " + Twine(get(config::kRowTile)) +
           " by column_vectors " + Twine(get(config::kColumnVectors)));
    if (!isa<kernel::ContractOp>(func.getRoot()))
      return;
    int64_t rowTile = std::max<int64_t>(get(config::kRowTile), 1);
    if (get(config::kRowsPerItem) % rowTile != 0)
      fail("has rows_per_item " + Twine(get(config::kRowsPerItem)) + ", expects a multiple of row_tile " +
           Twine(rowTile));
    // Few rows are one item's.
    if (get(config::kFewRows) > get(config::kRowsPerItem))
      fail("has few_rows " + Twine(get(config::kFewRows)) + ", expects at most rows_per_item " +
           Twine(get(config::kRowsPerItem)));
    if ((get(config::kFewRows) == 0) != (get(config::kFewRowVectors) == 0))
      fail("expects few_rows and few_row_vectors to be both 0 or both not");
  }

  /// What remains is what the plan says.
  void checkPlan() {
    std::string said;
    ScopedDiagnosticHandler handler(func.getContext(), [&](Diagnostic &diagnostic) { said = diagnostic.str(); });
    FailureOr<KernelPlan> plan = KernelPlan::create(func, kernel::LoweringConfigAttr::get(func.getContext(), config));
    if (failed(plan)) {
      fail(said);
      return;
    }
    auto scratch = dyn_cast<AffineConstantExpr>(plan->items.scratchBytes);
    if (scratch && scratch.getValue() > kMostScratchBytes)
      fail("needs " + Twine(scratch.getValue()) + " bytes of scratch a thread, more than " + Twine(kMostScratchBytes));
  }

  kernel::FuncOp func;
  DictionaryAttr config, table;
  std::string problem;
};
} // namespace

std::string checkConfig(kernel::FuncOp func, DictionaryAttr config, const CpuTarget &target) {
  return Checker(func, config, target).check();
}

} // namespace heddle::cpu
