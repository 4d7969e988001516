// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.map: an invocation computes some elements along x, a workgroup apart, so that neighbours touch neighbours.

#include "compiler/targets/vulkan/Generators.h"
#include "compiler/targets/vulkan/RegionPrinter.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace heddle::vulkan {

LogicalResult planMap(ShaderPlan &plan) {
  mergeLoops(plan.nest, SmallVector<bool>(plan.nest.getNumLoops(), true), plan.findUsedIndices());
  plan.ensureLoop();
  plan.setNeighbourAxes(llvm::to_vector(llvm::seq<unsigned>(0, plan.nest.getNumLoops())));
  plan.findSlicedTable(std::nullopt);
  return success();
}

LogicalResult emitMap(ShaderEmitter &emitter, StringRef form) {
  const ShaderPlan &plan = emitter.plan;
  std::string perInvocation = emitter.specialize("ELEMENTS", 4);
  SmallVector<std::string> loops(plan.nest.getNumLoops());
  for (Axis axis : {kY, kZ})
    if (!plan.axisLoops[axis].empty())
      emitter.splitAxis(axis, emitter.let("int", ShaderEmitter::workgroup(axis), axis == kY ? "y" : "z"), loops);
  unsigned unit = plan.axisLoops[kX].front();
  std::string first = emitter.let("int",
                                  ShaderEmitter::workgroup(kX) + " * int(gl_WorkGroupSize.x) * " + perInvocation +
                                      " + " + ShaderEmitter::invocation(kX),
                                  "x");
  std::string end = emitter.let(
      "int", "min(" + emitter.bound(unit) + ", " + first + " + " + perInvocation + " * int(gl_WorkGroupSize.x))",
      "end");
  loops[unit] = emitter.openLoop(first, end, "int(gl_WorkGroupSize.x)");
  SmallVector<std::string> elements;
  for (unsigned input = 0; input < plan.getNumInputs(); ++input)
    elements.push_back(emitter.letInput(input, loops));
  RegionPrinter printer(emitter, loops);
  if (plan.slicedTable) {
    // The element is that dispatch's which has its row.
    auto hasRow = printer.printHasRow(elements);
    if (failed(hasRow))
      return failure();
    emitter.line("if (!" + *hasRow + ") continue;");
  }
  auto results = printer.print(plan.root->getRegion(0), elements);
  if (failed(results))
    return failure();
  for (auto [result, value] : llvm::enumerate(*results))
    emitter.storeResult(result, loops, value);
  emitter.close();
  return success();
}

} // namespace heddle::vulkan
