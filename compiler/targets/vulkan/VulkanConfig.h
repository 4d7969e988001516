// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place where tiles and variants of Vulkan kernels are decided.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_VULKANCONFIG_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_VULKANCONFIG_H

#include "compiler/targets/vulkan/ShaderPlan.h"

namespace heddle::vulkan {

/// The config of |func|: its variants, best first; the last one fits every device.
kernel::LoweringConfigAttr selectConfig(kernel::FuncOp func);

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_VULKANCONFIG_H
