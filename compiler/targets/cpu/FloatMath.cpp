// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scaling by powers of two, and double precision functions after fdlibm (exp, log, sine and cosine reductions and
// coefficients) with our own fits for erf.

#include "compiler/targets/cpu/FloatMath.h"

#include <cmath>
#include <limits>

#include "compiler/targets/common/SingleMath.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle::cpu {

Value FloatMath::scaleWhere(Value kept, Value x, Value n) const {
  constexpr int64_t kLanes = 16;
  auto vector = dyn_cast<VectorType>(type);
  if (!vector || vector.getShape() != ArrayRef<int64_t>(kLanes))
    return scalePortably(kept, x, n);
  Type mask = b.getIntegerType(kLanes);
  Value bits = b.create<arith::ConstantOp>(loc, b.getIntegerAttr(mask, -1));
  if (kept)
    bits = b.create<vector::ExtractOp>(loc, b.create<vector::BitCastOp>(loc, VectorType::get({1}, mask), kept), 0);
  constexpr int64_t kCurrentRounding = 4;
  Value mode = b.create<arith::ConstantIntOp>(loc, kCurrentRounding, 32), operands[] = {x, n, real(0.0), bits, mode};
  return b.create<LLVM::CallIntrinsicOp>(loc, type, b.getStringAttr(kScaleIntrinsic), operands).getResults();
}

//===----------------------------------------------------------------------===//
// Double precision functions
//===----------------------------------------------------------------------===//

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// ln 2 in two parts; the first has enough trailing zeros for exact products with exponents.
constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
} // namespace

Value buildExp64(const FloatMath &m, Value x) {
  // exp(x) = 2^n * exp(r), |r| <= ln(2) / 2; Taylor to r^13 leaves 4e-18. Below the normal numbers the result is 0.
  constexpr double kLargest = 709.782712893384, kSmallest = -708.3964185322641;
  Value clamped = m.select(m.greater(m.real(kSmallest), x), m.real(kSmallest), x);
  clamped = m.select(m.less(m.real(kLargest), clamped), m.real(kLargest), clamped);
  FloatMath::Rounded n = m.round(m.mul(clamped, m.real(M_LOG2E)));
  Value r = m.fma(n.value, m.real(-kLn2High), clamped);
  r = m.fma(n.value, m.real(-kLn2Low), r);
  double taylor[14] = {1.0};
  for (int k = 1; k < 14; ++k)
    taylor[k] = taylor[k - 1] / k;
  Value result = m.scaleByPowerOfTwo(m.polynomial(r, taylor), n.bits);
  result = m.select(m.less(x, m.real(kSmallest)), m.real(0.0), result);
  return m.select(m.greater(x, m.real(kLargest)), m.real(kInfinity), result);
}

Value buildLog64(const FloatMath &m, Value x) {
  // x = 2^e * (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) by fdlibm's minimax polynomial in s = f / (2 + f).
  Value isTiny = m.less(x, m.real(std::numeric_limits<double>::min()));
  Value normal = m.select(isTiny, m.mul(x, m.real(std::ldexp(1.0, 54))), x);
  Value bits = m.toBits(normal);
  constexpr int64_t kSqrtHalfBits = 0x3FE6A09E667F3BCD;
  Value exponent = m.shiftRight(m.subBits(bits, m.integer(kSqrtHalfBits)), 52);
  Value fraction = m.fromBits(m.subBits(bits, m.shiftLeft(exponent, 52)));
  Value e = m.b.create<arith::SIToFPOp>(m.loc, m.type, exponent);
  e = m.select(isTiny, m.sub(e, m.real(54.0)), e);
  Value f = m.sub(fraction, m.real(1.0));
  Value s = m.div(f, m.add(f, m.real(2.0)));
  Value z = m.mul(s, s);
  Value r = m.mul(z, m.polynomial(z, {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                                      2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                                      1.479819860511658591e-01}));
  Value half = m.mul(m.mul(f, f), m.real(0.5));
  Value low = m.fma(e, m.real(kLn2Low), m.mul(s, m.add(half, r)));
  Value result = m.fma(e, m.real(kLn2High), m.sub(f, m.sub(half, low)));
  result = m.select(m.equal(x, m.real(0.0)), m.real(-kInfinity), result);
  result = m.select(m.less(x, m.real(0.0)), m.real(kNaN), result);
  Value isOrdinary = m.less(x, m.real(kInfinity)); // false for NaN and infinity, which are their own logarithms
  return m.select(isOrdinary, result, x);
}

Value buildPow64(const FloatMath &m, Value x, Value y) {
  return buildSignedPower(m, x, y, buildExp64(m, m.mul(y, buildLog64(m, m.abs(x)))));
}

Value buildSine64(const FloatMath &m, Value x, bool isCosine) {
  // x = n * pi/2 + r with pi/2 in three parts, whose products fma rounds once; r in [-pi/4, pi/4].
  FloatMath::Rounded n = m.round(m.mul(x, m.real(M_2_PI)));
  Value r = m.fma(n.value, m.real(-1.57079632673412561417e+00), x);
  r = m.fma(n.value, m.real(-6.07710050630396597660e-11), r);
  r = m.fma(n.value, m.real(-2.02226624879595063154e-21), r);
  // Where n has lost its low digits r is anything: keep it in range, so that the result stays a sine.
  r = buildWithinOne(m, r);
  Value z = m.mul(r, r);
  Value sine = m.polynomial(z, {-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
                                2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10});
  sine = m.fma(m.mul(z, r), sine, r);
  Value cosine =
      m.polynomial(z, {4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
                       -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11});
  cosine = m.fma(m.mul(z, z), cosine, m.fma(z, m.real(-0.5), m.real(1.0)));
  return buildSineOfTurns(m, x, n.bits, sine, cosine, isCosine);
}

Value buildTanh64(const FloatMath &m, Value x) {
  // Cephes: x + x^3 P(x^2) / Q(x^2) below 0.625, 1 - 2 / (exp(2 |x|) + 1) above.
  Value magnitude = m.abs(x);
  Value z = m.mul(x, x);
  Value p = m.polynomial(z, {-1.61468768441708447952e3, -9.92877231001918586564e1, -9.64399179425052238628e-1});
  Value q = m.polynomial(z, {4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2, 1.0});
  Value small = m.fma(m.mul(x, z), m.div(p, q), x);
  Value e = buildExp64(m, m.add(magnitude, magnitude));
  Value large = m.sub(m.real(1.0), m.div(m.real(2.0), m.add(e, m.real(1.0))));
  return m.select(m.less(magnitude, m.real(0.625)), small, m.copySign(large, x));
}

Value buildErf64(const FloatMath &m, Value x) {
  // Below 0.75: x * (2 / sqrt(pi) + x^2 P(x^2)). Above: 1 - exp(-x^2) Q((x - 2) / (x + 2)), where Q fits
  // erfc(x) exp(x^2) to 6e-22 on [0.7, 6.1]; from 6 on erf is 1. Chebyshev interpolations.
  Value z = m.mul(x, x);
  Value small = m.polynomial(z, {1.1283791670955125739, -0.3761263890318375246, 0.1128379167095512297,
                                 -0.02686617064512927974, 0.005223977625387410255, -0.0008548327015640950555,
                                 0.0001205533233149860779, -0.00001492561654931529249, 1.64609829127826352e-6,
                                 -1.634140690282250999e-7, 1.447668251773688162e-8, -9.710489912378795959e-10});
  small = m.mul(x, small);
  Value magnitude = m.abs(x);
  Value a = m.select(m.greater(magnitude, m.real(6.0)), m.real(6.0), magnitude);
  Value t = m.div(m.sub(a, m.real(2.0)), m.add(a, m.real(2.0)));
  Value q = m.polynomial(
      t, {0.2553956763105057439,      -0.4271858474139583938,   0.2416581942424663593,     -0.07897858101573306863,
          0.003732892404344367105,    0.006997461739288577413,  -0.0008471432519619456141, -0.0009819770300089811247,
          0.00004355563564696069428,  0.0001743612296929390039, 0.00002752487052718154517, -0.00002758040968359358936,
          -0.00001396158985090548163, 1.393459452204766911e-6,  3.750390802420342736e-6,   1.194210894509804433e-6,
          -4.159820420929112284e-7,   -5.067997135071681428e-7, -1.297400683498812327e-7,  7.819555298541804531e-8,
          5.986413063804499597e-8,    4.676923069563906331e-9});
  Value large = m.sub(m.real(1.0), m.mul(buildExp64(m, m.neg(m.mul(a, a))), q));
  return m.select(m.less(magnitude, m.real(0.75)), small, m.copySign(large, x));
}

Value buildLog1p64(const FloatMath &m, Value x) {
  // Kahan: the error of 1 + x cancels in log(u) * x / (u - 1).
  Value u = m.add(x, m.real(1.0));
  Value difference = m.sub(u, m.real(1.0));
  Value corrected = m.div(m.mul(buildLog64(m, u), x), difference);
  Value isHuge = m.compare(arith::CmpFPredicate::OGE, x, m.real(std::ldexp(1.0, 53)));
  Value result = m.select(isHuge, buildLog64(m, u), corrected);
  result = m.select(m.equal(x, m.real(-1.0)), m.real(-kInfinity), result);
  return m.select(m.equal(difference, m.real(0.0)), x, result);
}

Value buildExpm164(const FloatMath &m, Value x) {
  // Kahan: (u - 1) * x / log(u) with u = exp(x).
  Value u = buildExp64(m, x);
  Value difference = m.sub(u, m.real(1.0));
  Value corrected = m.div(m.mul(difference, x), buildLog64(m, u));
  Value isFar = m.greater(m.abs(x), m.real(1.0));
  return m.select(m.equal(difference, m.real(0.0)), x, m.select(isFar, difference, corrected));
}

Value buildRemainder64(const FloatMath &m, Value x, Value y) {
  Value a = m.abs(x), b = m.abs(y);
  Value r = m.fma(m.neg(m.trunc(m.div(a, b))), b, a);
  // The rounded quotient may be one off either way.
  r = m.select(m.less(r, m.real(0.0)), m.add(r, b), r);
  r = m.select(m.compare(arith::CmpFPredicate::OGE, r, b), m.sub(r, b), r);
  Value isLarge = m.both(m.equal(b, m.real(kInfinity)), m.less(a, m.real(kInfinity)));
  return m.copySign(m.select(isLarge, a, r), x);
}

} // namespace heddle::cpu
