// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.reduce, in one of two forms. Vectors along a parallel loop: each lane reduces its own element, one after the
// other, no lanes are merged. Vectors along the last reduction loop: as in a row of kernel.rowwise.

#include "compiler/targets/cpu/Generators.h"
#include "compiler/targets/cpu/LaneReduction.h"
#include "compiler/targets/cpu/RegionEmitter.h"

using namespace mlir;

namespace heddle::cpu {

namespace {

class ReduceGenerator {
public:
  explicit ReduceGenerator(KernelEmitter &emitter)
      : emitter(emitter), plan(emitter.plan), op(cast<kernel::ReduceOp>(emitter.plan.root)),
        loops(emitter.plan.nest.getNumLoops()) {
    for (auto attr : op.getCombiners().getAsRange<kernel::CombinerAttr>())
      combiners.push_back(attr.getValue());
    for (Value value : op.getBody().front().getTerminator()->getOperands())
      types.push_back(getValueType(value.getType()));
    for (unsigned loop = 0; loop < plan.nest.getNumLoops(); ++loop)
      if (plan.isReduction[loop] && !(plan.reducesLanes && loop == plan.vectorLoop))
        sequentialLoops.push_back(loop);
  }

  LogicalResult emitItem(ArrayRef<Value> digits) {
    for (unsigned loop = 0, digit = 0; loop < loops.size(); ++loop)
      if (!plan.isReduction[loop] && (plan.reducesLanes || loop != plan.vectorLoop))
        loops[loop] = digits[digit++];
    if (plan.reducesLanes)
      emitAlongReduction();
    else
      emitAlongParallel(digits.back());
    return status;
  }

private:
  /// Nest of the sequential reduction loops from |depth| on around |body|, which maps accumulators to their successors.
  SmallVector<Value> emitNest(unsigned depth, ValueRange accumulators,
                              llvm::function_ref<SmallVector<Value>(ValueRange)> body) {
    if (depth == sequentialLoops.size())
      return body(accumulators);
    unsigned loop = sequentialLoops[depth];
    return emitter.forLoop(emitter.index(0), emitter.bound(loop), 1, accumulators, [&](Value i, ValueRange current) {
      loops[loop] = i;
      return emitNest(depth + 1, current, body);
    });
  }

  /// Terms of the element at the current loops, one per combiner.
  FailureOr<SmallVector<Value>> emitTerms(const Lanes &lanes) {
    SmallVector<Value> elements;
    for (int64_t input = 0; input < static_cast<int64_t>(op.getInputCount()); ++input)
      elements.push_back(emitter.load(plan.bindings[input], plan.getInput(input), loops, lanes));
    return RegionEmitter(emitter, loops, lanes).emit(op.getBody(), elements);
  }

  void emitFinish(ArrayRef<Value> accumulators, const Lanes &lanes) {
    SmallVector<Value> arguments(accumulators);
    for (unsigned input = op.getInputCount(); input < plan.getNumInputs(); ++input)
      arguments.push_back(emitter.load(plan.bindings[input], plan.getInput(input), loops, lanes));
    auto values = RegionEmitter(emitter, loops, lanes).emit(op.getFinish(), arguments);
    if (failed(values)) {
      status = failure();
      return;
    }
    for (auto [result, value] : llvm::enumerate(*values))
      emitter.store(value, plan.getResultBinding(result), plan.getResult(result), loops, lanes);
  }

  void emitAlongReduction() {
    RowReduction reduction{combiners, types, plan.vectorLoop, [&](Value i, const Lanes &lanes) {
                             loops[plan.vectorLoop] = i;
                             return emitTerms(lanes);
                           }};
    SmallVector<Value> sums = emitNest(0, buildRowAccumulators(emitter, reduction), [&](ValueRange current) {
      auto next = buildRowPass(emitter, reduction, current);
      if (succeeded(next))
        return *next;
      status = failure();
      return SmallVector<Value>(current);
    });
    emitFinish(buildRowResults(emitter, reduction, sums), Lanes());
  }

  /// Vectors |count| neighbours wide, so that a pass down the rows uses whole cache lines side by side.
  void emitColumns(Value begin, int64_t count, const Lanes &lanes) {
    SmallVector<Value> initial;
    for (int64_t v = 0; v < count; ++v)
      for (auto [combiner, type] : llvm::zip(combiners, types))
        initial.push_back(buildNeutral(emitter, combiner, VectorType::get({kLanes}, type)));
    SmallVector<Value> sums = emitNest(0, initial, [&](ValueRange current) {
      SmallVector<Value> next;
      for (int64_t v = 0; v < count; ++v) {
        loops[plan.vectorLoop] = emitter.add(begin, emitter.index(v * kLanes));
        auto terms = emitTerms(lanes);
        if (failed(terms)) {
          status = failure();
          return SmallVector<Value>(current);
        }
        for (auto [c, combiner] : llvm::enumerate(combiners))
          next.push_back(buildCombined(emitter, combiner, current[v * combiners.size() + c],
                                       emitter.broadcast((*terms)[c], kLanes)));
      }
      return next;
    });
    for (int64_t v = 0; v < count; ++v) {
      loops[plan.vectorLoop] = emitter.add(begin, emitter.index(v * kLanes));
      emitFinish(ArrayRef(sums).slice(v * combiners.size(), combiners.size()), lanes);
    }
  }

  void emitAlongParallel(Value block) {
    int64_t count = plan.config.getInteger(config::kVectorsPerItem);
    Value width = emitter.index(count * kLanes);
    Value begin = emitter.mul(block, width), length = emitter.bound(plan.vectorLoop);
    Value end = emitter.min(emitter.add(begin, width), length);
    auto partly = [&] {
      emitter.forVectors(plan.vectorLoop, begin, end, [&](Value i, const Lanes &lanes) { emitColumns(i, 1, lanes); });
    };
    std::optional<int64_t> bound = plan.nest.bounds[plan.vectorLoop].getConstant();
    if (bound && *bound < count * kLanes) {
      partly();
      return;
    }
    auto wholly = [&] { emitColumns(begin, count, Lanes{kLanes, plan.vectorLoop, nullptr}); };
    Value isWhole =
        emitter.b.create<arith::CmpIOp>(emitter.loc, arith::CmpIPredicate::eq, emitter.sub(end, begin), width);
    emitter.ifThen(isWhole, wholly, partly);
  }

  KernelEmitter &emitter;
  const KernelPlan &plan;
  kernel::ReduceOp op;
  SmallVector<Value> loops;
  SmallVector<kernel::Combiner> combiners;
  SmallVector<Type> types;
  SmallVector<unsigned> sequentialLoops;
  LogicalResult status = success();
};

} // namespace

LogicalResult emitReduce(KernelEmitter &emitter) {
  LogicalResult status = success();
  emitter.forEachItem([&](ArrayRef<Value> digits) { status = ReduceGenerator(emitter).emitItem(digits); });
  return status;
}

} // namespace heddle::cpu
