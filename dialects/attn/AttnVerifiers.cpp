// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of attention: maps, extents by name, regions, quantisation parameters, states.

#include "dialects/attn/AttnOps.h"
#include "dialects/nn/ShapeInference.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle::attn;
using heddle::nn::formatList;
using heddle::nn::getTensorType;
using heddle::nn::kDynamic;
using heddle::nn::mayEqual;
using heddle::nn::meet;

namespace {

/// An extent that several tensors share, and the tensor that gave it.
struct SharedExtent {
  StringRef noun;
  int64_t extent = kDynamic;
  StringRef owner = {};
};

/// The named extents of one attention.
struct AttentionExtents {
  SharedExtent batch{"batch size"};
  SharedExtent rows{"sequence length"};
  SharedExtent keys{"sequence length"};
  SharedExtent size{"head size"};
  SharedExtent valueSize{"head size"};
};

/// Which of attention's tensors a map belongs to.
enum class Role { Query, Key, Value, Output };

StringRef getName(Role role) {
  switch (role) {
  case Role::Query:
    return "query";
  case Role::Key:
    return "key";
  case Role::Value:
    return "value";
  case Role::Output:
    return "output";
  }
  return "";
}

/// Reports that |owner| has |extent| where another tensor had another one.
LogicalResult unify(Operation *op, SharedExtent &shared, int64_t extent, StringRef owner) {
  if (!mayEqual(shared.extent, extent))
    return op->emitOpError("expects ") << shared.owner << " and " << owner << " of equal " << shared.noun << ", got "
                                       << shared.extent << " and " << extent;
  if (shared.extent == kDynamic && extent != kDynamic)
    shared.owner = owner;
  shared.extent = meet(shared.extent, extent);
  return success();
}

/// Checks that |map| is fit for |role|: a projected permutation of the dimensions that the tensor has.
LogicalResult verifyMap(Operation *op, Role role, AffineMap map, int64_t rank) {
  StringRef name = getName(role);
  if (map.getNumDims() != kHeadSize + 1 || map.getNumSymbols() != 0 || !map.isProjectedPermutation())
    return op->emitOpError("expects ") << name << "_map to be a projected permutation of (b, n, q, kv, d)";
  if (map.getNumResults() != rank)
    return op->emitOpError("expects ") << name << "_map to have " << rank << " results, one a dimension, got "
                                       << map.getNumResults();
  bool ofKeys = role == Role::Key || role == Role::Value;
  if (map.isFunctionOfDim(ofKeys ? kQuery : kKey))
    return op->emitOpError("expects ") << name << "_map without " << (ofKeys ? "q" : "kv");
  if (!map.isFunctionOfDim(ofKeys ? kKey : kQuery) || !map.isFunctionOfDim(kHeadSize))
    return op->emitOpError("expects ") << name << "_map with " << (ofKeys ? "kv" : "q") << " and d";
  // Inputs may serve all batches or heads alike; the output is one for each.
  if (role == Role::Output && (!map.isFunctionOfDim(kBatch) || !map.isFunctionOfDim(kHead)))
    return op->emitOpError("expects output_map with b and n");
  return success();
}

/// Checks one tensor against its map and notes its extents.
LogicalResult verifyTensor(Operation *op, Role role, AffineMap map, RankedTensorType type, int64_t heads,
                           AttentionExtents &extents) {
  if (failed(verifyMap(op, role, map, type.getRank())))
    return failure();
  StringRef name = getName(role);
  for (auto [i, extent] : llvm::enumerate(type.getShape())) {
    LogicalResult fits = success();
    switch (map.getDimPosition(i)) {
    case kBatch:
      fits = unify(op, extents.batch, extent, name);
      break;
    case kHead:
      if (!mayEqual(extent, heads))
        return op->emitOpError("expects ") << heads << " heads in " << name << ", got " << extent;
      break;
    case kQuery:
      fits = unify(op, extents.rows, extent, name);
      break;
    case kKey:
      fits = unify(op, extents.keys, extent, name);
      break;
    default:
      bool ofValues = role == Role::Value || role == Role::Output;
      fits = unify(op, ofValues ? extents.valueSize : extents.size, extent, name);
    }
    if (failed(fits))
      return failure();
  }
  return success();
}

/// Checks query, key, value and output (or accumulator).
LogicalResult verifyTensors(AttentionInterface op, RankedTensorType output, AttentionExtents &extents) {
  int64_t queryHeads = op.getQNumHeads(), keyHeads = op.getKvNumHeads();
  if (queryHeads < 1 || keyHeads < 1 || queryHeads % keyHeads != 0)
    return op->emitOpError("expects q_num_heads to be a multiple of kv_num_heads, got ")
           << queryHeads << " and " << keyHeads;
  auto check = [&](Role role, Value value, AffineMap map, int64_t heads) {
    return verifyTensor(op, role, map, getTensorType(value), heads, extents);
  };
  if (failed(check(Role::Query, op.getQuery(), op.getQueryMapOrDefault(), queryHeads)) ||
      failed(check(Role::Key, op.getKey(), op.getKeyMapOrDefault(), keyHeads)) ||
      failed(check(Role::Value, op.getValue(), op.getValueMapOrDefault(), keyHeads)) ||
      failed(verifyTensor(op, Role::Output, op.getOutputMapOrDefault(), output, queryHeads, extents)))
    return failure();
  Type shared;
  for (Value tensor : {op.getQuery(), op.getKey(), op.getValue()}) {
    Type element = getTensorType(tensor).getElementType();
    if (!isa<FloatType>(element))
      continue;
    if (shared && shared != element)
      return op->emitOpError("expects query, key and value of one float type, got ") << shared << " and " << element;
    shared = element;
  }
  return success();
}

/// Checks scale, q_offset and kv_len.
LogicalResult verifyScalars(AttentionInterface op, const AttentionExtents &extents) {
  if (op.getScale().has_value() == static_cast<bool>(op.getScaleOperand()))
    return op->emitOpError("expects exactly one of the attribute scale and the operand scale");
  if (Value offset = op.getQOffset()) {
    RankedTensorType type = getTensorType(offset);
    if (type.getRank() > 1 || (type.getRank() == 1 && !mayEqual(type.getDimSize(0), extents.batch.extent)))
      return op->emitOpError("expects q_offset of shape [] or ")
             << formatList(extents.batch.extent) << ", got " << formatList(type.getShape());
  }
  if (Value lengths = op.getKvLen()) {
    RankedTensorType type = getTensorType(lengths);
    if (type.getRank() != 1 || !mayEqual(type.getDimSize(0), extents.batch.extent))
      return op->emitOpError("expects kv_len of shape ")
             << formatList(extents.batch.extent) << ", got " << formatList(type.getShape());
  }
  return success();
}

/// Checks the scale and zero point of one tensor.
LogicalResult verifyQuantization(Operation *op, StringRef name, Value tensor, Value scale, Value zeroPoint,
                                 bool mayScaleFloats = false) {
  RankedTensorType type = getTensorType(tensor);
  bool isInteger = type.getElementType().isInteger();
  if (isInteger != static_cast<bool>(scale) && !(scale && mayScaleFloats))
    return op->emitOpError("expects ") << name << "_scale exactly where " << name << " holds integers";
  if (zeroPoint && !isInteger)
    return op->emitOpError("expects no ") << name << "_zero_point where " << name << " holds floats";
  if (zeroPoint && getTensorType(zeroPoint).getElementType() != type.getElementType())
    return op->emitOpError("expects ") << name << "_zero_point of type " << type.getElementType() << ", got "
                                       << getTensorType(zeroPoint).getElementType();
  for (auto [parameter, suffix] : {std::pair(scale, "_scale"), std::pair(zeroPoint, "_zero_point")}) {
    if (!parameter || getTensorType(parameter).getRank() == 0)
      continue;
    ArrayRef<int64_t> shape = getTensorType(parameter).getShape();
    if (shape.size() != static_cast<size_t>(type.getRank()) || !heddle::nn::broadcastsOnto(shape, type.getShape()))
      return op->emitOpError("expects ") << name << suffix << " to be a scalar or to broadcast onto " << name
                                         << " of shape " << formatList(type.getShape()) << ", got "
                                         << formatList(shape);
  }
  return success();
}

LogicalResult verifyQuantization(AttentionInterface op) {
  auto sdpa = dyn_cast<SdpaOp>(op.getOperation());
  if (failed(verifyQuantization(op, "query", op.getQuery(), op.getQueryScale(), op.getQueryZeroPoint())) ||
      failed(verifyQuantization(op, "key", op.getKey(), op.getKeyScale(), op.getKeyZeroPoint())) ||
      failed(verifyQuantization(op, "value", op.getValue(), op.getValueScale(), op.getValueZeroPoint(),
                                sdpa && sdpa.getPvInt8Block())))
    return failure();
  std::optional<APFloat> step = op.getProbabilityScale();
  if (step && (!step->isFinite() || step->isNegative() || step->isZero()))
    return op->emitOpError("expects a probability_scale above 0");
  return success();
}

/// Checks that a capture reaches as far as its map does, where both are known.
LogicalResult verifyCapture(Operation *op, StringRef region, size_t index, RankedTensorType type, AffineMap map,
                            ArrayRef<int64_t> extents) {
  if (map.getNumDims() != kHeadSize || map.getNumSymbols() != 0)
    return op->emitOpError("expects maps over (b, n, q, kv) for ") << region << " captures";
  if (map.getNumResults() != type.getRank())
    return op->emitOpError("expects the map of ") << region << " capture " << index << " to have " << type.getRank()
                                                  << " results, got " << map.getNumResults();
  for (auto [axis, result] : llvm::enumerate(map.getResults())) {
    int64_t reach = 0;
    if (auto constant = dyn_cast<AffineConstantExpr>(result))
      reach = constant.getValue() < 0 ? std::numeric_limits<int64_t>::max() : constant.getValue() + 1;
    else if (auto dimension = dyn_cast<AffineDimExpr>(result))
      reach = extents[dimension.getPosition()];
    if (reach != kDynamic && !type.isDynamicDim(axis) && reach > type.getDimSize(axis))
      return op->emitOpError("expects the map of ") << region << " capture " << index << " to stay within its shape "
                                                    << formatList(type.getShape()) << " at axis " << axis;
  }
  return success();
}

LogicalResult verifyCaptures(AttentionInterface op, StringRef name, OperandRange captures, ArrayRef<AffineMap> maps,
                             Region &region, const AttentionExtents &extents) {
  if (captures.size() != maps.size())
    return op->emitOpError("expects one map a ")
           << name << " capture, got " << maps.size() << " for " << captures.size();
  if (!captures.empty() && region.empty())
    return op->emitOpError("expects no ") << name << " captures without a " << name << " region";
  int64_t heads = op.getQNumHeads();
  int64_t bounds[] = {extents.batch.extent, heads, extents.rows.extent, extents.keys.extent};
  for (auto [i, capture, map] : llvm::enumerate(captures, maps))
    if (failed(verifyCapture(op, name, i, getTensorType(capture), map, bounds)))
      return failure();
  return success();
}

/// The float type that scores and states have.
Type getScoreType(AttentionInterface op) {
  Type query = getTensorType(op.getQuery()).getElementType();
  return query.isF64() ? query : Float32Type::get(op->getContext());
}

/// Checks what whole and running attention share.
LogicalResult verifyAttention(AttentionInterface op, RankedTensorType output, AttentionExtents &extents) {
  if (failed(verifyTensors(op, output, extents)) || failed(verifyScalars(op, extents)) ||
      failed(verifyQuantization(op)))
    return failure();
  if (failed(verifyCaptures(op, "score", op.getScoreCaptures(), op.getScoreCaptureMapList(), op.getScore(), extents)) ||
      failed(verifyCaptures(op, "mask", op.getMaskCaptures(), op.getMaskCaptureMapList(), op.getMask(), extents)))
    return failure();
  return success();
}

/// Checks that |value| has element type |element| and the shape |expected|.
LogicalResult verifyShape(Operation *op, StringRef name, Value value, StringRef dimensions,
                          ArrayRef<int64_t> expected) {
  ArrayRef<int64_t> shape = getTensorType(value).getShape();
  if (succeeded(verifyCompatibleShape(shape, expected)))
    return success();
  return op->emitOpError("expects ") << name << " of shape " << dimensions << " = " << formatList(expected) << ", got "
                                     << formatList(shape);
}

LogicalResult verifyElementType(Operation *op, StringRef name, Value value, Type expected) {
  Type element = getTensorType(value).getElementType();
  if (element == expected)
    return success();
  return op->emitOpError("expects ") << name << " of type " << expected << ", got " << element;
}

} // namespace

//===------------------------------------------------------------------------------------------------------------===//
// Regions.
//===------------------------------------------------------------------------------------------------------------===//

/// Checks that a region holds scalar arith and math ops and looks at nothing outside but constants.
static LogicalResult verifyBody(Operation *op, StringRef name, Region &region) {
  for (Operation &inner : region.front()) {
    StringRef dialect = inner.getName().getDialectNamespace();
    if (dialect != "arith" && dialect != "math" && !isa<YieldOp>(inner))
      return inner.emitOpError("expects only arith and math ops in the ") << name << " region";
    for (Type type : inner.getResultTypes())
      if (!type.isIntOrIndexOrFloat())
        return inner.emitOpError("expects scalars in the ") << name << " region, got " << type;
    for (Value operand : inner.getOperands())
      if (operand.getParentRegion() != &region && !matchPattern(operand, m_Constant()))
        return inner.emitOpError("expects the ") << name << " region to use captures and constants only";
  }
  return success();
}

static LogicalResult verifyRegion(AttentionInterface op, StringRef name, Region &region, TypeRange leading,
                                  OperandRange captures, Type result) {
  if (region.empty())
    return success();
  SmallVector<Type> expected(leading);
  expected.append(4, IndexType::get(op->getContext()));
  for (Value capture : captures)
    expected.push_back(getTensorType(capture).getElementType());
  if (TypeRange(region.getArgumentTypes()) != TypeRange(expected))
    return op->emitOpError("expects ") << name << " region arguments (" << expected << "), got ("
                                       << SmallVector<Type>(region.getArgumentTypes()) << ")";
  auto yield = region.front().empty() ? YieldOp() : dyn_cast<YieldOp>(region.front().back());
  if (!yield)
    return op->emitOpError("expects the ") << name << " region to end with attn.yield";
  if (yield.getValue().getType() != result)
    return op->emitOpError("expects the ")
           << name << " region to yield " << result << ", got " << yield.getValue().getType();
  return verifyBody(op, name, region);
}

static LogicalResult verifyRegions(AttentionInterface op) {
  Type score = getScoreType(op);
  if (failed(verifyRegion(op, "score", op.getScore(), score, op.getScoreCaptures(), score)))
    return failure();
  return verifyRegion(op, "mask", op.getMask(), {}, op.getMaskCaptures(), IntegerType::get(op->getContext(), 1));
}

//===------------------------------------------------------------------------------------------------------------===//
// Ops.
//===------------------------------------------------------------------------------------------------------------===//

/// Checks what 8-bit scores need: floats to quantise, and sums that f32 holds.
static LogicalResult verifyQkInt8(SdpaOp op, int64_t headSize) {
  if (!op.getQkInt8())
    return success();
  Type query = getTensorType(op.getQuery()).getElementType(), key = getTensorType(op.getKey()).getElementType();
  if (!query.isF32() || !key.isF32())
    return op.emitOpError("expects query and key of f32 with qk_int8, got ") << query << " and " << key;
  if (ShapedType::isDynamic(headSize) || headSize > SdpaOp::kMaxQkInt8HeadSize)
    return op.emitOpError("expects a static head size of at most ")
           << SdpaOp::kMaxQkInt8HeadSize << " with qk_int8, got sizes " << formatList(headSize);
  return success();
}

/// Checks what weights and values of 8 bits need: floats to quantise, scales a channel, sums that f32 holds, and nobody
/// who asks for weights.
static LogicalResult verifyPvInt8(SdpaOp op) {
  std::optional<int64_t> block = op.getPvInt8Block();
  if (!block)
    return success();
  if (*block < 1 || *block > SdpaOp::kMaxPvInt8Block)
    return op.emitOpError("expects pv_int8_block from 1 to ") << SdpaOp::kMaxPvInt8Block << ", got " << *block;
  Type value = getTensorType(op.getValue()).getElementType();
  if (!value.isF32())
    return op.emitOpError("expects a value of f32 with pv_int8_block, got ") << value;
  if (!op.getValueScale())
    return op.emitOpError("expects a value_scale with pv_int8_block");
  ArrayRef<int64_t> extents = getTensorType(op.getValueScale()).getShape();
  for (auto [extent, expr] : llvm::zip(extents, op.getValueMapOrDefault().getResults()))
    if (unsigned position = cast<AffineDimExpr>(expr).getPosition();
        (position == kBatch || position == kKey) && extent != 1)
      return op.emitOpError("expects a value_scale of extent 1 along batch and keys with pv_int8_block, got ")
             << formatList(extents);
  if (op.getLse() || op.getProbabilities() || op.getProbabilityScale() || !op.getProbability().empty())
    return op.emitOpError("expects neither lse nor probabilities nor what changes them with pv_int8_block");
  return success();
}

LogicalResult SdpaOp::verify() {
  auto op = cast<AttentionInterface>(getOperation());
  AttentionExtents extents;
  if (failed(verifyAttention(op, getTensorType(getOutput()), extents)))
    return failure();
  if (failed(verifyCaptures(op, "probability", getProbabilityCaptures(), getProbabilityCaptureMapList(),
                            getProbability(), extents)))
    return failure();
  if (!getProbability().empty() && getProbabilityScale())
    return emitOpError("expects no probability_scale beside a probability region");
  if (failed(verifyQkInt8(*this, extents.size.extent)) || failed(verifyPvInt8(*this)))
    return failure();
  int64_t heads = getQNumHeads();
  if (Value lse = getLse())
    if (failed(verifyElementType(op, "lse", lse, getScoreType(op))) ||
        failed(verifyShape(op, "lse", lse, "(b, n, q)", {extents.batch.extent, heads, extents.rows.extent})))
      return failure();
  if (Value weights = getProbabilities())
    return verifyShape(op, "probabilities", weights, "(b, n, q, kv)",
                       {extents.batch.extent, heads, extents.rows.extent, extents.keys.extent});
  return success();
}

LogicalResult SdpaOp::verifyRegions() {
  auto op = cast<AttentionInterface>(getOperation());
  if (failed(::verifyRegions(op)))
    return failure();
  Type type = getScoreType(op);
  return verifyRegion(op, "probability", getProbability(), type, getProbabilityCaptures(), type);
}

LogicalResult OnlineSdpaOp::verify() {
  auto op = cast<AttentionInterface>(getOperation());
  AttentionExtents extents;
  if (failed(verifyAttention(op, getTensorType(getAccumulator()), extents)) ||
      failed(verifyElementType(op, "accumulator", getAccumulator(), getScoreType(op))) ||
      failed(verifyElementType(op, "maximum and sum", getMaximum(), getScoreType(op))))
    return failure();
  bool keepsTypes =
      getOutAccumulator().getType() == getAccumulator().getType() &&
      llvm::all_equal({getMaximum().getType(), getSum().getType(), getOutMaximum().getType(), getOutSum().getType()});
  if (!keepsTypes)
    return emitOpError("expects results of the types of accumulator, maximum and sum");
  int64_t heads = getQNumHeads();
  return verifyShape(op, "maximum and sum", getMaximum(), "(b, n, q)",
                     {extents.batch.extent, heads, extents.rows.extent});
}

LogicalResult OnlineSdpaOp::verifyRegions() { return ::verifyRegions(cast<AttentionInterface>(getOperation())); }

/// Checks that maximum and sum have one entry for each row of the accumulator.
static LogicalResult verifyState(Operation *op, AffineMap map, Value accumulator, Value maximum) {
  RankedTensorType type = getTensorType(accumulator);
  if (failed(verifyMap(op, Role::Output, map, type.getRank())) ||
      failed(verifyElementType(op, "maximum and sum", maximum, type.getElementType())))
    return failure();
  SmallVector<int64_t> expected(3, kDynamic);
  for (auto [i, extent] : llvm::enumerate(type.getShape()))
    if (unsigned position = map.getDimPosition(i); position != kHeadSize)
      expected[position] = extent;
  return verifyShape(op, "maximum and sum", maximum, "(b, n, q)", expected);
}

LogicalResult MergePartialsOp::verify() {
  return verifyState(*this, getOutputMapOrDefault(), getAccumulator(), getMaximum());
}

LogicalResult FinalizePartialsOp::verify() {
  if (failed(verifyState(*this, getOutputMapOrDefault(), getAccumulator(), getMaximum())))
    return failure();
  ArrayRef<int64_t> expected = getTensorType(getAccumulator()).getShape(),
                    shape = getTensorType(getOutput()).getShape();
  if (failed(verifyCompatibleShape(shape, expected)))
    return emitOpError("expects an output of shape ") << formatList(expected) << ", got " << formatList(shape);
  if (Value lse = getLse())
    if (failed(verifyElementType(*this, "lse", lse, getTensorType(getMaximum()).getElementType())) ||
        failed(verifyShape(*this, "lse", lse, "(b, n, q)", getTensorType(getMaximum()).getShape())))
      return failure();
  return success();
}
