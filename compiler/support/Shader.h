// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel as compute shaders: what a target that generates them hands to the artifact writer. Field for field the
// tables of runtime/include/heddle/artifact.fbs, which says what each means to the runtime.

#ifndef HEDDLE_COMPILER_SUPPORT_SHADER_H
#define HEDDLE_COMPILER_SUPPORT_SHADER_H

#include "mlir/IR/Types.h"

#include <array>
#include <cstdint>
#include <optional>
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

/// An input of a self-test, whose elements heddle/self_test.h makes.
struct SelfTestInput {
  uint64_t bytes = 0;
  uint32_t seed = 0;
  uint32_t limit = 0;
  uint32_t columns = 0, depth = 0, width = 0, group = 0; ///< of packed weights, with zeros beyond columns and depth
};

/// Of an output the elements that are compared.
struct SelfTestOutput {
  uint64_t bytes = 0;
  std::vector<uint32_t> runs;  ///< pairs: the first of elements that lie side by side, how many
  std::vector<uint8_t> values; ///< theirs, one after the other, in the output's type
  float tolerance = 0;         ///< of floats, by the largest magnitude among the values
};

/// A small case of a kernel and what comes out of it.
struct SelfTest {
  std::vector<int64_t> sizes;
  std::vector<uint32_t> axes; ///< 3 extents, then 3 strides for each operand
  std::vector<SelfTestInput> inputs;
  std::vector<SelfTestOutput> outputs;
};

/// A constant operand of which a dispatch may have some rows only.
struct ShaderSlicedTable {
  uint32_t operand;
  uint32_t rowBytes; ///< on the device
};

struct Shader {
  std::vector<ShaderOperand> operands;    ///< inputs, then results, as in the kernel's signature
  bool canFail = false;                   ///< the push constants hold the place of an error record
  std::vector<ShaderVariant> variants;    ///< best first; the last must run on any device
  std::optional<ShaderSlicedTable> table; ///< the push constants hold which rows a dispatch has of it
  std::optional<SelfTest> selfTest;       ///< none: a kernel without a small case
};

} // namespace heddle

#endif // HEDDLE_COMPILER_SUPPORT_SHADER_H
