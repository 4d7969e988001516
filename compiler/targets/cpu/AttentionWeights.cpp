// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that know a row's final maximum and sum: weights through the probability region, in place of the scores, and
// probabilities as a result. A score stands in scratch as the first pass left it: a hidden key's is -infinity, which
// gives exactly 0.

#include <limits>

#include "compiler/targets/cpu/AttentionState.h"
#include "compiler/targets/cpu/AttentionTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle::cpu {

using Loops = kernel::AttentionOp;

void AttentionTile::emitFinalWeights(const KeyBlock &block, const Extent &extent) {
  FloatMath m(b, loc, item.vectorType);
  emitter.forLoop(emitter.index(0), emitter.index(count), 1, [&](Value row) {
    Value slot = emitter.add(firstSlot, row);
    item.select(item.getRow(slot));
    Value maximum = emitter.broadcast(item.loadFloat(shape.maxima, slot), kLanes);
    Value sum = emitter.broadcast(item.loadFloat(shape.sums, slot), kLanes);
    emitter.forLoop(extent.low, extent.high, kLanes, [&](Value key) {
      Value place = emitter.add(scoreAddress(row), key);
      Value score = b.create<vector::LoadOp>(loc, item.vectorType, emitter.scratch, place);
      Value probability = m.div(buildWeight(m, m.sub(score, maximum)), sum);
      Lanes lanes{kLanes, Loops::Key, existingKeys(block, key)};
      item.loops[Loops::Key] = emitter.add(block.begin, key);
      b.create<vector::StoreOp>(loc, item.emitProbability(probability, lanes), emitter.scratch, place);
    });
    item.loops[Loops::Key] = Value();
  });
  // Final weights join those of other blocks as they are.
  for (int64_t i : {0, 1})
    b.create<vector::StoreOp>(loc, m.real(1), emitter.scratch, emitter.size(shape.factors + i * kLanes));
}

void AttentionTile::emitWeights(const KeyBlock &block) {
  unsigned result = 1 + item.op.getHasLse();
  FloatMath m(b, loc, item.vectorType);
  bool givesNaN = item.op.getFullyMasked() == "nan";
  Value filling = m.real(givesNaN ? std::numeric_limits<float>::quiet_NaN() : 0.0f);
  Value rest = emitter.sub(emitter.bound(Loops::Key), block.begin);
  Value end = emitter.min(rest, emitter.index(shape.blockKv));
  emitter.forLoop(emitter.index(0), emitter.index(count), 1, [&](Value row) {
    Value slot = emitter.add(firstSlot, row);
    item.select(item.getRow(slot));
    Value maximum = emitter.broadcast(item.loadFloat(shape.maxima, slot), kLanes);
    Value sum = emitter.broadcast(item.loadFloat(shape.sums, slot), kLanes);
    Value hasNoKeys = item.hasNoKeys(slot);
    Value nothing = b.create<arith::SelectOp>(loc, hasNoKeys, filling, m.real(0));
    emitter.forLoop(emitter.index(0), end, kLanes, [&](Value key) {
      Value at = emitter.add(scoreAddress(row), key);
      Value score = b.create<vector::LoadOp>(loc, item.vectorType, emitter.scratch, at);
      Value weight = m.div(buildWeight(m, m.sub(score, maximum)), sum);
      // Scores behind the last key were never computed.
      Value exists = existingKeys(block, key);
      weight = m.select(exists, weight, nothing);
      weight = b.create<arith::SelectOp>(loc, hasNoKeys, nothing, weight);
      Lanes lanes{kLanes, Loops::Key, emitter.maskBelow(emitter.min(emitter.sub(end, key), emitter.index(kLanes)))};
      item.loops[Loops::Key] = emitter.add(block.begin, key);
      emitter.store(weight, item.plan.getResultBinding(result), item.plan.getResult(result), item.loops, lanes);
    });
    item.loops[Loops::Key] = Value();
  });
}

} // namespace heddle::cpu
