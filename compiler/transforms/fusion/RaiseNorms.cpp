// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn-raise-norms: makes one op of each normalisation that is spelled out.

#include "compiler/transforms/fusion/NormMatch.h"
#include "compiler/transforms/fusion/Passes.h"
#include "compiler/transforms/fusion/Sweep.h"
#include "llvm/ADT/STLExtras.h"

#define DEBUG_TYPE "nn-raise-norms"

using namespace mlir;

namespace heddle::nn {

#define GEN_PASS_DEF_RAISENORMSPASS
#include "compiler/transforms/fusion/Passes.h.inc"

namespace {

struct RaiseNormsPass : impl::RaiseNormsPassBase<RaiseNormsPass> {
  void runOnOperation() override {
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
      for (Block &block : func.getBody())
        raise(block);
    noteRaised(getOperation(), {{"layer_norm", layerNorms}, {"rms_norm", rmsNorms}});
    numRaised += layerNorms + rmsNorms;
  }

private:
  void raise(Block &block) {
    // New ops stand before their reader, where the walk has been or never comes.
    for (Operation &op : llvm::make_early_inc_range(block))
      if (isa<UnaryOp, BinaryOp>(op))
        for (const NormPattern &pattern : matchNorms(&op))
          if (!pattern.output.use_empty())
            build(pattern);
    eraseDeadOps(block);
  }

  void build(const NormPattern &pattern);

  int64_t layerNorms = 0, rmsNorms = 0;
};

/// The product of |pattern|'s scales, a scalar 1 where there is none.
Value buildScale(OpBuilder &builder, Location loc, const NormPattern &pattern) {
  if (pattern.scales.empty()) {
    auto type = RankedTensorType::get({}, pattern.getOutputType().getElementType());
    auto one = builder.getFloatAttr(type.getElementType(), 1.0);
    return builder.create<ConstantOp>(loc, DenseElementsAttr::get(type, one.getValue()));
  }
  Value product = pattern.scales.front();
  for (Value scale : ArrayRef(pattern.scales).drop_front()) {
    // Each broadcasts onto one row, so that the longer of two shapes is the shape of both.
    auto left = cast<RankedTensorType>(product.getType()), right = cast<RankedTensorType>(scale.getType());
    SmallVector<int64_t> shape(std::max(left.getRank(), right.getRank()), 1);
    for (RankedTensorType type : {left, right})
      for (auto [place, extent] : llvm::zip(llvm::reverse(shape), llvm::reverse(type.getShape())))
        place = extent == 1 ? place : extent;
    auto type = RankedTensorType::get(shape, left.getElementType());
    product = builder.create<BinaryOp>(loc, type, BinaryKind::Mul, product, scale);
  }
  return product;
}

void RaiseNormsPass::build(const NormPattern &pattern) {
  Operation *last = pattern.output.getDefiningOp();
  OpBuilder builder(last);
  Location loc = last->getLoc();
  RankedTensorType type = pattern.getOutputType();
  Value input = pattern.input, scale = buildScale(builder, loc, pattern);
  if (auto inputType = cast<RankedTensorType>(input.getType()); inputType.getElementType() != type.getElementType())
    input = builder.create<CastOp>(loc, inputType.clone(type.getElementType()), input, type.getElementType());
  llvm::APFloat epsilon(static_cast<float>(pattern.epsilon));
  Operation *norm = pattern.isCentred
                        ? builder.create<LayerNormOp>(loc, type, input, scale, pattern.bias, pattern.axis, epsilon)
                        : builder.create<RmsNormOp>(loc, type, input, scale, pattern.axis, epsilon).getOperation();
  replaceOutput(pattern.output, norm->getResult(0));
  ++(pattern.isCentred ? layerNorms : rmsNorms);
}

} // namespace
} // namespace heddle::nn
