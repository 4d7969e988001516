// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic of pairs after Dekker ("A floating-point technique for extending the available precision", 1971) and
// Knuth.

#include "compiler/targets/common/SplitDoubles.h"

#include <cmath>

#include "compiler/targets/common/FloatMath.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle {

namespace {

/// A number as the sum of two floats, the second at most half a unit of the first; 0 where the first isn't finite.
struct Pair {
  Value high, low;
};

class PairMath {
public:
  PairMath(OpBuilder &builder, Location loc) : m(builder, loc, builder.getF32Type()) {}

  Pair fromFloat(Value x) const { return {x, m.real(0.0)}; }
  Pair fromInteger(Value x) const;
  Pair fromUnsigned(Value x) const;
  Pair negate(Pair x) const { return {m.neg(x.high), m.neg(x.low)}; }
  Pair add(Pair x, Pair y) const;
  Pair multiply(Pair x, Pair y) const;
  Pair divide(Pair x, Pair y) const;
  Pair squareRoot(Pair x) const;
  Pair floor(Pair x) const;
  Pair roundEven(Pair x) const;
  Pair ceil(Pair x) const { return negate(floor(negate(x))); }
  Pair trunc(Pair x) const;
  Pair absolute(Pair x) const { return select(m.less(x.high, m.real(0.0)), negate(x), x); }
  Value compare(arith::CmpFPredicate predicate, Pair x, Pair y) const;
  Pair select(Value condition, Pair x, Pair y) const {
    return {m.select(condition, x.high, y.high), m.select(condition, x.low, y.low)};
  }
  Value toInteger(Pair x, Type type) const;

  const FloatMath m;

private:
  Value isFinite(Value x) const { return m.equal(m.sub(x, x), m.real(0.0)); }
  /// What isn't finite has no second part.
  Pair make(Value high, Value low) const { return {high, m.select(isFinite(high), low, m.real(0.0))}; }
  /// The sum of two floats exactly.
  Pair sum(Value x, Value y) const;
  /// The same where x is the greater one.
  Pair quickSum(Value x, Value y) const;
  Pair product(Value x, Value y) const;
  /// x, or the integer next to it where they are less than 2^-44 of x apart: what f64 gives exactly, a quotient of
  /// sizes say, may be off by some 2^-48 here, and must not end on the other side of an integer.
  Pair settle(Pair x) const;
  Pair floorExactly(Pair x) const;
  Pair roundExactly(Pair x) const;
};

Pair PairMath::sum(Value x, Value y) const {
  Value high = m.add(x, y), part = m.sub(high, x);
  return make(high, m.add(m.sub(x, m.sub(high, part)), m.sub(y, part)));
}

Pair PairMath::quickSum(Value x, Value y) const {
  Value high = m.add(x, y);
  return make(high, m.sub(y, m.sub(high, x)));
}

/// Without an fma that rounds once: drivers may take that apart.
Pair PairMath::product(Value x, Value y) const {
  auto firstHalf = [&](Value value) { return m.fromBits(m.andBits(m.toBits(value), m.integer(-0x1000))); };
  Value high = m.mul(x, y), x1 = firstHalf(x), y1 = firstHalf(y), x2 = m.sub(x, x1), y2 = m.sub(y, y1);
  Value low = m.add(m.add(m.sub(m.mul(x1, y1), high), m.mul(x1, y2)), m.mul(x2, y1));
  return make(high, m.add(low, m.mul(x2, y2)));
}

/// Both halves of a 32-bit integer are floats exactly.
Pair PairMath::fromInteger(Value x) const {
  auto constant = [&](int64_t value) {
    return m.b.create<arith::ConstantOp>(m.loc, m.b.getIntegerAttr(x.getType(), value));
  };
  Value low = m.b.create<arith::AndIOp>(m.loc, x, constant(0xFFFF));
  Value high = m.b.create<arith::SubIOp>(m.loc, x, low);
  auto toFloat = [&](Value value) { return m.b.create<arith::SIToFPOp>(m.loc, m.type, value); };
  return quickSum(toFloat(high), toFloat(low));
}

/// Of 32 bits: what is negative as a signed number is 2^32 more.
Pair PairMath::fromUnsigned(Value x) const {
  Pair number = fromInteger(x);
  return select(m.less(number.high, m.real(0.0)), add(number, fromFloat(m.real(4294967296.0))), number);
}

Pair PairMath::add(Pair x, Pair y) const {
  Pair high = sum(x.high, y.high), low = sum(x.low, y.low);
  high = quickSum(high.high, m.add(high.low, low.high));
  return quickSum(high.high, m.add(high.low, low.low));
}

Pair PairMath::multiply(Pair x, Pair y) const {
  Pair result = product(x.high, y.high);
  Value crossed = m.add(m.mul(x.high, y.low), m.mul(x.low, y.high));
  Pair whole = quickSum(result.high, m.add(result.low, crossed));
  return select(isFinite(result.high), whole, fromFloat(result.high));
}

Pair PairMath::divide(Pair x, Pair y) const {
  // Three digits of 24 bits, each from what the ones before leave.
  Value first = m.div(x.high, y.high);
  Pair rest = add(x, negate(multiply(fromFloat(first), y)));
  Value second = m.div(rest.high, y.high);
  rest = add(rest, negate(multiply(fromFloat(second), y)));
  Pair result = quickSum(first, second);
  result = quickSum(result.high, m.add(result.low, m.div(rest.high, y.high)));
  // What isn't finite leaves nothing that could be divided, and by infinity nothing is left.
  return select(m.both(isFinite(first), isFinite(y.high)), result, fromFloat(first));
}

Pair PairMath::squareRoot(Pair x) const {
  Value root = m.sqrt(x.high);
  Pair rest = add(x, negate(multiply(fromFloat(root), fromFloat(root))));
  Value step = m.div(rest.high, m.add(root, root));
  Value isOrdinary = m.both(m.greater(root, m.real(0.0)), isFinite(root));
  return select(isOrdinary, quickSum(root, step), fromFloat(root));
}

Pair PairMath::floorExactly(Pair x) const {
  Value high = m.floor(x.high);
  Value low = m.select(m.equal(high, x.high), m.floor(x.low), m.real(0.0));
  return quickSum(high, low);
}

/// To the nearest integer; a second part decides where the first lies half-way.
Pair PairMath::roundExactly(Pair x) const {
  Value near = m.roundEven(x.high), below = m.floor(x.high);
  Value isHalf = m.equal(m.sub(x.high, below), m.real(0.5));
  Value down = m.both(isHalf, m.less(x.low, m.real(0.0))), up = m.both(isHalf, m.greater(x.low, m.real(0.0)));
  near = m.select(down, below, m.select(up, m.add(below, m.real(1.0)), near));
  return quickSum(near, m.select(m.equal(near, x.high), m.roundEven(x.low), m.real(0.0)));
}

Pair PairMath::settle(Pair x) const {
  constexpr double kApart = 0x1p-44;
  Pair near = roundExactly(x), apart = absolute(add(x, negate(near)));
  return select(m.less(apart.high, m.mul(m.abs(x.high), m.real(kApart))), near, x);
}

Pair PairMath::floor(Pair x) const { return floorExactly(settle(x)); }

/// Half-way is what settles half-way of twice the number.
Pair PairMath::roundEven(Pair x) const {
  Pair twice = settle(add(x, x));
  Value half = m.real(0.5);
  return roundExactly({m.mul(twice.high, half), m.mul(twice.low, half)});
}

Pair PairMath::trunc(Pair x) const { return select(m.less(x.high, m.real(0.0)), ceil(x), floor(x)); }

Value PairMath::compare(arith::CmpFPredicate predicate, Pair x, Pair y) const {
  // A NaN is equal to nothing, so that its first part decides.
  return m.select(m.equal(x.high, y.high), m.compare(predicate, x.low, y.low), m.compare(predicate, x.high, y.high));
}

/// Saturating, NaN gives 0. The device's integers have 32 bits at most, so that halves of 16 are put together.
Value PairMath::toInteger(Pair x, Type type) const {
  Pair whole = trunc(x);
  constexpr unsigned kMostBits = 32;
  double limit = std::ldexp(1.0, static_cast<int>(std::min(type.getIntOrFloatBitWidth(), kMostBits)) - 1);
  auto toInteger = [&](Value value) { return m.b.create<arith::FPToSIOp>(m.loc, type, value).getResult(); };
  auto constant = [&](int64_t value) {
    return m.b.create<arith::ConstantOp>(m.loc, m.b.getIntegerAttr(type, value)).getResult();
  };
  auto add = [&](Value left, Value right) { return m.b.create<arith::AddIOp>(m.loc, left, right).getResult(); };
  Value result = add(toInteger(whole.high), toInteger(whole.low));
  if (limit > 65536.0) {
    Value upper = m.floor(m.mul(whole.high, m.real(1.0 / 65536.0)));
    Value lower = m.sub(whole.high, m.mul(upper, m.real(65536.0)));
    Value shifted = m.b.create<arith::ShLIOp>(m.loc, toInteger(upper), constant(16));
    result = add(add(shifted, toInteger(lower)), toInteger(whole.low));
  }
  Value isAbove = compare(arith::CmpFPredicate::OGE, whole, fromFloat(m.real(limit)));
  Value isBelow = compare(arith::CmpFPredicate::OLT, whole, fromFloat(m.real(-limit)));
  Value isNaN = m.compare(arith::CmpFPredicate::UNO, whole.high, whole.high);
  result = m.select(isAbove, constant(static_cast<int64_t>(limit) - 1), result);
  result = m.select(isBelow, constant(-static_cast<int64_t>(limit)), result);
  return m.select(isNaN, constant(0), result);
}

/// Rewrites one function's regions.
class DoubleSplitter {
public:
  LogicalResult split(Operation *op);

private:
  std::optional<Pair> lookup(Value value) const;
  LogicalResult splitConstant(arith::ConstantOp op, const PairMath &pairs);
  /// The pair that |op| gives; none where it has no form.
  std::optional<Pair> express(Operation *op, const PairMath &pairs);
  /// What |op| gives that isn't f64; null where it has no form.
  Value leave(Operation *op, const PairMath &pairs);

  llvm::DenseMap<Value, Pair> values;
};

std::optional<Pair> DoubleSplitter::lookup(Value value) const {
  auto found = values.find(value);
  return found == values.end() ? std::nullopt : std::optional<Pair>(found->second);
}

LogicalResult DoubleSplitter::splitConstant(arith::ConstantOp op, const PairMath &pairs) {
  double number = cast<FloatAttr>(op.getValue()).getValueAsDouble();
  auto high = static_cast<float>(number);
  if (std::isfinite(number) && !std::isfinite(high))
    return op.emitOpError() << "holds " << number << ", which this target's numbers don't reach";
  double rest = std::isfinite(number) ? number - high : 0.0;
  values[op.getResult()] = {pairs.m.real(high), pairs.m.real(rest)};
  return success();
}

std::optional<Pair> DoubleSplitter::express(Operation *op, const PairMath &pairs) {
  SmallVector<Pair> x;
  for (Value operand : op->getOperands())
    if (std::optional<Pair> pair = lookup(operand))
      x.push_back(*pair);
  auto pick = [&](arith::CmpFPredicate predicate, bool isNumber) {
    // A NaN wins, or with |isNumber| loses.
    Pair suspect = isNumber ? x[1] : x[0];
    Value isNaN = pairs.compare(arith::CmpFPredicate::UNO, suspect, suspect);
    Value wins = pairs.compare(predicate, x[0], x[1]);
    return pairs.select(pairs.m.b.create<arith::OrIOp>(pairs.m.loc, isNaN, wins), x[0], x[1]);
  };
  return llvm::TypeSwitch<Operation *, std::optional<Pair>>(op)
      .Case([&](arith::SIToFPOp) { return pairs.fromInteger(op->getOperand(0)); })
      .Case([&](arith::UIToFPOp) { return pairs.fromUnsigned(op->getOperand(0)); })
      .Case([&](arith::ExtFOp) {
        Value narrow = op->getOperand(0);
        bool isSingle = narrow.getType().isF32();
        return pairs.fromFloat(
            isSingle ? narrow : pairs.m.b.create<arith::ExtFOp>(pairs.m.loc, pairs.m.type, narrow).getResult());
      })
      .Case([&](arith::AddFOp) { return pairs.add(x[0], x[1]); })
      .Case([&](arith::SubFOp) { return pairs.add(x[0], pairs.negate(x[1])); })
      .Case([&](arith::MulFOp) { return pairs.multiply(x[0], x[1]); })
      .Case([&](arith::DivFOp) { return pairs.divide(x[0], x[1]); })
      .Case([&](arith::NegFOp) { return pairs.negate(x[0]); })
      .Case([&](arith::MaximumFOp) { return pick(arith::CmpFPredicate::OGT, false); })
      .Case([&](arith::MinimumFOp) { return pick(arith::CmpFPredicate::OLT, false); })
      .Case([&](arith::MaxNumFOp) { return pick(arith::CmpFPredicate::OGT, true); })
      .Case([&](arith::MinNumFOp) { return pick(arith::CmpFPredicate::OLT, true); })
      .Case([&](arith::SelectOp select) { return pairs.select(select.getCondition(), x[0], x[1]); })
      .Case([&](math::AbsFOp) { return pairs.absolute(x[0]); })
      .Case([&](math::FloorOp) { return pairs.floor(x[0]); })
      .Case([&](math::CeilOp) { return pairs.ceil(x[0]); })
      .Case([&](math::TruncOp) { return pairs.trunc(x[0]); })
      .Case([&](math::RoundEvenOp) { return pairs.roundEven(x[0]); })
      .Case([&](math::SqrtOp) { return pairs.squareRoot(x[0]); })
      .Default([](Operation *) { return std::nullopt; });
}

Value DoubleSplitter::leave(Operation *op, const PairMath &pairs) {
  std::optional<Pair> x = lookup(op->getOperand(0));
  Type type = op->getResult(0).getType();
  if (auto cmp = dyn_cast<arith::CmpFOp>(op))
    return pairs.compare(cmp.getPredicate(), *x, *lookup(cmp.getRhs()));
  if (isa<arith::FPToSIOp>(op))
    return pairs.toInteger(*x, type);
  // The first part is the sum rounded to f32.
  if (isa<arith::TruncFOp>(op))
    return type.isF32() ? x->high : pairs.m.b.create<arith::TruncFOp>(pairs.m.loc, type, x->high).getResult();
  return nullptr;
}

LogicalResult DoubleSplitter::split(Operation *op) {
  OpBuilder b(op);
  PairMath pairs(b, op->getLoc());
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return splitConstant(constant, pairs);
  if (op->getNumResults() == 1 && op->getResult(0).getType().isF64()) {
    if (std::optional<Pair> pair = express(op, pairs)) {
      values[op->getResult(0)] = *pair;
      return success();
    }
  } else if (op->getNumResults() == 1) {
    if (Value value = leave(op, pairs)) {
      op->getResult(0).replaceAllUsesWith(value);
      return success();
    }
  }
  return op->emitOpError("has no form on this target for elements of type 'f64'");
}

} // namespace

LogicalResult splitRegionDoubles(kernel::FuncOp func) {
  auto isDouble = [](Type type) { return type.isF64(); };
  SmallVector<Operation *> wide;
  bool crosses = false;
  func.getRoot()->walk([&](Operation *op) {
    bool touches = llvm::any_of(op->getOperandTypes(), isDouble) || llvm::any_of(op->getResultTypes(), isDouble);
    if (touches && op->getDialect() && !op->hasTrait<OpTrait::IsTerminator>() && op->getNumRegions() == 0)
      wide.push_back(op);
    crosses |= touches && op->hasTrait<OpTrait::IsTerminator>();
  });
  // Numbers that come from or go to memory, or are accumulated, stay what they are.
  if (crosses || wide.empty())
    return success();
  DoubleSplitter splitter;
  for (Operation *op : wide)
    if (failed(splitter.split(op)))
      return failure();
  for (Operation *op : llvm::reverse(wide))
    op->erase();
  return success();
}

} // namespace heddle
