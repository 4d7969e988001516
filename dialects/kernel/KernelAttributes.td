// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of the kernel dialect.

#ifndef HEDDLE_DIALECTS_KERNEL_KERNELATTRIBUTES_TD
#define HEDDLE_DIALECTS_KERNEL_KERNELATTRIBUTES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "dialects/kernel/KernelDialect.td"
include "dialects/kernel/KernelEnums.td"

def Kernel_CombinerAttr : EnumAttr<Kernel_Dialect, Kernel_Combiner, "combiner"> {
  let assemblyFormat = "`<` $value `>`";
}
def Kernel_CombinerArrayAttr : TypedArrayAttrBase<Kernel_CombinerAttr, "array of combiners">;

def Kernel_LoweringConfigAttr : AttrDef<Kernel_Dialect, "LoweringConfig"> {
  let mnemonic = "lowering_config";
  let summary = "every tile size and strategy choice of one kernel on one target";
  let description = [{
    The only place where such choices stand: `<target>-select-lowering-config` writes it, code generation reads it and
    chooses nothing. Keys are the target's own; values are integers or strings.

        #kernel.lowering_config<{row_tile = 8 : i64, column_vectors = 2 : i64}>
  }];
  let parameters = (ins "::mlir::DictionaryAttr":$entries);
  let assemblyFormat = "`<` $entries `>`";
  let extraClassDeclaration = [{
    /// The integer stored under |key|, or |missing|.
    int64_t getInteger(::llvm::StringRef key, int64_t missing = 0) const;
    /// The string stored under |key|, or none.
    ::llvm::StringRef getString(::llvm::StringRef key) const;
  }];
}

#endif // HEDDLE_DIALECTS_KERNEL_KERNELATTRIBUTES_TD
