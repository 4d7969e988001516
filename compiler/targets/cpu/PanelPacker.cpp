// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Panels of activations.

#include "compiler/targets/cpu/PanelPacker.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle::cpu {

Value PanelPacker::paddedDepth() {
  AffineExpr depth = plan.nest.bounds[k].toExpr(plan.space);
  return emitter.size(depth.ceilDiv(kLanes) * kLanes);
}

void PanelPacker::pack(Value target, Value first, Value end, bool columnsAreWhole) {
  Value columns = emitter.min(emitter.sub(end, first), emitter.index(kLanes));
  bool isTransposed = getLaneStride(plan.getInput(input), n, kLanes) != LaneStride::Unit &&
                      getLaneStride(plan.getInput(input), k, kLanes) == LaneStride::Unit;
  if (isTransposed)
    packTransposed(target, first, columns, columnsAreWhole);
  else
    packByColumns(target, first, columns, columnsAreWhole);
}

void PanelPacker::packByColumns(Value target, Value first, Value columns, bool columnsAreWhole) {
  auto copy = [&](Value mask) {
    emitter.forLoop(emitter.index(0), emitter.bound(k), 1, [&](Value i) {
      loops[n] = first;
      loops[k] = i;
      Value values = emitter.load(plan.bindings[input], plan.getInput(input), loops, Lanes{kLanes, n, mask});
      Value position = emitter.add(target, emitter.mul(i, emitter.index(kLanes)));
      emitter.b.create<vector::StoreOp>(emitter.loc, emitter.broadcast(values, kLanes), emitter.scratch, position);
    });
  };
  if (columnsAreWhole) {
    copy(nullptr);
    return;
  }
  Value isWhole =
      emitter.b.create<arith::CmpIOp>(emitter.loc, arith::CmpIPredicate::eq, columns, emitter.index(kLanes));
  emitter.ifThen(isWhole, [&] { copy(nullptr); }, [&] { copy(emitter.maskBelow(columns)); });
}

SmallVector<Value> buildTranspose(KernelEmitter &emitter, SmallVector<Value> rows) {
  // At distance 8, 4, 2, 1 the off-diagonal blocks change places.
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

void PanelPacker::packBlock(Value target, Value first, Value columns, Value depth, bool isWhole) {
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
    vectors.push_back(emitter.load(plan.bindings[input], plan.getInput(input), loops, lanes));
  }
  for (auto [i, vector] : llvm::enumerate(buildTranspose(emitter, vectors)))
    emitter.b.create<vector::StoreOp>(emitter.loc, vector, emitter.scratch,
                                      emitter.add(target, emitter.index(i * kLanes)));
}

void PanelPacker::packTransposed(Value target, Value first, Value columns, bool columnsAreWhole) {
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
