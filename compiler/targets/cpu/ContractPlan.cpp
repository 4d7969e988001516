// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans of contractions: which instructions multiply, what is copied, how rows and panels are cut into items.

#include "compiler/targets/common/KernelSignature.h"
#include "compiler/targets/cpu/KernelPlan.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace heddle::cpu {

static constexpr int64_t kWordBytes = 4;

LogicalResult KernelPlan::planFactors(kernel::ContractOp op) {
  using Form = kernel::ContractOp::Form;
  Form form = op.getForm();
  Type lhs = getElementTypeOrSelf(op.getLhs().getType()), rhs = getElementTypeOrSelf(op.getRhs().getType());
  if (form == Form::Integer) {
    StringRef name = config.getString(config::kMultiplier);
    auto multiplier = llvm::StringSwitch<std::optional<Multiplier>>(name)
                          .Case(config::kByteDots, Multiplier::ByteDots)
                          .Case(config::kSafePairs, Multiplier::SafePairs)
                          .Case(config::kWords, Multiplier::Words)
                          .Default(std::nullopt);
    if (!multiplier)
      return func.emitOpError() << "expects a multiplier of bytes in its config, got '" << name << "'";
    contract.multiplier = *multiplier;
    contract.vectorBits = config.getInteger(config::kVectorBits);
    bool isHalf = contract.vectorBits == 256 && contract.multiplier != Multiplier::ByteDots;
    if (contract.vectorBits != 512 && !isHalf)
      return func.emitOpError() << "expects vector_bits of 512 or, but for vpdpbusd, 256 in its config, got "
                                << contract.vectorBits;
    contract.stepDepth = 4;
    return success();
  }
  bool isNarrow = form != Form::Plain;
  for (Type type : {lhs, rhs})
    if (!type.isF32() && !(isNarrow && type == rhs))
      return op.emitOpError() << "expects f32 factors on this target, got " << type;
  switch (form) {
  case Form::PairsOfBf16:
    contract.multiplier = Multiplier::PairsOfBf16;
    contract.stepDepth = 2;
    break;
  case Form::BytesOfWeights:
    contract.multiplier = Multiplier::BytesOfWeights;
    contract.blockSteps = op.getBlockSize().value_or(0);
    break;
  case Form::HalfBytesOfWeights:
    contract.multiplier = Multiplier::HalfBytesOfWeights;
    contract.vectorBits = config.getInteger(config::kVectorBits);
    contract.stepDepth = 2;
    contract.blockSteps = *op.getBlockSize() / 2;
    break;
  default:
    break;
  }
  return success();
}

void KernelPlan::planCopy() {
  unsigned k = contract.panelLoops[2];
  const Access &lhs = nest.accesses[0];
  AffineExpr depth = toExpr(nest.bounds[k]);
  bool isIrregular = lhs.isIrregularIn(k);
  switch (contract.multiplier) {
  case Multiplier::Floats:
  case Multiplier::BytesOfWeights:
  case Multiplier::HalfBytesOfWeights: {
    // Steps of two k end behind a row of odd length, where copies are zero.
    bool isWhole = nest.bounds[k].isMultipleOf(contract.stepDepth);
    contract.lhsCopy = isIrregular || !isWhole ? LhsCopy::Floats : LhsCopy::None;
    contract.copiedRowWords = depth.ceilDiv(kLanes) * kLanes;
    return;
  }
  case Multiplier::PairsOfBf16:
    contract.lhsCopy = LhsCopy::PairsOfBf16;
    contract.copiedRowWords = depth.ceilDiv(kLanes) * (kLanes / 2);
    return;
  case Multiplier::ByteDots:
  case Multiplier::SafePairs: {
    // A step reads four bytes of a row at once, and there must be so many.
    bool isInPlace = !isIrregular && lhs.strides[k] == Polynomial(1) && nest.bounds[k].isMultipleOf(4);
    contract.lhsCopy = isInPlace ? LhsCopy::None : LhsCopy::Bytes;
    contract.copiedRowWords = depth.ceilDiv(kLanes) * (kLanes / 4);
    return;
  }
  case Multiplier::Words:
    contract.lhsCopy = LhsCopy::Words;
    // Whole vectors, and one more, so that streams of a depth of 4096 don't all fall into one set of the L1 cache.
    contract.oddWords = (depth.ceilDiv(4 * kLanes) + 1) * kLanes;
    contract.copiedRowWords = contract.oddWords * 2;
    return;
  }
}

LogicalResult KernelPlan::planContract() {
  auto op = cast<kernel::ContractOp>(root);
  contract.packedRhs = op.getPackedRhs().has_value();
  if (failed(planFactors(op)))
    return failure();

  mergeContractRows(*this);
  unsigned numLoops = nest.getNumLoops();
  isReduction.assign(numLoops, false);
  unsigned m = numLoops - 3, n = numLoops - 2, k = numLoops - 1;
  contract.panelLoops[0] = m, contract.panelLoops[1] = n, contract.panelLoops[2] = k;
  contract.rowTile = config.getInteger(config::kRowTile);
  contract.columnVectors = config.getInteger(config::kColumnVectors);
  contract.rowsPerItem = config.getInteger(config::kRowsPerItem);
  // Items share the rows in multiples of the tile, and scratch is for rows_per_item of them.
  if (contract.rowTile < 1 || contract.rowsPerItem < 1 || contract.rowsPerItem % contract.rowTile != 0)
    return func.emitOpError() << "expects rows_per_item to be a multiple of row_tile, got " << contract.rowsPerItem
                              << " and " << contract.rowTile;
  if (contract.packedRhs) {
    contract.fewRows = config.getInteger(config::kFewRows);
    contract.fewRowVectors = config.getInteger(config::kFewRowVectors);
    contract.prefetchRows = config.getInteger(config::kPrefetchRows);
    contract.prefetchesFewRows = config.getInteger(config::kPrefetchFewRows) != 0;
  }
  contract.groupsPerItem = std::max<int64_t>(1, config.getInteger(config::kGroupsPerItem));
  vectorLoop = n;
  planCopy();
  planContractItems();
  return success();
}

void KernelPlan::planContractItems() {
  auto [m, n, k] = contract.panelLoops;
  for (unsigned loop = 0; loop < m; ++loop)
    items.digits.push_back(toExpr(nest.bounds[loop]));
  AffineExpr depth = toExpr(nest.bounds[k]), height = toExpr(nest.bounds[m]), width = toExpr(nest.bounds[n]);
  int64_t columns = kLanes * contract.columnVectors, fewColumns = kLanes * contract.fewRowVectors;
  int64_t itemWidth = columns * contract.groupsPerItem;
  AffineExpr groups = width.ceilDiv(itemWidth), itemColumns = getAffineConstantExpr(itemWidth, func.getContext());
  if (contract.fewRows != 0) {
    AffineExpr isFew = isAtMost(height, contract.fewRows);
    groups = isFew * width.ceilDiv(fewColumns) + (1 - isFew) * groups;
    itemColumns = itemColumns + isFew * (fewColumns - itemWidth);
  }
  items.digits.push_back(height.ceilDiv(contract.rowsPerItem));
  items.digits.push_back(groups);
  std::optional<int64_t> constantHeight = nest.bounds[m].getConstant();
  if (constantHeight && *constantHeight > contract.rowsPerItem)
    height = getAffineConstantExpr(contract.rowsPerItem, func.getContext());
  items.workPerItem = (height * depth) * itemColumns;

  // Scratch: the item's panels of an activation, depth rounded up to whole transposed blocks; the copied left side.
  if (!contract.packedRhs)
    items.scratchBytes = depth.ceilDiv(kLanes) * kLanes * (columns * kWordBytes);
  if (contract.lhsCopy != LhsCopy::None)
    items.scratchBytes = items.scratchBytes + contract.copiedRowWords * (contract.rowsPerItem * kWordBytes);
}

} // namespace heddle::cpu
