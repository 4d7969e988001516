// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--shape NAME=1x128`: symbols of an input's dimensions become numbers, everywhere.

#ifndef HEDDLE_COMPILER_PIPELINES_SPECIALIZESHAPES_H
#define HEDDLE_COMPILER_PIPELINES_SPECIALIZESHAPES_H

#include "compiler/support/Error.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace heddle {

/// Fixes the dimensions of @main's inputs as |shapes| ("NAME=1x128") say. A symbol fixed through one input is fixed in
/// all inputs that name it.
mlir::LogicalResult specializeShapes(mlir::ModuleOp module, llvm::ArrayRef<std::string> shapes, ErrorList &errors);

} // namespace heddle

#endif // HEDDLE_COMPILER_PIPELINES_SPECIALIZESHAPES_H
