// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions in single precision alone, for hot loops and for targets without another. Errors are relative to the
// result; divisions and square roots of a target that doesn't round them to nearest add theirs. Whether an fma rounds
// once or twice doesn't matter. Numbers below the normal ones may be taken for zero, and results there are.

#ifndef HEDDLE_COMPILER_TARGETS_COMMON_SINGLEMATH_H
#define HEDDLE_COMPILER_TARGETS_COMMON_SINGLEMATH_H

#include "compiler/targets/common/FloatMath.h"

namespace heddle {

/// exp(x): 1.2e-7. exp(0) is exactly 1, exp(-inf) is 0, results below the normal numbers are 0, NaN stays.
mlir::Value buildExp32(const FloatMath &m, mlir::Value x);
/// 2^x: 1.7e-7, and as exp at 0, -inf and NaN.
mlir::Value buildExp232(const FloatMath &m, mlir::Value x);
/// e^x - 1: 1.8e-7, at and near 0 as well.
mlir::Value buildExpm132(const FloatMath &m, mlir::Value x);
/// tanh(x): 2e-7; odd, +-1 from 9.1 on.
mlir::Value buildTanh32(const FloatMath &m, mlir::Value x);
/// erf(x): 1.2e-7; odd.
mlir::Value buildErf32(const FloatMath &m, mlir::Value x);
/// erf(x) as |op|, which stands in a kernel's region, needs it: beside 1 in the epilogue of a product of codes that
/// have a scale a row with an absolute error of 2e-5 for a third of the instructions, exactly +-1 from 3.02 on.
mlir::Value buildErfOf32(const FloatMath &m, mlir::Operation *op, mlir::Value x);
/// Logarithms to the bases e, 2 and 10: 1.3e-7, 2.2e-7 and 2.2e-7, around 1 as well; that of a power of two is exact to
/// base 2. -inf at 0, NaN below.
mlir::Value buildLog32(const FloatMath &m, mlir::Value x);
mlir::Value buildLog232(const FloatMath &m, mlir::Value x);
mlir::Value buildLog1032(const FloatMath &m, mlir::Value x);
/// log(1 + x): 1.8e-7, near 0 as well.
mlir::Value buildLog1p32(const FloatMath &m, mlir::Value x);
/// sin(x), or cos(x) = sin of one quarter turn more: 1.5e-7 or 5e-9 absolute up to |x| = 2e5, which are the positions
/// of the longest texts; bounded beyond.
mlir::Value buildSine32(const FloatMath &m, mlir::Value x, bool isCosine);
/// x^y: 2.5e-7, special cases as in C.
mlir::Value buildPow32(const FloatMath &m, mlir::Value x, mlir::Value y);
/// x / y rounded to nearest where neither x, y nor the result is below the normal numbers, on targets whose division is
/// some units off.
mlir::Value buildDivide32(const FloatMath &m, mlir::Value x, mlir::Value y);
/// x - trunc(x / y) * y with x's sign; exact while the quotient is below 2^52.
mlir::Value buildRemainder32(const FloatMath &m, mlir::Value x, mlir::Value y);

/// x^y for a constant y that one to three multiplications or a square root give; null for any other.
mlir::Value buildConstantPower(const FloatMath &m, mlir::Value x, double exponent);
/// |x| between -1 and 1; NaN passes. In any precision, as what follows.
mlir::Value buildWithinOne(const FloatMath &m, mlir::Value x);
/// sin(x), or cos(x), of x = |turns| quarter turns (low bits) and a rest whose |sine| and |cosine| are given.
mlir::Value buildSineOfTurns(const FloatMath &m, mlir::Value x, mlir::Value turns, mlir::Value sine, mlir::Value cosine,
                             bool isCosine);
/// |result| = |x|^y with the signs and special cases that C gives x^y.
mlir::Value buildSignedPower(const FloatMath &m, mlir::Value x, mlir::Value y, mlir::Value result);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGETS_COMMON_SINGLEMATH_H
