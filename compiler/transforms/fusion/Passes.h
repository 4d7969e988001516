// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the fusion phase; Passes.td says what each does.

#ifndef HEDDLE_COMPILER_TRANSFORMS_FUSION_PASSES_H
#define HEDDLE_COMPILER_TRANSFORMS_FUSION_PASSES_H

#include "dialects/attn/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace heddle::nn {

#define GEN_PASS_DECL
#include "compiler/transforms/fusion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/transforms/fusion/Passes.h.inc"

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_FUSION_PASSES_H
