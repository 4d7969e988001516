// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.rowwise: each work item is one row. Every stage is a pass over it, the last one writes.

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
    for (auto [stage, attr] : llvm::enumerate(op.getCombiners().getAsRange<kernel::CombinerAttr>()))
      if (failed(emitStage(op.getStages()[stage], attr.getValue(), stats)))
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

  LogicalResult emitStage(Region &region, kernel::Combiner combiner, SmallVectorImpl<Value> &stats) {
    RowReduction reduction;
    reduction.combiners = {combiner};
    reduction.types = {region.front().getTerminator()->getOperand(0).getType()};
    reduction.loop = plan.vectorLoop;
    reduction.emitTerms = [&](Value i, const Lanes &lanes) { return emitRegion(region, stats, i, lanes); };
    auto sums = buildRowPass(emitter, reduction, buildRowAccumulators(emitter, reduction));
    if (failed(sums))
      return failure();
    stats.push_back(buildRowResults(emitter, reduction, *sums).front());
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
                                     : emitter.zero(cast<RankedTensorType>(input.getType()).getElementType()));
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
