// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes that take a way through floats: exporters write floor(n / 2) as Cast, Div, Floor, Cast. Followed as exact
// fractions, as long as float arithmetic gives the same; what comes back is an integer again, and a check that it was
// small enough.

#include "compiler/transforms/shapes/ShapeAnalyzer.h"
#include "compiler/transforms/shapes/TensorIndex.h"
#include "dialects/nn/ConstantData.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace heddle;
using namespace mlir;

//===----------------------------------------------------------------------===//
// One element
//===----------------------------------------------------------------------===//

/// Integers up to this are exact in |type|, and so are the floors of their quotients; 0 for types too narrow to bother.
static int64_t getExactLimit(Type type) {
  return type.isF64() ? int64_t(1) << 53 : type.isF32() ? int64_t(1) << 24 : 0;
}

/// |value| as a fraction whose denominator is a power of two, where both parts are small.
static std::optional<ShapeFraction> toFraction(ShapeContext &context, double value) {
  int64_t denominator = 1;
  while (denominator < 1024 && value != std::floor(value)) {
    value *= 2;
    denominator *= 2;
  }
  if (value != std::floor(value) || std::fabs(value) > 65536)
    return std::nullopt;
  return ShapeFraction{context.constant(static_cast<int64_t>(value)), denominator, false};
}

static std::optional<ShapeFraction> multiply(ShapeContext &context, const ShapeFraction &a, const ShapeFraction &b) {
  int64_t denominator;
  if (a.isRounded || b.isRounded || llvm::MulOverflow(a.denominator, b.denominator, denominator))
    return std::nullopt;
  return ShapeFraction{context.mul(a.numerator, b.numerator), denominator, false};
}

/// Of constants only: a quotient of sizes would need a size as denominator.
static std::optional<ShapeFraction> divide(ShapeContext &context, const ShapeFraction &a, const ShapeFraction &b) {
  std::optional<int64_t> divisor = b.numerator.getConstant();
  int64_t denominator;
  if (a.isRounded || b.isRounded || !divisor || *divisor <= 0 ||
      llvm::MulOverflow(a.denominator, *divisor, denominator))
    return std::nullopt;
  bool isPowerOfTwo = (*divisor & (*divisor - 1)) == 0;
  return ShapeFraction{context.mul(a.numerator, context.constant(b.denominator)), denominator, !isPowerOfTwo};
}

/// |fraction| as an integer rounded by |divide|, an operation of ShapeContext; null where it is never exact.
static FailureOr<ShapeExpr> round(ShapeAnalyzer &analyzer, Operation *op, const ShapeFraction &fraction, Type type,
                                  ShapeExpr (ShapeContext::*divide)(ShapeExpr, ShapeExpr)) {
  ShapeContext &context = analyzer.context;
  int64_t limit = getExactLimit(type);
  ShapeRange range = fraction.numerator.getRange();
  if (range.low > limit || range.high < -limit)
    return ShapeExpr();
  constexpr llvm::StringLiteral message = "expects sizes that the float type holds exactly, at most {b}, got {a}";
  if (failed(analyzer.require(op, rt::CheckKind::LessEqual, fraction.numerator, context.constant(limit), message)) ||
      failed(analyzer.require(op, rt::CheckKind::LessEqual, context.constant(-limit), fraction.numerator,
                              "expects sizes that the float type holds exactly, at least {a}, got {b}")))
    return failure();
  return (context.*divide)(fraction.numerator, context.constant(fraction.denominator));
}

//===----------------------------------------------------------------------===//
// All elements
//===----------------------------------------------------------------------===//

static FailureOr<ShapeFractions> readConstant(ShapeAnalyzer &analyzer, nn::ConstantOp op) {
  RankedTensorType type = op.getType();
  if (type.getNumElements() > ShapeAnalysis::kMaxElements || getExactLimit(type.getElementType()) == 0)
    return ShapeFractions();
  FailureOr<nn::ConstantData> data = nn::ConstantData::get(op);
  if (failed(data))
    return failure();
  ShapeFractions fractions;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    std::optional<ShapeFraction> fraction = toFraction(analyzer.context, data->getDouble(i));
    if (!fraction)
      return ShapeFractions();
    fractions.push_back(*fraction);
  }
  return fractions;
}

static ShapeFractions mapBinary(ShapeAnalyzer &analyzer, nn::BinaryOp op) {
  std::optional<SmallVector<int64_t>> dims = analyzer.getSmallDims(op.getOutput());
  const ShapeFractions *lhs = analyzer.getFractions(op.getLhs()), *rhs = analyzer.getFractions(op.getRhs());
  bool isProduct = op.getKind() == nn::BinaryKind::Mul;
  if (!dims || !lhs || !rhs || (!isProduct && op.getKind() != nn::BinaryKind::Div))
    return {};
  SmallVector<int64_t> lhsDims = *analyzer.getStaticDims(op.getLhs()), rhsDims = *analyzer.getStaticDims(op.getRhs());
  ShapeFractions results;
  for (int64_t i = 0, e = getNumElements(*dims); i < e; ++i) {
    Coordinates at = getCoordinates(i, *dims);
    const ShapeFraction &a = (*lhs)[getPosition(at, lhsDims)], &b = (*rhs)[getPosition(at, rhsDims)];
    auto result = isProduct ? multiply(analyzer.context, a, b) : divide(analyzer.context, a, b);
    if (!result || !result->numerator)
      return {};
    results.push_back(*result);
  }
  return results;
}

/// Floor and ceiling, whose results are whole floats.
static FailureOr<ShapeFractions> mapUnary(ShapeAnalyzer &analyzer, nn::UnaryOp op) {
  const ShapeFractions *input = analyzer.getFractions(op.getInput());
  bool isFloor = op.getKind() == nn::UnaryKind::Floor;
  if (!input || (!isFloor && op.getKind() != nn::UnaryKind::Ceil))
    return ShapeFractions();
  Type type = cast<RankedTensorType>(op.getInput().getType()).getElementType();
  ShapeFractions results;
  for (const ShapeFraction &fraction : *input) {
    FailureOr<ShapeExpr> whole =
        round(analyzer, op, fraction, type, isFloor ? &ShapeContext::floorDiv : &ShapeContext::ceilDiv);
    if (failed(whole))
      return failure();
    if (!*whole)
      return ShapeFractions();
    results.push_back({*whole, 1, false});
  }
  return results;
}

static ShapeFractions castToFloat(ShapeAnalyzer &analyzer, nn::CastOp op) {
  std::optional<ArrayRef<ShapeExpr>> elements = analyzer.getElements(op.getInput());
  if (!elements || getExactLimit(op.getTo()) == 0)
    return {};
  return llvm::map_to_vector(*elements, [](ShapeExpr element) { return ShapeFraction{element, 1, false}; });
}

LogicalResult heddle::inferFloatElements(ShapeAnalyzer &analyzer, Operation *op) {
  FailureOr<ShapeFractions> fractions = TypeSwitch<Operation *, FailureOr<ShapeFractions>>(op)
                                            .Case([&](nn::ConstantOp op) { return readConstant(analyzer, op); })
                                            .Case([&](nn::BinaryOp op) { return mapBinary(analyzer, op); })
                                            .Case([&](nn::UnaryOp op) { return mapUnary(analyzer, op); })
                                            .Case([&](nn::CastOp op) { return castToFloat(analyzer, op); })
                                            .Case<nn::ReshapeOp, nn::SqueezeOp, nn::UnsqueezeOp>([&](Operation *op) {
                                              const ShapeFractions *input = analyzer.getFractions(op->getOperand(0));
                                              return input ? *input : ShapeFractions();
                                            })
                                            .Default([](Operation *) { return ShapeFractions(); });
  if (failed(fractions))
    return failure();
  if (!fractions->empty())
    analyzer.setFractions(op->getResult(0), std::move(*fractions));
  return success();
}

LogicalResult heddle::inferRoundedElements(ShapeAnalyzer &analyzer, nn::CastOp op) {
  const ShapeFractions *input = analyzer.getFractions(op.getInput());
  if (!input || op.getTo().isInteger(1))
    return success();
  Type type = cast<RankedTensorType>(op.getInput().getType()).getElementType();
  ShapeExprs elements;
  for (const ShapeFraction &fraction : *input) {
    FailureOr<ShapeExpr> whole = round(analyzer, op, fraction, type, &ShapeContext::truncDiv);
    if (failed(whole))
      return failure();
    elements.push_back(*whole);
  }
  return analyzer.setElements(op.getOutput(), elements);
}
