// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel as compute shaders: what a target that generates them hands to the artifact writer. Field for field the
// tables of runtime/include/heddle/artifact.fbs, which says what each means to the runtime.

#ifndef HEDDLE_COMPILER_SUPPORT_SHADER_H
#define HEDDLE_COMPILER_SUPPORT_SHADER_H

#include "mlir/IR/Types.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// A SPIR-V module: bytes of the target's section, both numbers multiples of 4.
struct ShaderModule {
  uint64_t offset;
  uint64_t length;
};

/// A module with values for its specialisation constants. The first of a shader's variants is taken that the device can
/// run and whose |most| allows the dispatch.
struct ShaderVariant {
  std::vector<std::string> features;             ///< what the device must have beyond Vulkan 1.1
  uint32_t module = 0;                           ///< into the target's modules
  std::array<uint32_t, 3> workgroup = {1, 1, 1}; ///< local size along x, y, z: specialisation constants 0, 1, 2
  std::vector<uint32_t> constants;               ///< specialisation constants 3, 4 ...
  std::array<uint32_t, 3> tile = {1, 1, 1};      ///< units of the axes that one workgroup computes
  std::array<uint32_t, 3> most = {0, 0, 0};      ///< greatest extents of the axes that it is taken for; 0: any
  uint32_t sharedBytes = 0;                      ///< shared memory of one workgroup
};

/// The storage buffers of every shader, by their binding numbers.
enum class ShaderBinding : uint8_t { Constants, FirstInput, Inputs, Results };

struct ShaderOperand {
  mlir::Type type; ///< element type
  ShaderBinding binding;
};

struct Shader {
  std::vector<ShaderOperand> operands; ///< inputs, then results, as in the kernel's signature
  bool canFail = false;                ///< the push constants hold the place of an error record
  std::vector<ShaderVariant> variants; ///< best first; the last must run on any device
};

} // namespace heddle

#endif // HEDDLE_COMPILER_SUPPORT_SHADER_H
