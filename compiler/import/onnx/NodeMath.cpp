// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas over a node's values.

#include "compiler/import/onnx/NodeMath.h"

using namespace mlir;

namespace heddle::importer {

Value NodeMath::number(double number, Value like) {
  return like ? node.createScalar(getElementTypeOrSelf(like.getType()), number) : Value();
}

Value NodeMath::select(nn::CompareKind kind, Value a, Value b, Value onTrue, Value onFalse) {
  return node.createValue<nn::WhereOp>(node.createValue<nn::CompareOp>(kind, a, b), onTrue, onFalse);
}

Value NodeMath::mean(Value x, llvm::ArrayRef<int64_t> axes) {
  return node.createValue<nn::ReduceOp>(nn::ReduceKind::Mean, x, axes, /*keepdims=*/true);
}

Value NodeMath::inverseRoot(Value x, llvm::ArrayRef<int64_t> axes, double epsilon) {
  Value variance = add(mean(mul(x, x), axes), number(epsilon, x));
  return unary(nn::UnaryKind::Reciprocal, unary(nn::UnaryKind::Sqrt, variance));
}

Value NodeMath::cast(Value x, Type to) {
  return x && getElementTypeOrSelf(x.getType()) != to ? node.createValue<nn::CastOp>(x, to) : x;
}

Value NodeMath::widen(Value x) {
  Type type = x ? getElementTypeOrSelf(x.getType()) : Type();
  return type && (type.isF16() || type.isBF16()) ? cast(x, node.getBuilder().getF32Type()) : x;
}

Value NodeMath::parameter(Value value) {
  if (!value || node.hasFailed())
    return value;
  auto type = llvm::cast<RankedTensorType>(value.getType());
  return type.getRank() == 1 && type.getDimSize(0) == 1 ? node.createAsScalar(value) : value;
}

Value NodeMath::alongChannels(Value x, int64_t rank) {
  if (!x || llvm::cast<RankedTensorType>(x.getType()).getRank() != 1) {
    if (x)
      (void)node.fail(ErrorCode::H0204, "one value a channel must be a vector");
    return {};
  }
  auto axes = llvm::to_vector(llvm::seq<int64_t>(1, rank - 1));
  return axes.empty() ? x : node.createValue<nn::UnsqueezeOp>(x, llvm::ArrayRef<int64_t>(axes));
}

} // namespace heddle::importer
