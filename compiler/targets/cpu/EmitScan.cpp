// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.scan: a work item is one scan, or 16 neighbouring ones side by side in the lanes of a vector. Within a lane
// terms are added one after the other, in both forms alike.

#include "compiler/targets/cpu/Generators.h"
#include "compiler/targets/cpu/LaneReduction.h"
#include "compiler/targets/cpu/RegionEmitter.h"

using namespace mlir;

namespace heddle::cpu {

namespace {

class ScanGenerator {
public:
  explicit ScanGenerator(KernelEmitter &emitter)
      : emitter(emitter), plan(emitter.plan), op(cast<kernel::ScanOp>(emitter.plan.root)),
        type(getValueType(op.getBody().front().getTerminator()->getOperand(0).getType())),
        loops(emitter.plan.nest.getNumLoops()) {}

  LogicalResult emitItem(ArrayRef<Value> digits) {
    unsigned last = loops.size() - 1;
    for (unsigned loop = 0, digit = 0; loop < last; ++loop)
      if (loop != plan.vectorLoop)
        loops[loop] = digits[digit++];
    if (plan.vectorLoop == last) {
      emitScans(Lanes());
      return status;
    }
    Value width = emitter.index(plan.config.getInteger(config::kVectorsPerItem) * kLanes);
    Value begin = emitter.mul(digits.back(), width);
    Value end = emitter.min(emitter.add(begin, width), emitter.bound(plan.vectorLoop));
    emitter.forVectors(plan.vectorLoop, begin, end, [&](Value i, const Lanes &lanes) {
      loops[plan.vectorLoop] = i;
      emitScans(lanes);
    });
    return status;
  }

private:
  /// The elements of inputs |first| to before |end| at the current loops.
  SmallVector<Value> loadInputs(unsigned first, unsigned end, const Lanes &lanes) {
    SmallVector<Value> elements;
    for (unsigned input = first; input < end; ++input)
      elements.push_back(emitter.load(plan.bindings[input], plan.getInput(input), loops, lanes));
    return elements;
  }

  /// The sum after one more term.
  FailureOr<Value> emitStep(Value sum, const Lanes &lanes) {
    auto terms = RegionEmitter(emitter, loops, lanes).emit(op.getBody(), loadInputs(0, op.getInputCount(), lanes));
    if (failed(terms))
      return failure();
    return buildCombined(emitter, op.getCombiner(), sum, emitter.broadcast(terms->front(), lanes.width));
  }

  LogicalResult emitResults(Value sum, const Lanes &lanes) {
    SmallVector<Value> arguments = loadInputs(op.getInputCount(), plan.getNumInputs(), lanes);
    arguments.insert(arguments.begin(), sum);
    auto values = RegionEmitter(emitter, loops, lanes).emit(op.getFinish(), arguments);
    if (failed(values))
      return failure();
    for (auto [result, value] : llvm::enumerate(*values))
      emitter.store(value, plan.getResultBinding(result), plan.getResult(result), loops, lanes);
    return success();
  }

  /// The scans at the current loops, one a lane.
  void emitScans(const Lanes &lanes) {
    unsigned last = loops.size() - 1;
    Type sumType = lanes.width == 1 ? type : VectorType::get({kLanes}, type);
    Value neutral = buildNeutral(emitter, op.getCombiner(), sumType);
    emitter.forLoop(emitter.index(0), emitter.bound(last), 1, neutral, [&](Value i, ValueRange sums) {
      loops[last] = i;
      FailureOr<Value> next = emitStep(sums.front(), lanes);
      if (failed(next) || failed(emitResults(op.getExclusive() ? sums.front() : *next, lanes))) {
        status = failure();
        return SmallVector<Value>(sums);
      }
      return SmallVector<Value>{*next};
    });
  }

  KernelEmitter &emitter;
  const KernelPlan &plan;
  kernel::ScanOp op;
  Type type; // of the running sum's elements
  SmallVector<Value> loops;
  LogicalResult status = success();
};

} // namespace

LogicalResult emitScan(KernelEmitter &emitter) {
  LogicalResult status = success();
  emitter.forEachItem([&](ArrayRef<Value> digits) { status = ScanGenerator(emitter).emitItem(digits); });
  return status;
}

} // namespace heddle::cpu
