// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.contract. A work item is one block of rows by one group of panels. Its tiles are MR rows by NV vectors of 16
// columns; the loop over k carries their accumulators in registers and adds one product at a time to each, so the
// order of a sum never depends on tile, rows or threads. The epilogue runs on the accumulators before they are stored.

#include "compiler/targets/cpu/ContractOperands.h"
#include "compiler/targets/cpu/Generators.h"
#include "compiler/targets/cpu/RegionEmitter.h"
#include "compiler/targets/cpu/RowTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle::cpu {

namespace {

class ContractGenerator {
public:
  explicit ContractGenerator(KernelEmitter &emitter)
      : emitter(emitter), b(emitter.b), loc(emitter.loc), plan(emitter.plan), loops(plan.nest.getNumLoops()),
        operands(emitter, loops), m(plan.contract.panelLoops[0]), n(plan.contract.panelLoops[1]),
        k(plan.contract.panelLoops[2]) {}

  LogicalResult emitItem(ArrayRef<Value> digits) {
    for (unsigned loop = 0; loop < m; ++loop)
      loops[loop] = digits[loop];
    Value rows = emitEvenShare(emitter, emitter.bound(m), plan.contract.rowsPerItem, plan.contract.rowTile);
    rowBegin = emitter.mul(digits[m], rows);
    rowEnd = emitter.min(emitter.add(rowBegin, rows), emitter.bound(m));
    Value group = digits[m + 1];
    std::optional<int64_t> height = plan.nest.bounds[m].getConstant();
    int64_t fewRows = plan.contract.fewRows;
    if (fewRows == 0 || (height && *height > fewRows)) {
      emitManyRows(group);
    } else if (height) {
      emitFewRows(group);
    } else {
      Value isFew = emitter.less(emitter.bound(m), emitter.index(fewRows + 1));
      emitter.ifThen(isFew, [&] { emitFewRows(group); }, [&] { emitManyRows(group); });
    }
    return status;
  }

private:
  /// Some rows by neighbouring panels of the item's group.
  struct Tile {
    Value row;
    int64_t rows, firstPanel, panels;
  };

  /// Where a tile fetches what the next item reads, so that memory is busy while this item's rows multiply.
  struct Prefetch {
    Value share;           // elements of each panel that a tile fetches per step of k
    SmallVector<Value> to; // element numbers
  };

  //===--- Few rows ---------------------------------------------------------===//

  /// All rows are one tile, and several panels at once give it the accumulators and memory the streams that it needs.
  void emitFewRows(Value group) {
    operands.openGroup(group, plan.contract.fewRowVectors);
    operands.prepare(rowBegin, rowEnd);
    emitSwitch(emitter, operands.getNumPanels(), operands.possibleNumPanels(), [&](int64_t panels) {
      SmallVector<int64_t> counts = llvm::to_vector(llvm::seq<int64_t>(1, plan.contract.fewRows + 1));
      if (std::optional<int64_t> height = plan.nest.bounds[m].getConstant())
        counts.assign(*height == 0 ? 0 : 1, *height);
      emitSwitch(emitter, emitter.bound(m), counts, [&](int64_t rows) { emitFewRowTiles(rows, panels); }, true);
    });
  }

  void emitFewRowTiles(int64_t rows, int64_t panels) {
    // As many accumulators as a whole tile has.
    int64_t most =
        std::max<int64_t>(1, plan.contract.rowTile * plan.contract.columnVectors / std::max<int64_t>(1, rows));
    int64_t tiles = llvm::divideCeil(panels, most), width = llvm::divideCeil(panels, tiles);
    for (int64_t first = 0; first < panels; first += width)
      emitTile({rowBegin, rows, first, std::min(width, panels - first)});
  }

  //===--- Many rows --------------------------------------------------------===//

  void emitManyRows(Value group) {
    operands.openGroup(group, plan.contract.columnVectors);
    operands.prepare(rowBegin, rowEnd);
    emitSwitch(emitter, operands.getNumPanels(), operands.possibleNumPanels(),
               [&](int64_t panels) { emitRows(panels); });
  }

  void emitRows(int64_t panels) {
    // All items but the last have a multiple of the tile.
    std::optional<int64_t> rows = plan.nest.bounds[m].getConstant();
    RowTiles tiles{plan.contract.rowTile, plan.config.getInteger(config::kSplitRowTail) != 0, std::nullopt};
    if (rows)
      tiles.rest = *rows % tiles.height;
    Value share = plan.contract.prefetchRows != 0 ? emitPrefetchShare() : nullptr;
    forRowTiles(emitter, tiles, rowBegin, rowEnd, [&](Value row, int64_t count) {
      Tile tile{row, count, 0, panels};
      emitTile(tile, share ? planPrefetch(tile, share) : Prefetch());
    });
  }

  /// Shares of a step's elements, so that each is a whole number of elements per step of k. All tiles together fetch
  /// the whole of each panel, or a bit more. Items of too few rows have a share of nothing: the same line again and
  /// again.
  Value emitPrefetchShare() {
    Value rows = emitter.sub(rowEnd, rowBegin), lanes = emitter.index(operands.getStepElements());
    Value tiles = b.create<arith::CeilDivUIOp>(loc, rows, emitter.index(plan.contract.rowTile));
    Value share = b.create<arith::CeilDivUIOp>(loc, lanes, b.create<arith::MaxUIOp>(loc, tiles, emitter.index(1)));
    Value isLow = emitter.less(rows, emitter.index(plan.contract.prefetchRows));
    return b.create<arith::SelectOp>(loc, isLow, emitter.index(0), share);
  }

  Prefetch planPrefetch(const Tile &tile, Value share) {
    // Tiles of a split tail are lower than the others: rounded up, each has a number of its own.
    int64_t height = plan.contract.rowTile;
    Value rows = emitter.add(emitter.sub(tile.row, rowBegin), emitter.index(height - 1));
    Value done = emitter.mul(emitter.floorDiv(rows, height), share);
    Value first = emitter.min(done, emitter.sub(emitter.index(operands.getStepElements()), share));
    Prefetch prefetch{share, {}};
    for (int64_t j = 0; j < tile.panels; ++j)
      prefetch.to.push_back(emitter.add(operands.nextRhsPanel(j), emitter.mul(first, operands.getNumSteps())));
    return prefetch;
  }

  //===--- One tile ---------------------------------------------------------===//

  void emitTile(const Tile &tile, const Prefetch &prefetch = {}) {
    SmallVector<Value> lhsRows, panels;
    for (int64_t r = 0; r < tile.rows; ++r)
      lhsRows.push_back(operands.lhsRow(emitter.add(tile.row, emitter.index(r))));
    for (int64_t j = 0; j < tile.panels; ++j)
      panels.push_back(operands.rhsPanel(tile.firstPanel + j));
    auto type = VectorType::get({kLanes}, b.getF32Type()), pairs = VectorType::get({2 * kLanes}, b.getBF16Type());
    Value lhs = operands.lhsMemory(), rhs = operands.rhsMemory(), lhsStep = operands.lhsStep();
    SmallVector<Value> zeros(tile.rows * tile.panels, emitter.zero(type));
    SmallVector<Value> sums =
        emitter.forLoop(emitter.index(0), operands.getNumSteps(), 1, zeros, [&](Value i, ValueRange current) {
          Value rhsOffset = emitter.mul(i, emitter.index(operands.getStepElements())),
                lhsOffset = emitter.mul(i, lhsStep);
          for (Value to : prefetch.to)
            b.create<memref::PrefetchOp>(loc, rhs, ValueRange{emitter.add(to, emitter.mul(i, prefetch.share))},
                                         /*isWrite=*/false, /*localityHint=*/3, /*isDataCache=*/true);
          return emitProducts(
              tile, current,
              [&](int64_t r) -> Value {
                Value element = b.create<memref::LoadOp>(loc, lhs, emitter.add(lhsRows[r], lhsOffset));
                Value spread = b.create<vector::BroadcastOp>(loc, type, element);
                return plan.contract.pairs ? b.create<vector::BitCastOp>(loc, pairs, spread).getResult() : spread;
              },
              [&](int64_t j) -> Value {
                VectorType read = plan.contract.pairs ? pairs : type;
                return b.create<vector::LoadOp>(loc, read, rhs, emitter.add(panels[j], rhsOffset));
              });
        });
    finishTile(tile, sums);
  }

  /// One step of k. The factors of the narrower side are in registers all at once, the others one after the other.
  SmallVector<Value> emitProducts(const Tile &tile, ValueRange sums, llvm::function_ref<Value(int64_t)> left,
                                  llvm::function_ref<Value(int64_t)> right) {
    bool keepsRows = tile.rows < tile.panels;
    SmallVector<Value> kept, next(sums.size());
    for (int64_t i = 0; i < (keepsRows ? tile.rows : tile.panels); ++i)
      kept.push_back(keepsRows ? left(i) : right(i));
    for (int64_t i = 0; i < (keepsRows ? tile.panels : tile.rows); ++i) {
      Value passing = keepsRows ? right(i) : left(i);
      for (auto [j, other] : llvm::enumerate(kept)) {
        int64_t sum = keepsRows ? j * tile.panels + i : i * tile.panels + j;
        next[sum] = emitProduct(keepsRows ? other : passing, keepsRows ? passing : other, sums[sum]);
      }
    }
    return next;
  }

  Value emitProduct(Value left, Value right, Value sum) {
    // vector.fma would leave it to LLVM whether to round once; math.fma always does.
    if (!plan.contract.pairs)
      return b.create<math::FmaOp>(loc, left, right, sum);
    // There is no op for it, and LLVM finds it in no other form.
    auto intrinsic = b.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512");
    return b.create<LLVM::CallIntrinsicOp>(loc, sum.getType(), intrinsic, ValueRange{sum, left, right}).getResult(0);
  }

  /// Masks where the last columns may be missing; on CPUs whose masked stores are slow, only there.
  void finishTile(const Tile &tile, ArrayRef<Value> sums) {
    if (plan.nest.bounds[n].isMultipleOf(kLanes)) {
      emitEpilogue(tile, sums, false);
      return;
    }
    if (plan.config.getInteger(config::kBranchMasks) == 0) {
      emitEpilogue(tile, sums, true);
      return;
    }
    // Only the tile's last panel may be the last of all.
    Value end = emitter.add(operands.column(tile.firstPanel + tile.panels - 1), emitter.index(kLanes));
    Value isWhole = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ule, end, emitter.bound(n));
    emitter.ifThen(isWhole, [&] { emitEpilogue(tile, sums, false); }, [&] { emitEpilogue(tile, sums, true); });
  }

  void emitEpilogue(const Tile &tile, ArrayRef<Value> sums, bool masked) {
    for (int64_t j = 0; j < tile.panels; ++j) {
      Lanes lanes{kLanes, n, nullptr};
      loops[n] = operands.column(tile.firstPanel + j);
      if (masked)
        lanes.mask = emitter.maskBelow(emitter.min(emitter.sub(emitter.bound(n), loops[n]), emitter.index(kLanes)));
      for (int64_t r = 0; r < tile.rows; ++r) {
        loops[m] = emitter.add(tile.row, emitter.index(r));
        loops[k] = Value();
        SmallVector<Value> arguments = {sums[r * tile.panels + j]};
        for (unsigned input = 2; input < plan.getNumInputs(); ++input)
          arguments.push_back(emitter.load(plan.bindings[input], plan.getInput(input), loops, lanes));
        auto results = RegionEmitter(emitter, loops, lanes).emit(plan.root->getRegion(0), arguments);
        if (failed(results)) {
          status = failure();
          return;
        }
        for (auto [result, value] : llvm::enumerate(*results))
          emitter.store(value, plan.getResultBinding(result), plan.getResult(result), loops, lanes);
      }
    }
  }

  KernelEmitter &emitter;
  OpBuilder &b;
  Location loc;
  const KernelPlan &plan;
  SmallVector<Value> loops;
  ContractOperands operands;
  unsigned m, n, k;
  Value rowBegin, rowEnd;
  LogicalResult status = success();
};

} // namespace

LogicalResult emitContract(KernelEmitter &emitter) {
  LogicalResult status = success();
  emitter.forEachItem([&](ArrayRef<Value> digits) { status = ContractGenerator(emitter).emitItem(digits); });
  return status;
}

} // namespace heddle::cpu
