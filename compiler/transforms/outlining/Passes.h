// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the outlining phase; see Passes.td.

#ifndef HEDDLE_COMPILER_TRANSFORMS_OUTLINING_PASSES_H
#define HEDDLE_COMPILER_TRANSFORMS_OUTLINING_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace heddle::nn {
#define GEN_PASS_DECL
#include "compiler/transforms/outlining/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/transforms/outlining/Passes.h.inc"
} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_OUTLINING_PASSES_H
