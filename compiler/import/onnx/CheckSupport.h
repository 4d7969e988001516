// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which operators of a model Heddle can't import, said before any work is done.

#ifndef HEDDLE_COMPILER_IMPORT_ONNX_CHECKSUPPORT_H
#define HEDDLE_COMPILER_IMPORT_ONNX_CHECKSUPPORT_H

#include "compiler/import/onnx/FlattenModel.h"

namespace heddle::importer {

/// Lists the operators of |model| that the table lacks: one error (H0201) for each, with its nodes counted, the first
/// of them named, the shapes that the file declares, and a remedy.
mlir::LogicalResult checkSupport(const Model &model, llvm::StringRef file, ErrorList &errors);

} // namespace heddle::importer

#endif // HEDDLE_COMPILER_IMPORT_ONNX_CHECKSUPPORT_H
