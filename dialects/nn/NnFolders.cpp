// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structural folders: an op that changes nothing becomes its operand, a shape that is static becomes a constant. Values
// are computed elsewhere, by the pass nn-fold-constants. No folder changes a result's type, not even to a more exact
// one, since users may rely on it.

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/ShapeInference.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle::nn;

/// |value| where it has the type that a user expects, else nothing to fold to.
static OpFoldResult sameType(Value value, Value result) {
  return value.getType() == result.getType() ? OpFoldResult(value) : OpFoldResult();
}

/// The one value that a small literal repeats.
static std::optional<double> getSplat(Value value) {
  DenseElementsAttr literal;
  if (!value || !matchPattern(value, m_Constant(&literal)) || !literal.isSplat())
    return std::nullopt;
  if (auto floats = dyn_cast<DenseFPElementsAttr>(literal))
    return floats.getSplatValue<APFloat>().convertToDouble();
  APInt integer = literal.getSplatValue<APInt>();
  // Bools and unsigned integers aren't sign-extended.
  bool isSigned = literal.getElementType().isSignlessInteger() && integer.getBitWidth() > 1;
  return isSigned ? static_cast<double>(integer.getSExtValue()) : static_cast<double>(integer.getZExtValue());
}

//===------------------------------------------------------------------------------------------------------------===//
// Maps.
//===------------------------------------------------------------------------------------------------------------===//

OpFoldResult UnaryOp::fold(FoldAdaptor) {
  auto inner = getInput().getDefiningOp<UnaryOp>();
  if (!inner || inner.getKind() != getKind())
    return {};
  switch (getKind()) {
  // Twice is not at all.
  case UnaryKind::Neg:
  case UnaryKind::Not:
  case UnaryKind::BitwiseNot:
    return sameType(inner.getInput(), getOutput());
  // Twice is once.
  case UnaryKind::Abs:
  case UnaryKind::Sign:
  case UnaryKind::Relu:
  case UnaryKind::Floor:
  case UnaryKind::Ceil:
  case UnaryKind::Round:
    return sameType(getInput(), getOutput());
  default:
    return {};
  }
}

/// True where a right operand of |splat| changes nothing, bit for bit: x + 0.0 isn't in this list, as -0.0 + 0.0 is
/// 0.0.
static bool isRightNeutral(BinaryKind kind, double splat, bool isFloat) {
  switch (kind) {
  case BinaryKind::Add:
    return splat == 0 && !isFloat;
  case BinaryKind::Sub:
    return splat == 0 && !(isFloat && std::signbit(splat));
  case BinaryKind::Mul:
  case BinaryKind::Div:
  case BinaryKind::Pow:
  case BinaryKind::And:
    return splat == 1;
  case BinaryKind::Or:
  case BinaryKind::Xor:
  case BinaryKind::BitwiseOr:
  case BinaryKind::BitwiseXor:
    return splat == 0;
  default:
    return false;
  }
}

OpFoldResult BinaryOp::fold(FoldAdaptor) {
  bool isFloat = isa<FloatType>(getTensorType(getLhs()).getElementType());
  BinaryKind kind = getKind();
  if (std::optional<double> right = getSplat(getRhs()); right && isRightNeutral(kind, *right, isFloat))
    if (OpFoldResult lhs = sameType(getLhs(), getOutput()))
      return lhs;
  bool commutes = kind != BinaryKind::Sub && kind != BinaryKind::Div && kind != BinaryKind::Pow;
  if (std::optional<double> left = getSplat(getLhs()); left && commutes && isRightNeutral(kind, *left, isFloat))
    return sameType(getRhs(), getOutput());
  return {};
}

OpFoldResult WhereOp::fold(FoldAdaptor) {
  if (getOnTrue() == getOnFalse())
    return sameType(getOnTrue(), getOutput());
  if (std::optional<double> condition = getSplat(getCondition()))
    return sameType(*condition != 0 ? getOnTrue() : getOnFalse(), getOutput());
  return {};
}

/// True where each value of |from| has a counterpart in |to| that converts back to it.
static bool isLossless(Type from, Type to) {
  if (from.isInteger(1))
    return true;
  if (auto source = dyn_cast<FloatType>(from)) {
    auto target = dyn_cast<FloatType>(to);
    return target && source != target && target.getFPMantissaWidth() >= source.getFPMantissaWidth() &&
           target.getWidth() > source.getWidth();
  }
  // Integers of any width come back from one at least as wide: conversions keep the low bits.
  return isa<IntegerType>(to) && to.getIntOrFloatBitWidth() >= from.getIntOrFloatBitWidth();
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (OpFoldResult input = sameType(getInput(), getOutput()))
    return input;
  if (auto inner = getInput().getDefiningOp<CastOp>())
    if (isLossless(getTensorType(inner.getInput()).getElementType(), inner.getTo()))
      return sameType(inner.getInput(), getOutput());
  return {};
}

OpFoldResult ClipOp::fold(FoldAdaptor) {
  return getMin() || getMax() ? OpFoldResult() : sameType(getInput(), getOutput());
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  ReduceKind kind = getKind();
  bool isIdentity = kind == ReduceKind::Sum || kind == ReduceKind::Mean || kind == ReduceKind::Max ||
                    kind == ReduceKind::Min || kind == ReduceKind::Prod;
  return getAxes().empty() && isIdentity ? sameType(getInput(), getOutput()) : OpFoldResult();
}

//===------------------------------------------------------------------------------------------------------------===//
// Views.
//===------------------------------------------------------------------------------------------------------------===//

/// True where two tensors of this type have equal extents if they have equally many elements: all are known, or all but
/// one and none is 0.
static bool isDeterminedByCount(RankedTensorType type) {
  return type.getNumDynamicDims() == 0 || (type.getNumDynamicDims() == 1 && !llvm::is_contained(type.getShape(), 0));
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  auto type = getTensorType(getOutput());
  return isDeterminedByCount(type) ? sameType(getData(), getOutput()) : OpFoldResult();
}

OpFoldResult FlattenOp::fold(FoldAdaptor) {
  bool isIdentity = getTensorType(getInput()).getRank() == 2 && getAxis() == 1;
  return isIdentity ? sameType(getInput(), getOutput()) : OpFoldResult();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  ArrayRef<int64_t> perm = getPerm();
  return llvm::is_sorted(perm) ? sameType(getInput(), getOutput()) : OpFoldResult();
}

OpFoldResult SqueezeOp::fold(FoldAdaptor) {
  if (getAxes().empty())
    return sameType(getInput(), getOutput());
  auto inner = getInput().getDefiningOp<UnsqueezeOp>();
  return inner && inner.getAxes() == getAxes() ? sameType(inner.getInput(), getOutput()) : OpFoldResult();
}

OpFoldResult UnsqueezeOp::fold(FoldAdaptor) {
  if (getAxes().empty())
    return sameType(getInput(), getOutput());
  auto inner = getInput().getDefiningOp<SqueezeOp>();
  return inner && inner.getAxes() == getAxes() ? sameType(inner.getInput(), getOutput()) : OpFoldResult();
}

//===------------------------------------------------------------------------------------------------------------===//
// Repeating, joining, parting, choosing.
//===------------------------------------------------------------------------------------------------------------===//

OpFoldResult ExpandOp::fold(FoldAdaptor) {
  auto input = getTensorType(getInput());
  auto shape = getKnownInts(getShape());
  if (!shape || static_cast<int64_t>(shape->size()) > input.getRank())
    return {};
  // A 1 keeps the input's extent, and so does a number equal to it.
  bool keepsAll = llvm::all_of(llvm::zip(*shape, input.getShape().take_back(shape->size())), [](auto pair) {
    auto [given, extent] = pair;
    return given == 1 || (given == extent && given != kDynamic);
  });
  return keepsAll ? sameType(getInput(), getOutput()) : OpFoldResult();
}

OpFoldResult TileOp::fold(FoldAdaptor) {
  auto repeats = getConstantInts(getRepeats());
  bool isIdentity = repeats && llvm::all_of(*repeats, [](int64_t repeat) { return repeat == 1; });
  return isIdentity ? sameType(getInput(), getOutput()) : OpFoldResult();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? sameType(getInputs().front(), getOutput()) : OpFoldResult();
}

LogicalResult SplitOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &results) {
  if (getNumOutputs() != 1 || getInput().getType() != getOutputs().front().getType())
    return failure();
  results.push_back(getInput());
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  auto starts = getConstantInts(getStarts()), ends = getConstantInts(getEnds());
  std::optional<SmallVector<int64_t>> axes, steps;
  if (getAxes() && !(axes = getConstantInts(getAxes())))
    return {};
  if (getSteps() && !(steps = getConstantInts(getSteps())))
    return {};
  if (!starts || !ends)
    return {};
  auto data = getTensorType(getData());
  for (size_t i = 0; i < starts->size(); ++i) {
    int64_t axis = axes ? (*axes)[i] : i;
    int64_t extent = data.getDimSize(axis < 0 ? axis + data.getRank() : axis), start = (*starts)[i];
    bool fromStart = start == 0 || (start < 0 && extent != kDynamic && start <= -extent);
    // The greatest int64_t is beyond any extent.
    bool toEnd = (*ends)[i] == std::numeric_limits<int64_t>::max() || (extent != kDynamic && (*ends)[i] >= extent);
    if (!fromStart || !toEnd || (steps && (*steps)[i] != 1))
      return {};
  }
  return sameType(getData(), getOutput());
}

//===------------------------------------------------------------------------------------------------------------===//
// Static shapes.
//===------------------------------------------------------------------------------------------------------------===//

OpFoldResult ShapeOp::fold(FoldAdaptor) {
  ArrayRef<int64_t> extents = getTensorType(getInput()).getShape().slice(getStart(), getEnd() - getStart());
  auto type = getTensorType(getOutput());
  if (llvm::is_contained(extents, kDynamic) || !type.hasStaticShape())
    return {};
  return DenseElementsAttr::get(type, extents);
}

OpFoldResult SizeOp::fold(FoldAdaptor) {
  std::optional<int64_t> count = multiplyExtents(getTensorType(getInput()).getShape());
  if (!count || *count == kDynamic)
    return {};
  return DenseElementsAttr::get(getTensorType(getOutput()), *count);
}
