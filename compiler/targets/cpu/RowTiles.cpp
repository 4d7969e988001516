// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of rows, as loops and switches.

#include "compiler/targets/cpu/RowTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle::cpu {

void emitSwitch(KernelEmitter &emitter, Value value, ArrayRef<int64_t> cases, llvm::function_ref<void(int64_t)> body,
                bool mayBeNone) {
  if (cases.empty())
    return;
  if (cases.size() == 1 && !mayBeNone) {
    body(cases.front());
    return;
  }
  OpBuilder &b = emitter.b;
  auto branch = b.create<scf::IndexSwitchOp>(emitter.loc, TypeRange(), value, cases, cases.size());
  OpBuilder::InsertionGuard guard(b);
  for (auto [region, number] : llvm::zip(branch.getCaseRegions(), cases)) {
    b.setInsertionPointToStart(&region.emplaceBlock());
    body(number);
    b.create<scf::YieldOp>(emitter.loc);
  }
  b.setInsertionPointToStart(&branch.getDefaultRegion().emplaceBlock());
  b.create<scf::YieldOp>(emitter.loc);
}

int64_t getEvenShare(int64_t total, int64_t most, int64_t unit) {
  int64_t items = std::max<int64_t>(llvm::divideCeil(total, most), 1);
  return llvm::alignTo(llvm::divideCeil(total, items), unit);
}

Value emitEvenShare(KernelEmitter &emitter, Value total, int64_t most, int64_t unit) {
  if (std::optional<int64_t> constant = getConstantIntValue(total))
    return emitter.index(getEvenShare(*constant, most, unit));
  OpBuilder &b = emitter.b;
  Location loc = emitter.loc;
  Value items = b.create<arith::CeilDivUIOp>(loc, total, emitter.index(most));
  items = b.create<arith::MaxUIOp>(loc, items, emitter.index(1));
  Value share = b.create<arith::CeilDivUIOp>(loc, total, items), size = emitter.index(unit);
  return unit == 1 ? share : emitter.mul(b.create<arith::CeilDivUIOp>(loc, share, size), size);
}

static void emitTail(KernelEmitter &emitter, const RowTiles &tiles, Value begin, Value tail,
                     llvm::function_ref<void(Value, int64_t)> body) {
  if (tiles.rest && *tiles.rest == 0)
    return;
  OpBuilder &b = emitter.b;
  Location loc = emitter.loc;
  SmallVector<int64_t> sizes = llvm::to_vector(llvm::seq<int64_t>(1, tiles.height));
  if (tiles.getMostShared() == 0) {
    if (tiles.rest)
      sizes = {*tiles.rest};
    emitSwitch(emitter, tail, sizes, [&](int64_t rows) { body(begin, rows); }, /*mayBeNone=*/true);
    return;
  }
  // At most two pieces, each smaller than a tile; the code of every size exists once.
  Value whole = emitter.index(tiles.height);
  Value fits = emitter.less(tail, whole);
  Value half = emitter.floorDiv(emitter.add(tail, emitter.index(1)), 2);
  Value first = b.create<arith::SelectOp>(loc, fits, tail, half);
  emitter.forLoop(emitter.index(0), emitter.index(2), 1, [&](Value piece) {
    Value isFirst = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, piece, emitter.index(0));
    Value rows = b.create<arith::SelectOp>(loc, isFirst, first, emitter.sub(tail, first));
    Value row = emitter.add(begin, b.create<arith::SelectOp>(loc, isFirst, emitter.index(0), first));
    emitSwitch(emitter, rows, sizes, [&](int64_t count) { body(row, count); }, /*mayBeNone=*/true);
  });
}

void forRowTiles(KernelEmitter &emitter, const RowTiles &tiles, Value begin, Value end,
                 llvm::function_ref<void(Value, int64_t)> body) {
  OpBuilder &b = emitter.b;
  Location loc = emitter.loc;
  Value count = emitter.sub(end, begin), tileRows = emitter.index(tiles.height);
  Value rest = b.create<arith::RemUIOp>(loc, count, tileRows);
  Value tail = rest;
  if (int64_t most = tiles.getMostShared()) {
    Value isShort = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ule, emitter.sub(rest, emitter.index(1)),
                                            emitter.index(most - 1));
    Value hasTile = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, count, tileRows);
    Value shares = b.create<arith::AndIOp>(loc, isShort, hasTile);
    tail = b.create<arith::SelectOp>(loc, shares, emitter.add(rest, tileRows), rest);
  }
  Value mainEnd = emitter.sub(end, tail);
  emitter.forLoop(begin, mainEnd, tiles.height, [&](Value row) { body(row, tiles.height); });
  emitTail(emitter, tiles, mainEnd, tail, body);
}

} // namespace heddle::cpu
