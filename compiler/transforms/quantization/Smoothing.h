// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Smoothing of activations: channels that reach far are divided before they are quantised, the weight's rows
// multiplied.

#ifndef HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_SMOOTHING_H
#define HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_SMOOTHING_H

#include "compiler/transforms/quantization/WeightSites.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseMap.h"

namespace heddle::nn {

/// A factor for each channel of an activation, by which the weights of all that read it are multiplied.
using SmoothingFactors = llvm::DenseMap<mlir::Value, llvm::SmallVector<float>>;

/// Factors for the activations of those |sites| whose channels' ranges |ranges| knows, by the name of one of their
/// nodes. An activation gets none where one of the quantised products that read it has no range or maxima.
SmoothingFactors findSmoothingFactors(llvm::ArrayRef<WeightSite> sites, mlir::DictionaryAttr ranges);

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_SMOOTHING_H
