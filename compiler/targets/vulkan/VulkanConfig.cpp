// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of variants. Every list ends with one that needs nothing but Vulkan 1.1 and its least limits: 128
// invocations, 16 KB of shared memory.

#include "compiler/targets/vulkan/VulkanConfig.h"

#include "compiler/targets/vulkan/AttentionShader.h"
#include "compiler/targets/vulkan/ContractFactors.h"
#include "compiler/targets/vulkan/ShaderReduction.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle::vulkan {

/// Invocations of a workgroup whose invocations share nothing: a whole number of every device's subgroups.
static constexpr int64_t kInvocations = 64;

static std::vector<Variant> chooseMap() {
  // Four elements an invocation hide what the indices cost; a group's elements lie side by side.
  constexpr int64_t kElements = 4;
  Variant plain;
  plain.form = "plain";
  plain.workgroup = {kInvocations, 1, 1};
  plain.constants = {kElements};
  plain.tile = {kInvocations * kElements, 1, 1};
  plain.most = {0, 0, 0};
  return {plain};
}

/// A tile of |rows| by 4 * |columns4| for each of |invocations|, which lie side by side along the columns.
static Variant makeTile(StringRef form, int64_t invocations, int64_t rows, int64_t columns4) {
  Variant tile;
  tile.form = form.str();
  tile.workgroup = {invocations, 1, 1};
  tile.constants = {rows, columns4};
  tile.tile = {invocations * columns4 * 4 / kPanelColumns, rows, 1};
  tile.most = {0, 0, 0};
  return tile;
}

static std::vector<Variant> chooseContract(kernel::ContractOp op) { return {makeTile("tile", 8, 16, 2)}; }

/// Eight invocations, as many as the least subgroup has, take a tile of rows through the keys. Fewer rows: tiles that
/// fit them; the order of all sums is that of every tile.
static std::vector<Variant> chooseAttention(kernel::AttentionOp op) {
  constexpr int64_t kLanes = 8, kGroups = 2, kWidth = getAttentionWidth(kLanes, kGroups);
  constexpr int64_t kMostShared = 48 << 10, kLeastShared = 16 << 10;
  // Four columns to each invocation at a time, in as few steps as waste none of them.
  std::optional<int64_t> size;
  if (auto constant = dyn_cast<AffineConstantExpr>(op.getBounds().getResult(kernel::AttentionOp::ValueSize)))
    size = constant.getValue();
  int64_t columns = size && *size <= 3 * kLanes * 4 ? std::max<int64_t>(llvm::divideCeil(*size, kLanes * 4), 1) : 2;
  std::vector<Variant> variants;
  auto add = [&](int64_t rows, int64_t most) {
    Variant tile;
    tile.form = "rows";
    tile.workgroup = {kLanes, 1, 1};
    tile.constants = {rows, kLanes, kGroups, columns};
    tile.tile = {rows, 1, 1};
    tile.most = {most, 0, 0};
    tile.sharedBytes = getAttentionSharedBytes(op, rows, kWidth);
    if (tile.sharedBytes <= (most == 0 ? kMostShared : kLeastShared))
      variants.push_back(tile);
  };
  for (int64_t rows : {1, 4})
    add(rows, rows);
  add(16, 0);
  // The last one fits every device.
  for (int64_t rows : {8, 2})
    if (variants.back().sharedBytes > kLeastShared || variants.back().most[kX] != 0)
      add(rows, 0);
  return variants;
}

/// |rows| rows, or what else shares no lane, to a workgroup of |invocations| whose lanes |form| joins.
static Variant makeRows(StringRef form, int64_t invocations, int64_t rows, int64_t sharedBytes) {
  Variant variant;
  variant.form = form.str();
  if (form == "subgroup")
    variant.features = {"subgroup_shuffle"};
  variant.workgroup =
      form == "single" ? std::array<int64_t, 3>{rows, 1, 1} : std::array<int64_t, 3>{invocations / rows, rows, 1};
  variant.tile = {rows, 1, 1};
  variant.most = {0, 0, 0};
  variant.sharedBytes = sharedBytes;
  return variant;
}

/// A row of |length| elements (0: any number) of which |count| reductions are wanted at a time.
static std::vector<Variant> chooseRows(int64_t length, int64_t count) {
  // Up to eight elements an invocation is done before lanes have exchanged anything.
  constexpr int64_t kSingle = 8, kInvocations = kReductionInvocations;
  int64_t bytes = getReductionSharedBytes(LaneForm::Shared, count);
  if (length != 0 && length <= kSingle)
    return {makeRows("single", kInvocations, kInvocations, 0)};
  // Rows that leave half of the lanes without an element share a workgroup.
  if (length != 0 && length <= kInvocations / 2)
    return {makeRows("shared", kInvocations, kInvocations / llvm::PowerOf2Ceil(length), bytes)};
  return {makeRows("subgroup", kInvocations, 1, bytes), makeRows("shared", kInvocations, 1, bytes)};
}

static std::vector<Variant> chooseRowwise(kernel::RowwiseOp op) {
  auto length = dyn_cast<AffineConstantExpr>(op.getBounds().getResults().back());
  return chooseRows(length ? length.getValue() : 0, countPassReductions(op));
}

static std::vector<Variant> chooseVariants(kernel::FuncOp func) {
  Operation *root = func.getRoot();
  if (isa<kernel::MapOp>(root))
    return chooseMap();
  if (auto rowwise = dyn_cast<kernel::RowwiseOp>(root))
    return chooseRowwise(rowwise);
  if (auto contract = dyn_cast<kernel::ContractOp>(root))
    return chooseContract(contract);
  if (auto attention = dyn_cast<kernel::AttentionOp>(root))
    return chooseAttention(attention);
  return {};
}

kernel::LoweringConfigAttr selectConfig(kernel::FuncOp func) {
  Builder b(func.getContext());
  SmallVector<Attribute> variants;
  for (const Variant &variant : chooseVariants(func))
    variants.push_back(variant.toAttr(func.getContext()));
  NamedAttribute entry = b.getNamedAttr(kVariantsKey, b.getArrayAttr(variants));
  return kernel::LoweringConfigAttr::get(func.getContext(), b.getDictionaryAttr(entry));
}

} // namespace heddle::vulkan
