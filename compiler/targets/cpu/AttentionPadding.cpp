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

/// Something that padding does to the score: where |condition| is |expected| (an i1), or |addend| is 0, the op's result
/// is its operand |score|.
struct Change {
  OpOperand *score;
  Value addend;
  Value condition;
  bool expected = true;
};

/// What of |op| joins a score with what |isPadding| says to be padding's.
std::optional<Change> findChange(Operation &op, llvm::function_ref<bool(Value)> isScore,
                                 llvm::function_ref<bool(Value)> isPadding) {
  if (isa<arith::AddFOp, arith::SubFOp>(op)) {
    Value x = op.getOperand(0), y = op.getOperand(1);
    if (isScore(x) && isPadding(y))
      return Change{&op.getOpOperand(0), y, nullptr};
    if (isa<arith::AddFOp>(op) && isScore(y) && isPadding(x))
      return Change{&op.getOpOperand(1), x, nullptr};
    return std::nullopt;
  }
  auto select = dyn_cast<arith::SelectOp>(op);
  if (!select || !isPadding(select.getCondition()) || isScore(select.getTrueValue()) == isScore(select.getFalseValue()))
    return std::nullopt;
  bool expected = isScore(select.getTrueValue());
  return Change{&op.getOpOperand(expected ? 1 : 2), nullptr, select.getCondition(), expected};
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
  IRMapping ofPlain, ofScan;
  plain = op->clone(ofPlain);
  assumeMask(cast<kernel::AttentionOp>(*plain));
  removeUnused(plain->getRegion(0));
  findConditions(plan, op);
  if (conditions.empty())
    return;
  // Bias that hides a padded key is zero on all others: it is left out where none of a group is padded. Other tensors
  // than those that the mask reads are biases in earnest, whose zeros aren't worth looking for.
  auto plainOp = cast<kernel::AttentionOp>(*plain);
  auto isScore = [&](Value value) { return findDependence(value, plan, plainOp).onScore; };
  auto isPadding = [&](Value value) {
    Dependence dependence = findDependence(value, plan, plainOp);
    return dependence.isOfKey() && !dependence.readsTable &&
           llvm::all_of(dependence.captures, [&](unsigned capture) { return captures.contains(capture); });
  };
  SmallVector<Change> changes;
  for (Operation &inner : plainOp.getScore().front().without_terminator())
    if (std::optional<Change> change = findChange(inner, isScore, isPadding))
      changes.push_back(*change);

  scan = plain->clone(ofScan);
  Region &neutral = scan->getRegion(0), &hiding = scan->getRegion(1);
  OpBuilder builder = OpBuilder::atBlockTerminator(&neutral.front());
  SmallVector<Value> yielded;
  for (const Change &change : changes) {
    Value value = ofScan.lookup(change.condition ? change.condition : change.addend);
    if (change.condition) {
      Value expected = builder.create<arith::ConstantIntOp>(op.getLoc(), change.expected, 1);
      value = builder.create<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::eq, value, expected);
    }
    yielded.push_back(value);
  }
  neutral.front().getTerminator()->setOperands(yielded);
  yielded.clear();
  for (Value condition : conditions)
    yielded.push_back(ofScan.lookup(ofPlain.lookup(condition)));
  hiding.front().getTerminator()->setOperands(yielded);
  removeUnused(neutral);
  removeUnused(hiding);

  // In order: an earlier change's score has become the operand of the later ones by then.
  for (Change &change : changes)
    change.score->getOwner()->getResult(0).replaceAllUsesWith(change.score->get());
  removeUnused(plain->getRegion(0));
}

} // namespace heddle::cpu
