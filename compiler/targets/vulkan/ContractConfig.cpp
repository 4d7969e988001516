// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two kinds of devices want two kinds of tiles. GPUs ("shared_tiles") have many lanes and a fast memory of their own
// for each workgroup: invocations compute small tiles of factors that they have copied there together. Where
// invocations are a CPU's vector lanes, that memory is memory like any other, and large tiles in registers read the
// least of it. Few rows read all weights and multiply little in either case: their tiles hold no row twice.

#include "compiler/targets/vulkan/ContractConfig.h"

#include "compiler/targets/vulkan/ContractFactors.h"

using namespace mlir;

namespace heddle::vulkan {

/// The bytes that shaders of form "shared" declare: factors are f32, or bytes.
static int64_t countSharedBytes(kernel::ContractOp op, const TileShape &shape) {
  int64_t bytes = op.getForm() == kernel::ContractOp::Form::Integer ? 1 : 4;
  return (shape.rows * shape.rowLanes + shape.columns4 * 4 * shape.lanes) * shape.depth * bytes;
}

Variant makeContractVariant(kernel::ContractOp op, StringRef form, const TileShape &shape) {
  Variant variant;
  variant.form = form.str();
  variant.workgroup = {shape.lanes, shape.rowLanes, 1};
  variant.constants = {shape.rows, shape.columns4, shape.lanes, shape.rowLanes, shape.depth};
  variant.tile = {shape.lanes * shape.columns4 * 4 / kPanelColumns, shape.rows * shape.rowLanes, 1};
  variant.most = {0, 0, 0};
  variant.sharedBytes = ContractForm::parse(form).isShared ? countSharedBytes(op, shape) : 0;
  return variant;
}

namespace {

class ContractVariants {
public:
  explicit ContractVariants(kernel::ContractOp op) : op(op) {}
  std::vector<Variant> variants;

  /// |mostRows|: rows at which it is still taken; 0: any.
  void add(StringRef form, const TileShape &shape, ArrayRef<StringRef> features = {}, int64_t mostRows = 0) {
    Variant variant = makeContractVariant(op, form, shape);
    for (StringRef feature : features)
      variant.features.push_back(feature.str());
    variant.most = {0, mostRows, 0};
    variants.push_back(variant);
  }

  /// Tiles for GPUs, with |more| features.
  void addShared(StringRef suffix, ArrayRef<StringRef> more) {
    SmallVector<StringRef> features = {"shared_tiles"};
    features.append(more.begin(), more.end());
    std::string tile = ("tile" + suffix).str(), shared = ("shared" + suffix).str();
    // An invocation to each four columns: there are seldom more columns than lanes.
    for (int64_t rows : {1, 4, 8})
      add(tile, {rows, 1, 32}, features, rows);
    // 32x32, 64x64 and 128x128, as ggml's matrix shaders have them; bytes go four times as deep in the same memory.
    int64_t depth = op.getForm() == kernel::ContractOp::Form::Integer ? 64 : 16;
    add(shared, {4, 1, 8, 8, depth}, features, /*mostRows=*/32);
    add(shared, {8, 1, 16, 8, depth}, features, /*mostRows=*/128);
    add(shared, {8, 2, 16, 16, depth}, features);
    // Where 256 invocations are too many.
    add(shared, {8, 1, 16, 8, depth}, features);
  }

private:
  kernel::ContractOp op;
};

} // namespace

std::vector<Variant> chooseContract(kernel::ContractOp op) {
  ContractVariants table(op);
  bool isInteger = op.getForm() == kernel::ContractOp::Form::Integer;
  if (isInteger)
    table.addShared("_dots", {"integer_dot_product_accelerated"});
  table.addShared("", {});
  // Eight lanes are a register of AVX2 and no more than any device's subgroup has. Blocks with scales hold two sums for
  // each element.
  for (int64_t rows : {1, 4})
    table.add("tile", {rows, 4, 8}, {}, rows);
  table.add("tile", {8, op.getBlockSize() ? 2 : 4, 8});
  return std::move(table.variants);
}

} // namespace heddle::vulkan
