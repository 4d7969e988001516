// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known of small integer tensors: enough for shape inference to see the constant extents in an exporter's
// Shape, Gather, Unsqueeze, Concat chains. Symbols are the shape analysis's business.

#include "dialects/nn/ConstantData.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle::nn;

/// Shapes and slice bounds have one entry a dimension; more is data.
static constexpr int64_t kMaxInts = 64;

/// How many ops one question may look at. Exporters' chains are short; the bound keeps inference linear on any graph,
/// and finite on one that isn't verified yet and may hold cycles.
static constexpr unsigned kMaxOps = 128;

using Ints = SmallVector<int64_t>;

std::optional<Ints> heddle::nn::getConstantInts(Value value) {
  auto constant = value ? value.getDefiningOp<ConstantOp>() : ConstantOp();
  auto type = constant ? dyn_cast<RankedTensorType>(value.getType()) : RankedTensorType();
  if (!type || !type.getElementType().isInteger() || !type.hasStaticShape())
    return std::nullopt;
  std::optional<int64_t> size = getRawSize(type);
  if (!size || *size > kMaxInts * 8 || type.getNumElements() > kMaxInts)
    return std::nullopt;
  // A constant that can't be read is reported by whoever needs its values.
  ScopedDiagnosticHandler silence(value.getContext(), [](Diagnostic &) { return success(); });
  FailureOr<ConstantData> data = ConstantData::get(constant);
  if (failed(data))
    return std::nullopt;
  Ints ints;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    ints.push_back(data->getInt(i));
  return ints;
}

static std::optional<Ints> evaluate(Value value, unsigned &budget);

static bool isVector(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 1;
}

/// The extents that |op| takes. It may not be verified yet, hence the checks.
static std::optional<Ints> evaluateShape(ShapeOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getInput().getType());
  auto start = op.getProperties().start, end = op.getProperties().end;
  if (!type || !start || !end || start.getInt() < 0 || start.getInt() > end.getInt() || end.getInt() > type.getRank())
    return std::nullopt;
  return Ints(type.getShape().slice(start.getInt(), end.getInt() - start.getInt()));
}

static std::optional<Ints> evaluateConcat(ConcatOp op, unsigned &budget) {
  Ints ints;
  for (Value input : op.getInputs()) {
    std::optional<Ints> part = evaluate(input, budget);
    if (!part || static_cast<int64_t>(ints.size() + part->size()) > kMaxInts)
      return std::nullopt;
    ints.append(*part);
  }
  return ints;
}

static std::optional<Ints> evaluateGather(GatherOp op, unsigned &budget) {
  std::optional<Ints> data = evaluate(op.getData(), budget), indices = getConstantInts(op.getIndices());
  if (!data || !indices || !isVector(op.getData()))
    return std::nullopt;
  Ints ints;
  for (int64_t index : *indices) {
    int64_t position = index < 0 ? index + static_cast<int64_t>(data->size()) : index;
    if (position < 0 || position >= static_cast<int64_t>(data->size()))
      return std::nullopt;
    ints.push_back((*data)[position]);
  }
  return ints;
}

static std::optional<Ints> evaluateSlice(SliceOp op, unsigned &budget) {
  std::optional<Ints> data = evaluate(op.getData(), budget);
  std::optional<Ints> starts = getConstantInts(op.getStarts()), ends = getConstantInts(op.getEnds());
  std::optional<Ints> steps = op.getSteps() ? getConstantInts(op.getSteps()) : Ints{1};
  if (!isVector(op.getData()) || !data || !starts || !ends || !steps || starts->size() != 1 || ends->size() != 1 ||
      *steps != Ints{1})
    return std::nullopt;
  int64_t size = data->size();
  auto clamp = [&](int64_t bound) { return std::clamp<int64_t>(bound < 0 ? bound + size : bound, 0, size); };
  int64_t begin = clamp(starts->front()), end = clamp(ends->front());
  if (begin >= end)
    return Ints{};
  return Ints(data->begin() + begin, data->begin() + end);
}

/// Sums, differences, products and quotients of extents, where nothing wraps: how definitions that are written out get
/// the sizes of parts.
static std::optional<int64_t> evaluateArithmetic(BinaryKind kind, int64_t left, int64_t right) {
  if (left == ShapedType::kDynamic || right == ShapedType::kDynamic)
    return ShapedType::kDynamic;
  int64_t result = 0;
  switch (kind) {
  case BinaryKind::Add:
    return llvm::AddOverflow(left, right, result) ? std::nullopt : std::optional(result);
  case BinaryKind::Sub:
    return llvm::SubOverflow(left, right, result) ? std::nullopt : std::optional(result);
  case BinaryKind::Mul:
    return llvm::MulOverflow(left, right, result) ? std::nullopt : std::optional(result);
  case BinaryKind::Div:
    return left < 0 || right < 1 ? std::nullopt : std::optional(left / right);
  default:
    return std::nullopt;
  }
}

static std::optional<Ints> evaluateBinary(BinaryOp op, unsigned &budget) {
  std::optional<Ints> left = evaluate(op.getLhs(), budget), right = evaluate(op.getRhs(), budget);
  auto type = dyn_cast<RankedTensorType>(op.getOutput().getType());
  // Narrower than 64 bits the numbers might wrap.
  if (!left || !right || left->empty() || right->empty() || !type || !type.getElementType().isInteger(64))
    return std::nullopt;
  size_t size = std::max(left->size(), right->size());
  if ((left->size() != size && left->size() != 1) || (right->size() != size && right->size() != 1))
    return std::nullopt;
  Ints ints;
  for (size_t i = 0; i < size; ++i) {
    std::optional<int64_t> number =
        evaluateArithmetic(op.getKind(), (*left)[left->size() == 1 ? 0 : i], (*right)[right->size() == 1 ? 0 : i]);
    if (!number)
      return std::nullopt;
    ints.push_back(*number);
  }
  return ints;
}

/// The number of elements of a tensor of static shape, such as the rank of what a shape was taken of.
static std::optional<Ints> evaluateSize(SizeOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getInput().getType());
  if (!type || !type.hasStaticShape())
    return std::nullopt;
  return Ints{type.getNumElements()};
}

static std::optional<Ints> evaluateFill(ConstantOfShapeOp op, unsigned &budget) {
  std::optional<Ints> shape = evaluate(op.getShape(), budget);
  auto value = dyn_cast_or_null<IntegerAttr>(op.getProperties().value);
  if (!shape || shape->size() != 1 || shape->front() < 0 || shape->front() > kMaxInts || !value)
    return std::nullopt;
  return Ints(shape->front(), value.getInt());
}

static std::optional<Ints> evaluateRange(RangeOp op, unsigned &budget) {
  std::optional<Ints> start = evaluate(op.getStart(), budget), limit = evaluate(op.getLimit(), budget);
  std::optional<Ints> delta = evaluate(op.getDelta(), budget);
  auto isSmall = [](const std::optional<Ints> &ints) {
    return ints && ints->size() == 1 && ints->front() >= -kMaxInts && ints->front() <= kMaxInts;
  };
  if (!isSmall(start) || !isSmall(limit) || !isSmall(delta) || delta->front() == 0)
    return std::nullopt;
  Ints ints;
  for (int64_t i = start->front(); delta->front() > 0 ? i < limit->front() : i > limit->front(); i += delta->front())
    ints.push_back(i);
  return ints.size() <= kMaxInts ? std::optional(ints) : std::nullopt;
}

static std::optional<Ints> evaluateNegation(UnaryOp op, unsigned &budget) {
  // The least number of 64 bits, which has no counterpart, stands for an unknown one.
  auto type = dyn_cast<RankedTensorType>(op.getInput().getType());
  if (op.getKind() != UnaryKind::Neg || !type || !type.getElementType().isInteger(64))
    return std::nullopt;
  std::optional<Ints> ints = evaluate(op.getInput(), budget);
  for (int64_t &number : ints ? MutableArrayRef<int64_t>(*ints) : MutableArrayRef<int64_t>())
    number = number == ShapedType::kDynamic ? number : -number;
  return ints;
}

/// Unknown elements of |value|, as far as their number is static.
static std::optional<Ints> unknown(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() > 1 || !type.hasStaticShape() || type.getNumElements() > kMaxInts)
    return std::nullopt;
  return Ints(type.getNumElements(), ShapedType::kDynamic);
}

static std::optional<Ints> evaluate(Value value, unsigned &budget) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() > 1 || !type.getElementType().isInteger())
    return std::nullopt;
  if (std::optional<Ints> constant = getConstantInts(value))
    return constant;
  Operation *op = value.getDefiningOp();
  std::optional<Ints> ints;
  if (op && budget > 0) {
    --budget;
    ints = llvm::TypeSwitch<Operation *, std::optional<Ints>>(op)
               .Case([](ShapeOp shape) { return evaluateShape(shape); })
               .Case<UnsqueezeOp, SqueezeOp>([&](auto view) { return evaluate(view.getInput(), budget); })
               .Case([&](CastOp cast) -> std::optional<Ints> {
                 // Narrower than 32 bits an extent might not fit.
                 if (type.getElementTypeBitWidth() < 32)
                   return std::nullopt;
                 return evaluate(cast.getInput(), budget);
               })
               .Case([&](ConcatOp concat) { return evaluateConcat(concat, budget); })
               .Case([&](BinaryOp binary) { return evaluateBinary(binary, budget); })
               .Case([&](UnaryOp unary) { return evaluateNegation(unary, budget); })
               .Case([](SizeOp size) { return evaluateSize(size); })
               .Case([&](ConstantOfShapeOp fill) { return evaluateFill(fill, budget); })
               .Case([&](RangeOp range) { return evaluateRange(range, budget); })
               .Case([&](GatherOp gather) { return evaluateGather(gather, budget); })
               .Case([&](SliceOp slice) { return evaluateSlice(slice, budget); })
               .Default([](Operation *) { return std::nullopt; });
  }
  return ints ? ints : unknown(value);
}

std::optional<Ints> heddle::nn::getKnownInts(Value value) {
  unsigned budget = kMaxOps;
  return evaluate(value, budget);
}
