// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the quantisation phase; Passes.td says what each does.

#ifndef HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_PASSES_H
#define HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_PASSES_H

#include "dialects/attn/AttnDialect.h"
#include "dialects/nn/NnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/CommandLine.h"

namespace heddle::nn {

/// Bits of weights and activations.
enum class QuantizationScheme {
  W8A8,  ///< i8 weights with a scale a column, u8 activations with a scale and a zero point a row
  W8A32, ///< the same weights, float activations
  W4A32, ///< i4 weights with a scale for 32 rows of a column, float activations
};

#define GEN_PASS_DECL
#include "compiler/transforms/quantization/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/transforms/quantization/Passes.h.inc"

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_PASSES_H
