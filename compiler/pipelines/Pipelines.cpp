// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pipelines; order is explained where it is forced.

#include "compiler/pipelines/Pipelines.h"

#include "compiler/pipelines/CompileModel.h"
#include "compiler/transforms/fusion/Passes.h"
#include "compiler/transforms/outlining/Passes.h"
#include "compiler/transforms/quantization/Passes.h"
#include "compiler/transforms/shapes/Passes.h"
#include "dialects/kernel/KernelOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace heddle;

void heddle::buildPreparationPipeline(OpPassManager &pm) {
  // Before shapes: an extent may be computed through floats, of which the analysis knows nothing.
  pm.addNestedPass<func::FuncOp>(nn::createFoldConstantsPass());
  pm.addNestedPass<func::FuncOp>(nn::createInferShapesPass());
  // And after them: shape arithmetic has become constants, which other ops read.
  pm.addNestedPass<func::FuncOp>(nn::createFoldConstantsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Folding and canonicalisation leave types less exact than they could be.
  pm.addNestedPass<func::FuncOp>(nn::createInferShapesPass());
}

void heddle::buildFusionPipeline(OpPassManager &pm) {
  buildPreparationPipeline(pm);
  // Epsilons, factors and extents of rows are known by now. Before attention, so that nobody looks for a softmax's
  // operands through statistics.
  pm.addPass(nn::createRaiseNormsPass());
  pm.addPass(nn::createRaiseActivationsPass());
  // Heads are told from extents, and scales and fills from constants, which are all known by now.
  // First those that the model names: the report of raising says what their masks then look at.
  pm.addNestedPass<func::FuncOp>(nn::createFoldMasksPass());
  pm.addPass(nn::createRaiseSdpaPass());
  pm.addPass(nn::createFuseHeadsPass());
  pm.addPass(nn::createFoldHeadsPass());
  pm.addNestedPass<func::FuncOp>(nn::createFuseProjectionsPass());
  // Parts that are joined again in their old order are one tensor.
  pm.addPass(createCanonicalizerPass());
}

static void addWeights(OpPassManager &pm, const QuantizationOptions &options, bool pairSafe) {
  nn::QuantizeWeightsPassOptions weights;
  weights.scheme = options.scheme == "w8a8"    ? nn::QuantizationScheme::W8A8
                   : options.scheme == "w8a32" ? nn::QuantizationScheme::W8A32
                                               : nn::QuantizationScheme::W4A32;
  weights.tables = options.embedding == "int8";
  weights.pairSafe = pairSafe;
  weights.exclude = options.exclude;
  weights.compare = options.compares;
  pm.addPass(nn::createQuantizeWeightsPass(weights));
  // One table read by several gathers is quantised once.
  pm.addPass(createCSEPass());
}

void heddle::buildQuantizationPipeline(OpPassManager &pm, const QuantizationOptions &options, bool pairSafe,
                                       const std::string &floatAttention, const std::string &floatValues) {
  bool hasWeights = !options.scheme.empty();
  if (hasWeights)
    addWeights(pm, options, pairSafe);
  if (!hasWeights && options.attention != "on")
    return;
  nn::QuantizeAttentionPassOptions attention;
  attention.selective = options.attention == "auto";
  attention.unless = floatAttention;
  attention.unlessValues = floatValues;
  attention.exclude = options.exclude;
  attention.lossy = options.lossyAttention;
  attention.lossyValues = options.lossyValues;
  attention.compare = options.compares;
  attention.ranges = options.findsRanges;
  // Behind the weights: places that are compared count on from theirs.
  pm.addPass(nn::createQuantizeAttentionPass(attention));
}

void heddle::buildOutliningPipeline(OpPassManager &pm, const OutliningOptions &options) {
  nn::OutlineKernelsPassOptions outlining;
  outlining.bf16Weights = options.bf16Weights;
  pm.addPass(nn::createOutlineKernelsPass(outlining));
  // Within the shape function and the kernels; kernels are compared by name from here on and no longer merged.
  pm.addPass(createCSEPass());
}

void heddle::registerAllPipelines() {
  PassPipelineRegistration<>("heddle-fusion-pipeline", "Shapes, constants and fusion",
                             [](OpPassManager &pm) { buildFusionPipeline(pm); });
  PassPipelineRegistration<>("heddle-outlining-pipeline", "Ops to kernels and a program",
                             [](OpPassManager &pm) { buildOutliningPipeline(pm); });
}
