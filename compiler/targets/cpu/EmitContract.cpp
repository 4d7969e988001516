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
    Value rows = emitter.index(plan.contract.rowsPerItem);
    rowBegin = emitter.mul(digits[m], rows);
    rowEnd = emitter.min(emitter.add(rowBegin, rows), emitter.bound(m));
    int64_t width = plan.contract.columnVectors * kLanes;
    column = emitter.mul(digits[m + 1], emitter.index(width));
    Value columns = emitter.min(emitter.sub(emitter.bound(n), column), emitter.index(width));
    Value panels = emitter.floorDiv(emitter.add(columns, emitter.index(kLanes - 1)), kLanes);
    operands.prepare(rowBegin, rowEnd, column, panels);
    emitForPanels(panels);
    return status;
  }

private:
  /// The last group of panels may be narrower than the others.
  void emitForPanels(Value panels) {
    int64_t most = plan.contract.columnVectors;
    std::optional<int64_t> bound = plan.nest.bounds[n].getConstant();
    if (!bound) {
      SmallVector<int64_t> counts = llvm::to_vector(llvm::seq<int64_t>(1, most + 1));
      emitSwitch(emitter, panels, counts, [&](int64_t count) { emitRows(count); });
      return;
    }
    int64_t total = llvm::divideCeil(*bound, kLanes), last = total % most;
    SmallVector<int64_t> counts;
    if (total >= most)
      counts.push_back(most);
    if (last != 0)
      counts.push_back(last);
    emitSwitch(emitter, panels, counts, [&](int64_t count) { emitRows(count); });
  }

  //===--- Rows -------------------------------------------------------------===//

  void emitRows(int64_t vectors) {
    // All items but the last have a multiple of the tile.
    std::optional<int64_t> rows = plan.nest.bounds[m].getConstant();
    RowTiles tiles{plan.contract.rowTile, plan.config.getInteger(config::kSplitRowTail) != 0, std::nullopt};
    if (rows)
      tiles.rest = *rows % tiles.height;
    forRowTiles(emitter, tiles, rowBegin, rowEnd, [&](Value row, int64_t count) { emitTile(row, count, vectors); });
  }

  //===--- One tile ---------------------------------------------------------===//

  void emitTile(Value row, int64_t rows, int64_t vectors) {
    SmallVector<Value> lhsRows, panels;
    for (int64_t r = 0; r < rows; ++r)
      lhsRows.push_back(operands.lhsRow(emitter.add(row, emitter.index(r))));
    for (int64_t j = 0; j < vectors; ++j)
      panels.push_back(operands.rhsPanel(j));
    auto type = VectorType::get({kLanes}, b.getF32Type());
    Value lhs = operands.lhsMemory(), rhs = operands.rhsMemory(), lhsStep = operands.lhsStep();
    SmallVector<Value> zeros(rows * vectors, emitter.zero(type));
    SmallVector<Value> sums =
        emitter.forLoop(emitter.index(0), emitter.bound(k), 1, zeros, [&](Value i, ValueRange current) {
          Value rhsOffset = emitter.mul(i, emitter.index(kLanes)), lhsOffset = emitter.mul(i, lhsStep);
          SmallVector<Value> factors, next;
          for (Value panel : panels)
            factors.push_back(b.create<vector::LoadOp>(loc, type, rhs, emitter.add(panel, rhsOffset)));
          for (int64_t r = 0; r < rows; ++r) {
            Value element = b.create<memref::LoadOp>(loc, lhs, emitter.add(lhsRows[r], lhsOffset));
            Value spread = b.create<vector::BroadcastOp>(loc, type, element);
            for (int64_t j = 0; j < vectors; ++j)
              // vector.fma would leave it to LLVM whether to round once; math.fma always does.
              next.push_back(b.create<math::FmaOp>(loc, spread, factors[j], current[r * vectors + j]));
          }
          return next;
        });
    finishTile(row, rows, vectors, sums);
  }

  /// Masks where the last columns may be missing; on CPUs whose masked stores are slow, only there.
  void finishTile(Value row, int64_t rows, int64_t vectors, ArrayRef<Value> sums) {
    if (plan.nest.bounds[n].isMultipleOf(kLanes)) {
      emitEpilogue(row, rows, vectors, sums, false);
      return;
    }
    if (plan.config.getInteger(config::kBranchMasks) == 0) {
      emitEpilogue(row, rows, vectors, sums, true);
      return;
    }
    Value end = emitter.add(column, emitter.index(vectors * kLanes));
    Value isWhole = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ule, end, emitter.bound(n));
    emitter.ifThen(
        isWhole, [&] { emitEpilogue(row, rows, vectors, sums, false); },
        [&] { emitEpilogue(row, rows, vectors, sums, true); });
  }

  void emitEpilogue(Value row, int64_t rows, int64_t vectors, ArrayRef<Value> sums, bool masked) {
    for (int64_t j = 0; j < vectors; ++j) {
      Lanes lanes{kLanes, n, nullptr};
      loops[n] = emitter.add(column, emitter.index(j * kLanes));
      if (masked)
        lanes.mask = emitter.maskBelow(emitter.min(emitter.sub(emitter.bound(n), loops[n]), emitter.index(kLanes)));
      for (int64_t r = 0; r < rows; ++r) {
        loops[m] = emitter.add(row, emitter.index(r));
        loops[k] = Value();
        SmallVector<Value> arguments = {sums[r * vectors + j]};
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
  Value rowBegin, rowEnd, column;
  LogicalResult status = success();
};

} // namespace

LogicalResult emitContract(KernelEmitter &emitter) {
  LogicalResult status = success();
  emitter.forEachItem([&](ArrayRef<Value> digits) { status = ContractGenerator(emitter).emitItem(digits); });
  return status;
}

} // namespace heddle::cpu
