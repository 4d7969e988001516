// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Codes times constant codes, what matrix products and convolutions have in common.

#ifndef HEDDLE_COMPILER_TRANSFORMS_OUTLINING_INTEGERPRODUCT_H
#define HEDDLE_COMPILER_TRANSFORMS_OUTLINING_INTEGERPRODUCT_H

#include "compiler/transforms/outlining/Contraction.h"

namespace heddle {

/// A product of codes on its way to kernel.contract. With A and B the bytes that multiply, A unsigned and B signed, and
/// a, b their zero points:  sum (A - a) (B - b) = sum A B - a sum B - b sum (A - a),  all of it modulo 2^32.
struct IntegerProduct {
  Outliner &outliner;
  mlir::Operation *root;
  /// Codes of the left side and their zero point, which may be null.
  mlir::Value lhs, lhsZero;
  WeightCodes weight;
  /// What is read in place of |lhs|: all patches of a convolution, a row each. What is padded is the zero point.
  std::optional<TensorView> patches = std::nullopt;
  Contraction c = {};

  /// Whether the right side has a zero point as its signed bytes have it, which takes the sum of each row of the left.
  bool needsRowSums() const { return getKnownRightZero() != 0; }
  /// Fills |c| but for its loops.
  void prepare();
  /// The root's value, without zero points, for the kernel's sum |product|.
  mlir::Value emit(ScalarEmitter &emitter, mlir::Value product);
  /// The same in f32, times the left side's |lhsScale|, one number, and the weight's scale.
  mlir::Value emitScaled(ScalarEmitter &emitter, mlir::Value product, mlir::Value lhsScale);

private:
  /// The right side's zero point as its signed bytes have it; nothing where it is known as the model runs, or differs.
  std::optional<int64_t> getKnownRightZero() const;
  mlir::Value emitLeftZero(ScalarEmitter &emitter);
  mlir::Value emitRightZero(ScalarEmitter &emitter);
  mlir::Value emitPatchSum(ScalarEmitter &emitter);
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_OUTLINING_INTEGERPRODUCT_H
