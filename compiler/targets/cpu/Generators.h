// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One generator per structured root. Each fills the function that a KernelEmitter has opened, following the plan.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_GENERATORS_H
#define HEDDLE_COMPILER_TARGETS_CPU_GENERATORS_H

#include "compiler/targets/cpu/KernelEmitter.h"

namespace heddle::cpu {

mlir::LogicalResult emitMap(KernelEmitter &emitter);
mlir::LogicalResult emitRowwise(KernelEmitter &emitter);
mlir::LogicalResult emitReduce(KernelEmitter &emitter);
mlir::LogicalResult emitScan(KernelEmitter &emitter);
mlir::LogicalResult emitScatter(KernelEmitter &emitter);
mlir::LogicalResult emitTopK(KernelEmitter &emitter);
mlir::LogicalResult emitContract(KernelEmitter &emitter);
mlir::LogicalResult emitAttention(KernelEmitter &emitter);

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_GENERATORS_H
