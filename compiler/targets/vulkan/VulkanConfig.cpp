// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of variants. Every list ends with one that needs nothing but Vulkan 1.1 and its least limits: 128
// invocations, 16 KB of shared memory.

#include "compiler/targets/vulkan/VulkanConfig.h"

#include "compiler/targets/vulkan/AttentionShader.h"
#include "compiler/targets/vulkan/ContractConfig.h"
#include "compiler/targets/vulkan/ShaderReduction.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle::vulkan {

/// Invocations of a workgroup whose invocations share nothing: a whole number of every device's subgroups.
static constexpr int64_t kInvocations = 64;

Variant makeMapVariant(int64_t invocations, int64_t elements) {
  Variant plain;
  plain.form = "plain";
  plain.workgroup = {invocations, 1, 1};
  plain.constants = {elements};
  plain.tile = {invocations * elements, 1, 1};
  plain.most = {0, 0, 0};
  return plain;
}

static std::vector<Variant> chooseMap() {
  // Four elements an invocation hide what the indices cost; a group's elements lie side by side.
  return {makeMapVariant(kInvocations, /*elements=*/4)};
}

Variant makeSharedAttention(kernel::AttentionOp op, int64_t rows, int64_t lanes, int64_t groups, int64_t rowGroups,
                            int64_t most) {
  std::optional<int64_t> size;
  if (auto constant = dyn_cast<AffineConstantExpr>(op.getBounds().getResult(kernel::AttentionOp::ValueSize)))
    size = constant.getValue();
  // In as few steps over the columns as waste none.
  int64_t columns = size && *size <= 3 * lanes * 4 ? std::max<int64_t>(llvm::divideCeil(*size, lanes * 4), 1) : 2;
  Variant tile;
  tile.form = kSharedAttention.str();
  tile.workgroup = {lanes, rowGroups, 1};
  tile.constants = {rows, lanes, groups, columns, rowGroups};
  tile.tile = {rows * rowGroups, 1, 1};
  tile.most = {most, 0, 0};
  tile.sharedBytes = getAttentionSharedBytes(op, rows * rowGroups);
  return tile;
}

Variant makePrivateAttention(StringRef form, int64_t invocations, int64_t rows) {
  Variant own;
  own.form = form.str();
  if (form == kSubgroupAttention)
    own.features = {"subgroup_of_8"};
  own.workgroup = {invocations, 1, 1};
  own.constants = {rows, 1, 2, 4, 1};
  own.tile = {rows * invocations, 1, 1};
  own.most = {0, 0, 0};
  return own;
}

/// Attention. On GPUs workgroups share rows, in classes of 48, 32 and 16 KB. Elsewhere only few rows are shared, of
/// many each invocation has some for itself. Bits are the same: the order of all sums is.
static std::vector<Variant> chooseAttention(kernel::AttentionOp op) {
  std::vector<Variant> variants;
  auto add = [&](Variant tile, int64_t kilobytes, bool isForGpus) {
    if (isForGpus)
      tile.features = {"shared_tiles"};
    if (tile.sharedBytes <= kilobytes << 10)
      variants.push_back(tile);
  };
  for (int64_t rows : {1, 4})
    add(makeSharedAttention(op, rows, 16, 1, 1, rows), 16, /*isForGpus=*/true);
  // 128, 64 and 32 invocations, 4 rows by 4 keys or columns each.
  for (auto [rowGroups, kilobytes] : {std::pair(8, 48), {4, 32}, {2, 16}})
    add(makeSharedAttention(op, 4, 16, 1, rowGroups, 0), kilobytes, /*isForGpus=*/true);
  for (int64_t rows : {1, 4})
    add(makeSharedAttention(op, rows, 8, 2, 1, rows), 16, /*isForGpus=*/false);
  // An invocation's rows share what it reads of keys and values, which all invocations read together: the more of them
  // the better, where there are enough.
  for (StringRef form : {kSubgroupAttention, kPrivateAttention})
    for (int64_t rows : {4, 8}) {
      Variant own = makePrivateAttention(form, kAttentionPeers, rows);
      own.most = {rows == 4 ? own.tile[kX] : 0, 0, 0};
      variants.push_back(own);
    }
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

static std::vector<Variant> chooseReduce(kernel::FuncOp func) {
  ReductionShape shape = getReductionShape(func);
  if (!shape.alongLanes)
    return {makeRows("single", kReductionInvocations, kReductionInvocations, 0)};
  return chooseRows(shape.length, cast<kernel::ReduceOp>(*func.getRoot()).getCombiners().size());
}

static std::vector<Variant> chooseScan() { return {makeRows("single", kInvocations, kInvocations, 0)}; }

static std::vector<Variant> chooseScatter(kernel::ScatterOp op) {
  if (op.getNumParallel() > 0)
    return {makeRows("single", kInvocations, kInvocations, 0)};
  return {makeRows("shared", kInvocations, 1, 0)};
}

static std::vector<Variant> chooseTopK(kernel::TopKOp op) {
  auto length = dyn_cast<AffineConstantExpr>(op.getBounds().getResults().drop_back().back());
  // Elements are compared by a region, which subgroups have no operation for.
  return {chooseRows(length ? length.getValue() : 0, 1).back()};
}

std::vector<Variant> chooseVariants(kernel::FuncOp func) {
  Operation *root = func.getRoot();
  if (isa<kernel::MapOp>(root))
    return chooseMap();
  if (auto rowwise = dyn_cast<kernel::RowwiseOp>(root))
    return chooseRowwise(rowwise);
  if (isa<kernel::ReduceOp>(root))
    return chooseReduce(func);
  if (isa<kernel::ScanOp>(root))
    return chooseScan();
  if (auto scatter = dyn_cast<kernel::ScatterOp>(root))
    return chooseScatter(scatter);
  if (auto topK = dyn_cast<kernel::TopKOp>(root))
    return chooseTopK(topK);
  if (auto contract = dyn_cast<kernel::ContractOp>(root))
    return chooseContract(contract);
  if (auto attention = dyn_cast<kernel::AttentionOp>(root))
    return chooseAttention(attention);
  return {};
}

kernel::LoweringConfigAttr makeConfig(ArrayRef<Variant> variants, MLIRContext *context) {
  Builder b(context);
  SmallVector<Attribute> list;
  for (const Variant &variant : variants)
    list.push_back(variant.toAttr(context));
  NamedAttribute entry = b.getNamedAttr(kVariantsKey, b.getArrayAttr(list));
  return kernel::LoweringConfigAttr::get(context, b.getDictionaryAttr(entry));
}

kernel::LoweringConfigAttr selectConfig(kernel::FuncOp func) {
  return makeConfig(chooseVariants(func), func.getContext());
}

} // namespace heddle::vulkan
