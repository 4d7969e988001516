// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From an ONNX file to a module of nn ops, one op for one node where possible.

#ifndef HEDDLE_COMPILER_IMPORT_ONNX_IMPORTONNX_H
#define HEDDLE_COMPILER_IMPORT_ONNX_IMPORTONNX_H

#include "compiler/support/Error.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace heddle {

/// Imports the model at |path|. The result holds one function `@main`: arguments and results are the model's inputs and
/// outputs, with their names and dimensions as attributes (dialects/nn); each op has its node as location and the
/// attribute `nn.outputs` with the names of its results. Large constants refer to |path| and the files beside it, which
/// must stay as they are while the module is in use.
///
/// On failure null, and |errors| holds all that was found: every unsupported operator at once, or every node that can't
/// be imported. The file is untrusted; memory is bounded by its size. Loads the dialects it needs into |context|, which
/// no other thread may use meanwhile.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(llvm::StringRef path, mlir::MLIRContext *context, ErrorList &errors);

} // namespace heddle

#endif // HEDDLE_COMPILER_IMPORT_ONNX_IMPORTONNX_H
