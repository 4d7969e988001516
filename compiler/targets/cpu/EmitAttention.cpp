// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.attention. A work item is a block of queries of all heads that share keys. It walks over the keys in blocks of
// constant length: packs those that any of its rows sees, then takes one tile of rows after the other through them with
// a running maximum, sum and output. Rows that the pass can't finish (no key kept, or a key that weighs nothing has a
// value that isn't finite) are judged and taken through the keys again, one by one; there are hardly ever any.
//
// What a row gives depends on its own keys alone: blocks lie at constant places, a key's place in a block decides where
// its weight is added, and a masked key adds exactly nothing, as if its group had been skipped.

#include "compiler/targets/cpu/AttentionItem.h"
#include "compiler/targets/cpu/AttentionTile.h"
#include "compiler/targets/cpu/FloatMath.h"
#include "compiler/targets/cpu/Generators.h"
#include "compiler/targets/cpu/RowTiles.h"

#include <limits>

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle::cpu {

namespace {

using Loops = kernel::AttentionOp;

class AttentionGenerator {
public:
  AttentionGenerator(KernelEmitter &emitter, ArrayRef<Value> digits)
      : item(emitter, digits), emitter(emitter), b(emitter.b), loc(emitter.loc), shape(item.shape),
        scalar(b, loc, b.getF32Type()), nought(emitter.index(0)) {}

  LogicalResult emit() {
    if (shape.copyQuery)
      item.copyQueries();
    forRows([&](Value slot) { item.resetRow(slot); });
    Value seesAny = emitPass(item.length, AttentionPass(), /*all=*/false);
    emitter.ifThen(judgeRows(seesAny), [&] { repeatRows(AttentionPass()); });
    forRows([&](Value slot) { writeRow(slot); });
    if (item.op.getHasProbabilities())
      emitWeights();
    return item.status;
  }

private:
  void forRows(llvm::function_ref<void(Value)> body) { emitter.forLoop(nought, item.rows, 1, body); }

  RowTiles getTiles() {
    RowTiles tiles{shape.rowTile, item.plan.config.getInteger(config::kSplitRowTail) != 0, std::nullopt};
    std::optional<int64_t> queries = item.plan.nest.bounds[Loops::Row].getConstant();
    // The rows of every item are known where all items are alike.
    if (queries && *queries <= shape.blockQ)
      tiles.rest = *queries * shape.heads % tiles.height;
    else if (queries && *queries % shape.blockQ == 0)
      tiles.rest = shape.getRowsPerItem() % tiles.height;
    return tiles;
  }

  /// Takes all rows through the keys below |end|; |all|: even those that no row sees. Returns whether any is seen.
  Value emitPass(Value end, const AttentionPass &pass, bool all) {
    Value none = b.create<arith::ConstantIntOp>(loc, 0, 1);
    return emitter
        .forLoop(nought, end, shape.blockKv, ValueRange{none},
                 [&](Value begin, ValueRange found) {
                   KeyBlock block = item.getBlock(begin);
                   Value any = item.packBlock(block, all);
                   auto emitTiles = [&] {
                     forRowTiles(emitter, getTiles(), nought, item.rows,
                                 [&](Value slot, int64_t rows) { AttentionTile(item, pass).emit(slot, rows, block); });
                   };
                   if (all)
                     emitTiles();
                   else
                     emitter.ifThen(any, emitTiles);
                   return SmallVector<Value>{b.create<arith::OrIOp>(loc, found.front(), any)};
                 })
        .front();
  }

  //===--- Rows that need more ----------------------------------------------===//

  Value isVerdict(Value verdict, Verdict expected) { return scalar.equal(verdict, scalar.real(double(expected))); }

  /// Is any number of the row's output NaN?
  Value hasNaN(Value slot) {
    FloatMath m(b, loc, item.vectorType);
    Value output = item.outputAddress(slot), none = b.create<arith::ConstantIntOp>(loc, 0, 1);
    return emitter
        .forLoop(nought, emitter.size(shape.valueWidth), kLanes, ValueRange{none},
                 [&](Value column, ValueRange found) {
                   Value part =
                       b.create<vector::LoadOp>(loc, item.vectorType, emitter.scratch, emitter.add(output, column));
                   Value any = b.create<vector::ReductionOp>(loc, vector::CombiningKind::OR, m.unequal(part, part));
                   return SmallVector<Value>{b.create<arith::OrIOp>(loc, found.front(), any)};
                 })
        .front();
  }

  /// Writes each row's verdict; returns whether any must be repeated. |seesAny|: some row may see some key.
  Value judgeRows(Value seesAny) {
    Value none = b.create<arith::ConstantIntOp>(loc, 0, 1);
    return emitter
        .forLoop(nought, item.rows, 1, ValueRange{none},
                 [&](Value slot, ValueRange found) {
                   Value sum = item.loadFloat(shape.sums, slot);
                   item.storeFloat(scalar.real(double(Verdict::Ordinary)), shape.verdicts, slot);
                   // A kept score that is a number weighs 1 at its maximum, so a sum of 0 has none.
                   emitter.ifThen(
                       scalar.equal(sum, scalar.real(0)), [&] { judgeEmptyRow(slot, seesAny); },
                       [&] {
                         Value isNumber = scalar.equal(sum, sum);
                         emitter.ifThen(b.create<arith::AndIOp>(loc, isNumber, hasNaN(slot)),
                                        [&] { markForRepeat(slot, Verdict::Exact); });
                       });
                   Value verdict = item.loadFloat(shape.verdicts, slot);
                   Value repeats = b.create<arith::OrIOp>(loc, isVerdict(verdict, Verdict::Literal),
                                                          isVerdict(verdict, Verdict::Exact));
                   return SmallVector<Value>{b.create<arith::OrIOp>(loc, found.front(), repeats)};
                 })
        .front();
  }

  void markForRepeat(Value slot, Verdict verdict) {
    item.resetRow(slot);
    item.storeFloat(scalar.real(double(verdict)), shape.verdicts, slot);
  }

  /// A row without weights: the mask decides whether it has no keys, or keys that all score -infinity (NaN).
  void judgeEmptyRow(Value slot, Value seesAny) {
    auto isFalse = [&](Value x) {
      return b.create<arith::XOrIOp>(loc, x, b.create<arith::ConstantIntOp>(loc, 1, 1)).getResult();
    };
    Value hasKeys = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, item.length, nought);
    auto noKeys = [&] { item.storeFloat(scalar.real(double(Verdict::NoKeys)), shape.verdicts, slot); };
    if (!item.hasMask) {
      emitter.ifThen(isFalse(hasKeys), noKeys);
      return;
    }
    // Where the item's rows see no group at all there is nothing to look for.
    auto keeps = b.create<scf::IfOp>(loc, seesAny.getType(), seesAny, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(keeps.thenBlock());
      b.create<scf::YieldOp>(loc, item.keepsAny(item.getRow(slot)));
      b.setInsertionPointToStart(keeps.elseBlock());
      b.create<scf::YieldOp>(loc, seesAny);
    }
    emitter.ifThen(isFalse(keeps.getResult(0)), [&] {
      if (item.op.getFullyMasked() == "literal")
        emitter.ifThen(hasKeys, [&] { markForRepeat(slot, Verdict::Literal); }, noKeys);
      else
        noKeys();
    });
  }

  /// Takes the rows whose verdict asks for it through all keys, one by one. |base| says what the passes do otherwise.
  void repeatRows(const AttentionPass &base) {
    Value end = base.writesWeights ? emitter.bound(Loops::Key) : item.length;
    item.forBlocks(end, [&](Value begin) {
      KeyBlock block = item.getBlock(begin);
      item.packBlock(block, /*all=*/true);
      forRows([&](Value slot) {
        Value verdict = item.loadFloat(shape.verdicts, slot);
        AttentionPass literal = base, exact = base;
        literal.masks = false;
        literal.skipsZeroWeights = exact.skipsZeroWeights = true;
        if (item.hasMask && item.op.getFullyMasked() == "literal")
          emitter.ifThen(isVerdict(verdict, Verdict::Literal),
                         [&] { AttentionTile(item, literal).emit(slot, 1, block); });
        if (!base.writesWeights)
          emitter.ifThen(isVerdict(verdict, Verdict::Exact), [&] { AttentionTile(item, exact).emit(slot, 1, block); });
      });
    });
  }

  //===--- Results ----------------------------------------------------------===//

  void writeRow(Value slot) {
    constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    item.select(item.getRow(slot));
    Value sum = item.loadFloat(shape.sums, slot), output = item.outputAddress(slot);
    Value hasNoKeys = isVerdict(item.loadFloat(shape.verdicts, slot), Verdict::NoKeys);
    FloatMath m(b, loc, item.vectorType);
    Value filling = m.real(item.op.getFullyMasked() == "nan" ? kNaN : 0.0f);
    Value divisor = emitter.broadcast(sum, kLanes);
    emitter.forVectors(Loops::ValueSize, nought, emitter.bound(Loops::ValueSize), [&](Value e, const Lanes &lanes) {
      Value part = b.create<vector::LoadOp>(loc, item.vectorType, emitter.scratch, emitter.add(output, e));
      Value result = b.create<arith::SelectOp>(loc, hasNoKeys, filling, m.div(part, divisor));
      item.loops[Loops::ValueSize] = e;
      emitter.store(result, item.plan.getResultBinding(0), item.plan.getResult(0), item.loops, lanes);
    });
    item.loops[Loops::ValueSize] = Value();
    if (!item.op.getHasLse())
      return;
    FloatMath wide(b, loc, b.getF64Type());
    Value logarithm = buildLog64(wide, b.create<arith::ExtFOp>(loc, b.getF64Type(), sum));
    Value maximum = b.create<arith::ExtFOp>(loc, b.getF64Type(), item.loadFloat(shape.maxima, slot));
    Value lse = b.create<arith::TruncFOp>(loc, b.getF32Type(), wide.add(maximum, logarithm));
    lse = b.create<arith::SelectOp>(loc, hasNoKeys, scalar.real(-kInfinity), lse);
    emitter.store(lse, item.plan.getResultBinding(1), item.plan.getResult(1), item.loops, Lanes());
  }

  /// The second pass over the keys: each row's weights by its final maximum and sum.
  void emitWeights() {
    AttentionPass pass;
    pass.writesWeights = true;
    emitPass(emitter.bound(Loops::Key), pass, /*all=*/true);
    if (item.hasMask && item.op.getFullyMasked() == "literal")
      repeatRows(pass);
  }

  AttentionItem item;
  KernelEmitter &emitter;
  OpBuilder &b;
  Location loc;
  const AttentionPlan &shape;
  FloatMath scalar;
  Value nought;
};

} // namespace

LogicalResult emitAttention(KernelEmitter &emitter) {
  LogicalResult status = success();
  emitter.forEachItem([&](ArrayRef<Value> digits) { status = AttentionGenerator(emitter, digits).emit(); });
  return status;
}

} // namespace heddle::cpu
