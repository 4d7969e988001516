// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a tuning file calls a kernel by: `<types>_<root>_<bounds>_<hash>`, such as f32_contract_?x3072x768_1f0c93aa.
// Kernels of one signature differ in nothing that a tile could care for, whatever model they are of; no ISA is in it.

#ifndef HEDDLE_COMPILER_TARGETS_COMMON_KERNELSIGNATURE_H
#define HEDDLE_COMPILER_TARGETS_COMMON_KERNELSIGNATURE_H

#include "compiler/targets/common/KernelAccess.h"

namespace heddle {

/// The signature of |func|, the same on every target: its name, locations, kernel.config and marks of constants don't
/// count.
std::string getKernelSignature(kernel::FuncOp func);

/// The rows by which buckets go (RowBucket.h), ()[sizes] -> (rows): of kernel.contract those of the left side, with all
/// batches that merge into them, of kernel.attention the queries. A null map where the root has no such rows. Emits an
/// error and fails where KernelAccess::readOperands does.
mlir::FailureOr<mlir::AffineMap> getKernelRows(kernel::FuncOp func);

/// Merges batch loops into the rows where the right side doesn't mind, so that rows are many and have one tail. The
/// last three loops, rows, columns and depth, stay.
void mergeContractRows(KernelAccess &access);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGETS_COMMON_KERNELSIGNATURE_H
