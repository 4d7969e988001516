// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.top_k: a work item goes through one row and keeps the ranks so far in the results themselves, sorted. Most
// elements of a long row are turned away by one comparison with the last rank; one that isn't is moved up to its place.

#include "compiler/targets/cpu/Generators.h"
#include "compiler/targets/cpu/RegionEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <array>

using namespace mlir;

namespace heddle::cpu {

namespace {

class TopKGenerator {
public:
  explicit TopKGenerator(KernelEmitter &emitter)
      : emitter(emitter), plan(emitter.plan), op(cast<kernel::TopKOp>(emitter.plan.root)),
        loops(plan.nest.getNumLoops()), row(loops.size() - 2), rank(loops.size() - 1) {}

  LogicalResult emitItem(ArrayRef<Value> digits) {
    std::copy(digits.begin(), digits.end(), loops.begin());
    Value zero = emitter.index(0), ranks = emitter.bound(rank);
    emitter.ifThen(emitter.less(zero, ranks), [&] {
      emitter.forLoop(zero, emitter.bound(row), 1, zero, [&](Value i, ValueRange counts) {
        loops[row] = i;
        return SmallVector<Value>{emitElement(i, counts.front(), ranks)};
      });
    });
    return status;
  }

private:
  /// Takes in element |i| of the row where |count| ranks, of |ranks| at most, are known; gives the new count.
  Value emitElement(Value i, Value count, Value ranks) {
    OpBuilder &b = emitter.b;
    Location loc = emitter.loc;
    Value one = emitter.index(1);
    SmallVector<Value> elements;
    for (unsigned input = 0; input < plan.getNumInputs(); ++input)
      elements.push_back(emitter.load(plan.bindings[input], plan.getInput(input), loops, Lanes()));
    auto value = RegionEmitter(emitter, loops, Lanes()).emit(op.getBody(), elements);
    if (failed(value)) {
      status = failure();
      return count;
    }
    Value element = value->front();
    // The last rank goes once all are taken.
    Value isFull = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, count, ranks);
    Value slot = b.create<arith::SelectOp>(loc, isFull, emitter.sub(ranks, one), count);
    Value enters = emitGuarded(isFull, [&] { return emitPrecedes(element, loadValue(slot)); }, /*otherwise=*/true);
    emitter.ifThen(enters, [&] {
      Value place = emitShift(element, slot);
      storeRank(place, element, b.create<arith::IndexCastOp>(loc, b.getI64Type(), i));
    });
    return emitter.min(emitter.add(count, one), ranks);
  }

  /// Moves the ranks that |element| precedes back by one, from |slot| on; gives the place that is left.
  Value emitShift(Value element, Value slot) {
    OpBuilder &b = emitter.b;
    Location loc = emitter.loc;
    auto loop = b.create<scf::WhileOp>(loc, TypeRange(b.getIndexType()), ValueRange(slot));
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&loop.getBefore(), {}, {b.getIndexType()}, {loc});
    Value place = before->getArgument(0);
    Value isInside = emitter.less(emitter.index(0), place);
    Value moves = emitGuarded(
        isInside, [&] { return emitPrecedes(element, loadValue(emitter.sub(place, emitter.index(1)))); },
        /*otherwise=*/false);
    b.create<scf::ConditionOp>(loc, moves, place);
    Block *after = b.createBlock(&loop.getAfter(), {}, {b.getIndexType()}, {loc});
    Value previous = emitter.sub(after->getArgument(0), emitter.index(1));
    storeRank(after->getArgument(0), loadValue(previous), loadIndex(previous));
    b.create<scf::YieldOp>(loc, previous);
    return loop.getResult(0);
  }

  /// |make| where |condition| holds, else |otherwise|; what |make| reads may not exist there.
  Value emitGuarded(Value condition, llvm::function_ref<Value()> make, bool otherwise) {
    OpBuilder &b = emitter.b;
    auto guarded = b.create<scf::IfOp>(emitter.loc, TypeRange(b.getI1Type()), condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(guarded.thenBlock());
    b.create<scf::YieldOp>(emitter.loc, make());
    b.setInsertionPointToStart(guarded.elseBlock());
    Value missing = b.create<arith::ConstantIntOp>(emitter.loc, otherwise, 1);
    b.create<scf::YieldOp>(emitter.loc, missing);
    return guarded.getResult(0);
  }

  Value emitPrecedes(Value a, Value b) {
    auto values = RegionEmitter(emitter, loops, Lanes()).emit(op.getPrecedes(), {a, b});
    if (succeeded(values))
      return values->front();
    status = failure();
    return emitter.zero(emitter.b.getI1Type());
  }

  Value address(unsigned result, Value place) {
    SmallVector<Value> at(loops);
    at[rank] = place;
    return emitter.address(plan.getResult(result), at);
  }
  Value loadResult(unsigned result, Value place) {
    unsigned binding = plan.getResultBinding(result);
    return emitter.loadScalar(emitter.getBinding(binding), emitter.getElementType(binding), address(result, place));
  }
  Value loadValue(Value place) { return loadResult(0, place); }
  Value loadIndex(Value place) { return loadResult(1, place); }

  void storeRank(Value place, Value value, Value index) {
    const std::array<Value, 2> pair{value, index};
    for (auto [result, stored] : llvm::enumerate(pair)) {
      unsigned binding = plan.getResultBinding(result);
      emitter.storeScalar(stored, emitter.getBinding(binding), emitter.getElementType(binding), address(result, place));
    }
  }

  KernelEmitter &emitter;
  const KernelPlan &plan;
  kernel::TopKOp op;
  SmallVector<Value> loops;
  unsigned row, rank;
  LogicalResult status = success();
};

} // namespace

LogicalResult emitTopK(KernelEmitter &emitter) {
  LogicalResult status = success();
  emitter.forEachItem([&](ArrayRef<Value> digits) { status = TopKGenerator(emitter).emitItem(digits); });
  return status;
}

} // namespace heddle::cpu
