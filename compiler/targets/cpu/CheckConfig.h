// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Configs from files are input: whether code can be made of one for a kernel, and computes the same.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_CHECKCONFIG_H
#define HEDDLE_COMPILER_TARGETS_CPU_CHECKCONFIG_H

#include "compiler/targets/cpu/CpuTarget.h"

namespace heddle::cpu {

/// What is wrong with |config| for |func| on |target|; empty if nothing.
std::string checkConfig(kernel::FuncOp func, mlir::DictionaryAttr config, const CpuTarget &target);

/// The numbers that a key may have, in steps of |multiple|; one alone where it is the table's that counts.
struct NumberRange {
  int64_t least, most, multiple = 1;
};

/// The numbers that |key| may have in configs of |func|, in a config of the table; nothing where it must be as in the
/// table: it decides in which order numbers are added, or which instructions the weights are packed for.
std::optional<NumberRange> getNumberRange(kernel::FuncOp func, llvm::StringRef key);

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_CHECKCONFIG_H
