// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel dialect, its attributes and the interface of structured roots. Ops are in KernelOps.h.

#ifndef HEDDLE_DIALECTS_KERNEL_KERNELDIALECT_H
#define HEDDLE_DIALECTS_KERNEL_KERNELDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"

namespace heddle::kernel {
/// Argument and result attribute of kernel.func: for each dynamic dimension, the number of its size argument.
inline constexpr llvm::StringLiteral kDimsAttrName = "kernel.dims";
/// Argument attribute of kernel.func, a unit: every dispatch passes a constant there.
inline constexpr llvm::StringLiteral kConstantAttrName = "kernel.constant";
/// #kernel.lowering_config of a kernel.func.
inline constexpr llvm::StringLiteral kConfigAttrName = "kernel.config";

namespace detail {
/// Maps, bounds and operands of a root fit each other.
mlir::LogicalResult verifyRoot(mlir::Operation *op);
} // namespace detail
} // namespace heddle::kernel

#include "dialects/kernel/KernelDialect.h.inc"
#include "dialects/kernel/KernelEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/kernel/KernelAttributes.h.inc"

#include "dialects/kernel/KernelInterfaces.h.inc"

#endif // HEDDLE_DIALECTS_KERNEL_KERNELDIALECT_H
