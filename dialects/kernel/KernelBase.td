// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all ops of the kernel dialect are made of.

#ifndef HEDDLE_DIALECTS_KERNEL_KERNELBASE_TD
#define HEDDLE_DIALECTS_KERNEL_KERNELBASE_TD

include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/kernel/KernelAttributes.td"
include "dialects/kernel/KernelInterfaces.td"

class Kernel_Op<string mnemonic, list<Trait> traits = []> : Op<Kernel_Dialect, mnemonic, traits>;

class Kernel_Root<string mnemonic, list<Trait> traits = []>
    : Kernel_Op<mnemonic, !listconcat(traits, [Pure, AttrSizedOperandSegments,
                                               DeclareOpInterfaceMethods<Kernel_RootOpInterface>])>;

#endif // HEDDLE_DIALECTS_KERNEL_KERNELBASE_TD
