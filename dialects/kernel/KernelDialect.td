// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel dialect: what a device runs. See README.md for the idea.

#ifndef HEDDLE_DIALECTS_KERNEL_KERNELDIALECT_TD
#define HEDDLE_DIALECTS_KERNEL_KERNELDIALECT_TD

include "mlir/IR/OpBase.td"

def Kernel_Dialect : Dialect {
  let name = "kernel";
  let cppNamespace = "::heddle::kernel";
  let summary = "Structured roots with scalar regions: what a device runs";
  let description = [{
    A kernel is one structured root with scalar regions. The root says which loops there are (a contraction, a
    row-wise normalisation, a reduction, a plain map); its regions say what happens to one element. Regions hold
    scalar `arith` and `math` ops, so a target needs one code generator per root and one emitter of scalar regions.

    Kernels work on contiguous row-major tensors. How a root's loops walk through an operand is the operand's affine
    map; transposes, broadcasts and slices are maps, never copies.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif // HEDDLE_DIALECTS_KERNEL_KERNELDIALECT_TD
