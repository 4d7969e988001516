// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Polynomials are minimax fits of our own unless they name another source; a fit's error is given as a relative one of
// the whole function.

#include "compiler/targets/common/SingleMath.h"

#include <cmath>
#include <limits>

#include "dialects/kernel/KernelOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace heddle {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// ln 2 in two parts; the first has zeros enough that its product with an exponent is exact.
static constexpr double kLn2High = 0.693145751953125, kLn2Low = 1.42860682030941723212e-6;

//===----------------------------------------------------------------------===//
// Exponentials, tanh, erf
//===----------------------------------------------------------------------===//

/// exp(x) for x in [-87, 88]: relative error 1.2e-7, exactly 1 at 0. Where |kept| is given and false 0, and NaN for
/// NaN; anything for any other x.
static Value buildBoundedExp32(const FloatMath &m, Value x, Value kept = nullptr) {
  Value n = m.roundEven(m.mul(x, m.real(M_LOG2E)));
  Value r = m.subtractMultiple(x, n, kLn2High);
  r = m.subtractMultiple(r, n, kLn2Low);
  // Minimax fit on [-ln(2)/2, ln(2)/2] with both leading coefficients 1: 3.1e-9.
  Value p = m.polynomial(r, {1.0, 1.0, 0.4999999403953552, 0.1666651964187622, 0.04166839271783829,
                             0.008368780836462975, 0.0013814467238262296});
  return m.scaleWhere(kept, p, n);
}

/// Not below |smallest|: true for NaN.
static Value isAtLeast(const FloatMath &m, Value x, double smallest) {
  return m.compare(arith::CmpFPredicate::UGE, x, m.real(smallest));
}

Value buildExp32(const FloatMath &m, Value x) {
  Value result = buildBoundedExp32(m, x, isAtLeast(m, x, -87.33654022216796875));
  return m.select(m.greater(x, m.real(88.72283172607421875)), m.real(kInfinity), result);
}

Value buildExp232(const FloatMath &m, Value x) {
  Value n = m.roundEven(x), f = m.sub(x, n);
  Value p = m.polynomial(f, {1.0, 6.931470037e-1, 2.402224243e-1, 5.550733581e-2, 9.671512991e-3, 1.326472731e-3});
  Value result = m.scaleWhere(isAtLeast(m, x, -126.0), p, n);
  return m.select(m.greater(x, m.real(127.99999237060546875)), m.real(kInfinity), result);
}

Value buildTanh32(const FloatMath &m, Value x) {
  Value z = m.mul(x, x);
  // Minimax fit below 0.65: 6.8e-9.
  Value p = m.polynomial(
      z, {-0.3333325982093811, 0.1333083063364029, -0.05368800088763237, 0.020469345152378082, -0.00551508367061615});
  Value small = m.fma(m.mul(z, x), p, x);
  // From 9.1 on the quotient is below half a unit of 1; NaN takes the other way.
  Value magnitude = m.abs(x);
  Value a = m.select(m.greater(magnitude, m.real(9.5)), m.real(9.5), magnitude);
  Value e = buildBoundedExp32(m, m.add(a, a));
  Value large = m.sub(m.real(1.0), m.div(m.real(2.0), m.add(e, m.real(1.0))));
  return m.select(m.greater(magnitude, m.real(0.625)), m.copySign(large, x), small);
}

Value buildErf32(const FloatMath &m, Value x) {
  // Coefficients after N. Juffa.
  Value magnitude = m.abs(x);
  Value z = m.mul(x, x);
  Value small =
      m.polynomial(z, {1.28379166e-1, -3.76125336e-1, 1.12819925e-1, -2.67681349e-2, 4.99119423e-3, -5.96761703e-4});
  small = m.fma(small, x, x);
  // 1 - exp(-r(|x|)) above 0.921875; from 4 on it is 1, and the polynomial mustn't turn back.
  Value a = m.select(m.greater(magnitude, m.real(4.0)), m.real(4.0), magnitude);
  Value r = m.polynomial(a, {0.0, -1.0 - 1.28717512e-1, -6.34846687e-1, -1.06777877e-1, 2.42546219e-2, -3.88396438e-3,
                             3.83197126e-4, -1.72853470e-5});
  Value large = m.copySign(m.sub(m.real(1.0), buildBoundedExp32(m, r)), x);
  return m.select(m.greater(magnitude, m.real(0.921875)), large, small);
}

/// erf(x) with an absolute error of 2e-5 and, unlike buildErf32, no better relative one near 0, for a third of the
/// instructions. Exactly +-1 from 3.02 on; NaN stays.
static Value buildErfBesideOne32(const FloatMath &m, Value x) {
  constexpr double kEnd = 3.02;
  Value low = m.select(m.greater(x, m.real(kEnd)), m.real(kEnd), x);
  Value bounded = m.select(m.less(low, m.real(-kEnd)), m.real(-kEnd), low);
  // x p(x^2), minimax in the absolute error among those that are 1 at the end, where erf lacks as much of it. p varies
  // by powers of e over [0, kEnd^2]; in the middle of it, as a polynomial in y from -1 to 1, its terms don't cancel.
  // The coefficients, as rounded, give 1 at the end: whatever comes after it stays exact.
  Value y = m.fma(m.mul(bounded, bounded), m.real(2 / (kEnd * kEnd)), m.real(-1.0));
  Value p = m.polynomial(y, {0.467095762, -0.227566317, 0.157376334, -0.111819603, 0.0731648505, -0.0401923731,
                             0.0245906953, -0.0190069582, 0.00748341717});
  return m.mul(bounded, p);
}

/// Whether all that is ever seen of |op| is its sum with 1.
static bool isAddedToOne(Operation *op) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    auto sum = dyn_cast<arith::AddFOp>(user);
    return sum && (matchPattern(sum.getLhs(), m_OneFloat()) || matchPattern(sum.getRhs(), m_OneFloat()));
  });
}

/// Whether |op| finishes a product of codes that --quantize made of floats, whose steps are 1/255 of a row's range.
/// Their rows have a scale each, which those of a model's file have not: its codes round where the file says, and a
/// result that is a bit off rounds the other way.
static bool finishesCodesOfRows(Operation *op) {
  auto product = dyn_cast_if_present<kernel::ContractOp>(op->getParentOp());
  if (!product || product.getForm() != kernel::ContractOp::Form::Integer)
    return false;
  unsigned row = product.getNumBatchLoops(), first = product.getFirstCapture();
  SmallVector<AffineMap> maps(product.getIndexingMaps().getAsValueRange<AffineMapAttr>());
  for (auto [index, capture] : llvm::enumerate(product.getCaptures()))
    if (AffineMap map = maps[first + index];
        getElementTypeOrSelf(capture.getType()).isF32() && map.isFunctionOfDim(row) && !map.isFunctionOfDim(row + 1))
      return true;
  return false;
}

Value buildErfOf32(const FloatMath &m, Operation *op, Value x) {
  // In a GELU after a product of codes the absolute error is what counts: x (1 + erf(x)). 2e-5 of it are 1e-5 |x| of
  // the GELU: a 200th of a step of 8 bits where codes follow, which is at least 1/510 of the row's largest |x|, and a
  // hundredth of what one rounded factor of the product has already changed. Between floats it would be seen.
  return finishesCodesOfRows(op) && isAddedToOne(op) ? buildErfBesideOne32(m, x) : buildErf32(m, x);
}

Value buildExpm132(const FloatMath &m, Value x) {
  // 2^n e^r - 1 = 2^n (e^r - 1) + (2^n - 1). From 25 on the 1 doesn't show, below -30 the result is -1.
  constexpr double kLowest = -30.0, kFar = 25.0;
  Value a = m.select(m.less(x, m.real(kLowest)), m.real(kLowest), x);
  FloatMath::Rounded n = m.round(m.mul(a, m.real(M_LOG2E)));
  Value r = m.subtractMultiple(a, n.value, kLn2High);
  r = m.subtractMultiple(r, n.value, kLn2Low);
  // (e^r - 1 - r) / r^2 on [-ln(2)/2, ln(2)/2]: 1.4e-8.
  Value q = m.polynomial(r, {4.999999702e-01, 1.666654646e-01, 4.166743532e-02, 8.366272785e-03, 1.387070748e-03});
  Value p = m.fma(m.mul(r, r), q, r);
  Value power = m.scaleByPowerOfTwo(m.real(1.0), n.bits);
  Value near = m.fma(power, p, m.sub(power, m.real(1.0)));
  Value far = m.scaleByPowerOfTwo(m.add(p, m.real(1.0)), n.bits);
  far = m.select(m.greater(x, m.real(88.72283172607421875)), m.real(kInfinity), far);
  return m.select(m.greater(x, m.real(kFar)), far, near);
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

namespace {

/// x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for positive finite x.
struct Split {
  Value e, f;
};

/// Looks at bits alone: comparisons may take numbers below the normal ones for zero.
Split splitExponent(const FloatMath &m, Value x) {
  constexpr int64_t kSmallestNormal = 0x00800000, kSqrtHalf = 0x3F3504F3;
  constexpr double kTinyExponent = -149.0; // their bits count units of 2^-149
  Value bits = m.toBits(x);
  Value isTiny = m.lessBits(bits, m.integer(kSmallestNormal));
  Value counted = m.toBits(m.b.create<arith::SIToFPOp>(m.loc, m.type, bits));
  bits = m.b.create<arith::SelectOp>(m.loc, isTiny, counted, bits);
  Value exponent = m.shiftRight(m.subBits(bits, m.integer(kSqrtHalf)), 23);
  Value fraction = m.fromBits(m.subBits(bits, m.shiftLeft(exponent, 23)));
  Value e = m.b.create<arith::SIToFPOp>(m.loc, m.type, exponent);
  return {m.select(isTiny, m.add(e, m.real(kTinyExponent)), e), m.sub(fraction, m.real(1.0))};
}

/// |result| where x is positive and finite; else the logarithm of 0, of a negative number, of infinity or NaN.
Value finishLog(const FloatMath &m, Value x, Value result) {
  constexpr int64_t kInfinityBits = 0x7F800000;
  Value bits = m.toBits(x);
  result = m.select(m.lessBits(bits, m.integer(0)), m.real(kNaN), result);
  result = m.select(m.equalBits(m.shiftLeft(bits, 1), m.integer(0)), m.real(-kInfinity), result);
  return m.select(m.lessBits(bits, m.integer(kInfinityBits)), result, x);
}

/// f - log(1 + f) = f^2 / 2 - rest; gives f^2 / 2 and the rest.
std::pair<Value, Value> buildLogTail(const FloatMath &m, Value f) {
  Value z = m.mul(f, f);
  // 5.8e-9.
  Value p = m.polynomial(f, {3.333333135e-01, -2.500081956e-01, 2.000124156e-01, -1.662340909e-01, 1.420157999e-01,
                             -1.315961033e-01, 1.276221722e-01, -7.636439055e-02});
  return {m.mul(z, m.real(0.5)), m.mul(m.mul(z, f), p)};
}

/// log(1 + f).
Value buildLogOfSplit(const FloatMath &m, Value f) {
  auto [half, rest] = buildLogTail(m, f);
  return m.sub(f, m.sub(half, rest));
}

} // namespace

Value buildLog32(const FloatMath &m, Value x) {
  Split split = splitExponent(m, x);
  auto [half, rest] = buildLogTail(m, split.f);
  Value low = m.sub(half, m.fma(split.e, m.real(kLn2Low), rest));
  return finishLog(m, x, m.fma(split.e, m.real(kLn2High), m.sub(split.f, low)));
}

Value buildLog232(const FloatMath &m, Value x) {
  Split split = splitExponent(m, x);
  return finishLog(m, x, m.fma(buildLogOfSplit(m, split.f), m.real(M_LOG2E), split.e));
}

Value buildLog1032(const FloatMath &m, Value x) {
  // log10(2) in two parts, the first of 11 bits.
  constexpr double kHigh = 0.301025390625, kLow = 4.60503898119521373889e-6;
  Split split = splitExponent(m, x);
  Value low = m.fma(split.e, m.real(kLow), m.mul(buildLogOfSplit(m, split.f), m.real(M_LOG10E)));
  return finishLog(m, x, m.fma(split.e, m.real(kHigh), low));
}

Value buildLog1p32(const FloatMath &m, Value x) {
  // log(1 + x) = log(u) + c / u, where u is the rounded sum and c what it lacks. Where u needs no exponent x itself is
  // f.
  Value one = m.real(1.0), u = m.add(x, one);
  Value part = m.sub(u, one);
  Value lacking = m.add(m.sub(one, m.sub(u, part)), m.sub(x, part));
  Split split = splitExponent(m, u);
  Value isOwn = m.equal(split.e, m.real(0.0));
  Value f = m.select(isOwn, x, split.f);
  Value correction = m.select(isOwn, m.real(0.0), m.div(lacking, u));
  auto [half, rest] = buildLogTail(m, f);
  Value low = m.sub(half, m.fma(split.e, m.real(kLn2Low), m.add(rest, correction)));
  return finishLog(m, u, m.fma(split.e, m.real(kLn2High), m.sub(f, low)));
}

//===----------------------------------------------------------------------===//
// Sine and cosine
//===----------------------------------------------------------------------===//

Value buildWithinOne(const FloatMath &m, Value x) {
  x = m.select(m.greater(x, m.real(1.0)), m.real(1.0), x);
  return m.select(m.less(x, m.real(-1.0)), m.real(-1.0), x);
}

Value buildSineOfTurns(const FloatMath &m, Value x, Value turns, Value sine, Value cosine, bool isCosine) {
  Value quadrant = isCosine ? m.addBits(turns, m.integer(1)) : turns;
  Value isSwapped = m.equalBits(m.andBits(quadrant, m.integer(1)), m.integer(1));
  Value isNegative = m.equalBits(m.andBits(quadrant, m.integer(2)), m.integer(2));
  Value result = m.select(isSwapped, cosine, sine);
  result = m.select(isNegative, m.neg(result), result);
  return m.select(m.equal(m.abs(x), m.real(kInfinity)), m.real(kNaN), result);
}

Value buildSine32(const FloatMath &m, Value x, bool isCosine) {
  // x = n * pi/2 + r, r in [-pi/4, pi/4]. pi/2 in parts of 7 bits and what they lack: with n below 2^17 all products
  // but the last and all differences are exact.
  FloatMath::Rounded n = m.round(m.mul(x, m.real(M_2_PI)));
  Value r = x;
  for (double part : {1.5625, 0.0081787109375, 0.00011730194091796875, 3.1391647865048131e-07})
    r = m.subtractMultiple(r, n.value, part);
  // Beyond, r is anything: keep it in range, so that the result stays a sine.
  r = buildWithinOne(m, r);
  Value z = m.mul(r, r);
  // 4.2e-9 and 1.4e-10.
  Value sine = m.polynomial(z, {-1.666665375e-01, 8.332106285e-03, -1.950784645e-04});
  sine = m.fma(m.mul(z, r), sine, r);
  Value cosine = m.polynomial(z, {4.166664556e-02, -1.388729783e-03, 2.443008816e-05});
  cosine = m.fma(m.mul(z, z), cosine, m.fma(z, m.real(-0.5), m.real(1.0)));
  return buildSineOfTurns(m, x, n.bits, sine, cosine, isCosine);
}

//===----------------------------------------------------------------------===//
// Powers and remainders
//===----------------------------------------------------------------------===//

namespace {

/// A number as the sum of two floats of which the second is below half a unit of the first.
struct Pair {
  Value high, low;
};

/// The half of x's digits that come first: products of halves are exact.
Value firstHalf(const FloatMath &m, Value x) { return m.fromBits(m.andBits(m.toBits(x), m.integer(-0x1000))); }

/// x * y after Dekker, without an fma that rounds once.
Pair multiplyExactly(const FloatMath &m, Value x, Value y) {
  Value product = m.mul(x, y), x1 = firstHalf(m, x), y1 = firstHalf(m, y);
  Value x2 = m.sub(x, x1), y2 = m.sub(y, y1);
  Value low = m.add(m.add(m.sub(m.mul(x1, y1), product), m.mul(x1, y2)), m.mul(x2, y1));
  return {product, m.add(low, m.mul(x2, y2))};
}

/// log(x) to 1e-9 as 2 atanh(q), q = f / (f + 2), with q and its first powers in two floats each (after N. Juffa).
Pair buildLogPair(const FloatMath &m, Value x) {
  Split split = splitExponent(m, x);
  Value f = split.f, two = m.real(2.0);
  Value inverse = m.div(m.real(1.0), m.add(f, two));
  // 1. q and what it lacks: f - q (f + 2), of which f - 2 q is exact.
  Value q = m.mul(inverse, f), twice = m.add(q, q);
  Pair part = multiplyExactly(m, q, f);
  Value qLow = m.mul(inverse, m.sub(m.sub(m.sub(f, twice), part.high), part.low));
  // 2. q^2 and q^3.
  Pair square = multiplyExactly(m, q, q);
  square.low = m.add(square.low, m.mul(twice, qLow));
  Pair cube = multiplyExactly(m, square.high, q);
  cube.low = m.add(cube.low, m.add(m.mul(square.high, qLow), m.mul(square.low, q)));
  // 3. (atanh(q) - q) / q^3: 2.5e-11.
  Value p = m.polynomial(square.high, {3.333333135e-01, 2.000048608e-01, 1.424938887e-01, 1.213973984e-01});
  Value low = m.fma(p, cube.high, m.fma(p, cube.low, qLow));
  // 4. The exponent, whose first part is exact, and what the sum lacks of |twice|, the smaller one where both count.
  Value exponent = m.mul(split.e, m.real(kLn2High)), sum = m.add(exponent, twice);
  Value lacking = m.sub(twice, m.sub(sum, exponent));
  low = m.fma(split.e, m.real(kLn2Low), m.fma(low, two, lacking));
  Value high = m.add(sum, low);
  return {finishLog(m, x, high), m.add(m.sub(sum, high), low)};
}

} // namespace

Value buildPow32(const FloatMath &m, Value x, Value y) {
  Pair log = buildLogPair(m, m.abs(x));
  Pair exponent = multiplyExactly(m, log.high, y);
  Value low = m.add(exponent.low, m.mul(log.low, y)), result = buildExp32(m, exponent.high);
  // Where the result is 0 or infinite the low part isn't a number.
  Value isOrdinary = m.both(m.greater(result, m.real(0.0)), m.less(result, m.real(kInfinity)));
  result = m.select(isOrdinary, m.fma(result, low, result), result);
  return buildSignedPower(m, x, y, result);
}

Value buildConstantPower(const FloatMath &m, Value x, double exponent) {
  if (exponent == 1.0)
    return x;
  if (exponent == 2.0)
    return m.mul(x, x);
  if (exponent == 3.0)
    return m.mul(m.mul(x, x), x);
  if (exponent == -1.0)
    return m.div(m.real(1.0), x);
  if (exponent != 0.5)
    return nullptr;
  // pow(-0, 0.5) is +0 and pow(-inf, 0.5) is +inf, unlike square roots.
  return m.select(m.equal(x, m.real(-kInfinity)), m.real(kInfinity), m.sqrt(m.add(x, m.real(0.0))));
}

Value buildSignedPower(const FloatMath &m, Value x, Value y, Value result) {
  // A negative base has a power for integer exponents alone, negative for odd ones.
  Value halfFloor = m.floor(m.mul(y, m.real(0.5)));
  Value isInteger = m.equal(m.floor(y), y);
  Value isOdd = m.both(isInteger, m.unequal(m.add(halfFloor, halfFloor), y));
  Value signedResult = m.copySign(result, m.select(isOdd, x, m.real(1.0)));
  Value isFiniteNegative = m.both(m.less(x, m.real(0.0)), m.greater(x, m.real(-kInfinity)));
  Value isInvalid = m.both(isFiniteNegative, m.unequal(m.floor(y), y));
  signedResult = m.select(isInvalid, m.real(kNaN), signedResult);
  // 1^y and x^0 are 1 even for NaN, and (-1)^(+-inf) is 1, as C has it.
  Value isInfiniteOne = m.both(m.equal(m.abs(x), m.real(1.0)), m.equal(m.abs(y), m.real(kInfinity)));
  signedResult = m.select(isInfiniteOne, m.real(1.0), signedResult);
  signedResult = m.select(m.equal(x, m.real(1.0)), m.real(1.0), signedResult);
  return m.select(m.equal(y, m.real(0.0)), m.real(1.0), signedResult);
}

Value buildDivide32(const FloatMath &m, Value x, Value y) {
  constexpr int64_t kExponent = 0x7F800000, kFraction = 0x007FFFFF, kOne = 0x3F800000;
  Value xBits = m.toBits(x), yBits = m.toBits(y);
  auto mantissa = [&](Value bits) {
    return m.fromBits(m.addBits(m.andBits(bits, m.integer(kFraction)), m.integer(kOne)));
  };
  // 1. Of numbers from 1 to 2 the quotient, some units off, then less than one: what it lacks is known exactly (after
  // Markstein's division, with Dekker's product in place of an fma that may round twice).
  Value a = mantissa(xBits), b = mantissa(yBits), inverse = m.div(m.real(1.0), b);
  auto restOf = [&](Value quotient) {
    Pair product = multiplyExactly(m, quotient, b);
    return m.sub(m.sub(a, product.high), product.low);
  };
  Value q = m.mul(a, inverse);
  q = m.add(q, m.mul(restOf(q), inverse));
  // 2. The neighbour on the rest's side is nearer where the rest goes beyond the middle, which no quotient is.
  Value rest = restOf(q), isBelow = m.less(rest, m.real(0.0)), bits = m.toBits(q);
  Value step = m.b.create<arith::SelectOp>(m.loc, isBelow, m.integer(-1), m.integer(1));
  Value neighbour = m.fromBits(m.addBits(bits, step));
  Value middle = m.mul(m.mul(m.sub(neighbour, q), m.real(0.5)), b);
  q = m.select(m.greater(m.abs(rest), m.abs(middle)), neighbour, q);
  // 3. Exponents and sign; zeros, infinities, NaN and what is below the normal numbers the plain way.
  Value xExponent = m.andBits(xBits, m.integer(kExponent)), yExponent = m.andBits(yBits, m.integer(kExponent));
  Value scaled = m.addBits(m.toBits(q), m.subBits(xExponent, yExponent));
  auto isNormal = [&](Value value) {
    return m.both(m.lessBits(m.integer(kFraction), value), m.lessBits(value, m.integer(kExponent)));
  };
  Value isOrdinary = m.both(m.both(isNormal(xExponent), isNormal(yExponent)), isNormal(scaled));
  Value sign = m.andBits(m.xorBits(xBits, yBits), m.integer(INT32_MIN));
  return m.select(isOrdinary, m.fromBits(m.addBits(scaled, sign)), m.div(x, y));
}

/// r - q * divisor, exactly where q has 11 bits and the result isn't greater than |divisor|.
static Value subtractExactly(const FloatMath &m, Value r, Value q, Value divisor) {
  Value first = firstHalf(m, divisor), product = m.mul(q, first);
  // The first difference may be a bit too long: what it lacks (after Knuth) is added behind the second.
  Value difference = m.sub(r, product), part = m.sub(difference, r);
  Value lacking = m.sub(m.sub(r, m.sub(difference, part)), m.add(product, part));
  return m.add(m.sub(difference, m.mul(q, m.sub(divisor, first))), lacking);
}

Value buildRemainder32(const FloatMath &m, Value x, Value y) {
  Value a = m.abs(x), b = m.abs(y), r = a;
  // Long division by digits of 11 bits.
  for (int shift : {44, 33, 22, 11, 0}) {
    Value divisor = shift == 0 ? b : m.mul(b, m.real(std::ldexp(1.0, shift)));
    Value next = subtractExactly(m, r, m.trunc(m.div(r, divisor)), divisor);
    // The rounded quotient may be one off either way.
    next = m.select(m.less(next, m.real(0.0)), m.add(next, divisor), next);
    next = m.select(m.compare(arith::CmpFPredicate::OGE, next, divisor), m.sub(next, divisor), next);
    r = shift == 0 ? next : m.select(m.less(divisor, m.real(kInfinity)), next, r);
  }
  r = m.select(m.compare(arith::CmpFPredicate::OGE, r, b), m.real(0.0), r);
  Value isLarge = m.both(m.equal(b, m.real(kInfinity)), m.less(a, m.real(kInfinity)));
  return m.copySign(m.select(isLarge, a, r), x);
}

} // namespace heddle
