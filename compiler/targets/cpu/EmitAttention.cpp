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
      : item(emitter, digits), lastDigit(digits.back()), emitter(emitter), b(emitter.b), loc(emitter.loc),
        shape(item.shape), scalar(b, loc, b.getF32Type()), nought(emitter.index(0)) {}

  LogicalResult emit() {
    if (shape.quantizes)
      item.quantizeQueries();
    else if (shape.copyQuery)
      item.copyQueries();
    if (shape.codesValues)
      item.loadValueScales();
    forRows([&](Value slot) { item.resetRow(slot); });
    if (item.op.getGivesParts()) {
      emitPart(emitter.mul(lastDigit, emitter.index(shape.blockKv)));
      forRows([&](Value slot) { item.storePart(slot, lastDigit); });
      return item.status;
    }
    if (item.probability)
      emitTwoPasses();
    else
      judgeRows(shape.parts ? mergeParts() : emitPass(item.length, AttentionPass(), /*all=*/false));
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
    if (!queries || *queries == 0)
      return tiles;
    // The rows of every item are known where all items are alike.
    int64_t share = std::min(getEvenShare(*queries, shape.blockQ, shape.getUnit()), *queries);
    if (*queries % share == 0)
      tiles.rest = share * shape.heads % tiles.height;
    return tiles;
  }

  /// Takes all rows through the keys below |end|; |all|: even those that no row sees. Returns whether any is seen.
  Value emitPass(Value end, const AttentionPass &pass, bool all) {
    Value none = b.create<arith::ConstantIntOp>(loc, 0, 1);
    return emitter
        .forLoop(nought, end, shape.blockKv, ValueRange{none},
                 [&](Value begin, ValueRange found) {
                   Value any = emitBlock(begin, pass, all);
                   return SmallVector<Value>{b.create<arith::OrIOp>(loc, found.front(), any)};
                 })
        .front();
  }

  /// Takes all rows through the block of keys from |begin| on. Returns whether any key is seen.
  Value emitBlock(Value begin, const AttentionPass &pass, bool all) {
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
    return any;
  }

  /// Takes all rows through the keys of a part.
  void emitPart(Value begin) {
    if (!shape.readsKeys) {
      emitBlock(begin, AttentionPass(), /*all=*/false);
      return;
    }
    // A single tile of rows takes the keys as they are; the bits are the same.
    KeyBlock block = item.getBlock(begin);
    Value isTile = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ule, item.rows, emitter.index(shape.rowTile));
    Value any = item.packBlock(block, /*all=*/false, isFalse(isTile));
    AttentionPass asTheyAre;
    asTheyAre.readsKeys = true;
    auto emitFew = [&] {
      emitSwitch(emitter, item.rows, llvm::to_vector(llvm::seq<int64_t>(1, shape.rowTile + 1)),
                 [&](int64_t rows) { AttentionTile(item, asTheyAre).emit(nought, rows, block); });
    };
    auto emitMany = [&] {
      forRowTiles(emitter, getTiles(), nought, item.rows,
                  [&](Value slot, int64_t rows) { AttentionTile(item, AttentionPass()).emit(slot, rows, block); });
    };
    emitter.ifThen(any, [&] { emitter.ifThen(isTile, emitFew, emitMany); });
  }

  /// Merges the states of all parts, or goes through the keys where there are none. Returns whether any key may be
  /// seen.
  Value mergeParts() {
    Value parts = emitter.size(shape.parts);
    Value hasParts = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, parts, nought);
    auto branch = b.create<scf::IfOp>(loc, b.getI1Type(), hasParts, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    forRows([&](Value slot) { emitter.forLoop(nought, parts, 1, [&](Value part) { item.mergePart(slot, part); }); });
    b.create<scf::YieldOp>(loc, hasParts);
    b.setInsertionPointToStart(branch.elseBlock());
    b.create<scf::YieldOp>(loc, emitPass(item.length, AttentionPass(), /*all=*/false));
    return branch.getResult(0);
  }

  //===--- Two passes -------------------------------------------------------===//

  /// The first pass gives maxima and sums of all rows; the second takes scores again, makes them probabilities and
  /// these weights, and multiplies with the values. The code of both is one loop's, since most of it is alike.
  void emitTwoPasses() {
    bool isDense = !item.probability->skipsHiddenKeys();
    forPasses([&](AttentionPass pass) {
      pass.isDense = isDense;
      Value seesAny = emitPass(item.length, pass, /*all=*/isDense);
      emitter.ifThen(isFalse(pass.isFinal), [&] { judgeEmptyRows(seesAny); });
    });
    if (mayBeLiteral())
      emitter.ifThen(anyRowIs(Verdict::Literal), [&] {
        forRows([&](Value slot) { emitter.ifThen(isLiteral(slot), [&] { item.resetOutput(slot); }); });
        forPasses([&](AttentionPass pass) {
          pass.masks = false;
          repeatLiteralRows(pass, item.length);
        });
      });
    forRows([&](Value slot) { judgeOutput(slot); });
    AttentionPass weights;
    weights.isFinal = b.create<arith::ConstantIntOp>(loc, 1, 1);
    weights.isDense = isDense;
    repeatExactRows(weights);
  }

  void forPasses(llvm::function_ref<void(AttentionPass)> body) {
    emitter.forLoop(nought, emitter.index(2), 1, [&](Value number) {
      AttentionPass pass;
      pass.isFinal = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, number, nought);
      body(pass);
    });
  }

  void judgeEmptyRows(Value seesAny) {
    forRows([&](Value slot) {
      Value isEmpty = scalar.equal(item.loadFloat(shape.sums, slot), scalar.real(0));
      item.storeFloat(scalar.real(double(Verdict::Ordinary)), shape.verdicts, slot);
      emitter.ifThen(isEmpty, [&] { judgeEmptyRow(slot, seesAny); });
      // With any sum but 0 the probabilities of a row without keys are 0 instead of NaN, as the rule asks.
      if (item.op.getFullyMasked() != "nan")
        emitter.ifThen(item.hasNoKeys(slot), [&] { item.storeFloat(scalar.real(1), shape.sums, slot); });
    });
  }

  /// A row whose output has a NaN that its weights don't explain is to be repeated.
  void judgeOutput(Value slot) {
    Value isSuspect = hasNaN(slot), sum = item.loadFloat(shape.sums, slot);
    if (item.probability->keepsNaN())
      isSuspect = b.create<arith::AndIOp>(loc, scalar.equal(sum, sum), isSuspect);
    emitter.ifThen(isSuspect, [&] {
      Value verdict = item.loadFloat(shape.verdicts, slot), result = scalar.real(double(Verdict::Exact));
      for (auto [plain, exact] :
           {std::pair(Verdict::Literal, Verdict::LiteralExact), std::pair(Verdict::NoKeys, Verdict::NoKeysExact)})
        result = scalar.select(isVerdict(verdict, plain), scalar.real(double(exact)), result);
      item.storeFloat(result, shape.verdicts, slot);
      item.resetOutput(slot);
    });
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

  bool mayBeLiteral() { return item.hasMask && item.op.getFullyMasked() == "literal"; }

  Value isFalse(Value x) { return b.create<arith::XOrIOp>(loc, x, b.create<arith::ConstantIntOp>(loc, 1, 1)); }

  /// Does |test| hold for any row?
  Value anyRow(llvm::function_ref<Value(Value slot)> test) {
    Value none = b.create<arith::ConstantIntOp>(loc, 0, 1);
    return emitter
        .forLoop(nought, item.rows, 1, ValueRange{none},
                 [&](Value slot, ValueRange found) {
                   return SmallVector<Value>{b.create<arith::OrIOp>(loc, found.front(), test(slot))};
                 })
        .front();
  }

  Value anyRowIs(Verdict verdict) {
    return anyRow([&](Value slot) { return isVerdict(item.loadFloat(shape.verdicts, slot), verdict); });
  }

  /// Gives each row its verdict and repeats those that ask for it. |seesAny|: some row may see some key.
  void judgeRows(Value seesAny) {
    // A kept score that is a number weighs 1 at its maximum, so a sum of 0 has none.
    Value repeats = anyRow([&](Value slot) {
      Value isEmpty = scalar.equal(item.loadFloat(shape.sums, slot), scalar.real(0));
      item.storeFloat(scalar.real(double(Verdict::Ordinary)), shape.verdicts, slot);
      emitter.ifThen(isEmpty, [&] { judgeEmptyRow(slot, seesAny); }, [&] { judgeSums(slot, Verdict::Exact); });
      Value verdict = item.loadFloat(shape.verdicts, slot);
      return b.create<arith::OrIOp>(loc, isVerdict(verdict, Verdict::Literal), isVerdict(verdict, Verdict::Exact));
    });
    emitter.ifThen(repeats, [&] {
      if (mayBeLiteral())
        emitter.ifThen(anyRowIs(Verdict::Literal), [&] {
          AttentionPass pass;
          pass.masks = false;
          repeatLiteralRows(pass, item.length);
          forRows([&](Value slot) {
            emitter.ifThen(isVerdict(item.loadFloat(shape.verdicts, slot), Verdict::Literal),
                           [&] { judgeSums(slot, Verdict::LiteralExact); });
          });
        });
      repeatExactRows(AttentionPass());
    });
  }

  /// A row whose weights are numbers and whose output isn't gets |verdict|: a value that isn't finite met a weight of
  /// 0.
  void judgeSums(Value slot, Verdict verdict) {
    Value sum = item.loadFloat(shape.sums, slot);
    emitter.ifThen(b.create<arith::AndIOp>(loc, scalar.equal(sum, sum), hasNaN(slot)), [&] {
      item.resetRow(slot);
      item.storeFloat(scalar.real(double(verdict)), shape.verdicts, slot);
    });
  }

  /// A row without weights: the mask decides whether it has no keys, or keys that all score -infinity (NaN).
  void judgeEmptyRow(Value slot, Value seesAny) {
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
    auto literal = [&] {
      item.resetRow(slot);
      item.storeFloat(scalar.real(double(Verdict::Literal)), shape.verdicts, slot);
    };
    emitter.ifThen(isFalse(keeps.getResult(0)), [&] {
      if (mayBeLiteral())
        emitter.ifThen(hasKeys, literal, noKeys);
      else
        noKeys();
    });
  }

  Value isLiteral(Value slot) {
    Value verdict = item.loadFloat(shape.verdicts, slot);
    return b.create<arith::OrIOp>(loc, isVerdict(verdict, Verdict::Literal), isVerdict(verdict, Verdict::LiteralExact));
  }

  /// Takes the literal rows through all keys below |end|. With padding on the left under a causal mask many rows in
  /// sequence are literal: a tile of nothing else goes as one.
  void repeatLiteralRows(const AttentionPass &pass, Value end) {
    item.forBlocks(end, [&](Value begin) {
      KeyBlock block = item.getBlock(begin);
      item.packBlock(block, /*all=*/true);
      emitter.forLoop(nought, item.rows, shape.rowTile, [&](Value first) {
        Value last = emitter.min(emitter.add(first, emitter.index(shape.rowTile)), item.rows);
        Value isWhole = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, emitter.sub(last, first),
                                                emitter.index(shape.rowTile));
        Value allLiteral =
            emitter
                .forLoop(first, last, 1, ValueRange{isWhole},
                         [&](Value slot, ValueRange all) {
                           return SmallVector<Value>{b.create<arith::AndIOp>(loc, all.front(), isLiteral(slot))};
                         })
                .front();
        emitter.ifThen(
            allLiteral, [&] { AttentionTile(item, pass).emit(first, shape.rowTile, block); },
            [&] {
              emitter.forLoop(first, last, 1, [&](Value slot) {
                emitter.ifThen(isLiteral(slot), [&] { AttentionTile(item, pass).emit(slot, 1, block); });
              });
            });
      });
    });
  }

  /// Takes the exact rows once more through |pass|, without the keys that weigh 0.
  void repeatExactRows(const AttentionPass &pass) {
    AttentionPass exact = pass, literal = pass;
    exact.skipsZeroWeights = literal.skipsZeroWeights = true;
    literal.masks = false;
    auto isExact = [&](Value slot) -> Value {
      Value verdict = item.loadFloat(shape.verdicts, slot);
      Value is =
          b.create<arith::OrIOp>(loc, isVerdict(verdict, Verdict::Exact), isVerdict(verdict, Verdict::LiteralExact));
      return item.probability ? b.create<arith::OrIOp>(loc, is, isVerdict(verdict, Verdict::NoKeysExact)) : is;
    };
    emitter.ifThen(anyRow(isExact), [&] {
      item.forBlocks(item.length, [&](Value begin) {
        KeyBlock block = item.getBlock(begin);
        item.packBlock(block, /*all=*/true);
        forRows([&](Value slot) {
          auto repeat = [&](Verdict verdict, const AttentionPass &pass) {
            emitter.ifThen(isVerdict(item.loadFloat(shape.verdicts, slot), verdict),
                           [&] { AttentionTile(item, pass).emit(slot, 1, block); });
          };
          repeat(Verdict::Exact, exact);
          if (item.probability)
            repeat(Verdict::NoKeysExact, exact);
          if (mayBeLiteral())
            repeat(Verdict::LiteralExact, literal);
        });
      });
    });
  }

  //===--- Results ----------------------------------------------------------===//

  /// What a row without keys gives under a probability region that skips hidden keys, which are all of its keys; null
  /// where it went through them.
  Value buildEmptyOutput() {
    if (!item.probability->skipsHiddenKeys())
      return nullptr;
    FloatMath m(b, loc, item.vectorType);
    if (item.op.getFullyMasked() != "nan" || !item.probability->keepsNaN())
      return m.real(0);
    Value hasKeys = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, item.length, nought);
    return b.create<arith::SelectOp>(loc, hasKeys, m.real(std::numeric_limits<double>::quiet_NaN()), m.real(0));
  }

  void writeRow(Value slot) {
    constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    item.select(item.getRow(slot));
    Value sum = item.loadFloat(shape.sums, slot), output = item.outputAddress(slot), isEmpty = item.hasNoKeys(slot);
    FloatMath m(b, loc, item.vectorType);
    Value filling = item.probability ? buildEmptyOutput() : m.real(item.op.getFullyMasked() == "nan" ? kNaN : 0.0f);
    Value divisor = emitter.broadcast(sum, kLanes);
    emitter.forVectors(Loops::ValueSize, nought, emitter.bound(Loops::ValueSize), [&](Value e, const Lanes &lanes) {
      Value part = b.create<vector::LoadOp>(loc, item.vectorType, emitter.scratch, emitter.add(output, e));
      Value result = item.probability ? part : m.div(part, divisor);
      if (filling)
        result = b.create<arith::SelectOp>(loc, isEmpty, filling, result);
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
    lse = b.create<arith::SelectOp>(loc, isEmpty, scalar.real(-kInfinity), lse);
    emitter.store(lse, item.plan.getResultBinding(1), item.plan.getResult(1), item.loops, Lanes());
  }

  /// The second pass over the keys: each row's weights by its final maximum and sum.
  void emitWeights() {
    AttentionPass pass;
    pass.writesWeights = true;
    emitPass(emitter.bound(Loops::Key), pass, /*all=*/true);
    pass.masks = false;
    if (mayBeLiteral())
      emitter.ifThen(anyRow([&](Value slot) { return isLiteral(slot); }),
                     [&] { repeatLiteralRows(pass, emitter.bound(Loops::Key)); });
  }

  AttentionItem item;
  Value lastDigit; // the part, where states of parts are given
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
