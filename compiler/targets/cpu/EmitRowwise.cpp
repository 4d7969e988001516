// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.rowwise: each work item is one row. Every stage is a pass over it, which it shares with those behind it that
// don't ask for its statistic; the last one writes.

#include "compiler/targets/cpu/Generators.h"
#include "compiler/targets/cpu/LaneReduction.h"
#include "compiler/targets/cpu/RegionEmitter.h"

using namespace mlir;

namespace heddle::cpu {

namespace {

class RowwiseGenerator {
public:
  explicit RowwiseGenerator(KernelEmitter &emitter)
      : emitter(emitter), plan(emitter.plan), op(cast<kernel::RowwiseOp>(emitter.plan.root)) {}

  LogicalResult emitRow(ArrayRef<Value> digits) {
    loops.assign(digits.begin(), digits.end());
    loops.push_back(Value());
    SmallVector<Value> stats;
    for (unsigned end = op.getCombiners().size(); stats.size() < end;)
      if (failed(emitPass(findPassEnd(stats.size()), stats)))
        return failure();
    return emitFinish(stats);
  }

private:
  /// Values of |region| at row position |i|, given the statistics so far.
  FailureOr<SmallVector<Value>> emitRegion(Region &region, ArrayRef<Value> stats, Value i, const Lanes &lanes) {
    loops.back() = i;
    SmallVector<Value> arguments;
    for (unsigned input = 0; input < plan.getNumInputs(); ++input)
      arguments.push_back(emitter.load(plan.bindings[input], plan.getInput(input), loops, lanes));
    llvm::append_range(arguments, stats);
    return RegionEmitter(emitter, loops, lanes).emit(region, arguments);
  }

  /// The first stage from |first| on that needs a statistic of a pass that starts there.
  unsigned findPassEnd(unsigned first) {
    unsigned end = first + 1;
    auto needsPass = [&](unsigned stage) {
      return llvm::any_of(op.getStages()[stage].getArguments().drop_front(plan.getNumInputs() + first),
                          [](BlockArgument stat) { return !stat.use_empty(); });
    };
    while (end < op.getCombiners().size() && !needsPass(end))
      ++end;
    return end;
  }

  /// The stages from the first without a statistic to |end|, whose statistics join |stats|.
  LogicalResult emitPass(unsigned end, SmallVectorImpl<Value> &stats) {
    RowReduction reduction;
    reduction.loop = plan.vectorLoop;
    // In place of those that this pass is to give, and that its regions have as arguments only.
    SmallVector<Value> arguments(stats.begin(), stats.end());
    for (unsigned stage = stats.size(); stage < end; ++stage) {
      reduction.combiners.push_back(cast<kernel::CombinerAttr>(op.getCombiners()[stage]).getValue());
      reduction.types.push_back(getValueType(op.getStages()[stage].front().getTerminator()->getOperand(0).getType()));
      arguments.push_back(emitter.zero(reduction.types.back()));
    }
    unsigned first = stats.size();
    reduction.emitTerms = [&](Value i, const Lanes &lanes) -> FailureOr<SmallVector<Value>> {
      SmallVector<Value> terms;
      for (unsigned stage = first; stage < end; ++stage) {
        auto term = emitRegion(op.getStages()[stage], ArrayRef(arguments).take_front(stage), i, lanes);
        if (failed(term))
          return failure();
        terms.push_back(term->front());
      }
      return terms;
    };
    auto sums = buildRowPass(emitter, reduction, buildRowAccumulators(emitter, reduction));
    if (failed(sums))
      return failure();
    llvm::append_range(stats, buildRowResults(emitter, reduction, *sums));
    return success();
  }

  LogicalResult emitFinish(ArrayRef<Value> stats) {
    bool hasRowResults = false, hasElementResults = false;
    for (unsigned result = 0; result < op.getNumResults(); ++result)
      (plan.getResult(result).uses(plan.vectorLoop) ? hasElementResults : hasRowResults) = true;
    LogicalResult status = success();
    auto write = [&](Value i, const Lanes &lanes, bool rowResults) {
      auto values = emitRegion(op.getFinish(), stats, i, lanes);
      if (failed(values)) {
        status = failure();
        return;
      }
      for (auto [result, value] : llvm::enumerate(*values))
        if (plan.getResult(result).uses(plan.vectorLoop) != rowResults)
          emitter.store(value, plan.getResultBinding(result), plan.getResult(result), loops, lanes);
    };
    Value nought = emitter.index(0);
    if (hasElementResults)
      emitter.forVectors(plan.vectorLoop, nought, emitter.bound(plan.vectorLoop),
                         [&](Value i, const Lanes &lanes) { write(i, lanes, false); });
    if (hasRowResults)
      emitRowResults(stats, status);
    return status;
  }

  /// Results of one value per row depend on the statistics alone, so an empty row has them too: no input is read. But
  /// where rows have one element each, its result may be written without that loop, and depends on it.
  void emitRowResults(ArrayRef<Value> stats, LogicalResult &status) {
    Lanes scalar;
    loops.back() = emitter.index(0);
    bool hasElement = plan.nest.bounds[plan.vectorLoop].getConstant() == 1;
    SmallVector<Value> arguments;
    for (auto [number, input] : llvm::enumerate(op.getInputs()))
      arguments.push_back(hasElement ? emitter.load(plan.bindings[number], plan.getInput(number), loops, scalar)
                                     : emitter.zero(getValueType(getElementTypeOrSelf(input.getType()))));
    llvm::append_range(arguments, stats);
    auto values = RegionEmitter(emitter, loops, scalar).emit(op.getFinish(), arguments);
    if (failed(values)) {
      status = failure();
      return;
    }
    for (auto [result, value] : llvm::enumerate(*values))
      if (!plan.getResult(result).uses(plan.vectorLoop))
        emitter.store(value, plan.getResultBinding(result), plan.getResult(result), loops, scalar);
  }

  KernelEmitter &emitter;
  const KernelPlan &plan;
  kernel::RowwiseOp op;
  SmallVector<Value> loops;
};

} // namespace

LogicalResult emitRowwise(KernelEmitter &emitter) {
  LogicalResult status = success();
  emitter.forEachItem([&](ArrayRef<Value> digits) { status = RowwiseGenerator(emitter).emitRow(digits); });
  return status;
}

} // namespace heddle::cpu
