// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The module's list of attentions, `attn.report`: passes that change attentions keep it true.

#ifndef HEDDLE_COMPILER_TRANSFORMS_FUSION_ATTENTIONREPORT_H
#define HEDDLE_COMPILER_TRANSFORMS_FUSION_ATTENTIONREPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"

namespace heddle::nn {

/// Changes the entry of the first node of |location| by |change|, and drops those of its other nodes.
void changeReport(mlir::ModuleOp module, mlir::Location location,
                  llvm::function_ref<void(mlir::NamedAttrList &)> change);

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_FUSION_ATTENTIONREPORT_H
