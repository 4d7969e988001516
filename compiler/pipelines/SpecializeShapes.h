// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--shape NAME=1x128`: symbols of an input's dimensions become numbers, everywhere.

#ifndef HEDDLE_COMPILER_PIPELINES_SPECIALIZESHAPES_H
#define HEDDLE_COMPILER_PIPELINES_SPECIALIZESHAPES_H

#include "compiler/support/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>

namespace heddle {

/// Fixes the dimensions of @main's inputs as |shapes| ("NAME=1x128") say. A symbol fixed through one input is fixed in
/// all inputs that name it.
mlir::LogicalResult specializeShapes(mlir::ModuleOp module, llvm::ArrayRef<std::string> shapes, ErrorList &errors);

/// Adds to |values| the sizes that |shapes| ("NAME=1x128") give to symbols among |dims|, those of the inputs |names|.
mlir::LogicalResult bindShapes(llvm::ArrayRef<llvm::StringRef> names, llvm::ArrayRef<mlir::ArrayAttr> dims,
                               llvm::ArrayRef<std::string> shapes, llvm::StringMap<int64_t> &values, ErrorList &errors);

/// Replaces the symbols that |values| has in the dimensions of |func|'s inputs. A default that no longer fits goes.
void fixDimensions(mlir::func::FuncOp func, const llvm::StringMap<int64_t> &values);

/// The size that |text| is: a decimal number from 1 to 2^31 - 1, so that products of a few sizes stay within 64 bits.
std::optional<int64_t> parseSize(llvm::StringRef text);

/// What is wrong with a |text| that is no size: "expects sizes of at least 1, got 0".
std::string describeSizeMistake(llvm::StringRef text);

} // namespace heddle

#endif // HEDDLE_COMPILER_PIPELINES_SPECIALIZESHAPES_H
