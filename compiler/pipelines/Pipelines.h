// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phases between import and code generation as pass pipelines, one builder a phase.

#ifndef HEDDLE_COMPILER_PIPELINES_PIPELINES_H
#define HEDDLE_COMPILER_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"

namespace heddle {

/// The start of fusion, which every model needs: constants folded, shapes inferred.
void buildPreparationPipeline(mlir::OpPassManager &pm);

/// From what the model file says to fewer, more exact ops: nn in, nn and attn out.
void buildFusionPipeline(mlir::OpPassManager &pm);

struct QuantizationOptions;

/// Float weights to integers and attention to products of codes, where |options| ask for it: nn in, nn out. |pairSafe|
/// goes for weights of w8a8; |floatAttention| says why no attention's scores are quantised and is empty if some may be,
/// |floatValues| the same of weights and values.
void buildQuantizationPipeline(mlir::OpPassManager &pm, const QuantizationOptions &options, bool pairSafe,
                               const std::string &floatAttention, const std::string &floatValues);

struct OutliningOptions {
  /// Weights of matrix products are stored as bf16.
  bool bf16Weights = false;
};

/// From ops to kernels and the program that dispatches them: nn in, kernel and rt out.
void buildOutliningPipeline(mlir::OpPassManager &pm, const OutliningOptions &options = {});

/// Registers `heddle-<phase>-pipeline` for heddle-opt.
void registerAllPipelines();

} // namespace heddle

#endif // HEDDLE_COMPILER_PIPELINES_PIPELINES_H
