// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vocabulary of formulas with what CPUs have an instruction for, and the double precision functions that several
// expansions are made of.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_FLOATMATH_H
#define HEDDLE_COMPILER_TARGETS_CPU_FLOATMATH_H

#include "compiler/targets/common/FloatMath.h"

namespace heddle::cpu {

class FloatMath : public heddle::FloatMath {
public:
  using heddle::FloatMath::FloatMath;
  /// One instruction in place of two.
  Value subtractMultiple(Value x, Value n, double part) const override { return fma(n, real(-part), x); }
  /// On 16 lanes one instruction of AVX-512, which cpu-decompose-intrinsics replaces for other CPUs by scalePortably.
  Value scaleWhere(Value kept, Value x, Value n) const override;
  static constexpr llvm::StringLiteral kScaleIntrinsic = "llvm.x86.avx512.mask.scalef.ps.512";
};

/// Double precision: relative error of exp and log at most 2e-16 times a small factor, of pow 1e-13 at the ends of the
/// range; sine and cosine 1e-15 absolute up to |x| = 1e6 (and bounded beyond, where 2^51 quarter turns are left behind
/// without a meaningful digit).
mlir::Value buildExp64(const FloatMath &m, mlir::Value x);
mlir::Value buildLog64(const FloatMath &m, mlir::Value x);
mlir::Value buildPow64(const FloatMath &m, mlir::Value x, mlir::Value y);
/// sin(x), or cos(x) = sin of one quarter turn more.
mlir::Value buildSine64(const FloatMath &m, mlir::Value x, bool isCosine);
mlir::Value buildTanh64(const FloatMath &m, mlir::Value x);
mlir::Value buildErf64(const FloatMath &m, mlir::Value x);
mlir::Value buildLog1p64(const FloatMath &m, mlir::Value x);
mlir::Value buildExpm164(const FloatMath &m, mlir::Value x);
/// x - trunc(x / y) * y with x's sign; exact while the quotient is below 2^52.
mlir::Value buildRemainder64(const FloatMath &m, mlir::Value x, mlir::Value y);

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_FLOATMATH_H
