// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arithmetic of a running softmax: weights by differences to a maximum, and how states of disjoint keys merge.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_ATTENTIONSTATE_H
#define HEDDLE_COMPILER_TARGETS_CPU_ATTENTIONSTATE_H

#include <cmath>

#include "compiler/targets/cpu/FloatMath.h"

namespace heddle::cpu {

/// exp(|difference|) for what isn't above 0: relative error 6e-7 down to -8. exp(0) is exactly 1, -infinity and what
/// is too small for a normal number give 0, NaN stays.
inline mlir::Value buildWeight(const FloatMath &m, mlir::Value difference) {
  mlir::Value x = m.mul(difference, m.real(M_LOG2E));
  mlir::Value n = m.roundEven(x), f = m.sub(x, n);
  // 2^f: minimax under the condition that the first coefficient is 1.
  mlir::Value p =
      m.polynomial(f, {1.0, 6.931470037e-1, 2.402224243e-1, 5.550733581e-2, 9.671512991e-3, 1.326472731e-3});
  return m.scaleWhere(m.compare(mlir::arith::CmpFPredicate::UGE, x, m.real(-126.0)), p, n);
}

/// The greater one. A NaN need not survive: the weights of its row are NaN anyway.
inline mlir::Value buildGreater(const FloatMath &m, mlir::Value x, mlir::Value y) {
  return m.select(m.greater(x, y), x, y);
}

/// What the sums of two states are multiplied by when they merge. A state without keys, whose maximum is the lowest
/// number and whose sums are 0, changes no bit of the other one.
struct StateFactors {
  mlir::Value before, added;

  /// The merged sum: of weights, or of weights times values.
  mlir::Value merge(const FloatMath &m, mlir::Value sum, mlir::Value addedSum) const {
    return m.fma(sum, before, m.mul(addedSum, added));
  }
};

/// |merged| is the greater of |maximum| and |addedMaximum|.
inline StateFactors buildStateFactors(const FloatMath &m, mlir::Value maximum, mlir::Value addedMaximum,
                                      mlir::Value merged) {
  return {buildWeight(m, m.sub(maximum, merged)), buildWeight(m, m.sub(addedMaximum, merged))};
}

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_ATTENTIONSTATE_H
