// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.map: each work item is one chunk of the vectorised loop at fixed indices of the others.

#include "compiler/targets/cpu/Generators.h"
#include "compiler/targets/cpu/RegionEmitter.h"

using namespace mlir;

namespace heddle::cpu {

LogicalResult emitMap(KernelEmitter &emitter) {
  const KernelPlan &plan = emitter.plan;
  unsigned vectorLoop = plan.vectorLoop;
  LogicalResult status = success();
  emitter.forEachItem([&](ArrayRef<Value> digits) {
    SmallVector<Value> loops(digits.drop_back());
    loops.insert(loops.begin() + vectorLoop, Value());
    Value chunk = emitter.index(plan.config.getInteger(config::kElementsPerItem));
    Value begin = emitter.mul(digits.back(), chunk);
    Value end = emitter.min(emitter.add(begin, chunk), emitter.bound(vectorLoop));
    emitter.forVectors(vectorLoop, begin, end, [&](Value i, const Lanes &lanes) {
      loops[vectorLoop] = i;
      SmallVector<Value> elements;
      for (unsigned input = 0; input < plan.getNumInputs(); ++input)
        elements.push_back(emitter.load(plan.bindings[input], plan.getInput(input), loops, lanes));
      auto results = RegionEmitter(emitter, loops, lanes).emit(plan.root->getRegion(0), elements);
      if (failed(results)) {
        status = failure();
        return;
      }
      for (auto [result, value] : llvm::enumerate(*results))
        emitter.store(value, plan.getResultBinding(result), plan.getResult(result), loops, lanes);
    });
  });
  return status;
}

} // namespace heddle::cpu
