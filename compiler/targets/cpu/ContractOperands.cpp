// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses of a contraction's factors, and what is copied of them.

#include "compiler/targets/cpu/ContractOperands.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle::cpu {

Value ContractOperands::lhsRow(Value row) {
  if (plan.contract.copyLhs) {
    // Behind the panels, if those are in scratch too.
    int64_t panelRows = plan.contract.packedRhs ? 0 : kLanes * plan.contract.columnVectors;
    if (plan.contract.pairs)
      return emitter.mul(emitter.sub(row, rowBegin), emitter.floorDiv(packer.paddedDepth(), 2));
    return emitter.mul(emitter.add(emitter.sub(row, rowBegin), emitter.index(panelRows)), packer.paddedDepth());
  }
  loops[m] = row;
  loops[k] = Value();
  return emitter.address(plan.getInput(0), loops);
}

Value ContractOperands::getNumSteps() {
  AffineExpr depth = plan.nest.bounds[k].toExpr(plan.space);
  return emitter.size(plan.contract.pairs ? depth.ceilDiv(2) : depth);
}

Value ContractOperands::lhsStep() {
  return plan.contract.copyLhs ? emitter.index(1) : emitter.size(plan.getInput(0).strides[k]);
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

Value ContractOperands::nextRhsPanel(int64_t j) {
  // Stream j ends at the next stream's first panel, the last one at the last panel.
  Value panels = emitter.size(plan.nest.bounds[n].toExpr(plan.space).ceilDiv(kLanes));
  Value next = emitter.add(firstPanel, emitter.add(emitter.mul(panelStep, emitter.index(j)), emitter.index(1)));
  next = emitter.min(next, emitter.sub(panels, emitter.index(1)));
  return emitter.mul(emitter.mul(next, emitter.index(getStepElements())), getNumSteps());
}

//===--- Copies -------------------------------------------------------------===//

void ContractOperands::prepare(Value firstRow, Value rowEnd) {
  rowBegin = firstRow;
  if (!plan.contract.packedRhs)
    emitter.forLoop(emitter.index(0), numPanels, 1, [&](Value panel) { packPanel(panel); });
  if (plan.contract.pairs)
    copyPairs(rowEnd);
  else if (plan.contract.copyLhs)
    copyLhs(rowEnd);
}

void ContractOperands::copyLhs(Value rowEnd) {
  emitter.forLoop(rowBegin, rowEnd, 1, [&](Value row) {
    Value target = lhsRow(row);
    loops[m] = row;
    emitter.forVectors(k, emitter.index(0), emitter.bound(k), [&](Value i, const Lanes &lanes) {
      loops[k] = i;
      Value values = emitter.broadcast(emitter.load(plan.bindings[0], plan.getInput(0), loops, lanes), kLanes);
      // Rows are padded to whole vectors, so no mask is needed here.
      emitter.b.create<vector::StoreOp>(emitter.loc, values, emitter.scratch, emitter.add(target, i));
    });
  });
}

void ContractOperands::copyPairs(Value rowEnd) {
  OpBuilder &b = emitter.b;
  auto narrow = VectorType::get({kLanes}, b.getBF16Type()), words = VectorType::get({kLanes / 2}, b.getF32Type());
  emitter.forLoop(rowBegin, rowEnd, 1, [&](Value row) {
    Value target = lhsRow(row);
    loops[m] = row;
    emitter.forVectors(k, emitter.index(0), emitter.bound(k), [&](Value i, const Lanes &lanes) {
      loops[k] = i;
      // Behind the row's end are zeros, which multiply the zeros that pad the weights.
      Value values = emitter.broadcast(emitter.load(plan.bindings[0], plan.getInput(0), loops, lanes), kLanes);
      if (lanes.mask)
        values = b.create<arith::SelectOp>(emitter.loc, lanes.mask, values, emitter.zero(values.getType()));
      Value rounded = b.create<arith::TruncFOp>(emitter.loc, narrow, values);
      Value pairs = b.create<vector::BitCastOp>(emitter.loc, words, rounded);
      b.create<vector::StoreOp>(emitter.loc, pairs, emitter.scratch, emitter.add(target, emitter.floorDiv(i, 2)));
    });
  });
}

void ContractOperands::packPanel(Value panel) {
  Value first = emitter.mul(emitter.add(firstPanel, panel), emitter.index(kLanes));
  Value target = emitter.mul(emitter.mul(panel, packer.paddedDepth()), emitter.index(kLanes));
  packer.pack(target, first, emitter.bound(n), plan.nest.bounds[n].isMultipleOf(kLanes));
}

} // namespace heddle::cpu
