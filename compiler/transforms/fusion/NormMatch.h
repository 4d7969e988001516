// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layer and RMS normalisation found in a graph of means, roots and products.

#ifndef HEDDLE_COMPILER_TRANSFORMS_FUSION_NORMMATCH_H
#define HEDDLE_COMPILER_TRANSFORMS_FUSION_NORMMATCH_H

#include "compiler/transforms/fusion/ValueMatch.h"

namespace heddle::nn {

/// A normalisation over the axes from |axis| on.
struct NormPattern {
  mlir::Value input;      ///< may have a narrower type than the output: then it is converted first
  bool isCentred = false; ///< the mean is taken away: a layer norm
  int64_t axis = 0;
  double epsilon = 0;
  llvm::SmallVector<mlir::Value> scales; ///< factors, each of a row's extents or broadcasting onto them
  mlir::Value bias;                      ///< null where there is none
  mlir::Value output;                    ///< what the norm gives

  mlir::RankedTensorType getOutputType() const { return llvm::cast<mlir::RankedTensorType>(output.getType()); }
};

/// All normalisations that divide by the square root |root| computes. None where it isn't that of a mean of squares
/// plus a number.
llvm::SmallVector<NormPattern> matchNorms(mlir::Operation *root);

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_FUSION_NORMMATCH_H
