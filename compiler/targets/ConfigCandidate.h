// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Configs that may be better than a target's table: what `heddle tune` measures, in the order to try them.

#ifndef HEDDLE_COMPILER_TARGETS_CONFIGCANDIDATE_H
#define HEDDLE_COMPILER_TARGETS_CONFIGCANDIDATE_H

#include <cstdint>
#include <string>
#include <vector>

#include "mlir/IR/BuiltinAttributes.h"

namespace heddle {

/// What a device does at most, as measured, with all its threads. The defaults are those of a small machine.
struct DeviceLimits {
  unsigned threads = 2;
  double flops = 200e9;                                     ///< f32 operations a second, a multiply-add counted as two
  double byteOps = 400e9;                                   ///< operations on bytes a second
  double l1 = 400e9, l2 = 200e9, l3 = 120e9, memory = 30e9; ///< bytes a second, read
  double l1Bytes = 32 << 10, l2Bytes = 512 << 10, l3Bytes = 32 << 20; ///< of one core, but for L3
  /// Of a device that runs shaders.
  bool isCpu = false;                ///< its invocations are lanes of a CPU's vectors
  std::vector<std::string> features; ///< it has these; no variant that asks for another is a candidate
  uint64_t sharedBytes = 16 << 10;   ///< of a workgroup
  uint64_t invocations = 128;        ///< of a workgroup
};

/// A config of one kernel.
struct ConfigCandidate {
  mlir::DictionaryAttr config;   ///< as tuning files have it
  mlir::DictionaryAttr lowering; ///< entries of kernel.config by which the kernel is compiled for a measurement
  double seconds = 0;            ///< that one dispatch is expected to take
};

/// Puts |candidates| behind the first |kept| of them into the order in which they are tried: the ones expected to be
/// fast first, and in turns with them the best of each family, which |family| numbers, that hasn't come yet: where an
/// expectation is wrong, it is so for a whole family.
void orderCandidates(std::vector<ConfigCandidate> &candidates, size_t kept,
                     llvm::function_ref<int64_t(mlir::DictionaryAttr)> family);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGETS_CONFIGCANDIDATE_H
