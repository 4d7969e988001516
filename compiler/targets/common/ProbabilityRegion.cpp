// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The region is copied, given the probability as a constant, and folded: what is left constant holds for every key.

#include "compiler/targets/common/ProbabilityRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OwningOpRef.h"

using namespace mlir;

namespace heddle {

static std::optional<APFloat> evaluateAt(kernel::AttentionOp op, const APFloat &probability) {
  OwningOpRef<Operation *> copy = op->clone();
  Block &body = cast<kernel::AttentionOp>(*copy).getProbability().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  auto value = builder.getFloatAttr(body.getArgument(0).getType(), probability);
  body.getArgument(0).replaceAllUsesWith(builder.create<arith::ConstantOp>(op.getLoc(), value));
  for (Operation &inner : llvm::make_early_inc_range(body.without_terminator())) {
    builder.setInsertionPoint(&inner);
    SmallVector<Value> folded;
    if (!isa<arith::ConstantOp>(inner) && succeeded(builder.tryFold(&inner, folded)))
      inner.replaceAllUsesWith(folded);
  }
  FloatAttr result;
  if (!matchPattern(body.getTerminator()->getOperand(0), m_Constant(&result)))
    return std::nullopt;
  return result.getValue();
}

ProbabilityRegion ProbabilityRegion::analyze(kernel::AttentionOp op) {
  const llvm::fltSemantics &single = APFloat::IEEEsingle();
  return {evaluateAt(op, APFloat::getZero(single)), evaluateAt(op, APFloat::getQNaN(single))};
}

} // namespace heddle
