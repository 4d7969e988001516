// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enums of the kernel dialect.

#ifndef HEDDLE_DIALECTS_KERNEL_KERNELENUMS_TD
#define HEDDLE_DIALECTS_KERNEL_KERNELENUMS_TD

include "mlir/IR/EnumAttr.td"

def Kernel_Combiner : I32EnumAttr<"Combiner", "how a reduction merges two values", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Product", 1, "product">,
    // NaN wins, as in arith.maximumf: a NaN in a row shows in its result.
    I32EnumAttrCase<"Maximum", 2, "maximum">, I32EnumAttrCase<"Minimum", 3, "minimum">]> {
  let cppNamespace = "::heddle::kernel";
  let genSpecializedAttr = 0;
}

#endif // HEDDLE_DIALECTS_KERNEL_KERNELENUMS_TD
