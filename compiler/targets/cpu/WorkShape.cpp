// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Grid, grain and scratch as maps over the size arguments.

#include "compiler/targets/cpu/WorkShape.h"

using namespace mlir;

namespace heddle::cpu {

WorkShape getWorkShape(const KernelPlan &plan) {
  kernel::FuncOp func = plan.func;
  MLIRContext *context = func.getContext();
  unsigned numSizes = func.getNumSizes();
  AffineExpr items = getAffineConstantExpr(1, context);
  for (AffineExpr digit : plan.items.digits)
    items = digit * items;
  // One more than the work, so that no size divides by zero; an item's work is rounded up to whole units anyway.
  AffineExpr grainWork = getAffineConstantExpr(plan.config.getInteger(config::kGrainWork), context);
  AffineExpr grain = grainWork.ceilDiv(plan.items.workPerItem + 1);
  auto map = [&](AffineExpr expr) { return AffineMap::get(0, numSizes, expr); };
  return {map(items), map(grain), map(plan.items.scratchBytes)};
}

} // namespace heddle::cpu
