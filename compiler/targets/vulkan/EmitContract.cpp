// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.contract: x counts panels of 16 columns, y rows, z batches. ContractTile has the shader.

#include "compiler/targets/common/KernelSignature.h"
#include "compiler/targets/vulkan/ContractTile.h"
#include "compiler/targets/vulkan/Generators.h"

using namespace mlir;

namespace heddle::vulkan {

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

static LogicalResult checkFactors(kernel::ContractOp op) {
  Type lhs = getElementTypeOrSelf(op.getLhs().getType()), rhs = getElementTypeOrSelf(op.getRhs().getType());
  bool isInteger = op.getForm() == kernel::ContractOp::Form::Integer;
  if (!isInteger && !lhs.isF32())
    return op.emitOpError() << "expects f32 on the left side on this target, got " << lhs;
  if (op.getForm() == kernel::ContractOp::Form::Plain && !rhs.isF32())
    return op.emitOpError() << "expects f32 factors on this target, got " << rhs;
  return success();
}

/// True if what |access| reaches along n is what one unit of x has, not spread over units of other axes.
static bool isInnermost(const ShaderPlan &plan, const Access &access, unsigned n) {
  std::optional<int64_t> step = access.strides[n].getConstant();
  if (!step)
    return false;
  for (const auto &loops : plan.axisLoops)
    for (unsigned loop : loops)
      if (loop != n && !access.strides[loop].isZero() && access.strides[loop].getConstant().value_or(*step) < *step)
        return false;
  return true;
}

/// Makes panels of 16 columns the units of x, since packed weights can't be cut elsewhere.
static void countPanels(ShaderPlan &plan, unsigned n) {
  auto op = cast<kernel::ContractOp>(plan.root);
  plan.setExtent(kX, plan.extents[kX].ceilDiv(kPanelColumns));
  for (auto [i, access] : llvm::enumerate(plan.nest.accesses)) {
    std::array<AffineExpr, kNumAxes> &steps = plan.strides[plan.bindings[i]];
    steps[kX] = steps[kX] * kPanelColumns;
    if (access.uses(n) && !isInnermost(plan, access, n))
      steps.fill(plan.constantExpr(0));
  }
  if (!op.getPackedRhs())
    return;
  SmallVector<unsigned> packed = {1};
  if (std::optional<unsigned> scales = op.getScalesInput())
    packed.push_back(*scales);
  for (unsigned input : packed) {
    unsigned operand = plan.bindings[input];
    RankedTensorType type = plan.getOperandType(operand);
    int64_t elements = ShapedType::getNumElements(type.getShape().drop_front());
    if (llvm::count(plan.bindings, operand) == 1)
      plan.setStride(operand, kX, plan.constantExpr(elements * getDeviceBytes(type.getElementType())));
  }
}

LogicalResult planContract(ShaderPlan &plan) {
  if (failed(checkFactors(cast<kernel::ContractOp>(plan.root))))
    return failure();
  mergeContractRows(plan);
  ContractLoops axes(plan);
  SmallVector<unsigned> batches = llvm::to_vector(llvm::seq<unsigned>(0, axes.m));
  plan.setAxes({axes.n}, {axes.m}, batches);
  countPanels(plan, axes.n);
  return success();
}

LogicalResult emitContract(ShaderEmitter &emitter, StringRef form) {
  return ContractTile(emitter, ContractForm::parse(form)).emit();
}

} // namespace heddle::vulkan
