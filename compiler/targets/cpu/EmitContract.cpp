// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.contract. A work item is one block of rows by one group of panels. Its tiles are MR rows by NV vectors of 16
// columns; the loop over k carries their accumulators in registers and adds one product at a time to each, so the
// order of a sum never depends on tile, rows or threads. The epilogue runs on the accumulators before they are stored.

#include "compiler/targets/cpu/ContractMultiply.h"
#include "compiler/targets/cpu/ContractOperands.h"
#include "compiler/targets/cpu/Generators.h"
#include "compiler/targets/cpu/RegionEmitter.h"
#include "compiler/targets/cpu/RowTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace heddle::cpu {

namespace {

class ContractGenerator {
public:
  explicit ContractGenerator(KernelEmitter &emitter)
      : emitter(emitter), b(emitter.b), loc(emitter.loc), plan(emitter.plan), loops(plan.nest.getNumLoops()),
        operands(emitter, loops), multiply(ContractMultiply::create(emitter)), m(plan.contract.panelLoops[0]),
        n(plan.contract.panelLoops[1]), k(plan.contract.panelLoops[2]),
        firstCapture(cast<kernel::ContractOp>(plan.root).getFirstCapture()) {}

  LogicalResult emitItem(ArrayRef<Value> digits) {
    for (unsigned loop = 0; loop < m; ++loop)
      loops[loop] = digits[loop];
    Value rows = emitEvenShare(emitter, emitter.bound(m), plan.contract.rowsPerItem, plan.contract.rowTile);
    rowBegin = emitter.mul(digits[m], rows);
    rowEnd = emitter.min(emitter.add(rowBegin, rows), emitter.bound(m));
    Value group = digits[m + 1]; // of few rows, or several groups of many
    operands.copyRows(rowBegin, rowEnd);
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
    for (int64_t first = 0; first < panels; first += width) {
      Tile tile{rowBegin, rows, first, std::min(width, panels - first)};
      Prefetch prefetch;
      if (plan.contract.prefetchesFewRows) {
        // The only tile of its panels fetches all of the next ones.
        prefetch.share = emitter.index(operands.getStepElements());
        for (int64_t j = 0; j < tile.panels; ++j)
          prefetch.to.push_back(operands.nextRhsPanel(first + j));
      }
      emitTile(tile, prefetch);
    }
  }

  //===--- Many rows --------------------------------------------------------===//

  void emitManyRows(Value groups) {
    int64_t count = plan.contract.groupsPerItem;
    if (count == 1) {
      emitGroup(groups);
      return;
    }
    AffineExpr width = plan.nest.bounds[n].toExpr(plan.space);
    Value begin = emitter.mul(groups, emitter.index(count));
    Value end = emitter.size(width.ceilDiv(kLanes * plan.contract.columnVectors));
    end = emitter.min(emitter.add(begin, emitter.index(count)), end);
    emitter.forLoop(begin, end, 1, [&](Value group) { emitGroup(group); });
  }

  void emitGroup(Value group) {
    operands.openGroup(group, plan.contract.columnVectors);
    operands.packPanels();
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
    TileStep first{operands.lhsMemory(), operands.rhsMemory(), {}, {}, operands.depthStride()};
    for (int64_t r = 0; r < tile.rows; ++r)
      first.rows.push_back(operands.lhsRow(emitter.add(tile.row, emitter.index(r))));
    for (int64_t j = 0; j < tile.panels; ++j)
      first.panels.push_back(operands.rhsPanel(tile.firstPanel + j));
    SmallVector<Value> zeros(tile.rows * tile.panels * multiply->numParts, emitter.zero(multiply->sumType));
    Value begin = emitter.index(0), end = operands.getNumSteps();
    SmallVector<Value> sums = plan.contract.blockSteps != 0 ? emitBlocks(tile, first, end, zeros, prefetch)
                                                            : emitSteps(first, begin, end, zeros, prefetch);
    SmallVector<Value> joined;
    for (int64_t i = 0; i < tile.rows * tile.panels; ++i)
      joined.push_back(multiply->join(ValueRange(sums).slice(i * multiply->numParts, multiply->numParts)));
    finishTile(tile, joined);
  }

  /// All |steps|, block by block, each of which adds its own sums times their scales.
  SmallVector<Value> emitBlocks(const Tile &tile, const TileStep &first, Value steps, ValueRange zeros,
                                const Prefetch &prefetch) {
    int64_t size = plan.contract.blockSteps;
    return emitter.forLoop(emitter.index(0), steps, size, zeros, [&](Value begin, ValueRange current) {
      Value end = emitter.min(emitter.add(begin, emitter.index(size)), steps), block = emitter.floorDiv(begin, size);
      SmallVector<Value> sums = emitSteps(first, begin, end, zeros, prefetch);
      for (int64_t j = 0; j < tile.panels; ++j) {
        Value scales = operands.loadScales(tile.firstPanel + j, block);
        for (int64_t r = 0; r < tile.rows; ++r) {
          Value &sum = sums[r * tile.panels + j];
          sum = b.create<math::FmaOp>(loc, scales, sum, current[r * tile.panels + j]);
        }
      }
      return sums;
    });
  }

  /// Steps |begin| to |end| of the loop over k; |first|: places of the factors at step 0.
  SmallVector<Value> emitSteps(const TileStep &first, Value begin, Value end, ValueRange sums,
                               const Prefetch &prefetch) {
    Value lhsStep = operands.lhsStep();
    return emitter.forLoop(begin, end, 1, sums, [&](Value i, ValueRange current) {
      Value rhsOffset = emitter.mul(i, emitter.index(operands.getStepElements())), lhsOffset = emitter.mul(i, lhsStep);
      TileStep step = first;
      for (Value to : prefetch.to)
        b.create<memref::PrefetchOp>(loc, step.rhs, ValueRange{emitter.add(to, emitter.mul(i, prefetch.share))},
                                     /*isWrite=*/false, /*localityHint=*/3, /*isDataCache=*/true);
      for (Value &row : step.rows)
        row = emitter.add(row, lhsOffset);
      for (Value &panel : step.panels)
        panel = emitter.add(panel, rhsOffset);
      return multiply->multiply(step, current);
    });
  }

  /// Whether |result| has rows as neighbours in memory and columns apart, as the channels of a convolution are.
  bool isStoredByColumns(unsigned result) {
    const Access &access = plan.getResult(result);
    return !access.isIrregularIn(m) && access.strides[m] == Polynomial(1) && !access.isIrregularIn(n) &&
           getLaneStride(access, n, kLanes) == LaneStride::Other;
  }

  /// Masks where the last columns may be missing; where CPUs store slowly behind a mask, or columns are stored one by
  /// one, only there.
  void finishTile(const Tile &tile, ArrayRef<Value> sums) {
    if (plan.nest.bounds[n].isMultipleOf(kLanes)) {
      emitEpilogue(tile, sums, false);
      return;
    }
    bool branches = plan.config.getInteger(config::kBranchMasks) != 0;
    for (unsigned result = 0; result < plan.root->getNumResults(); ++result)
      branches |= isStoredByColumns(result);
    if (!branches) {
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
      SmallVector<SmallVector<Value>> columns(plan.root->getNumResults());
      for (int64_t r = 0; r < tile.rows; ++r) {
        loops[m] = emitter.add(tile.row, emitter.index(r));
        FailureOr<SmallVector<Value>> results = finishVector(sums[r * tile.panels + j], lanes);
        if (failed(results)) {
          status = failure();
          return;
        }
        for (auto [result, value] : llvm::enumerate(*results)) {
          if (!masked && isStoredByColumns(result))
            columns[result].push_back(value);
          else
            emitter.store(value, plan.getResultBinding(result), plan.getResult(result), loops, lanes);
        }
      }
      loops[m] = tile.row;
      for (auto [result, rows] : llvm::enumerate(columns))
        emitter.storeColumns(rows, plan.getResultBinding(result), plan.getResult(result), loops, lanes);
    }
  }

  /// What the epilogue makes of |sum| at |loops|.
  FailureOr<SmallVector<Value>> finishVector(Value sum, const Lanes &lanes) {
    loops[k] = Value();
    SmallVector<Value> arguments = {sum};
    for (unsigned input = firstCapture; input < plan.getNumInputs(); ++input)
      arguments.push_back(emitter.load(plan.bindings[input], plan.getInput(input), loops, lanes));
    return RegionEmitter(emitter, loops, lanes).emit(plan.root->getRegion(0), arguments);
  }

  KernelEmitter &emitter;
  OpBuilder &b;
  Location loc;
  const KernelPlan &plan;
  SmallVector<Value> loops;
  ContractOperands operands;
  std::unique_ptr<ContractMultiply> multiply;
  unsigned m, n, k, firstCapture;
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
