// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rotation itself, for the operators that do it on their way.

#ifndef HEDDLE_COMPILER_IMPORT_ONNX_ROTARYOPS_H
#define HEDDLE_COMPILER_IMPORT_ONNX_ROTARYOPS_H

#include "compiler/import/onnx/AttentionForm.h"

namespace heddle::importer {

/// |heads| with their first |rotated| channels rotated by |cosine| and |sine|, which are (batch or 1, sequence,
/// rotated / 2). Pairs of channels are the halves, or neighbours with |isInterleaved|.
mlir::Value rotateHeads(NodeContext &node, const Heads &heads, int64_t rotated, bool isInterleaved, mlir::Value cosine,
                        mlir::Value sine);

} // namespace heddle::importer

#endif // HEDDLE_COMPILER_IMPORT_ONNX_ROTARYOPS_H
