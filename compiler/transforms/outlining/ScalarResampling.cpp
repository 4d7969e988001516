// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One element of an interpolation: the weighed elements around its place in the operand.

#include "compiler/transforms/outlining/Contraction.h"
#include "compiler/transforms/outlining/ScalarOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;

static Type elementTypeOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

namespace {
/// Arithmetic on places, in f64: positions and extents are exact there.
struct Places {
  OpBuilder &b;
  Type f64 = b.getF64Type(), i64 = b.getI64Type();
  Location loc = UnknownLoc::get(b.getContext());
  Value real(double value) { return emitNumber(b, f64, value); }
  Value bin(nn::BinaryKind kind, Value x, Value y) { return emitBinary(b, kind, x, y, f64, f64); }
  Value add(Value x, Value y) { return bin(nn::BinaryKind::Add, x, y); }
  Value sub(Value x, Value y) { return bin(nn::BinaryKind::Sub, x, y); }
  Value mul(Value x, Value y) { return bin(nn::BinaryKind::Mul, x, y); }
  Value div(Value x, Value y) { return bin(nn::BinaryKind::Div, x, y); }
  Value un(nn::UnaryKind kind, Value x) { return emitUnary(b, kind, x, f64); }
  Value select(Value condition, Value x, Value y) { return b.create<arith::SelectOp>(loc, condition, x, y); }
  Value isOne(Value x) { return emitCompare(b, nn::CompareKind::Eq, x, real(1), f64); }
};

/// One axis of the element: where its taps lie and what each weighs; no weight where there is one tap.
struct Taps {
  int64_t axis;
  SmallVector<Value, 4> places, weights;
};
} // namespace

/// Where along the axis the element lies; all numbers are f64. |span| is the scale times |from|: |to|, unless that was
/// rounded.
static Value emitCoordinate(Places &p, nn::ResizeCoordinates coordinates, Value i, Value from, Value to, Value scale,
                            Value span) {
  Value half = p.real(0.5);
  auto halfPixel = [&] { return p.sub(p.div(p.add(i, half), scale), half); };
  switch (coordinates) {
  case nn::ResizeCoordinates::HalfPixel:
    return halfPixel();
  case nn::ResizeCoordinates::HalfPixelSymmetric: {
    Value adjustment = p.sub(p.real(1), p.div(to, p.mul(scale, from)));
    return p.add(p.mul(p.mul(from, half), adjustment), halfPixel());
  }
  case nn::ResizeCoordinates::PytorchHalfPixel:
    return p.select(p.isOne(to), p.real(0), halfPixel());
  case nn::ResizeCoordinates::AlignCorners: {
    Value steps = p.select(p.isOne(span), p.real(1), p.sub(span, p.real(1)));
    return p.select(p.isOne(span), p.real(0), p.div(p.mul(i, p.sub(from, p.real(1))), steps));
  }
  case nn::ResizeCoordinates::Asymmetric:
    return p.div(i, scale);
  }
  return i;
}

static Value emitRounded(Places &p, nn::ResizeRounding rounding, Value x) {
  switch (rounding) {
  case nn::ResizeRounding::RoundPreferFloor:
    return p.un(nn::UnaryKind::Ceil, p.sub(x, p.real(0.5)));
  case nn::ResizeRounding::RoundPreferCeil:
    return p.un(nn::UnaryKind::Floor, p.add(x, p.real(0.5)));
  case nn::ResizeRounding::Floor:
    return p.un(nn::UnaryKind::Floor, x);
  case nn::ResizeRounding::Ceil:
    return p.un(nn::UnaryKind::Ceil, x);
  }
  return x;
}

/// Keys' function at distances 1 + t, t, 1 - t, 2 - t.
static SmallVector<Value, 4> emitCubicWeights(Places &p, Value t, double a) {
  auto near = [&](Value d) {
    return p.add(p.mul(p.mul(p.sub(p.mul(p.real(a + 2), d), p.real(a + 3)), d), d), p.real(1));
  };
  auto far = [&](Value d) {
    Value square = p.mul(p.sub(p.mul(p.real(a), d), p.real(5 * a)), d);
    return p.sub(p.mul(p.add(square, p.real(8 * a)), d), p.real(4 * a));
  };
  Value one = p.real(1), rest = p.sub(one, t);
  return {far(p.add(one, t)), near(t), near(rest), far(p.add(one, rest))};
}

/// Places clamped into the axis; a weight beyond it is 0 where |op| excludes the outside, and all sum to 1 again.
static void clampTaps(Places &p, nn::ResizeOp op, Taps &taps, Value first, Value extent) {
  Value last = p.b.create<arith::SubIOp>(p.loc, extent, emitNumber(p.b, p.i64, 1)), zero = emitNumber(p.b, p.i64, 0);
  size_t count = std::max<size_t>(taps.weights.size(), 1);
  Value sum;
  for (size_t i = 0; i < count; ++i) {
    Value place = p.b.create<arith::AddIOp>(p.loc, first, emitNumber(p.b, p.i64, static_cast<double>(i)));
    Value clamped = p.b.create<arith::MaxSIOp>(p.loc, p.b.create<arith::MinSIOp>(p.loc, place, last), zero);
    taps.places.push_back(p.b.create<arith::IndexCastOp>(p.loc, p.b.getIndexType(), clamped));
    if (taps.weights.empty() || !op.getExcludeOutside())
      continue;
    Value isInside = emitCompare(p.b, nn::CompareKind::Eq, place, clamped, p.i64);
    taps.weights[i] = p.select(isInside, taps.weights[i], p.real(0));
    sum = sum ? p.add(sum, taps.weights[i]) : taps.weights[i];
  }
  for (Value &weight : taps.weights)
    weight = sum ? p.div(weight, sum) : weight;
}

static Taps emitTaps(Places &p, nn::ResizeOp op, int64_t axis, Value x, Value extent) {
  Taps taps{axis, {}, {}};
  Value base =
      op.getKind() == nn::ResizeKind::Nearest ? emitRounded(p, op.getRounding(), x) : p.un(nn::UnaryKind::Floor, x);
  Value first = emitCast(p.b, base, p.f64, p.i64);
  if (op.getKind() == nn::ResizeKind::Linear)
    taps.weights = {p.sub(p.real(1), p.sub(x, base)), p.sub(x, base)};
  if (op.getKind() == nn::ResizeKind::Cubic) {
    first = p.b.create<arith::SubIOp>(p.loc, first, emitNumber(p.b, p.i64, 1));
    taps.weights = emitCubicWeights(p, p.sub(x, base), op.getCubicCoeffA().convertToDouble());
  }
  clampTaps(p, op, taps, first, extent);
  return taps;
}

Value ScalarEmitter::emitResize(nn::ResizeOp op, ArrayRef<AffineExpr> index) {
  ShapeDims from = outliner.getDims(op.getInput()), to = outliner.getDims(op.getOutput());
  SmallVector<Value> places = llvm::map_to_vector(index, [&](AffineExpr expr) { return emitIndex(expr); });
  Places p{builder};
  SmallVector<Taps> axes;
  for (auto [i, axis] : llvm::enumerate(op.getAxes())) {
    std::optional<float> given = op.getScales() ? std::optional((*op.getScales())[i]) : std::nullopt;
    // An axis that keeps its extent keeps its elements, by every rule.
    if (from[axis] == to[axis] && given.value_or(1) == 1)
      continue;
    Value old = emitSize(from[axis], p.f64), wanted = emitSize(to[axis], p.f64);
    Value scale = given ? p.real(*given) : p.div(wanted, old);
    Value position = builder.create<arith::IndexCastOp>(p.loc, p.i64, places[axis]);
    Value span = given ? p.mul(scale, old) : wanted, at = emitCast(builder, position, p.i64, p.f64);
    Value x = emitCoordinate(p, op.getCoordinates(), at, old, wanted, scale, span);
    axes.push_back(emitTaps(p, op, axis, x, emitSize(from[axis], p.i64)));
  }
  Type type = elementTypeOf(op.getOutput()), sumType = getSumType(type);
  bool isNearest = op.getKind() == nn::ResizeKind::Nearest;
  // The sum over the taps of axes[number], of sums over those of the axes behind it.
  std::function<Value(size_t)> emitSum = [&](size_t number) -> Value {
    if (number == axes.size()) {
      Value element = emitPart(op.getInput(), places);
      return isNearest ? element : emitCast(builder, element, type, sumType);
    }
    Taps &taps = axes[number];
    Value sum;
    for (size_t i = 0; i < taps.places.size(); ++i) {
      places[taps.axis] = taps.places[i];
      Value term = emitSum(number + 1);
      if (!taps.weights.empty())
        term = emitBinary(builder, nn::BinaryKind::Mul, emitCast(builder, taps.weights[i], p.f64, sumType), term,
                          sumType, sumType);
      sum = sum ? emitBinary(builder, nn::BinaryKind::Add, sum, term, sumType, sumType) : term;
    }
    return sum;
  };
  Value value = emitSum(0);
  return isNearest ? value : emitCast(builder, value, sumType, type);
}
