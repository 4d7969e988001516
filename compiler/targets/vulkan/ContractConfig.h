// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions' part of the table of variants.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_CONTRACTCONFIG_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_CONTRACTCONFIG_H

#include "compiler/targets/vulkan/ShaderPlan.h"

namespace heddle::vulkan {

/// Best first; the last one fits every device.
std::vector<Variant> chooseContract(kernel::ContractOp op);

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_CONTRACTCONFIG_H
