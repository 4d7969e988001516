// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses of a contraction's factors, and the packing of activations: a copy where columns are neighbours in memory,
// 16 x 16 transposes in registers where k is.

#include "compiler/targets/cpu/ContractOperands.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle::cpu {

Value ContractOperands::paddedDepth() {
  AffineExpr depth = plan.nest.bounds[k].toExpr(plan.space);
  return emitter.size(depth.ceilDiv(kLanes) * kLanes);
}

Value ContractOperands::lhsRow(Value row) {
  if (plan.contract.copyLhs) {
    // Behind the panels, if those are in scratch too.
    int64_t panelRows = plan.contract.packedRhs ? 0 : kLanes * plan.contract.columnVectors;
    return emitter.mul(emitter.add(emitter.sub(row, rowBegin), emitter.index(panelRows)), paddedDepth());
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
    return emitter.mul(emitter.mul(emitter.index(j), paddedDepth()), width);
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
  Value columns = emitter.min(emitter.sub(emitter.bound(n), first), emitter.index(kLanes));
  Value target = emitter.mul(emitter.mul(panel, paddedDepth()), emitter.index(kLanes));
  bool isTransposed = getLaneStride(plan.getInput(1), n, kLanes) != LaneStride::Unit &&
                      getLaneStride(plan.getInput(1), k, kLanes) == LaneStride::Unit;
  if (isTransposed)
    packTransposed(target, first, columns);
  else
    packByColumns(target, first, columns);
}

void ContractOperands::packByColumns(Value target, Value first, Value columns) {
  auto copy = [&](Value mask) {
    emitter.forLoop(emitter.index(0), emitter.bound(k), 1, [&](Value i) {
      loops[n] = first;
      loops[k] = i;
      Value values = emitter.load(plan.bindings[1], plan.getInput(1), loops, Lanes{kLanes, n, mask});
      Value position = emitter.add(target, emitter.mul(i, emitter.index(kLanes)));
      emitter.b.create<vector::StoreOp>(emitter.loc, emitter.broadcast(values, kLanes), emitter.scratch, position);
    });
  };
  if (plan.nest.bounds[n].isMultipleOf(kLanes)) {
    copy(nullptr);
    return;
  }
  Value isWhole =
      emitter.b.create<arith::CmpIOp>(emitter.loc, arith::CmpIPredicate::eq, columns, emitter.index(kLanes));
  emitter.ifThen(isWhole, [&] { copy(nullptr); }, [&] { copy(emitter.maskBelow(columns)); });
}

/// The transpose of 16 vectors: at distance 8, 4, 2, 1 the off-diagonal blocks change places.
static SmallVector<Value> buildTranspose(KernelEmitter &emitter, SmallVector<Value> rows) {
  for (int64_t distance = kLanes / 2; distance >= 1; distance /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      bool isUpper = lane & distance;
      low.push_back(isUpper ? kLanes + lane - distance : lane);
      high.push_back(isUpper ? kLanes + lane : lane + distance);
    }
    for (int64_t row = 0; row < kLanes; ++row) {
      if (row & distance)
        continue;
      Value upper = rows[row], lower = rows[row + distance];
      rows[row] = emitter.b.create<vector::ShuffleOp>(emitter.loc, upper, lower, low);
      rows[row + distance] = emitter.b.create<vector::ShuffleOp>(emitter.loc, upper, lower, high);
    }
  }
  return rows;
}

void ContractOperands::packBlock(Value target, Value first, Value columns, Value depth, bool isWhole) {
  // 16 columns of up to 16 consecutive k become 16 k of 16 columns. Columns that don't exist are zero.
  SmallVector<Value> vectors;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    Lanes lanes{kLanes, k, nullptr};
    loops[n] = emitter.add(first, emitter.index(lane));
    if (!isWhole) {
      Value exists = emitter.less(emitter.index(lane), columns);
      Value count = emitter.b.create<arith::SelectOp>(emitter.loc, exists, depth, emitter.index(0));
      lanes.mask = emitter.maskBelow(count);
    }
    vectors.push_back(emitter.load(plan.bindings[1], plan.getInput(1), loops, lanes));
  }
  for (auto [i, vector] : llvm::enumerate(buildTranspose(emitter, vectors)))
    emitter.b.create<vector::StoreOp>(emitter.loc, vector, emitter.scratch,
                                      emitter.add(target, emitter.index(i * kLanes)));
}

void ContractOperands::packTransposed(Value target, Value first, Value columns) {
  bool columnsAreWhole = plan.nest.bounds[n].isMultipleOf(kLanes);
  bool depthIsWhole = plan.nest.bounds[k].isMultipleOf(kLanes);
  Value lanes = emitter.index(kLanes);
  emitter.forLoop(emitter.index(0), emitter.bound(k), kLanes, [&](Value i) {
    loops[k] = i;
    Value depth = emitter.min(emitter.sub(emitter.bound(k), i), lanes);
    Value block = emitter.add(target, emitter.mul(i, lanes));
    auto whole = [&] { packBlock(block, first, columns, depth, true); };
    if (columnsAreWhole && depthIsWhole) {
      whole();
      return;
    }
    // Both counts are at most 16, so their sum is 32 where both are whole.
    Value isWhole = emitter.b.create<arith::CmpIOp>(emitter.loc, arith::CmpIPredicate::eq, emitter.add(depth, columns),
                                                    emitter.index(2 * kLanes));
    emitter.ifThen(isWhole, whole, [&] { packBlock(block, first, columns, depth, false); });
  });
}

} // namespace heddle::cpu
