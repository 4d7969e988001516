// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/common/EvaluateSizes.h"

#include <cmath>

using namespace mlir;

double heddle::evaluateSizes(AffineExpr expr, ArrayRef<int64_t> sizes) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return static_cast<double>(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return static_cast<double>(sizes[symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  double left = evaluateSizes(binary.getLHS(), sizes), right = evaluateSizes(binary.getRHS(), sizes);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return left + right;
  case AffineExprKind::Mul:
    return left * right;
  case AffineExprKind::FloorDiv:
    return right == 0 ? 0 : std::floor(left / right);
  case AffineExprKind::CeilDiv:
    return right == 0 ? 0 : std::ceil(left / right);
  default:
    return right == 0 ? 0 : left - right * std::floor(left / right);
  }
}
