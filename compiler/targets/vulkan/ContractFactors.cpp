// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/vulkan/ContractFactors.h"

using namespace mlir;

namespace heddle::vulkan {

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Whether four neighbours along |loop| are one aligned vector wherever they start at a multiple of four.
static bool isVector(const ShaderPlan &plan, const Access &access, unsigned loop) {
  if (!plan.nest.bounds[loop].isMultipleOf(4) || access.isIrregularIn(loop) || access.strides[loop] != Polynomial(1) ||
      !access.offset.isMultipleOf(4))
    return false;
  for (unsigned other = 0; other < plan.nest.getNumLoops(); ++other)
    if (other != loop && !access.strides[other].isMultipleOf(4))
      return false;
  return llvm::all_of(access.irregular, [](const Access::Irregular &part) { return part.stride.isMultipleOf(4); });
}

ContractFactors::ContractFactors(ShaderEmitter &emitter, ArrayRef<std::string> loops, unsigned depth,
                                 unsigned itemDepth, StringRef sumType, StringRef rowType, StringRef itemType)
    : depth(depth), itemDepth(itemDepth), sumType(sumType), rowType(rowType), itemType(itemType), emitter(emitter),
      plan(emitter.plan), op(cast<kernel::ContractOp>(plan.root)), axes(plan), loops(loops),
      rowsAreVectors(depth == 4 && isVector(plan, plan.getInput(0), axes.k)),
      columnsAreVectors(isVector(plan, plan.getInput(1), axes.n)) {}

std::string ContractFactors::numSteps() {
  return emitter.size(Polynomial::get(plan.toExpr(plan.nest.bounds[axes.k]).ceilDiv(depth), emitter.space));
}

} // namespace heddle::vulkan
