// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.scan: an invocation goes along one scan, for terms are added one after the other.

#include "compiler/targets/vulkan/Generators.h"
#include "compiler/targets/vulkan/RegionPrinter.h"
#include "compiler/targets/vulkan/ShaderReduction.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace heddle::vulkan {

LogicalResult planScan(ShaderPlan &plan) {
  SmallVector<bool> canMerge(plan.nest.getNumLoops(), true);
  // The scan stays a loop of its own.
  if (plan.nest.getNumLoops() >= 2)
    canMerge[plan.nest.getNumLoops() - 2] = false;
  mergeLoops(plan.nest, canMerge, plan.findUsedIndices());
  plan.setNeighbourAxes(llvm::to_vector(llvm::seq<unsigned>(0, plan.nest.getNumLoops() - 1)));
  plan.skipEmptyResults();
  return success();
}

LogicalResult emitScan(ShaderEmitter &emitter, StringRef form) {
  const ShaderPlan &plan = emitter.plan;
  auto op = cast<kernel::ScanOp>(plan.root);
  SmallVector<std::string> loops(plan.nest.getNumLoops());
  Reduced reduced = {op.getCombiner(), op.getBody().front().getTerminator()->getOperand(0).getType()};
  std::string exists = LaneMerger(emitter, parseLaneForm(form)).nameRow(loops);
  emitter.open("if (" + exists + ")");
  StringRef type = ShaderEmitter::glslType(reduced.type);
  std::string sum = emitter.let(type, neutralLiteral(reduced), "sum");
  unsigned level = emitter.level();
  loops.back() = emitter.openLongLoop("0", emitter.bound(loops.size() - 1), "1", plan.nest.bounds.back(), "s");
  SmallVector<std::string> elements, arguments(1);
  for (unsigned input = 0; input < op.getInputCount(); ++input)
    elements.push_back(emitter.letInput(input, loops));
  auto term = RegionPrinter(emitter, loops).print(op.getBody(), elements);
  if (failed(term))
    return failure();
  std::string next = emitter.let(type, combineTerms(reduced, sum, term->front()), "next");
  arguments[0] = op.getExclusive() ? sum : next;
  for (unsigned input = op.getInputCount(); input < plan.getNumInputs(); ++input)
    arguments.push_back(emitter.letInput(input, loops));
  auto results = RegionPrinter(emitter, loops).print(op.getFinish(), arguments);
  if (failed(results))
    return failure();
  for (auto [result, value] : llvm::enumerate(*results))
    emitter.storeResult(result, loops, value);
  emitter.line(sum + " = " + next + ";");
  emitter.closeTo(level);
  emitter.close();
  return success();
}

} // namespace heddle::vulkan
