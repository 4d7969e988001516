// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Normalisations, searched from the root of a variance: down to what it is the variance of, and up to where that is
// divided by the root. Products are compared as sets of factors, so their order and grouping don't matter.

#include "compiler/transforms/fusion/NormMatch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;

namespace heddle::nn {

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
Type elementOf(Value value) { return typeOf(value).getElementType(); }

BinaryOp getBinary(Value value, BinaryKind kind) {
  auto op = value ? value.getDefiningOp<BinaryOp>() : BinaryOp();
  return op && op.getKind() == kind ? op : BinaryOp();
}

//===------------------------------------------------------------------------------------------------------------===//
// Statistics.
//===------------------------------------------------------------------------------------------------------------===//

/// A mean along |axes|, which stay with extent 1; of |value| or of its squares.
struct Mean {
  Value value;
  bool isOfSquares;
  SmallVector<int64_t> axes;
};

/// |number| rounded to |element|.
double roundTo(Type element, double number) {
  llvm::APFloat value(number);
  bool losesInfo;
  value.convert(cast<FloatType>(element).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return FloatAttr::get(element, value).getValueAsDouble();
}

/// How many elements |op| combines; nothing where that isn't known.
std::optional<double> countReduced(ReduceOp op) {
  double count = 1;
  for (int64_t axis : op.getAxes()) {
    int64_t extent = typeOf(op.getInput()).getDimSize(axis);
    if (ShapedType::isDynamic(extent))
      return std::nullopt;
    count *= static_cast<double>(extent);
  }
  return count;
}

/// True where |scaling|, which combines |reduce|'s result with a number, makes a mean of a sum: it divides by the
/// number of elements or multiplies by its inverse. Nothing else, such as an unbiased estimate, does.
bool makesMean(BinaryOp scaling, const NumberOperand &parts, ReduceOp reduce) {
  std::optional<double> count = countReduced(reduce);
  bool isSum = reduce.getKind() == ReduceKind::Sum || reduce.getKind() == ReduceKind::SumSquare;
  if (!isSum || !count || *count == 0)
    return false;
  Type element = elementOf(scaling.getOutput());
  if (scaling.getKind() == BinaryKind::Div)
    return parts.isOnRight && parts.number == roundTo(element, *count);
  return scaling.getKind() == BinaryKind::Mul && parts.number == roundTo(element, 1 / *count);
}

/// |value| as a mean. An axis that was dropped is put back by an unsqueeze before or after the number of elements comes
/// in. The types that are converted to on the way go into |types|.
std::optional<Mean> matchMean(Value value, SmallVectorImpl<Type> &types) {
  UnsqueezeOp unsqueeze;
  auto peel = [&](Value outer) {
    outer = stripCasts(outer, &types);
    auto op = outer.getDefiningOp<UnsqueezeOp>();
    if (!op || unsqueeze)
      return outer;
    unsqueeze = op;
    return stripCasts(op.getInput(), &types);
  };
  Value inner = peel(value);
  auto scaling = inner.getDefiningOp<BinaryOp>();
  std::optional<NumberOperand> parts = scaling ? matchNumberOperand(scaling) : std::nullopt;
  auto reduce = (parts ? peel(parts->tensor) : inner).getDefiningOp<ReduceOp>();
  if (!reduce || !isa<FloatType>(elementOf(reduce.getInput())))
    return std::nullopt;
  // Broadcast in another place it would be the mean of another row.
  if (reduce.getKeepdims() ? unsqueeze != nullptr : !unsqueeze || unsqueeze.getAxes() != reduce.getAxes())
    return std::nullopt;
  if (parts ? !makesMean(scaling, *parts, reduce) : reduce.getKind() != ReduceKind::Mean)
    return std::nullopt;
  return Mean{stripCasts(reduce.getInput(), &types), reduce.getKind() == ReduceKind::SumSquare,
              SmallVector<int64_t>(reduce.getAxes())};
}

/// What |value| is the square of; null where it is none.
Value matchSquare(Value value) {
  if (BinaryOp product = getBinary(value, BinaryKind::Mul))
    return areSame(product.getLhs(), product.getRhs()) ? product.getLhs() : Value();
  BinaryOp power = getBinary(value, BinaryKind::Pow);
  std::optional<NumberOperand> parts = power ? matchNumberOperand(power) : std::nullopt;
  return parts && parts->isOnRight && parts->number == 2 ? parts->tensor : Value();
}

/// What a root was computed from.
struct Deviation {
  Value input;            ///< before exact conversions
  bool isCentred = false; ///< its mean is subtracted before squaring
  SmallVector<int64_t> axes;
  double epsilon = 0;
  Value value;      ///< of the root
  int exponent = 1; ///< -1 where the root is inverted already
  SmallVector<Type> types;

  /// Is |candidate| what was squared: the input, or the input without its mean?
  bool isNumerator(Value candidate);
  bool isInput(Value candidate) { return areSame(stripExactCasts(stripCasts(candidate, &types)), input); }
  bool isMean(Value candidate);
};

bool Deviation::isMean(Value candidate) {
  std::optional<Mean> mean = matchMean(candidate, types);
  return mean && !mean->isOfSquares && mean->axes == axes && isInput(mean->value);
}

bool Deviation::isNumerator(Value candidate) {
  candidate = stripCasts(candidate, &types);
  if (!isCentred)
    return isInput(candidate);
  BinaryOp difference = getBinary(candidate, BinaryKind::Sub);
  return difference && isInput(difference.getLhs()) && isMean(difference.getRhs());
}

/// The radicand of |op| and the exponent's sign, where |op| is a square root or an inverse one.
std::optional<std::pair<Value, int>> matchRoot(Operation *op) {
  if (auto unary = dyn_cast<UnaryOp>(op))
    return unary.getKind() == UnaryKind::Sqrt ? std::optional(std::pair(unary.getInput(), 1)) : std::nullopt;
  auto power = dyn_cast<BinaryOp>(op);
  std::optional<NumberOperand> parts =
      power && power.getKind() == BinaryKind::Pow ? matchNumberOperand(power) : std::nullopt;
  if (!parts || !parts->isOnRight || std::abs(parts->number) != 0.5)
    return std::nullopt;
  return std::pair(parts->tensor, parts->number > 0 ? 1 : -1);
}

/// True where |axes| are the last ones of |rank|, at least one.
bool areTrailing(ArrayRef<int64_t> axes, int64_t rank) {
  int64_t next = rank - static_cast<int64_t>(axes.size());
  return !axes.empty() && llvm::all_of(axes, [&](int64_t axis) { return axis == next++; });
}

/// What |value| adds a number to, which becomes |epsilon|; |value| itself where it doesn't.
Value takeEpsilon(Value value, double &epsilon) {
  BinaryOp sum = getBinary(value, BinaryKind::Add);
  std::optional<NumberOperand> parts = sum ? matchNumberOperand(sum) : std::nullopt;
  if (!parts || epsilon != 0)
    return value;
  epsilon = parts->number;
  return parts->tensor;
}

/// The op's epsilon is an f32, whatever the type.
bool isEpsilon(double epsilon) {
  return epsilon >= 0 && std::isfinite(static_cast<float>(epsilon)) && static_cast<float>(epsilon) == epsilon;
}

/// Takes |variance| as mean(x^2) - mean(x)^2 into |result|, as ONNX defines it and Flax computes it, there with 0 as
/// its least. The op computes it from differences, which keep the digits that this one loses far from zero.
bool matchDifference(Value variance, Deviation &result) {
  BinaryOp least = getBinary(variance, BinaryKind::Max);
  std::optional<NumberOperand> parts = least ? matchNumberOperand(least) : std::nullopt;
  BinaryOp difference = getBinary(parts && parts->number == 0 ? parts->tensor : variance, BinaryKind::Sub);
  std::optional<Mean> mean = difference ? matchMean(difference.getLhs(), result.types) : std::nullopt;
  Value average = mean ? matchSquare(stripCasts(difference.getRhs(), &result.types)) : Value();
  Value squared = mean && !mean->isOfSquares ? matchSquare(mean->value) : mean ? mean->value : Value();
  if (!average || !squared || !areTrailing(mean->axes, typeOf(squared).getRank()) || !isEpsilon(result.epsilon))
    return false;
  result.input = stripExactCasts(stripCasts(squared, &result.types));
  result.axes = mean->axes;
  result.isCentred = result.isMean(average);
  return result.isCentred;
}

/// What |op| is the root of, where that is a variance or a mean of squares along the last axes, plus a number.
std::optional<Deviation> matchDeviation(Operation *op) {
  // 1. Roots are rare; roots of a mean of squares, plus a number, even more so.
  std::optional<std::pair<Value, int>> root = matchRoot(op);
  if (!root || !isa<FloatType>(elementOf(op->getResult(0))))
    return std::nullopt;
  Deviation result;
  result.value = op->getResult(0);
  result.exponent = root->second;
  Value variance = takeEpsilon(stripCasts(root->first, &result.types), result.epsilon);
  size_t known = result.types.size();
  if (matchDifference(variance, result))
    return result;
  result.types.truncate(known);
  std::optional<Mean> mean = matchMean(variance, result.types);
  if (!mean)
    return std::nullopt;

  // 2. The mean is along the last axes; a number may as well be added to each square.
  Value square = mean->isOfSquares ? mean->value : takeEpsilon(mean->value, result.epsilon);
  Value squared = mean->isOfSquares ? square : matchSquare(stripCasts(square, &result.types));
  if (!squared || !areTrailing(mean->axes, typeOf(squared).getRank()) || !isEpsilon(result.epsilon))
    return std::nullopt;
  result.axes = mean->axes;

  // 3. Of differences to a mean along the same axes, or of the input itself.
  squared = stripCasts(squared, &result.types);
  known = result.types.size();
  if (BinaryOp difference = getBinary(squared, BinaryKind::Sub)) {
    result.input = stripExactCasts(difference.getLhs());
    result.isCentred = result.isMean(difference.getRhs());
  }
  if (!result.isCentred) {
    result.types.truncate(known);
    result.input = stripExactCasts(squared);
  }
  return result;
}

//===------------------------------------------------------------------------------------------------------------===//
// Products.
//===------------------------------------------------------------------------------------------------------------===//

/// A value as a product of the numerator, a power of the deviation, and what else.
struct Product {
  int numerators = 0;
  int deviations = 0; ///< exponent
  SmallVector<Value> scales;
};

class NormSearch {
public:
  explicit NormSearch(Deviation deviation) : deviation(std::move(deviation)) {}

  SmallVector<NormPattern> run();

private:
  bool factorize(Value value, int sign, Product &product, unsigned depth);
  std::optional<Product> getProduct(Value value);
  bool areTypesFine(Type output) const;
  bool isInRow(Value value) const;
  bool areScales(const Product &product, Type element) const;
  std::optional<NormPattern> matchProduct(Value value);
  std::optional<NormPattern> matchShifted(Value value);
  void absorb(NormPattern &pattern);

  Deviation deviation;
  unsigned budget = 0;
};

/// Multiplies |product| by |value| to the power of |sign|; false where a factor can't be part of a norm.
bool NormSearch::factorize(Value value, int sign, Product &product, unsigned depth) {
  constexpr unsigned kMaxDepth = 8;
  if (depth > kMaxDepth || budget == 0)
    return false;
  --budget;
  Value whole = value;
  size_t known = deviation.types.size();
  value = stripCasts(value, &deviation.types);
  if (value == deviation.value) {
    product.deviations += sign * deviation.exponent;
    return true;
  }
  if (sign > 0 && deviation.isNumerator(value)) {
    ++product.numerators;
    return true;
  }
  if (auto unary = value.getDefiningOp<UnaryOp>(); unary && unary.getKind() == UnaryKind::Reciprocal)
    return factorize(unary.getInput(), -sign, product, depth + 1);
  if (BinaryOp op = getBinary(value, BinaryKind::Mul))
    return factorize(op.getLhs(), sign, product, depth + 1) && factorize(op.getRhs(), sign, product, depth + 1);
  if (BinaryOp op = getBinary(value, BinaryKind::Div))
    return factorize(op.getLhs(), sign, product, depth + 1) && factorize(op.getRhs(), -sign, product, depth + 1);
  BinaryOp power = getBinary(value, BinaryKind::Pow);
  if (power && getNumber(power.getRhs()) == -1)
    return factorize(power.getLhs(), -sign, product, depth + 1);
  // What else is a factor is taken as it is, converted or not.
  deviation.types.truncate(known);
  if (getNumber(whole) == 1)
    return true;
  product.scales.push_back(whole);
  return sign > 0;
}

std::optional<Product> NormSearch::getProduct(Value value) {
  Product product;
  budget = 64;
  if (!factorize(value, 1, product, 0) || product.deviations != -1)
    return std::nullopt;
  return product;
}

/// The op's statistics are in f32, or in f64 if its input is. So no type in between may be less exact than the input's,
/// whose values would be lost there, or an f64 that the op wouldn't compute in.
bool NormSearch::areTypesFine(Type output) const {
  Type input = elementOf(deviation.input);
  auto width = [](Type type) { return type.getIntOrFloatBitWidth(); };
  if (output != input && width(output) <= width(input))
    return false;
  return llvm::all_of(deviation.types, [&](Type type) {
    return (type == input || width(type) > width(input)) && (!type.isF64() || output.isF64());
  });
}

/// True where |value| has one element for each of a row at most, and never more of them than a row.
bool NormSearch::isInRow(Value value) const {
  RankedTensorType type = typeOf(value), input = typeOf(deviation.input);
  int64_t ahead = input.getRank() - type.getRank();
  if (ahead < 0)
    return false;
  for (auto [axis, extent] : llvm::enumerate(type.getShape())) {
    int64_t place = ahead + static_cast<int64_t>(axis);
    bool fits = place >= deviation.axes.front() && !ShapedType::isDynamic(extent) && extent == input.getDimSize(place);
    if (extent != 1 && !fits)
      return false;
  }
  return true;
}

bool NormSearch::areScales(const Product &product, Type element) const {
  return llvm::all_of(product.scales, [&](Value scale) { return elementOf(scale) == element && isInRow(scale); });
}

/// |value| as the whole quotient, scaled or not.
std::optional<NormPattern> NormSearch::matchProduct(Value value) {
  size_t known = deviation.types.size();
  auto restore = llvm::make_scope_exit([&] { deviation.types.truncate(known); });
  std::optional<Product> product = getProduct(value);
  Type element = elementOf(value);
  if (!product || product->numerators != 1 || !areScales(*product, element) || !areTypesFine(element))
    return std::nullopt;
  return NormPattern{
      deviation.input, deviation.isCentred, deviation.axes.front(), deviation.epsilon, product->scales, Value(), value};
}

/// TensorFlow's spelling: x * s + (bias - mean * s) where s, which is |value|, is the scale over the deviation.
std::optional<NormPattern> NormSearch::matchShifted(Value value) {
  size_t known = deviation.types.size();
  auto restore = llvm::make_scope_exit([&] { deviation.types.truncate(known); });
  std::optional<Product> product = deviation.isCentred ? getProduct(value) : std::nullopt;
  Type element = elementOf(value);
  if (!product || product->numerators != 0 || !areScales(*product, element))
    return std::nullopt;
  auto otherFactor = [&](Value candidate) -> Value {
    BinaryOp op = getBinary(candidate, BinaryKind::Mul);
    if (!op || (!areSame(op.getLhs(), value) && !areSame(op.getRhs(), value)))
      return Value();
    return areSame(op.getRhs(), value) ? op.getLhs() : op.getRhs();
  };
  for (Operation *user : value.getUsers()) {
    Value scaled = user->getNumResults() == 1 ? user->getResult(0) : Value();
    Value other = scaled ? otherFactor(scaled) : Value();
    if (!other || !scaled.hasOneUse() || !deviation.isInput(other))
      continue;
    auto sum = dyn_cast<BinaryOp>(*scaled.getUsers().begin());
    if (!sum || sum.getKind() != BinaryKind::Add)
      continue;
    BinaryOp shift = getBinary(sum.getLhs() == scaled ? sum.getRhs() : sum.getLhs(), BinaryKind::Sub);
    Value mean = shift ? otherFactor(shift.getRhs()) : Value();
    if (mean && deviation.isMean(mean) && isInRow(shift.getLhs()) && areTypesFine(element))
      return NormPattern{deviation.input, true,           deviation.axes.front(), deviation.epsilon,
                         product->scales, shift.getLhs(), sum.getOutput()};
  }
  return std::nullopt;
}

/// Takes what alone reads |pattern|'s output into it: a conversion back, a scale, a bias.
void NormSearch::absorb(NormPattern &pattern) {
  auto onlyUser = [&] { return pattern.output.hasOneUse() ? *pattern.output.getUsers().begin() : nullptr; };
  auto other = [&](BinaryKind kind) {
    auto op = dyn_cast_or_null<BinaryOp>(onlyUser());
    if (!op || op.getKind() != kind)
      return Value();
    Value value = op.getLhs() == pattern.output ? op.getRhs() : op.getLhs();
    return isInRow(value) ? value : Value();
  };
  // An RMS norm rounds to its input's type before it scales, which is what the conversion does. From f64 it would take
  // the exactness of its statistics along.
  auto cast = dyn_cast_or_null<CastOp>(onlyUser());
  Type element = elementOf(pattern.output);
  if (cast && !pattern.isCentred && pattern.scales.empty() && cast.getTo() == elementOf(deviation.input) &&
      element.isF32() && element != cast.getTo())
    pattern.output = cast.getOutput();
  if (Value scale = pattern.scales.empty() ? other(BinaryKind::Mul) : Value()) {
    pattern.scales.push_back(scale);
    pattern.output = (*pattern.output.getUsers().begin())->getResult(0);
  }
  if (Value bias = pattern.isCentred ? other(BinaryKind::Add) : Value()) {
    pattern.bias = bias;
    pattern.output = (*pattern.output.getUsers().begin())->getResult(0);
  }
}

/// Climbs from the root through products until the numerator is one of the factors.
SmallVector<NormPattern> NormSearch::run() {
  constexpr unsigned kMaxVisited = 64;
  SmallVector<NormPattern> found;
  llvm::SetVector<Value> reached;
  reached.insert(deviation.value);
  for (unsigned i = 0; i < reached.size() && i < kMaxVisited; ++i) {
    Value value = reached[i];
    bool isOutput = i > 0 && isa<BinaryOp>(value.getDefiningOp());
    std::optional<NormPattern> pattern = isOutput ? matchProduct(value) : std::nullopt;
    if (pattern)
      absorb(*pattern);
    else
      pattern = matchShifted(value);
    if (pattern) {
      found.push_back(*pattern);
      continue;
    }
    for (Operation *user : value.getUsers()) {
      auto unary = dyn_cast<UnaryOp>(user);
      auto binary = dyn_cast<BinaryOp>(user);
      bool isFactor = isa<CastOp>(user) || (unary && unary.getKind() == UnaryKind::Reciprocal) ||
                      (binary && (binary.getKind() == BinaryKind::Mul || binary.getKind() == BinaryKind::Div ||
                                  binary.getKind() == BinaryKind::Pow));
      if (isFactor && isa<FloatType>(elementOf(user->getResult(0))))
        reached.insert(user->getResult(0));
    }
  }
  return found;
}

} // namespace

SmallVector<NormPattern> matchNorms(Operation *root) {
  std::optional<Deviation> deviation = matchDeviation(root);
  return deviation ? NormSearch(std::move(*deviation)).run() : SmallVector<NormPattern>();
}

} // namespace heddle::nn
