// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place where tiles and variants of Vulkan kernels are decided.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_VULKANCONFIG_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_VULKANCONFIG_H

#include "compiler/targets/vulkan/ShaderPlan.h"

namespace heddle::vulkan {

/// Each of a workgroup's |invocations| computes |elements| neighbours.
Variant makeMapVariant(int64_t invocations, int64_t elements);

/// Attention whose workgroups share |rows| rows for each of |rowGroups| invocations; |lanes| of these share out keys,
/// in |groups| of four, and columns. For at most |most| rows (0: any).
Variant makeSharedAttention(kernel::AttentionOp op, int64_t rows, int64_t lanes, int64_t groups, int64_t rowGroups,
                            int64_t most);

/// Attention of which each of |invocations| has |rows| rows for itself. They exchange what they read where |form| is
/// kSubgroupAttention, and are kAttentionPeers then.
Variant makePrivateAttention(llvm::StringRef form, int64_t invocations, int64_t rows);

/// The table: variants for |func|, best first.
std::vector<Variant> chooseVariants(kernel::FuncOp func);

/// The config of |func|: its variants, best first; the last one fits every device.
kernel::LoweringConfigAttr selectConfig(kernel::FuncOp func);
/// |variants| as a config.
kernel::LoweringConfigAttr makeConfig(llvm::ArrayRef<Variant> variants, mlir::MLIRContext *context);

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_VULKANCONFIG_H
