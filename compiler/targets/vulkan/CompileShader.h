// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From GLSL to SPIR-V that a validator has seen.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_COMPILESHADER_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_COMPILESHADER_H

#include <cstdint>
#include <string>
#include <vector>

#include "llvm/Support/Error.h"

namespace heddle::vulkan {

/// SPIR-V 1.3 of a compute shader for Vulkan 1.1, exactly as glslang writes it: optimisers have miscompiled shaders of
/// others, and drivers optimise anyway. The error holds the compiler's or the validator's words. Any thread.
llvm::Expected<std::vector<uint32_t>> compileShader(const std::string &glsl);

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_COMPILESHADER_H
