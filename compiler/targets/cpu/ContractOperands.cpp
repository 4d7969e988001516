// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses of a contraction's factors, and what is copied of them.

#include "compiler/targets/cpu/ContractOperands.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle::cpu {

Value ContractOperands::lhsRow(Value row) {
  if (plan.contract.lhsCopy != LhsCopy::None) {
    Value place = emitter.mul(emitter.sub(row, rowBegin), emitter.size(plan.contract.copiedRowWords));
    if (plan.contract.packedRhs)
      return place;
    // Behind the panels, which are in scratch too.
    int64_t panelRows = kLanes * plan.contract.columnVectors;
    return emitter.add(emitter.mul(packer.paddedDepth(), emitter.index(panelRows)), place);
  }
  loops[m] = row;
  loops[k] = Value();
  return emitter.address(plan.getInput(0), loops);
}

Value ContractOperands::getNumSteps() {
  return emitter.size(plan.nest.bounds[k].toExpr(plan.space).ceilDiv(plan.contract.stepDepth));
}

int64_t ContractOperands::getStepElements() const {
  switch (plan.contract.multiplier) {
  case Multiplier::Floats:
  case Multiplier::BytesOfWeights:
  case Multiplier::HalfBytesOfWeights:
    return kLanes;
  case Multiplier::PairsOfBf16:
    return 2 * kLanes;
  default:
    return 4 * kLanes;
  }
}

Value ContractOperands::depthStride() {
  bool isCopied = plan.contract.lhsCopy != LhsCopy::None;
  return isCopied ? emitter.index(1) : emitter.size(plan.getInput(0).strides[k]);
}

Value ContractOperands::lhsStep() {
  // A word of a copied row is all that a step reads, but where rows are floats as they are.
  bool isWord = plan.contract.lhsCopy != LhsCopy::None && plan.contract.lhsCopy != LhsCopy::Floats;
  return isWord ? emitter.index(1) : emitter.mul(depthStride(), emitter.index(plan.contract.stepDepth));
}

//===--- Panels -------------------------------------------------------------===//

void ContractOperands::openGroup(Value group, int64_t width) {
  groupWidth = width;
  Value panels = emitter.size(plan.nest.bounds[n].toExpr(plan.space).ceilDiv(kLanes));
  if (!plan.contract.packedRhs) {
    firstPanel = emitter.mul(group, emitter.index(width));
    panelStep = emitter.index(1);
    numPanels = emitter.min(emitter.sub(panels, firstPanel), emitter.index(width));
    return;
  }
  firstPanel = group;
  panelStep = emitter.size(plan.nest.bounds[n].toExpr(plan.space).ceilDiv(kLanes * width));
  Value roundUp = emitter.sub(panelStep, emitter.index(1));
  Value left = emitter.sub(panels, group);
  numPanels = emitter.b.create<arith::DivUIOp>(emitter.loc, emitter.add(left, roundUp), panelStep);
}

SmallVector<int64_t> ContractOperands::possibleNumPanels() {
  std::optional<int64_t> bound = plan.nest.bounds[n].getConstant();
  if (!bound)
    return llvm::to_vector(llvm::seq<int64_t>(1, groupWidth + 1));
  int64_t panels = llvm::divideCeil(*bound, kLanes),
          groups = std::max<int64_t>(1, llvm::divideCeil(panels, groupWidth));
  // Weights: the groups differ by one panel at most. Activations: only the last one may be narrower.
  int64_t most = plan.contract.packedRhs ? llvm::divideCeil(panels, groups) : std::min(panels, groupWidth);
  int64_t least = plan.contract.packedRhs ? panels / groups : panels - (groups - 1) * groupWidth;
  SmallVector<int64_t> counts;
  if (most != 0)
    counts.push_back(most);
  if (least != most && least != 0)
    counts.push_back(least);
  return counts;
}

Value ContractOperands::column(int64_t j) {
  Value panel = emitter.add(firstPanel, emitter.mul(panelStep, emitter.index(j)));
  return emitter.mul(panel, emitter.index(kLanes));
}

Value ContractOperands::rhsPanel(int64_t j) {
  if (!plan.contract.packedRhs)
    return emitter.mul(emitter.mul(emitter.index(j), packer.paddedDepth()), emitter.index(kLanes));
  Value panel = emitter.add(firstPanel, emitter.mul(panelStep, emitter.index(j)));
  return emitter.mul(emitter.mul(panel, emitter.index(getStepElements())), getNumSteps());
}

Value ContractOperands::loadScales(int64_t j, Value block) {
  unsigned input = *cast<kernel::ContractOp>(plan.root).getScalesInput();
  AffineExpr depth = plan.nest.bounds[k].toExpr(plan.space);
  Value blocks = emitter.size(depth.ceilDiv(plan.contract.blockSteps * plan.contract.stepDepth));
  Value panel = emitter.add(firstPanel, emitter.mul(panelStep, emitter.index(j)));
  Value place = emitter.mul(emitter.add(emitter.mul(panel, blocks), block), emitter.index(kLanes));
  Lanes lanes{kLanes, n, nullptr};
  return emitter.loadUnit(emitter.getBinding(plan.bindings[input]), emitter.b.getF32Type(), place, lanes);
}

Value ContractOperands::nextRhsPanel(int64_t j) {
  // Stream j ends at the next stream's first panel, the last one at the last panel.
  Value panels = emitter.size(plan.nest.bounds[n].toExpr(plan.space).ceilDiv(kLanes));
  Value next = emitter.add(firstPanel, emitter.add(emitter.mul(panelStep, emitter.index(j)), emitter.index(1)));
  next = emitter.min(next, emitter.sub(panels, emitter.index(1)));
  return emitter.mul(emitter.mul(next, emitter.index(getStepElements())), getNumSteps());
}

//===--- Copies -------------------------------------------------------------===//

void ContractOperands::copyRows(Value firstRow, Value rowEnd) {
  rowBegin = firstRow;
  if (plan.contract.lhsCopy == LhsCopy::None)
    return;
  Value begin = rowBegin;
  if (copier.copiesBlocks()) {
    Value blocks = emitter.floorDiv(emitter.sub(rowEnd, rowBegin), kLanes);
    begin = emitter.add(rowBegin, emitter.mul(blocks, emitter.index(kLanes)));
    emitter.forLoop(rowBegin, begin, kLanes,
                    [&](Value row) { copier.copyBlock(row, lhsRow(row), emitter.size(plan.contract.copiedRowWords)); });
  }
  emitter.forLoop(begin, rowEnd, 1, [&](Value row) { copier.copy(row, lhsRow(row)); });
}

void ContractOperands::packPanels() {
  if (!plan.contract.packedRhs)
    emitter.forLoop(emitter.index(0), numPanels, 1, [&](Value panel) { packPanel(panel); });
}

void ContractOperands::packPanel(Value panel) {
  Value first = emitter.mul(emitter.add(firstPanel, panel), emitter.index(kLanes));
  Value target = emitter.mul(emitter.mul(panel, packer.paddedDepth()), emitter.index(kLanes));
  packer.pack(target, first, emitter.bound(n), plan.nest.bounds[n].isMultipleOf(kLanes));
}

} // namespace heddle::cpu
