// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with constant weights, as they stand around attention.

#ifndef HEDDLE_COMPILER_TRANSFORMS_FUSION_PROJECTION_H
#define HEDDLE_COMPILER_TRANSFORMS_FUSION_PROJECTION_H

#include "dialects/nn/NnOps.h"

#include <optional>

namespace heddle::nn {

/// `input @ weight + bias` with a constant weight, in f32.
struct Projection {
  mlir::Operation *product;
  /// The product, or the addition of the bias behind it.
  mlir::Operation *end;
  mlir::Value input;
  /// K x N, or with |isTransposed| N x K.
  mlir::Value weight;
  bool isTransposed = false;
  /// Null, or of N elements in its last dimension and 1 in all others.
  mlir::Value bias = {};

  int64_t getColumns() const;
};

/// The projection whose product |op| is; nothing where it is none.
std::optional<Projection> matchProjection(mlir::Operation *op);

/// The projection that ends with |value|.
std::optional<Projection> findProjection(mlir::Value value);

/// |projection|'s bias, which it must have, as a vector.
mlir::Value flattenBias(mlir::OpBuilder &builder, const Projection &projection);

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_FUSION_PROJECTION_H
