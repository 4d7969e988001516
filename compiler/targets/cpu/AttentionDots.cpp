// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of a tile's queries with keys: floats, or codes of 8 bits and their scales. Codes multiply exactly, as bytes
// where the CPU adds four products of them at once, else as 16 bits.

#include "compiler/targets/cpu/AttentionTile.h"
#include "compiler/targets/cpu/FloatMath.h"
#include "compiler/targets/cpu/PanelPacker.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle::cpu {

using Loops = kernel::AttentionOp;

SmallVector<Value> AttentionTile::emitDots(Value start) {
  bool isCodes = shape.quantizes;
  // Parts of 16 keys that one instruction takes.
  int64_t vectors = shape.columnVectors, lanes = isCodes ? shape.vectorBits / 32 : kLanes, parts = kLanes / lanes;
  auto floats = VectorType::get({lanes}, b.getF32Type());
  VectorType type = isCodes ? VectorType::get({lanes}, b.getI32Type()) : floats;
  SmallVector<Value> queries, panels, sums;
  for (const AttentionRow &row : tileRows)
    queries.push_back(item.queryAddress(row));
  for (int64_t j = 0; j < vectors; ++j)
    panels.push_back(item.panelAddress(emitter.add(start, emitter.index(j * kLanes))));
  for (int64_t r = 0; r < count; ++r)
    for (int64_t j = 0; j < vectors * parts; ++j)
      sums.push_back(hasOffsets() ? item.loadOffsets(emitter.add(start, emitter.index(j * kLanes)))
                                  : emitter.zero(type));
  Value memory = item.queryMemory(), step = item.queryStep();
  FloatMath m(b, loc, item.vectorType);
  sums = emitter.forLoop(emitter.index(0), item.getSteps(), 1, sums, [&](Value d, ValueRange current) {
    Value offset = emitter.mul(d, emitter.index(kLanes)), queryOffset = emitter.mul(d, step);
    SmallVector<Value> keys, next;
    for (Value panel : panels)
      for (int64_t part = 0; part < parts; ++part) {
        Value place = emitter.add(emitter.add(panel, offset), emitter.index(part * lanes));
        Value key = b.create<vector::LoadOp>(loc, floats, emitter.scratch, place);
        keys.push_back(isCodes ? b.create<vector::BitCastOp>(loc, type, key).getResult() : key);
      }
    for (int64_t r = 0; r < count; ++r) {
      Value element = b.create<memref::LoadOp>(loc, memory, emitter.add(queries[r], queryOffset));
      if (isCodes)
        element = b.create<arith::BitcastOp>(loc, b.getI32Type(), element);
      Value spread = b.create<vector::BroadcastOp>(loc, type, element);
      for (auto [j, key] : llvm::enumerate(keys)) {
        Value sum = current[r * keys.size() + j];
        next.push_back(isCodes ? item.multiplyWords(sum, spread, key) : m.fma(spread, key, sum));
      }
    }
    return next;
  });
  return shape.quantizes ? scaleDots(start, joinParts(sums, parts)) : sums;
}

SmallVector<Value> AttentionTile::joinParts(ArrayRef<Value> sums, int64_t parts) {
  if (parts == 1)
    return SmallVector<Value>(sums);
  SmallVector<Value> joined;
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, kLanes));
  for (size_t i = 0; i < sums.size(); i += 2)
    joined.push_back(b.create<vector::ShuffleOp>(loc, sums[i], sums[i + 1], order));
  return joined;
}

SmallVector<Value> AttentionTile::scaleDots(Value start, ArrayRef<Value> sums) {
  FloatMath m(b, loc, item.vectorType);
  int64_t vectors = shape.columnVectors;
  SmallVector<Value> keyScales, dots;
  for (int64_t j = 0; j < vectors; ++j)
    keyScales.push_back(
        b.create<vector::LoadOp>(loc, item.vectorType, emitter.scratch,
                                 item.place(shape.keyScales, emitter.add(start, emitter.index(j * kLanes)))));
  for (int64_t r = 0; r < count; ++r) {
    Value queryScale = emitter.broadcast(item.loadFloat(shape.queryScales, tileRows[r].slot), kLanes);
    for (int64_t j = 0; j < vectors; ++j) {
      Value sum = sums[r * vectors + j];
      sum = b.create<arith::SIToFPOp>(loc, item.vectorType, sum);
      dots.push_back(m.mul(sum, m.mul(queryScale, keyScales[j])));
    }
  }
  return dots;
}

SmallVector<Value> AttentionTile::emitDotsOfKeys(const KeyBlock &block, Value start) {
  // By way of the scores' place in scratch, so that the long code for a vector exists once.
  auto placeOf = [&](int64_t r, Value key) { return emitter.add(scoreAddress(r), key); };
  emitter.forLoop(start, emitter.add(start, emitter.index(width)), kLanes, [&](Value key) {
    Value isWhole =
        b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ule, emitter.add(key, emitter.index(kLanes)), block.length);
    auto store = [&](bool clamps) {
      for (auto [r, dot] : llvm::enumerate(emitDotsOfVector(block, key, clamps)))
        b.create<vector::StoreOp>(loc, dot, emitter.scratch, placeOf(r, key));
    };
    emitter.ifThen(isWhole, [&] { store(/*clamps=*/false); }, [&] { store(/*clamps=*/true); });
  });
  SmallVector<Value> dots;
  for (int64_t r = 0; r < count; ++r)
    for (int64_t j = 0; j < shape.columnVectors; ++j)
      dots.push_back(b.create<vector::LoadOp>(loc, item.vectorType, emitter.scratch,
                                              placeOf(r, emitter.add(start, emitter.index(j * kLanes)))));
  return dots;
}

SmallVector<Value> AttentionTile::emitDotsOfVector(const KeyBlock &block, Value key, bool clamps) {
  Value last = emitter.sub(block.length, emitter.index(1));
  SmallVector<Value> keys, queries;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    Value place = emitter.add(key, emitter.index(lane));
    keys.push_back(item.keyAddress(emitter.add(block.begin, clamps ? emitter.min(place, last) : place)));
  }
  for (const AttentionRow &row : tileRows)
    queries.push_back(item.queryAddress(row));
  Value memory = item.queryMemory(), step = item.queryStep();
  FloatMath m(b, loc, item.vectorType);
  // One product after the other in ascending order, as from packed keys.
  auto addProducts = [&](Value d, int64_t size, ValueRange current) {
    Lanes lanes{kLanes, Loops::HeadSize, size < kLanes ? emitter.maskBelow(emitter.index(size)) : Value()};
    SmallVector<Value> rows, next(current);
    for (Value address : keys)
      rows.push_back(emitter.loadUnit(item.keyMemory(), b.getF32Type(), emitter.add(address, d), lanes));
    rows = buildTranspose(emitter, rows);
    for (int64_t i = 0; i < size; ++i)
      for (int64_t r = 0; r < count; ++r) {
        Value offset = emitter.mul(emitter.add(d, emitter.index(i)), step);
        Value element = b.create<memref::LoadOp>(loc, memory, emitter.add(queries[r], offset));
        next[r] = m.fma(b.create<vector::BroadcastOp>(loc, item.vectorType, element), rows[i], next[r]);
      }
    return next;
  };
  int64_t depth = *item.plan.nest.bounds[Loops::HeadSize].getConstant(), whole = depth / kLanes * kLanes;
  SmallVector<Value> sums(count, emitter.zero(item.vectorType));
  if (whole > 0)
    sums = emitter.forLoop(emitter.index(0), emitter.index(whole), kLanes, sums,
                           [&](Value d, ValueRange current) { return addProducts(d, kLanes, current); });
  return whole == depth ? sums : addProducts(emitter.index(whole), depth - whole, sums);
}

} // namespace heddle::cpu
