// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes about shapes; Passes.td says what each does.

#ifndef HEDDLE_COMPILER_TRANSFORMS_SHAPES_PASSES_H
#define HEDDLE_COMPILER_TRANSFORMS_SHAPES_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace heddle::nn {

#define GEN_PASS_DECL
#include "compiler/transforms/shapes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/transforms/shapes/Passes.h.inc"

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_SHAPES_PASSES_H
