// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Intervals of integers and truths of conditions, op by op, as index arithmetic.

#include "compiler/transforms/sparsity/TileTest.h"

#include <algorithm>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle::sparsity {

namespace {

/// Indices and sizes of tensors that fit an address space are smaller than 2^kIndexBits.
constexpr unsigned kIndexBits = 40;

/// All values an integer takes in the tile, read as signed, and what is known of them while compiling.
struct Range {
  Value low, high;   // index
  unsigned bits = 0; // magnitudes are below 2^bits
  bool isNonNegative = false;
  Value trusted; // i1: the bounds hold; null if they always do
};

class TileTestBuilder {
public:
  TileTestBuilder(OpBuilder &builder, Location loc, const TileScope &scope)
      : b(builder), loc(loc), scope(scope), sumBits(scope.wordBits - 3), productBits((scope.wordBits - 4) / 2),
        indexBits(std::min(kIndexBits, scope.wordBits - 1)) {}

  TileTruth getTruth(Value value);

private:
  using Operands = ArrayRef<Range>;

  //===--- Values -----------------------------------------------------------===//
  std::optional<Range> getRange(Value value);
  std::optional<Range> buildRange(Value value);
  std::optional<Range> buildOpRange(Operation *op);
  std::optional<Range> buildExternal(Value value);
  std::optional<Range> buildConstant(Value value);
  std::optional<Range> buildSum(const Range &x, const Range &y, bool isDifference, Type type);
  std::optional<Range> buildProduct(const Range &x, const Range &y, Type type);
  std::optional<Range> buildDivision(Operation *op, const Range &x);
  std::optional<Range> buildRemainder(Operation *op, const Range &x);
  std::optional<Range> buildExtremum(Operation *op, const Range &x, const Range &y);
  Range buildMagnitude(const Range &x);
  Range buildHull(const Range &x, const Range &y);

  //===--- Conditions -------------------------------------------------------===//
  TileTruth buildTruth(Value value);
  TileTruth buildComparison(arith::CmpIOp op);
  TileTruth negate(const TileTruth &x) { return {invert(x.all), invert(x.may)}; }
  TileTruth unknown() { return {flag(true), flag(false)}; }

  //===--- Arithmetic -------------------------------------------------------===//
  template <typename Op> Value make(Value x, Value y) { return b.createOrFold<Op>(loc, x, y); }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return b.createOrFold<arith::CmpIOp>(loc, predicate, x, y);
  }
  Value both(Value x, Value y) { return make<arith::AndIOp>(x, y); }
  Value either(Value x, Value y) { return make<arith::OrIOp>(x, y); }
  Value invert(Value x) { return make<arith::XOrIOp>(x, flag(true)); }
  Value flag(bool value) { return b.create<arith::ConstantIntOp>(loc, value, 1); }
  Value number(int64_t value) { return b.create<arith::ConstantIndexOp>(loc, value); }
  /// Adds a condition under which |range| holds.
  void trust(Range &range, Value condition) {
    range.trusted = range.trusted ? both(range.trusted, condition) : condition;
  }
  void trustAs(Range &range, const Range &other) {
    if (other.trusted)
      trust(range, other.trusted);
  }
  /// Makes |range| one of at most |bits| bits, checked at run time where that isn't known.
  void requireBits(Range &range, unsigned bits);
  /// Makes |range| fit |type|.
  void requireType(Range &range, Type type) {
    unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    if (width < 64)
      requireBits(range, width - 1);
  }
  void requireNonNegative(Range &range) {
    if (!range.isNonNegative)
      trust(range, compare(arith::CmpIPredicate::sge, range.low, number(0)));
    range.isNonNegative = true;
  }

  OpBuilder &b;
  Location loc;
  const TileScope &scope;
  /// Operands of a sum, and of a product, that can't wrap; indices.
  const unsigned sumBits, productBits, indexBits;
  llvm::DenseMap<Value, std::optional<Range>> ranges;
  llvm::DenseMap<Value, TileTruth> truths;
};

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void TileTestBuilder::requireBits(Range &range, unsigned bits) {
  if (range.bits <= bits)
    return;
  trust(range, compare(arith::CmpIPredicate::sge, range.low, number(-(int64_t(1) << bits))));
  trust(range, compare(arith::CmpIPredicate::slt, range.high, number(int64_t(1) << bits)));
  range.bits = bits;
}

std::optional<Range> TileTestBuilder::getRange(Value value) {
  auto found = ranges.find(value);
  if (found != ranges.end())
    return found->second;
  std::optional<Range> range = buildRange(value);
  ranges[value] = range;
  return range;
}

std::optional<Range> TileTestBuilder::buildRange(Value value) {
  Type type = value.getType();
  bool isInteger = type.isIndex() || (type.isSignlessInteger() && type.getIntOrFloatBitWidth() <= 64);
  if (!isInteger || type.isInteger(1))
    return std::nullopt;
  if (std::optional<Range> constant = buildConstant(value))
    return constant;
  Operation *op = value.getDefiningOp();
  return op && op->getParentOfType<kernel::RootOpInterface>() ? buildOpRange(op) : buildExternal(value);
}

std::optional<Range> TileTestBuilder::buildConstant(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)))
    return std::nullopt;
  int64_t known = constant.getSExtValue();
  Value emitted = number(known);
  return Range{emitted, emitted, constant.getSignificantBits() - 1, known >= 0, nullptr};
}

std::optional<Range> TileTestBuilder::buildExternal(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return std::nullopt;
  // 1. An argument of the kernel is a size, one of the region a capture.
  if (isa<kernel::FuncOp>(argument.getOwner()->getParentOp())) {
    Value size = scope.getSize(value);
    return size ? std::optional<Range>(Range{size, size, indexBits, true, nullptr}) : std::nullopt;
  }
  Value captured = scope.getArgument(argument.getArgNumber());
  if (!captured)
    return std::nullopt;
  Type type = captured.getType();
  if (type.isIndex())
    return Range{captured, captured, indexBits, true, nullptr};
  Value number = b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), captured);
  return Range{number, number, std::min(type.getIntOrFloatBitWidth(), scope.wordBits) - 1, false, nullptr};
}

std::optional<Range> TileTestBuilder::buildSum(const Range &left, const Range &right, bool isDifference, Type type) {
  Range x = left, y = right;
  requireBits(x, sumBits);
  requireBits(y, sumBits);
  Range sum;
  sum.low = isDifference ? make<arith::SubIOp>(x.low, y.high) : make<arith::AddIOp>(x.low, y.low);
  sum.high = isDifference ? make<arith::SubIOp>(x.high, y.low) : make<arith::AddIOp>(x.high, y.high);
  sum.bits = std::max(x.bits, y.bits) + 1;
  sum.isNonNegative = !isDifference && x.isNonNegative && y.isNonNegative;
  trustAs(sum, x);
  trustAs(sum, y);
  requireType(sum, type);
  return sum;
}

std::optional<Range> TileTestBuilder::buildProduct(const Range &left, const Range &right, Type type) {
  Range x = left, y = right, product;
  requireBits(x, productBits);
  requireBits(y, productBits);
  Value corners[] = {make<arith::MulIOp>(x.low, y.low), make<arith::MulIOp>(x.low, y.high),
                     make<arith::MulIOp>(x.high, y.low), make<arith::MulIOp>(x.high, y.high)};
  product.low = product.high = corners[0];
  for (Value corner : ArrayRef(corners).drop_front()) {
    product.low = make<arith::MinSIOp>(product.low, corner);
    product.high = make<arith::MaxSIOp>(product.high, corner);
  }
  product.bits = x.bits + y.bits;
  product.isNonNegative = x.isNonNegative && y.isNonNegative;
  trustAs(product, x);
  trustAs(product, y);
  requireType(product, type);
  return product;
}

/// The divisor of |op|, if it is a positive constant.
std::optional<int64_t> getPositiveDivisor(Operation *op) {
  APInt divisor;
  if (!matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) || !divisor.isStrictlyPositive())
    return std::nullopt;
  return divisor.getSExtValue();
}

std::optional<Range> TileTestBuilder::buildDivision(Operation *op, const Range &dividend) {
  std::optional<int64_t> divisor = getPositiveDivisor(op);
  if (!divisor)
    return std::nullopt;
  // Rounding down or toward zero, quotients grow with their dividends.
  Range x = dividend;
  if (isa<arith::DivUIOp>(op))
    requireNonNegative(x);
  auto divide = [&](Value value) {
    return isa<arith::FloorDivSIOp>(op) && !x.isNonNegative ? make<arith::FloorDivSIOp>(value, number(*divisor))
                                                            : make<arith::DivSIOp>(value, number(*divisor));
  };
  return Range{divide(x.low), divide(x.high), x.bits, x.isNonNegative, x.trusted};
}

std::optional<Range> TileTestBuilder::buildRemainder(Operation *op, const Range &dividend) {
  std::optional<int64_t> divisor = getPositiveDivisor(op);
  if (!divisor)
    return std::nullopt;
  Range x = dividend;
  requireNonNegative(x);
  // Between two multiples of the divisor the remainder counts up; a tile across one sees any remainder.
  Value d = number(*divisor);
  Value sameQuotient =
      compare(arith::CmpIPredicate::eq, make<arith::DivSIOp>(x.low, d), make<arith::DivSIOp>(x.high, d));
  auto choose = [&](Value bound, int64_t other) {
    return b.createOrFold<arith::SelectOp>(loc, sameQuotient, make<arith::RemSIOp>(bound, d), number(other));
  };
  return Range{choose(x.low, 0), choose(x.high, *divisor - 1), x.bits, true, x.trusted};
}

std::optional<Range> TileTestBuilder::buildExtremum(Operation *op, const Range &left, const Range &right) {
  Range x = left, y = right, result;
  if (isa<arith::MinUIOp, arith::MaxUIOp>(op)) {
    requireNonNegative(x);
    requireNonNegative(y);
  }
  bool isMinimum = isa<arith::MinSIOp, arith::MinUIOp>(op);
  auto choose = [&](Value p, Value q) { return isMinimum ? make<arith::MinSIOp>(p, q) : make<arith::MaxSIOp>(p, q); };
  result = {choose(x.low, y.low), choose(x.high, y.high), std::max(x.bits, y.bits), x.isNonNegative && y.isNonNegative,
            nullptr};
  trustAs(result, x);
  trustAs(result, y);
  return result;
}

Range TileTestBuilder::buildMagnitude(const Range &value) {
  Range x = value;
  requireBits(x, sumBits);
  Value negatedLow = make<arith::SubIOp>(number(0), x.low), negatedHigh = make<arith::SubIOp>(number(0), x.high);
  Value low = make<arith::MaxSIOp>(number(0), make<arith::MaxSIOp>(x.low, negatedHigh));
  return Range{low, make<arith::MaxSIOp>(x.high, negatedLow), x.bits, true, x.trusted};
}

Range TileTestBuilder::buildHull(const Range &x, const Range &y) {
  Range hull{make<arith::MinSIOp>(x.low, y.low), make<arith::MaxSIOp>(x.high, y.high), std::max(x.bits, y.bits),
             x.isNonNegative && y.isNonNegative, nullptr};
  trustAs(hull, x);
  trustAs(hull, y);
  return hull;
}

std::optional<Range> TileTestBuilder::buildOpRange(Operation *op) {
  if (auto index = dyn_cast<kernel::IndexOp>(op)) {
    const LoopRange &loop = scope.loops[index.getLoop()];
    return Range{loop.low, loop.high, indexBits, true, nullptr};
  }
  bool isSelect = isa<arith::SelectOp>(op);
  if (!isSelect && !isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return std::nullopt;
  SmallVector<Range> x;
  for (Value operand : llvm::drop_begin(op->getOperands(), isSelect ? 1 : 0)) {
    std::optional<Range> range = getRange(operand);
    if (!range)
      return std::nullopt;
    x.push_back(*range);
  }
  Type type = op->getResult(0).getType();
  return llvm::TypeSwitch<Operation *, std::optional<Range>>(op)
      .Case<arith::AddIOp>([&](auto) { return buildSum(x[0], x[1], /*isDifference=*/false, type); })
      .Case<arith::SubIOp>([&](auto) { return buildSum(x[0], x[1], /*isDifference=*/true, type); })
      .Case<arith::MulIOp>([&](auto) { return buildProduct(x[0], x[1], type); })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>([&](auto) { return buildDivision(op, x[0]); })
      .Case<arith::RemSIOp, arith::RemUIOp>([&](auto) { return buildRemainder(op, x[0]); })
      .Case<arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>(
          [&](auto) { return buildExtremum(op, x[0], x[1]); })
      .Case<arith::SelectOp>([&](auto) { return buildHull(x[0], x[1]); })
      .Case<arith::ExtSIOp, arith::IndexCastOp, arith::TruncIOp>([&](auto) {
        requireType(x[0], type);
        return std::optional<Range>(x[0]);
      })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>([&](auto) {
        requireNonNegative(x[0]);
        requireType(x[0], type);
        return std::optional<Range>(x[0]);
      })
      .Case<math::AbsIOp>([&](auto) { return std::optional<Range>(buildMagnitude(x[0])); })
      .Default([](Operation *) { return std::optional<Range>(); });
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

TileTruth TileTestBuilder::getTruth(Value value) {
  auto found = truths.find(value);
  if (found != truths.end())
    return found->second;
  TileTruth truth = buildTruth(value);
  truths[value] = truth;
  return truth;
}

TileTruth TileTestBuilder::buildTruth(Value value) {
  if (std::optional<TileTruth> known = scope.getTruth ? scope.getTruth(value) : std::nullopt)
    return *known;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return {flag(!constant.isZero()), flag(!constant.isZero())};
  Operation *op = value.getDefiningOp();
  if (!op) {
    auto argument = cast<BlockArgument>(value);
    Value captured = scope.getArgument(argument.getArgNumber());
    return captured ? TileTruth{captured, captured} : unknown();
  }
  if (auto comparison = dyn_cast<arith::CmpIOp>(op))
    return buildComparison(comparison);
  if (!isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::SelectOp>(op))
    return unknown();
  TileTruth x = getTruth(op->getOperand(0)), y = getTruth(op->getOperand(1));
  if (isa<arith::AndIOp>(op))
    return {both(x.may, y.may), both(x.all, y.all)};
  if (isa<arith::OrIOp>(op))
    return {either(x.may, y.may), either(x.all, y.all)};
  if (isa<arith::XOrIOp>(op)) {
    TileTruth notX = negate(x), notY = negate(y);
    return {either(both(x.may, notY.may), both(notX.may, y.may)), either(both(x.all, notY.all), both(notX.all, y.all))};
  }
  // x ? y : z
  TileTruth z = getTruth(op->getOperand(2)), notX = negate(x);
  return {either(both(x.may, y.may), both(notX.may, z.may)), both(either(notX.all, y.all), either(x.all, z.all))};
}

TileTruth TileTestBuilder::buildComparison(arith::CmpIOp op) {
  using Predicate = arith::CmpIPredicate;
  std::optional<Range> left = getRange(op.getLhs()), right = getRange(op.getRhs());
  if (!left || !right)
    return unknown();
  Range x = *left, y = *right;
  Predicate predicate = op.getPredicate();
  if (llvm::is_contained({Predicate::ult, Predicate::ule, Predicate::ugt, Predicate::uge}, predicate)) {
    // Unsigned comparisons of what isn't negative are signed ones.
    requireNonNegative(x);
    requireNonNegative(y);
  }
  TileTruth truth;
  switch (predicate) {
  case Predicate::eq:
  case Predicate::ne:
    truth = {both(compare(Predicate::sle, x.low, y.high), compare(Predicate::sle, y.low, x.high)),
             both(compare(Predicate::eq, x.low, y.high), compare(Predicate::eq, x.high, y.low))};
    break;
  case Predicate::slt:
  case Predicate::ult:
    truth = {compare(Predicate::slt, x.low, y.high), compare(Predicate::slt, x.high, y.low)};
    break;
  case Predicate::sle:
  case Predicate::ule:
    truth = {compare(Predicate::sle, x.low, y.high), compare(Predicate::sle, x.high, y.low)};
    break;
  case Predicate::sgt:
  case Predicate::ugt:
    truth = {compare(Predicate::sgt, x.high, y.low), compare(Predicate::sgt, x.low, y.high)};
    break;
  case Predicate::sge:
  case Predicate::uge:
    truth = {compare(Predicate::sge, x.high, y.low), compare(Predicate::sge, x.low, y.high)};
    break;
  }
  if (predicate == Predicate::ne)
    truth = negate(truth);
  for (const Range &range : {x, y})
    if (range.trusted)
      truth = {either(truth.may, invert(range.trusted)), both(truth.all, range.trusted)};
  return truth;
}

} // namespace

TileTruth buildTileTest(OpBuilder &builder, Location loc, Region &region, const TileScope &scope) {
  return TileTestBuilder(builder, loc, scope).getTruth(region.front().getTerminator()->getOperand(0));
}

bool isAlwaysTrue(Region &region) { return matchPattern(region.front().getTerminator()->getOperand(0), m_One()); }

} // namespace heddle::sparsity
