// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The places where a model uses a matrix of weights, and which of them can be quantised.

#ifndef HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_WEIGHTSITES_H
#define HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_WEIGHTSITES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallVector.h"

namespace heddle::nn {

enum class WeightSiteKind { Product, Table, Convolution };

/// "product", "table", "convolution".
llvm::StringRef stringifyWeightSiteKind(WeightSiteKind kind);

/// One op that reads weights. Strings live as long as the context.
struct WeightSite {
  WeightSiteKind kind;
  mlir::Operation *op;
  llvm::SmallVector<llvm::StringRef> nodes; ///< of the model, that the op stands for
  llvm::StringRef reason;                   ///< why it can only stay float; empty where it can be quantised
};

/// All places of |func| in its order: products, embedding tables, convolutions.
llvm::SmallVector<WeightSite> findWeightSites(mlir::func::FuncOp func);

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_WEIGHTSITES_H
