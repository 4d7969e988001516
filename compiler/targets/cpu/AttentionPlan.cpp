// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan of kernel.attention: work items of some queries of all heads that share keys, and the places in scratch of
// packed keys, a tile's scores and the running state of the item's rows.

#include "compiler/targets/cpu/KernelPlan.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace heddle::cpu {

using Loops = kernel::AttentionOp;

/// Codes that share a word.
static constexpr int64_t kBytes = 4;

static LogicalResult checkTypes(kernel::AttentionOp op) {
  auto isOf = [](Type type, Type element) { return getElementTypeOrSelf(type) == element; };
  Type f32 = Float32Type::get(op.getContext()), i64 = IntegerType::get(op.getContext(), 64);
  SmallVector<Type> floats = {op.getQuery().getType(), op.getKey().getType(), op.getValue().getType()};
  llvm::append_range(floats, op->getResultTypes());
  if (std::optional<unsigned> scale = op.getScaleInput())
    floats.push_back(op.getInputs()[*scale].getType());
  for (Type type : floats)
    if (!isOf(type, f32))
      return op.emitOpError() << "expects f32 query, key, value, scale and results on this target, got "
                              << getElementTypeOrSelf(type);
  std::optional<unsigned> lengths = op.getKvLenInput();
  if (lengths && !isOf(op.getInputs()[*lengths].getType(), i64))
    return op.emitOpError() << "expects i64 lengths, got " << getElementTypeOrSelf(op.getInputs()[*lengths].getType());
  return success();
}

AffineExpr KernelPlan::layOutAttention(AffineExpr depth) {
  AffineExpr end = getAffineConstantExpr(0, func.getContext());
  auto reserve = [&](AffineExpr floats) {
    AffineExpr start = end;
    end = end + floats.ceilDiv(kLanes) * kLanes;
    return start;
  };
  AffineExpr rows = getAffineConstantExpr(attention.getRowsPerItem(), func.getContext());
  AffineExpr keys = getAffineConstantExpr(attention.blockKv, func.getContext());
  AffineExpr none = getAffineConstantExpr(0, func.getContext());
  reserve(attention.rowDepth * attention.blockKv); // panels of keys are the first thing in scratch
  int64_t valueRows = attention.codesValues ? llvm::divideCeil(attention.blockKv, kBytes)
                      : attention.copyValue ? attention.blockKv
                                            : 0;
  attention.values = reserve(attention.valueWidth * valueRows);
  attention.queries = reserve(attention.copyQuery ? attention.rowDepth * attention.getRowsPerItem() : none);
  attention.scores = reserve(keys * attention.rowTile);
  attention.outputs = reserve(attention.valueWidth * attention.getRowsPerItem());
  // A tile's rows are updated as a whole vector, which may end behind the last row.
  attention.maxima = reserve(rows + kLanes);
  attention.sums = reserve(rows + kLanes);
  attention.verdicts = reserve(rows);
  AffineExpr lanes = getAffineConstantExpr(kLanes, func.getContext());
  attention.factors = reserve(lanes * 3);
  attention.tileSums = reserve(lanes * attention.rowTile);
  attention.groups = reserve(keys.ceilDiv(kLanes));
  for (AffineExpr *place : {&attention.valueScales, &attention.valueInverses, &attention.valueBits})
    *place = reserve(attention.codesValues ? attention.valueWidth : none);
  if (!attention.quantizes)
    return end;
  attention.staged = reserve(depth * kLanes);
  attention.queryScales = reserve(rows);
  attention.keyScales = reserve(keys);
  attention.keyOffsets = reserve(attention.perWord == kBytes ? keys : none);
  return end;
}

LogicalResult KernelPlan::planParts(kernel::AttentionOp op) {
  std::optional<uint64_t> partSize = op.getPartSize();
  if (partSize && static_cast<int64_t>(*partSize) != attention.blockKv)
    return func.emitOpError() << "expects block_kv to be the attention's part_size " << *partSize << ", got "
                              << attention.blockKv;
  if (!op.getGivesParts() && !op.getTakesParts())
    return success();
  // The states' first dimension counts the parts.
  bool gives = op.getGivesParts();
  unsigned binding = gives ? getResultBinding(0) : bindings[*op.getPartsInput()];
  auto type = cast<RankedTensorType>(gives ? op.getResult(0).getType() : op.getInputs()[*op.getPartsInput()].getType());
  ArrayRef<int64_t> dims = gives ? func.getResultDims(binding - func.getNumInputs()) : func.getInputDims(binding);
  attention.parts = type.isDynamicDim(0) ? getAffineSymbolExpr(dims.front(), func.getContext())
                                         : getAffineConstantExpr(type.getDimSize(0), func.getContext());
  return success();
}

LogicalResult KernelPlan::planValues(kernel::AttentionOp op) {
  std::optional<uint64_t> block = op.getPvInt8Block();
  attention.codesValues = block.has_value();
  const Access &value = nest.accesses[2];
  bool isIrregular = value.isIrregularIn(Loops::Key) || value.isIrregularIn(Loops::ValueSize) ||
                     getLaneStride(value, Loops::ValueSize, kLanes) != LaneStride::Unit;
  attention.copyValue = !block && isIrregular;
  if (!block)
    return success();
  if (static_cast<int64_t>(*block) != attention.blockKv)
    return func.emitOpError() << "expects block_kv to be the attention's pv_int8_block " << *block << ", got "
                              << attention.blockKv;
  attention.hasValueDots = config.getString(config::kValueMultiplier) == config::kByteDots;
  return success();
}

LogicalResult KernelPlan::planAttention() {
  auto op = cast<kernel::AttentionOp>(root);
  if (failed(checkTypes(op)))
    return failure();
  // Every loop has its part in the pass over the keys; none merges.
  unsigned numLoops = nest.getNumLoops();
  mergeLoops(nest, SmallVector<bool>(numLoops, false), SmallVector<bool>(numLoops, false));
  isReduction.assign(numLoops, false);
  vectorLoop = Loops::Key;

  attention.rowTile = config.getInteger(config::kRowTile);
  attention.columnVectors = config.getInteger(config::kColumnVectors);
  attention.blockKv = config.getInteger(config::kBlockKv);
  std::optional<int64_t> heads = nest.bounds[Loops::QueryHead].getConstant();
  attention.headsAreDigit = !heads || *heads == 0;
  attention.heads = std::max<int64_t>(heads.value_or(1), 1);
  attention.blockQ = std::max<int64_t>(config.getInteger(config::kBlockQ) / attention.heads, 1);
  attention.quantizes = op.getQkInt8();
  bool hasDots = config.getString(config::kMultiplier) == config::kByteDots;
  attention.perWord = !attention.quantizes ? 1 : hasDots ? kBytes : 2;
  attention.vectorBits = config.getInteger(config::kVectorBits);
  attention.copyQuery = attention.quantizes || nest.accesses[0].isIrregularIn(Loops::HeadSize);

  for (unsigned loop : {Loops::Batch, Loops::KeyHead})
    items.digits.push_back(toExpr(nest.bounds[loop]));
  if (attention.headsAreDigit)
    items.digits.push_back(toExpr(nest.bounds[Loops::QueryHead]));
  items.digits.push_back(toExpr(nest.bounds[Loops::Row]).ceilDiv(attention.blockQ));
  if (failed(planParts(op)) || failed(planValues(op)))
    return failure();
  AffineExpr keys = toExpr(nest.bounds[Loops::Key]);
  if (op.getGivesParts()) {
    items.digits.push_back(attention.parts);
    keys = getAffineConstantExpr(attention.blockKv, func.getContext());
  }

  AffineExpr depth = toExpr(nest.bounds[Loops::HeadSize]), width = toExpr(nest.bounds[Loops::ValueSize]);
  std::optional<int64_t> rows = nest.bounds[Loops::Row].getConstant();
  int64_t rowsPerItem = attention.heads * (rows ? std::min(*rows, attention.blockQ) : attention.blockQ);
  // Scores are computed twice where weights need a row's final sum.
  int64_t scorePasses = op.getProbability().empty() ? 1 : 2;
  items.workPerItem = (depth * scorePasses + width) * keys * rowsPerItem;
  const Access &key = nest.accesses[1];
  // Codes need a key's scale first, and packing finds it.
  attention.readsKeys = op.getGivesParts() && !attention.quantizes && nest.bounds[Loops::HeadSize].getConstant() &&
                        !key.isIrregularIn(Loops::HeadSize) &&
                        getLaneStride(key, Loops::HeadSize, kLanes) == LaneStride::Unit;
  attention.valueWidth = width.ceilDiv(kLanes) * kLanes;
  constexpr int64_t kFloatBytes = 4;
  AffineExpr paddedDepth = depth.ceilDiv(kLanes) * kLanes;
  attention.rowDepth = depth.ceilDiv(kLanes) * (kLanes / attention.perWord);
  items.scratchBytes = layOutAttention(paddedDepth) * kFloatBytes;
  return success();
}

} // namespace heddle::cpu
