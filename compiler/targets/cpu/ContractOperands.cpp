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
    return emitter.mul(emitter.add(emitter.sub(row, rowBegin), emitter.index(panelRows)), packer.paddedDepth());
  }
  loops[m] = row;
  loops[k] = Value();
  return emitter.address(plan.getInput(0), loops);
}

Value ContractOperands::lhsStep() {
  return plan.contract.copyLhs ? emitter.index(1) : emitter.size(plan.getInput(0).strides[k]);
}

Value ContractOperands::rhsPanel(int64_t j) {
  Value width = emitter.index(kLanes);
  if (!plan.contract.packedRhs)
    return emitter.mul(emitter.mul(emitter.index(j), packer.paddedDepth()), width);
  // Panels hold 16 columns, so column * depth is where the panel of a multiple of 16 starts.
  return emitter.mul(emitter.add(column, emitter.index(j * kLanes)), emitter.bound(k));
}

void ContractOperands::prepare(Value firstRow, Value rowEnd, Value firstColumn, Value panelCount) {
  rowBegin = firstRow;
  column = firstColumn;
  if (!plan.contract.packedRhs)
    emitter.forLoop(emitter.index(0), panelCount, 1, [&](Value panel) { packPanel(panel); });
  if (plan.contract.copyLhs)
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

void ContractOperands::packPanel(Value panel) {
  Value first = emitter.add(column, emitter.mul(panel, emitter.index(kLanes)));
  Value target = emitter.mul(emitter.mul(panel, packer.paddedDepth()), emitter.index(kLanes));
  packer.pack(target, first, emitter.bound(n), plan.nest.bounds[n].isMultipleOf(kLanes));
}

} // namespace heddle::cpu
