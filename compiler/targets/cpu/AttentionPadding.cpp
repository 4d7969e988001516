// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds what of an attention's regions depends on the key alone.

#include "compiler/targets/cpu/AttentionPadding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace heddle::cpu {

using Loops = kernel::AttentionOp;

namespace {

/// What a value of a region depends on.
struct Dependence {
  bool onRows = false;  // query head or row
  bool onData = false;  // a capture or table that changes along the keys: no interval tells its values
  bool onScore = false; // the score region's first argument
  bool readsTable = false;
  llvm::SmallDenseSet<unsigned> captures;

  /// Padding is data of the key alone.
  bool isOfKey() const { return onData && !onRows && !onScore; }
};

Dependence findDependence(Value value, const KernelPlan &plan, kernel::AttentionOp op) {
  Dependence result;
  SmallVector<Value> pending = {value};
  llvm::SmallDenseSet<Value> visited;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!visited.insert(next).second)
      continue;
    Operation *def = next.getDefiningOp();
    auto argument = dyn_cast<BlockArgument>(next);
    if (argument && argument.getOwner()->getParentOp() == op) {
      unsigned leading = argument.getOwner()->getNumArguments() - op.getCaptures().size();
      if (argument.getArgNumber() < leading) {
        result.onScore = true;
        continue;
      }
      unsigned capture = argument.getArgNumber() - leading;
      const Access &access = plan.getInput(op.getFirstCapture() + capture);
      result.onRows |= access.uses(Loops::QueryHead) || access.uses(Loops::Row);
      result.onData |= access.uses(Loops::Key);
      result.captures.insert(capture);
    }
    if (auto index = dyn_cast_or_null<kernel::IndexOp>(def))
      result.onRows |= index.getLoop() == Loops::QueryHead || index.getLoop() == Loops::Row;
    result.readsTable |= isa_and_nonnull<kernel::GatherOp>(def);
    if (def)
      llvm::append_range(pending, def->getOperands());
  }
  result.onData |= result.readsTable;
  return result;
}

/// Something that padding does to the score: where |condition| is |expected| (an i1), or |addend| is 0, |result| is
/// |score|.
struct Change {
  Value condition;
  bool expected = true;
  Value addend;
  Value result, score;
};

/// What of |op| joins a score with what |isPadding| says to be padding's.
std::optional<Change> findChange(Operation &op, llvm::function_ref<bool(Value)> isScore,
                                 llvm::function_ref<bool(Value)> isPadding) {
  if (isa<arith::AddFOp, arith::SubFOp>(op)) {
    Value x = op.getOperand(0), y = op.getOperand(1);
    if (isScore(x) && isPadding(y))
      return Change{nullptr, true, y, op.getResult(0), x};
    if (isa<arith::AddFOp>(op) && isScore(y) && isPadding(x))
      return Change{nullptr, true, x, op.getResult(0), y};
    return std::nullopt;
  }
  auto select = dyn_cast<arith::SelectOp>(op);
  if (!select || !isPadding(select.getCondition()) || isScore(select.getTrueValue()) == isScore(select.getFalseValue()))
    return std::nullopt;
  bool expected = isScore(select.getTrueValue());
  return Change{select.getCondition(), expected, nullptr, select.getResult(),
                expected ? select.getTrueValue() : select.getFalseValue()};
}

/// Removes what the region doesn't need for its yield.
void removeUnused(Region &region) {
  SmallVector<Operation *> inner;
  for (Operation &op : region.front().without_terminator())
    inner.push_back(&op);
  for (Operation *op : llvm::reverse(inner))
    if (op->use_empty())
      op->erase();
}

} // namespace

void AttentionPadding::findConditions(const KernelPlan &plan, kernel::AttentionOp op) {
  // What the mask joins by and can be asked one by one.
  SmallVector<Value> pending = {op.getMask().front().getTerminator()->getOperand(0)};
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (auto both = next.getDefiningOp<arith::AndIOp>()) {
      llvm::append_range(pending, both->getOperands());
      continue;
    }
    Dependence dependence = findDependence(next, plan, op);
    if (!dependence.isOfKey())
      continue;
    conditions.push_back(next);
    captures.insert(dependence.captures.begin(), dependence.captures.end());
  }
}

AttentionPadding::AttentionPadding(const KernelPlan &plan) {
  auto op = cast<kernel::AttentionOp>(plan.root);
  findConditions(plan, op);
  if (conditions.empty())
    return;
  // The bias of a padded key is zero on all others: it is left out where none of a group is padded. Other tensors than
  // those that the mask reads are biases in earnest, whose zeros aren't worth looking for.
  SmallVector<Change> changes;
  auto isScore = [&](Value value) { return findDependence(value, plan, op).onScore; };
  auto isPadding = [&](Value value) {
    Dependence dependence = findDependence(value, plan, op);
    return dependence.isOfKey() && !dependence.readsTable &&
           llvm::all_of(dependence.captures, [&](unsigned capture) { return captures.contains(capture); });
  };
  for (Operation &inner : op.getScore().front().without_terminator())
    if (std::optional<Change> change = findChange(inner, isScore, isPadding))
      changes.push_back(*change);

  IRMapping ofPlain, mapping;
  plain = op->clone(ofPlain);
  for (const Change &change : changes)
    ofPlain.lookup(change.result).replaceAllUsesWith(ofPlain.lookup(change.score));
  removeUnused(plain->getRegion(0));

  scan = op->clone(mapping);
  Region &neutral = scan->getRegion(0), &hiding = scan->getRegion(1);
  OpBuilder builder = OpBuilder::atBlockTerminator(&neutral.front());
  SmallVector<Value> yielded;
  for (const Change &change : changes) {
    if (!change.condition)
      continue;
    Value expected = builder.create<arith::ConstantIntOp>(op.getLoc(), change.expected, 1);
    yielded.push_back(builder.create<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::eq,
                                                    mapping.lookup(change.condition), expected));
  }
  for (const Change &change : changes)
    if (change.addend)
      yielded.push_back(mapping.lookup(change.addend));
  neutral.front().getTerminator()->setOperands(yielded);
  yielded.clear();
  for (Value condition : conditions)
    yielded.push_back(mapping.lookupOrDefault(condition));
  hiding.front().getTerminator()->setOperands(yielded);
  removeUnused(neutral);
  removeUnused(hiding);
}

} // namespace heddle::cpu
