// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inner loops of attention. A row's scores stand in scratch for one block of keys at a time; a masked key's is
// -infinity and weighs exactly 0, so a skipped group of keys and a masked one leave the same bits. Every sum over keys
// has its place by the key's position in the block alone.
//
// A block's weights are relative to its own maximum and its sums start at 0; only then do they join the row's state.
// What a block contributes thus doesn't depend on the blocks before it, and parts of the keys that were computed apart
// merge to the same bits.

#include "compiler/targets/cpu/AttentionTile.h"

#include <limits>

#include "compiler/targets/cpu/AttentionState.h"
#include "compiler/targets/cpu/PanelPacker.h"
#include "compiler/targets/cpu/RegionEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle::cpu {

using Loops = kernel::AttentionOp;

static constexpr float kLowest = std::numeric_limits<float>::lowest();
static constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Table reads and math functions become dozens of instructions each; the usual masks and biases are a few.
static bool isLongRegion(Region &region) {
  return llvm::any_of(region.front(), [](Operation &op) {
    return isa<kernel::GatherOp>(op) || isa_and_nonnull<math::MathDialect>(op.getDialect());
  });
}

Value AttentionTile::scoreAddress(Value row) {
  return item.place(shape.scores, emitter.mul(row, emitter.index(shape.blockKv)));
}

void AttentionTile::emit(Value slot, int64_t rows, const KeyBlock &block) {
  firstSlot = slot;
  count = rows;
  tileRows.clear();
  for (int64_t r = 0; r < rows; ++r)
    tileRows.push_back(item.getRow(emitter.add(slot, emitter.index(r))));
  Extent extent = emitGroups(block);
  if (pass.writesWeights) {
    emitWeights(block);
    return;
  }
  emitter.ifThen(emitter.less(extent.low, extent.high), [&] {
    auto weigh = [&] {
      emitFinalWeights(block, extent);
      emitProduct(block, extent);
    };
    if (!pass.isFinal) {
      emitSoftmax(extent);
      emitProduct(block, extent);
    } else if (matchPattern(pass.isFinal, m_One())) {
      weigh();
    } else {
      emitter.ifThen(pass.isFinal, weigh, [&] { emitSoftmax(extent); });
    }
  });
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

AttentionTile::Extent AttentionTile::emitGroups(const KeyBlock &block) {
  Value groups = b.create<arith::CeilDivUIOp>(loc, block.length, emitter.index(kKeyGroup));
  Value size = emitter.index(kKeyGroup), widths = emitter.index(width);
  Value covered = emitter.mul(b.create<arith::CeilDivUIOp>(loc, block.length, widths), widths);
  Value nothing[] = {emitter.index(shape.blockKv), emitter.index(0)};
  SmallVector<Value> extent =
      emitter.forLoop(emitter.index(0), groups, 1, ValueRange(nothing), [&](Value group, ValueRange current) {
        Value start = emitter.mul(group, size);
        Value seen = b.create<arith::ConstantIntOp>(loc, 1, 1), full = seen;
        if (pass.masks && item.hasMask) {
          Value low = emitter.add(block.begin, start);
          Value left = emitter.min(emitter.sub(block.length, start), size);
          Value high = emitter.sub(emitter.add(low, left), emitter.index(1));
          sparsity::TileTruth truth = item.testTile(tileRows.front(), tileRows.back(), low, high, group);
          seen = b.createOrFold<arith::AndIOp>(loc, truth.may, item.isAtLeast(group, GroupClass::Seen));
          full = truth.all;
        } else if (item.hasMask) {
          // The plain score of full tiles lacks what hides keys, which is part of the score without the mask.
          full = b.create<arith::ConstantIntOp>(loc, 0, 1);
        }
        emitter.ifThen(seen, [&] { emitGroup(block, start, full); }, [&] { fillGroup(start); });
        // Groups in between that no row sees have weights of 0.
        Value end = emitter.min(emitter.add(start, size), covered);
        Value low = b.create<arith::SelectOp>(loc, seen, emitter.min(current[0], start), current[0]);
        Value high = b.create<arith::SelectOp>(loc, seen, end, current[1]);
        return SmallVector<Value>{low, high};
      });
  if (pass.isDense)
    return {emitter.index(0), covered};
  return {extent[0], extent[1]};
}

void AttentionTile::emitGroup(const KeyBlock &block, Value start, Value full) {
  Value end = emitter.min(emitter.add(start, emitter.index(kKeyGroup)), block.length);
  emitter.forLoop(start, end, width, [&](Value key) { emitScores(block, key, full); });
}

void AttentionTile::fillGroup(Value start) {
  Value masked = FloatMath(b, loc, item.vectorType).real(-kInfinity);
  for (int64_t r = 0; r < count; ++r)
    for (int64_t offset = 0; offset < kKeyGroup; offset += kLanes)
      b.create<vector::StoreOp>(loc, masked, emitter.scratch,
                                emitter.add(emitter.add(scoreAddress(r), start), emitter.index(offset)));
}

void AttentionTile::emitScores(const KeyBlock &block, Value start, Value full) {
  SmallVector<Value> dots = pass.readsKeys ? emitDotsOfKeys(block, start) : emitDots(start);
  // Where all keys exist and all rows see them there is nothing to mask.
  Value isWhole =
      b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ule, emitter.add(start, emitter.index(width)), block.length);
  if (matchPattern(full, m_Zero())) {
    storeScores(block, start, dots, /*masked=*/true);
    return;
  }
  emitter.ifThen(
      b.createOrFold<arith::AndIOp>(loc, isWhole, full), [&] { storeScores(block, start, dots, /*masked=*/false); },
      [&] { storeScores(block, start, dots, /*masked=*/true); });
}

void AttentionTile::storeScores(const KeyBlock &block, Value start, ArrayRef<Value> dots, bool masked) {
  bool isLong =
      isLongRegion(masked ? item.op.getScore() : item.getPlainScore()) || (masked && isLongRegion(item.op.getMask()));
  for (int64_t j = 0; j < shape.columnVectors; ++j) {
    Value key = emitter.add(start, emitter.index(j * kLanes));
    for (int64_t r = 0; r < count; ++r) {
      Value dot = dots[r * shape.columnVectors + j];
      Value result = isLong ? dot : emitScore(block, tileRows[r], key, dot, masked);
      b.create<vector::StoreOp>(loc, result, emitter.scratch, emitter.add(scoreAddress(r), key));
    }
  }
  if (!isLong)
    return;
  // Once for all vectors of the tile, lest the code be that many times as long.
  emitter.forLoop(emitter.index(0), emitter.index(count), 1, [&](Value row) {
    AttentionRow current = item.getRow(emitter.add(firstSlot, row));
    emitter.forLoop(start, emitter.add(start, emitter.index(width)), kLanes, [&](Value key) {
      Value place = emitter.add(scoreAddress(row), key);
      Value dot = b.create<vector::LoadOp>(loc, item.vectorType, emitter.scratch, place);
      b.create<vector::StoreOp>(loc, emitScore(block, current, key, dot, masked), emitter.scratch, place);
    });
  });
}

Value AttentionTile::emitScore(const KeyBlock &block, const AttentionRow &row, Value key, Value dot, bool masked) {
  FloatMath m(b, loc, item.vectorType);
  bool useMask = masked && pass.masks && item.hasMask;
  Region &scoreRegion = masked ? item.op.getScore() : item.getPlainScore();
  SmallVector<Region *> regions = {&scoreRegion};
  if (useMask)
    regions.push_back(&item.op.getMask());
  Lanes lanes{kLanes, Loops::Key, nullptr};
  if (masked)
    lanes.mask = existingKeys(block, key);
  item.select(row);
  item.loops[Loops::Key] = emitter.add(block.begin, key);
  SmallVector<Value> captures = item.loadCaptures(regions, lanes);
  SmallVector<Value> arguments = captures;
  // Scales of codes hold it already.
  if (item.scale && !shape.quantizes)
    dot = m.mul(dot, emitter.broadcast(item.scale, kLanes));
  arguments.insert(arguments.begin(), dot);
  auto score = RegionEmitter(emitter, item.loops, lanes).emit(scoreRegion, arguments);
  if (failed(score)) {
    item.status = failure();
    return dot;
  }
  Value result = emitter.broadcast(score->front(), kLanes);
  if (masked) {
    Value kept = lanes.mask;
    if (useMask)
      kept = b.create<arith::AndIOp>(loc, kept, emitter.broadcast(item.emitMask(captures, lanes), kLanes));
    result = m.select(kept, result, m.real(-kInfinity));
  }
  item.loops[Loops::Key] = Value();
  return result;
}

Value AttentionTile::existingKeys(const KeyBlock &block, Value key) {
  Value end = emitter.min(emitter.add(key, emitter.index(kLanes)), block.length);
  Value left = b.create<arith::SubIOp>(loc, end, key);
  return emitter.maskBelow(b.create<arith::MaxSIOp>(loc, left, emitter.index(0)));
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Merges the lanes of each of |rows| by |combine|; row r's result is lane r. All rows share the steps, and each goes
/// through the same tree (lane i with i + 8, then i + 4, ...) whatever their number.
static Value buildRowReduction(const AttentionItem &item, SmallVector<Value> rows,
                               llvm::function_ref<Value(Value, Value)> combine) {
  rows.resize(llvm::PowerOf2Ceil(rows.size()), rows.back());
  for (int64_t lanes = kLanes; lanes > 1; lanes /= 2) {
    // A vector holds kLanes / lanes rows side by side; halving their lanes makes room for as many of another one.
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      int64_t row = lane / (lanes / 2), source = row * lanes + lane % (lanes / 2);
      if (rows.size() == 1)
        source %= kLanes;
      low.push_back(source);
      high.push_back(source + lanes / 2);
    }
    SmallVector<Value> merged;
    for (size_t i = 0; i < rows.size(); i += 2) {
      Value first = rows[i], second = rows[rows.size() == 1 ? i : i + 1];
      merged.push_back(combine(item.b.create<vector::ShuffleOp>(item.loc, first, second, low),
                               item.b.create<vector::ShuffleOp>(item.loc, first, second, high)));
    }
    rows = std::move(merged);
  }
  return rows.front();
}

void AttentionTile::updateState(AffineExpr start, llvm::function_ref<Value(Value before)> build) {
  // Lanes of other rows keep what they hold.
  Value place = item.place(start, firstSlot);
  Value before = b.create<vector::LoadOp>(loc, item.vectorType, emitter.scratch, place);
  Value own =
      b.create<vector::ConstantMaskOp>(loc, VectorType::get({kLanes}, b.getI1Type()), b.getI64ArrayAttr({count}));
  Value after = b.create<arith::SelectOp>(loc, own, build(before), before);
  b.create<vector::StoreOp>(loc, after, emitter.scratch, place);
}

void AttentionTile::emitSoftmax(const Extent &extent) {
  FloatMath m(b, loc, item.vectorType);
  // 1. The block's maxima.
  SmallVector<Value> lowest(count, m.real(kLowest));
  SmallVector<Value> maxima =
      emitter.forLoop(extent.low, extent.high, width, lowest, [&](Value key, ValueRange current) {
        SmallVector<Value> next(current);
        for (int64_t r = 0; r < count; ++r)
          for (int64_t j = 0; j < shape.columnVectors; ++j)
            next[r] = buildGreater(m, next[r], loadScores(emitter.index(r), key, j));
        return next;
      });
  Value maximum = buildRowReduction(item, maxima, [&](Value x, Value y) { return buildGreater(m, x, y); });
  // The factors that the new maxima of the rows put on what is there and on what this block adds.
  StateFactors factors;
  updateState(shape.maxima, [&](Value before) {
    Value after = buildGreater(m, before, maximum);
    factors = buildStateFactors(m, before, maximum, after);
    return after;
  });
  Value stored[] = {factors.before, factors.added, maximum};
  for (auto [i, vector] : llvm::enumerate(stored))
    b.create<vector::StoreOp>(loc, vector, emitter.scratch, emitter.size(shape.factors + i * kLanes));

  // 2. Weights in place of scores, and their sums.
  emitter.forLoop(emitter.index(0), emitter.index(count), 1, [&](Value row) { emitRowWeights(row, extent); });
  SmallVector<Value> sums;
  for (int64_t r = 0; r < count; ++r)
    sums.push_back(b.create<vector::LoadOp>(loc, item.vectorType, emitter.scratch,
                                            item.place(shape.tileSums, emitter.index(r * kLanes))));
  Value sum = buildRowReduction(item, sums, [&](Value x, Value y) { return m.add(x, y); });
  updateState(shape.sums, [&](Value before) { return factors.merge(m, before, sum); });
}

Value AttentionTile::loadScores(Value row, Value key, int64_t vector) {
  Value place = emitter.add(emitter.add(scoreAddress(row), key), emitter.index(vector * kLanes));
  return b.create<vector::LoadOp>(loc, item.vectorType, emitter.scratch, place);
}

void AttentionTile::emitRowWeights(Value row, const Extent &extent) {
  FloatMath m(b, loc, item.vectorType);
  int64_t vectors = shape.columnVectors;
  Value maximum = emitter.broadcast(item.loadFloat(shape.factors + 2 * kLanes, row), kLanes);
  SmallVector<Value> zeros(vectors, emitter.zero(item.vectorType));
  SmallVector<Value> sums = emitter.forLoop(extent.low, extent.high, width, zeros, [&](Value key, ValueRange current) {
    SmallVector<Value> next;
    for (int64_t j = 0; j < vectors; ++j) {
      Value weight = buildWeight(m, m.sub(loadScores(row, key, j), maximum));
      Value first = emitter.add(key, emitter.index(j * kLanes));
      if (shape.codesValues)
        weight = storeWeightCodes(row, first, weight);
      else
        b.create<vector::StoreOp>(loc, weight, emitter.scratch, emitter.add(scoreAddress(row), first));
      next.push_back(m.add(current[j], weight));
    }
    return next;
  });
  for (int64_t j = 1; j < vectors; ++j)
    sums[0] = m.add(sums[0], sums[j]);
  b.create<vector::StoreOp>(loc, sums[0], emitter.scratch,
                            item.place(shape.tileSums, emitter.mul(row, emitter.index(kLanes))));
}

//===----------------------------------------------------------------------===//
// Product with the values
//===----------------------------------------------------------------------===//

void AttentionTile::emitProduct(const KeyBlock &block, const Extent &extent) {
  Value high = emitter.min(extent.high, block.length);
  std::optional<int64_t> columns = item.plan.nest.bounds[Loops::ValueSize].getConstant();
  auto maskOf = [&](Value column) {
    return emitter.maskBelow(emitter.min(emitter.sub(emitter.bound(Loops::ValueSize), column), emitter.index(kLanes)));
  };
  if (!columns) {
    emitter.forLoop(emitter.index(0), emitter.size(shape.valueWidth), kLanes,
                    [&](Value column) { emitColumns(block, extent.low, high, column, 1, maskOf(column)); });
    return;
  }
  // As few passes over the keys as the registers allow, of equal width: five vectors are three and two. A tile of fewer
  // rows has room for more columns, and needs their accumulators to hide a multiply-add's latency.
  constexpr int64_t kMostVectors = 4;
  int64_t room = std::min((shape.rowTile + 1) * shape.columnVectors / (count + 1), kMostVectors);
  int64_t vectors = llvm::divideCeil(*columns, kLanes), passes = llvm::divideCeil(vectors, room);
  bool isWhole = *columns % kLanes == 0 || shape.copyValue || multipliesCodes();
  if (isWhole && vectors > 0 && vectors % passes == 0) {
    int64_t each = vectors / passes;
    emitter.forLoop(emitter.index(0), emitter.index(vectors * kLanes), each * kLanes,
                    [&](Value column) { emitColumns(block, extent.low, high, column, each, nullptr); });
    return;
  }
  for (int64_t first = 0, left = passes; first < vectors; --left) {
    int64_t share = llvm::divideCeil(vectors - first, left);
    bool isLast = first + share == vectors;
    Value mask = isLast && !isWhole ? maskOf(emitter.index((vectors - 1) * kLanes)) : Value();
    emitColumns(block, extent.low, high, emitter.index(first * kLanes), share, mask);
    first += share;
  }
}

void AttentionTile::emitColumns(const KeyBlock &block, Value low, Value high, Value column, int64_t vectors,
                                Value tailMask) {
  if (multipliesCodes()) {
    emitCodedColumns(low, high, column, vectors);
    return;
  }
  // One key after the other; values behind the last key are never read.
  SmallVector<Value> sums(count * vectors, emitter.zero(item.vectorType));
  Value memory = item.valueMemory(), step = item.valueStep();
  Value first = emitter.add(item.valueAddress(block), column);
  sums = emitter.forLoop(low, high, 1, sums, [&](Value key, ValueRange current) {
    auto loadValues = [&] {
      SmallVector<Value> values;
      for (int64_t j = 0; j < vectors; ++j) {
        Lanes lanes{kLanes, Loops::ValueSize, j + 1 == vectors ? tailMask : Value()};
        if (shape.codesValues) {
          Value place = emitter.add(column, emitter.index(j * kLanes));
          values.push_back(item.loadValueCodes(emitter.add(block.begin, key), place, lanes));
          continue;
        }
        Value at = emitter.add(emitter.add(first, emitter.mul(key, step)), emitter.index(j * kLanes));
        values.push_back(emitter.loadUnit(memory, b.getF32Type(), at, lanes));
      }
      return values;
    };
    if (!pass.skipsZeroWeights)
      return addKey(key, loadValues(), current);
    Value weight = b.create<memref::LoadOp>(loc, emitter.scratch, emitter.add(scoreAddress(int64_t(0)), key));
    FloatMath scalar(b, loc, b.getF32Type());
    auto branch = b.create<scf::IfOp>(loc, current.getTypes(), scalar.unequal(weight, scalar.real(0)), true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    b.create<scf::YieldOp>(loc, addKey(key, loadValues(), current));
    b.setInsertionPointToStart(branch.elseBlock());
    b.create<scf::YieldOp>(loc, current);
    return SmallVector<Value>(branch.getResults());
  });
  joinColumns(column, vectors, sums);
}

void AttentionTile::joinColumns(Value column, int64_t vectors, ArrayRef<Value> sums) {
  FloatMath m(b, loc, item.vectorType);
  auto columnOf = [&](int64_t j) { return emitter.add(column, emitter.index(j * kLanes)); };
  SmallVector<Value> scales;
  for (int64_t j = 0; j < vectors && shape.codesValues; ++j)
    scales.push_back(item.loadColumnScales(columnOf(j), /*showsNaN=*/multipliesCodes()));
  for (int64_t r = 0; r < count; ++r) {
    Value output = item.outputAddress(tileRows[r].slot);
    auto factorAt = [&](int64_t number) {
      return emitter.broadcast(item.loadFloat(shape.factors + number * kLanes, emitter.index(r)), kLanes);
    };
    StateFactors factors{factorAt(0), factorAt(1)};
    for (int64_t j = 0; j < vectors; ++j) {
      Value place = emitter.add(output, columnOf(j));
      Value before = b.create<vector::LoadOp>(loc, item.vectorType, emitter.scratch, place);
      Value added = sums[r * vectors + j];
      if (shape.codesValues)
        added = m.mul(added, scales[j]);
      if (pass.skipsZeroWeights) {
        before = m.select(m.unequal(factors.before, m.real(0)), before, m.real(0));
        added = m.select(m.unequal(factors.added, m.real(0)), added, m.real(0));
      }
      b.create<vector::StoreOp>(loc, factors.merge(m, before, added), emitter.scratch, place);
    }
  }
}

SmallVector<Value> AttentionTile::addKey(Value key, ArrayRef<Value> values, ValueRange sums) {
  FloatMath m(b, loc, item.vectorType);
  SmallVector<Value> next;
  for (int64_t r = 0; r < count; ++r) {
    Value weight = b.create<memref::LoadOp>(loc, emitter.scratch, emitter.add(scoreAddress(r), key));
    Value spread = b.create<vector::BroadcastOp>(loc, item.vectorType, weight);
    for (auto [j, value] : llvm::enumerate(values))
      next.push_back(m.fma(spread, value, sums[r * values.size() + j]));
  }
  return next;
}

} // namespace heddle::cpu
