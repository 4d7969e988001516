// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all structured roots have in common.

#ifndef HEDDLE_DIALECTS_KERNEL_KERNELINTERFACES_TD
#define HEDDLE_DIALECTS_KERNEL_KERNELINTERFACES_TD

include "mlir/IR/OpBase.td"

def Kernel_RootOpInterface : OpInterface<"RootOpInterface"> {
  let cppNamespace = "::heddle::kernel";
  let description = [{
    A structured root: a loop nest of known bounds, operands walked by affine maps, regions for one element.

    The symbols of every map are the op's `sizes`, in order. `bounds` has no dimensions and one result per loop.
    `indexing_maps` holds one map per input, then one per result; dimensions are the loops.
  }];
  let methods = [
    InterfaceMethod<"Tensor operands, in the order of their maps", "::mlir::OperandRange", "getRootInputs">,
    InterfaceMethod<"Run-time sizes that the maps' symbols stand for", "::mlir::OperandRange", "getRootSizes">,
    InterfaceMethod<"Loop bounds: ()[sizes] -> (bound of each loop)", "::mlir::AffineMap", "getRootBounds">,
    InterfaceMethod<"One map per input, then one per result", "::llvm::SmallVector<::mlir::AffineMap>", "getRootMaps">,
  ];
  let verify = [{ return ::heddle::kernel::detail::verifyRoot($_op); }];
  let extraClassDeclaration = [{
    unsigned getNumLoops() { return getRootBounds().getNumResults(); }
    ::mlir::AffineMap getInputMap(unsigned i) { return getRootMaps()[i]; }
    ::mlir::AffineMap getResultMap(unsigned i) { return getRootMaps()[getRootInputs().size() + i]; }
  }];
}

#endif // HEDDLE_DIALECTS_KERNEL_KERNELINTERFACES_TD
