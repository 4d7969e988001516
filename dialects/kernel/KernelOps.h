// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of the kernel dialect.

#ifndef HEDDLE_DIALECTS_KERNEL_KERNELOPS_H
#define HEDDLE_DIALECTS_KERNEL_KERNELOPS_H

#include "dialects/kernel/KernelDialect.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialects/kernel/KernelOps.h.inc"

#endif // HEDDLE_DIALECTS_KERNEL_KERNELOPS_H
