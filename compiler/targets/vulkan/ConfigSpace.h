// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The variants that a shader may have in place of its table's without another bit in its results.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_CONFIGSPACE_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_CONFIGSPACE_H

#include "compiler/targets/ConfigCandidate.h"
#include "dialects/kernel/KernelOps.h"

namespace heddle::vulkan {

/// Target::enumerateConfigs.
std::vector<ConfigCandidate> enumerateConfigs(kernel::FuncOp func, llvm::ArrayRef<int64_t> sizes,
                                              const DeviceLimits &limits);

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_CONFIGSPACE_H
