// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of variants. Every list ends with one that needs nothing but Vulkan 1.1 and its least limits: 128
// invocations, 16 KB of shared memory.

#include "compiler/targets/vulkan/VulkanConfig.h"

#include "mlir/IR/Builders.h"

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

static std::vector<Variant> chooseVariants(kernel::FuncOp func) {
  Operation *root = func.getRoot();
  if (isa<kernel::MapOp>(root))
    return chooseMap();
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
