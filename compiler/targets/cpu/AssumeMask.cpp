// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Score regions hold the model's own masking: a fill that is added or selected by the conditions that the mask region
// asks too. Equal values of the two regions get equal numbers; what the mask joins by and is true in the score.

#include <map>
#include <tuple>
#include <vector>

#include "compiler/targets/cpu/AttentionPadding.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace heddle::cpu {

namespace {

/// Numbers of values: equal ones have equal numbers, an i1 and its negation differ in the lowest bit.
class ValueNumbers {
public:
  /// Numbers the values of |region|, whose first |leading| arguments are its own.
  void add(Region &region, unsigned leading);
  unsigned get(Value value);

private:
  using Key = std::tuple<const void *, const void *, std::vector<unsigned>>;
  unsigned number(Key key) { return 2 * keys.try_emplace(std::move(key), keys.size()).first->second; }
  unsigned compute(Operation &op);

  std::map<Key, unsigned> keys;
  llvm::DenseMap<Value, unsigned> numbers;
};

} // namespace

unsigned ValueNumbers::get(Value value) {
  auto found = numbers.find(value);
  if (found != numbers.end())
    return found->second;
  return numbers[value] = number({value.getAsOpaquePointer(), nullptr, {}});
}

void ValueNumbers::add(Region &region, unsigned leading) {
  for (BlockArgument argument : region.getArguments())
    if (argument.getArgNumber() >= leading)
      numbers[argument] = number({nullptr, nullptr, {argument.getArgNumber() - leading}});
  for (Operation &op : region.front().without_terminator())
    if (op.getNumResults() == 1)
      numbers[op.getResult(0)] = compute(op);
}

unsigned ValueNumbers::compute(Operation &op) {
  if (auto exclusive = dyn_cast<arith::XOrIOp>(op); exclusive && op.getResult(0).getType().isInteger(1))
    for (auto [value, other] :
         {std::pair(exclusive.getLhs(), exclusive.getRhs()), std::pair(exclusive.getRhs(), exclusive.getLhs())})
      if (matchPattern(other, m_One()))
        return get(value) ^ 1;
  std::vector<unsigned> parts;
  for (Value operand : op.getOperands())
    parts.push_back(get(operand));
  // Both ways to ask: the smaller of a predicate and its negation stands for the two.
  if (auto comparison = dyn_cast<arith::CmpIOp>(op)) {
    arith::CmpIPredicate predicate = comparison.getPredicate(), negated = arith::invertPredicate(predicate);
    parts.push_back(static_cast<unsigned>(std::min(predicate, negated)));
    return number({op.getName().getAsOpaquePointer(), nullptr, parts}) + (negated < predicate ? 1 : 0);
  }
  return number({op.getName().getAsOpaquePointer(), op.getAttrDictionary().getAsOpaquePointer(), parts});
}

/// Folds what constants decide. A sum with either zero is its other part: to a softmax both zeros are one.
static void foldConstants(Region &region) {
  OpBuilder builder(region.getContext());
  for (Operation &op : llvm::make_early_inc_range(region.front().without_terminator())) {
    builder.setInsertionPoint(&op);
    SmallVector<Value> folded;
    if (isa<arith::AddFOp>(op) && matchPattern(op.getOperand(1), m_AnyZeroFloat()))
      folded.push_back(op.getOperand(0));
    else if (isa<arith::AddFOp>(op) && matchPattern(op.getOperand(0), m_AnyZeroFloat()))
      folded.push_back(op.getOperand(1));
    else if (isa<arith::ConstantOp>(op) || op.getNumResults() != 1 || failed(builder.tryFold(&op, folded)))
      continue;
    op.replaceAllUsesWith(folded);
  }
}

void assumeMask(kernel::AttentionOp op) {
  ValueNumbers numbers;
  numbers.add(op.getMask(), /*leading=*/0);
  numbers.add(op.getScore(), /*leading=*/1);
  llvm::SmallDenseSet<unsigned> known;
  SmallVector<Value> pending = {op.getMask().front().getTerminator()->getOperand(0)};
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    known.insert(numbers.get(next));
    if (auto both = next.getDefiningOp<arith::AndIOp>())
      llvm::append_range(pending, both->getOperands());
  }
  OpBuilder builder = OpBuilder::atBlockBegin(&op.getScore().front());
  auto assume = [&](Value value) {
    unsigned number = numbers.get(value);
    if (value.getType().isInteger(1) && (known.contains(number) || known.contains(number ^ 1)))
      value.replaceAllUsesWith(builder.create<arith::ConstantIntOp>(op.getLoc(), known.contains(number), 1));
  };
  SmallVector<Operation *> original;
  for (Operation &inner : op.getScore().front().without_terminator())
    original.push_back(&inner);
  for (BlockArgument argument : op.getScore().getArguments())
    assume(argument);
  for (Operation *inner : original)
    if (inner->getNumResults() == 1)
      assume(inner->getResult(0));
  foldConstants(op.getScore());
}

} // namespace heddle::cpu
