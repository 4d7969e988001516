// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn-fuse-projections: products of one input that attention reads become one product, whose result is parted again.

#include "compiler/transforms/fusion/Passes.h"
#include "compiler/transforms/fusion/Projection.h"
#include "dialects/attn/AttnOps.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/NnOps.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace mlir;

namespace heddle::nn {

#define GEN_PASS_DEF_FUSEPROJECTIONSPASS
#include "compiler/transforms/fusion/Passes.h.inc"

namespace {

/// How many ops may lie between attention and a projection: views, a norm of each head, rotary positions.
constexpr unsigned kMaxDistance = 24;

/// True if the model hands |value| out as it is, or through views: its product writes it there, a part of a greater
/// product would have to be copied.
bool isModelOutput(Value value, unsigned depth = 0) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isa<func::ReturnOp>(user))
      return true;
    bool isView = isa<ReshapeOp, TransposeOp, SqueezeOp, UnsqueezeOp>(user);
    return isView && depth < kMaxDistance && isModelOutput(user->getResult(0), depth + 1);
  });
}

struct FuseProjectionsPass : impl::FuseProjectionsPassBase<FuseProjectionsPass> {
  void runOnOperation() override;

private:
  void collect(Value value, unsigned distance);
  void fuse(ArrayRef<Projection> parts);

  llvm::DenseSet<Operation *> seen;
  llvm::MapVector<Value, SmallVector<Projection>> byInput;
};

void FuseProjectionsPass::runOnOperation() {
  seen.clear();
  byInput.clear();
  getOperation().walk([&](attn::SdpaOp sdpa) {
    for (Value tensor : {sdpa.getQuery(), sdpa.getKey(), sdpa.getValue()})
      collect(tensor, 0);
  });
  for (auto &[input, parts] : byInput)
    if (parts.size() > 1)
      fuse(parts);
  sortTopologically(&getOperation().getBody().front());
}

/// The projections that |value| is made of, through what attention has before its operands.
void FuseProjectionsPass::collect(Value value, unsigned distance) {
  Operation *op = value.getDefiningOp();
  if (!op || distance > kMaxDistance || !seen.insert(op).second)
    return;
  if (isa<MatMulOp, GemmOp>(op)) {
    std::optional<Projection> projection = matchProjection(op);
    if (projection && !isModelOutput(projection->end->getResult(0)))
      byInput[projection->input].push_back(*projection);
    return;
  }
  bool isMove = isa<ReshapeOp, TransposeOp, SqueezeOp, UnsqueezeOp, FlattenOp, ExpandOp, TileOp, SliceOp, SplitOp,
                    LayerNormOp, RmsNormOp, CastOp>(op);
  if (isMove)
    return collect(op->getOperand(0), distance + 1);
  if (isa<BinaryOp, UnaryOp, ConcatOp, attn::RopeOp>(op))
    for (Value operand : op->getOperands())
      collect(operand, distance + 1);
}

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Zeros for a part that has no bias where others have.
Value makeZeros(OpBuilder &builder, Location loc, RankedTensorType type) {
  int64_t bytes = *getRawSize(type);
  if (bytes <= ConstantOp::kMaxLiteralBytes)
    return builder.create<ConstantOp>(loc, DenseElementsAttr::get(type, builder.getF32FloatAttr(0)));
  AsmResourceBlob blob = HeapAsmResourceBlob::allocate(bytes, alignof(float));
  std::memset(blob.getMutableData().data(), 0, bytes);
  return builder.create<ConstantOp>(loc, DenseResourceElementsAttr::get(type, "zeros", std::move(blob)));
}

void FuseProjectionsPass::fuse(ArrayRef<Projection> parts) {
  MLIRContext *context = &getContext();
  OpBuilder builder(parts.front().product);
  SmallVector<Location> locations;
  SmallVector<Value> weights, biases;
  SmallVector<int64_t> columns;
  bool hasBias = llvm::any_of(parts, [](const Projection &part) { return part.bias; });
  RankedTensorType first = typeOf(parts.front().end->getResult(0));
  Type element = first.getElementType();
  for (const Projection &part : parts) {
    locations.append({part.product->getLoc(), part.end->getLoc()});
    columns.push_back(part.getColumns());
    weights.push_back(part.isTransposed ? builder.create<TransposeOp>(part.product->getLoc(), part.weight,
                                                                      builder.getDenseI64ArrayAttr({1, 0}))
                                        : part.weight);
    auto vector = RankedTensorType::get({part.getColumns()}, element);
    if (hasBias)
      biases.push_back(part.bias ? flattenBias(builder, part) : makeZeros(builder, part.product->getLoc(), vector));
  }
  Location loc = FusedLoc::get(context, locations);
  int64_t last = first.getRank() - 1;
  Value weight = builder.create<ConcatOp>(loc, weights, 1);
  Value result = builder.create<MatMulOp>(loc, parts.front().input, weight);
  if (hasBias) {
    Value bias = builder.create<ConcatOp>(loc, biases, 0);
    result = builder.create<BinaryOp>(loc, BinaryKind::Add, result, bias);
  }
  SmallVector<Type> types;
  for (const Projection &part : parts)
    types.push_back(part.end->getResult(0).getType());
  auto split = builder.create<SplitOp>(loc, types, result, last, parts.size(), builder.getDenseI64ArrayAttr(columns));
  for (auto [part, value] : llvm::zip(parts, split.getOutputs())) {
    part.end->getResult(0).replaceAllUsesWith(value);
    part.end->erase();
    if (part.product != part.end)
      part.product->erase();
  }
  numFused += parts.size();
}

} // namespace
} // namespace heddle::nn
