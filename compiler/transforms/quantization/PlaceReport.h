// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the room's passes leave on the module for the report.

#ifndef HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_PLACEREPORT_H
#define HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_PLACEREPORT_H

#include "mlir/IR/BuiltinOps.h"

namespace heddle::nn {

/// Appends to `nn.quantization` what became of the place of |kind| that stands for the model's |nodes|; |reason| says
/// why it stays float and is empty where it is quantised.
void addPlaceReport(mlir::ModuleOp module, llvm::StringRef kind, llvm::ArrayRef<llvm::StringRef> nodes,
                    llvm::StringRef reason);

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_PLACEREPORT_H
