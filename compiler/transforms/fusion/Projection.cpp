// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matching of projections.

#include "compiler/transforms/fusion/Projection.h"

#include "compiler/transforms/outlining/ConstantRecipe.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::nn;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

int64_t Projection::getColumns() const { return typeOf(end->getResult(0)).getShape().back(); }

/// A constant that adds one number to each of |columns| columns.
static bool isBias(Value value, int64_t columns) {
  RankedTensorType type = typeOf(value);
  if (type.getRank() == 1)
    return type.getShape().back() == columns && findConstantRecipe(value);
  return value.getDefiningOp<ConstantOp>() && type.getRank() >= 1 && type.getShape().back() == columns &&
         type.getNumElements() == columns;
}

/// Takes the addition of a constant behind the product into |projection|, if nothing else reads the product.
static void takeBias(Projection &projection) {
  if (projection.bias || !projection.end->hasOneUse())
    return;
  auto sum = dyn_cast<BinaryOp>(*projection.end->user_begin());
  if (!sum || sum.getKind() != BinaryKind::Add || sum.getOutput().getType() != projection.end->getResult(0).getType())
    return;
  Value other = sum.getLhs() == projection.end->getResult(0) ? sum.getRhs() : sum.getLhs();
  if (!isBias(other, projection.getColumns()) || typeOf(other).getRank() > typeOf(sum.getOutput()).getRank())
    return;
  projection.bias = other;
  projection.end = sum;
}

std::optional<Projection> nn::matchProjection(Operation *op) {
  Projection projection{op, op, op->getOperand(0), op->getOperand(1)};
  if (auto gemm = dyn_cast<GemmOp>(op)) {
    if (gemm.getTransA() || !gemm.getAlpha().isExactlyValue(1.0) || !gemm.getBeta().isExactlyValue(1.0))
      return std::nullopt;
    projection.isTransposed = gemm.getTransB();
    projection.bias = gemm.getAddend();
  }
  RankedTensorType type = typeOf(op->getResult(0)), weight = typeOf(projection.weight);
  bool isMatrix = weight.getRank() == 2 && weight.hasStaticShape() && typeOf(projection.input).getRank() >= 2;
  if (!isMatrix || !type.getElementType().isF32() || type.isDynamicDim(type.getRank() - 1) ||
      !findConstantRecipe(projection.weight) || (projection.bias && !isBias(projection.bias, type.getShape().back())))
    return std::nullopt;
  takeBias(projection);
  return projection;
}

std::optional<Projection> nn::findProjection(Value value) {
  Operation *end = value.getDefiningOp();
  for (Operation *op : {end, end && isa<BinaryOp>(end) ? end->getOperand(0).getDefiningOp() : nullptr,
                        end && isa<BinaryOp>(end) ? end->getOperand(1).getDefiningOp() : nullptr}) {
    if (!isa_and_nonnull<MatMulOp, GemmOp>(op))
      continue;
    std::optional<Projection> projection = matchProjection(op);
    if (projection && projection->end == end)
      return projection;
  }
  return std::nullopt;
}

Value nn::flattenBias(OpBuilder &builder, const Projection &projection) {
  auto type = RankedTensorType::get({projection.getColumns()}, builder.getF32Type());
  if (projection.bias.getType() == type)
    return projection.bias;
  auto constant = projection.bias.getDefiningOp<ConstantOp>();
  Attribute value = constant.getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    value = dense.reshape(type);
  else if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    value = DenseResourceElementsAttr::get(type, resource.getRawHandle());
  return builder.create<ConstantOp>(constant.getLoc(), type, value);
}
