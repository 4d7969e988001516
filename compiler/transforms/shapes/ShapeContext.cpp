// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Leaves and ring operations of shape expressions, and what is built from other operations alone.

#include "compiler/transforms/shapes/ShapeNode.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace heddle;
using namespace heddle::detail;
using llvm::ArrayRef;

ShapeContext::ShapeContext() : impl(std::make_unique<ShapeContextImpl>()) {}
ShapeContext::~ShapeContext() = default;

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

ShapeExpr ShapeContext::constant(int64_t value) {
  if (value == 0)
    return impl->makeSum({});
  return impl->makeSum({{value, {}}});
}

ShapeExpr ShapeContext::symbol(unsigned input, int64_t dim, llvm::StringRef name) {
  // The first letter keeps a name that a model gives from being one of ours: then a check would be missing.
  std::string place = ("input" + llvm::Twine(input) + "." + llvm::Twine(dim)).str();
  ShapeExpr &symbol = impl->symbols[name.empty() ? "?" + place : ("=" + name).str()];
  if (symbol)
    return symbol;
  ShapeNode node;
  node.kind = ShapeExprKind::Symbol;
  node.input = input;
  node.value = dim;
  node.name = name.empty() ? place : name.str();
  node.range = {0, INT64_MAX};
  return symbol = impl->intern(std::move(node));
}

ShapeExpr ShapeContext::inputValue(unsigned input, int64_t element, ShapeRange range) {
  ShapeNode node;
  node.kind = ShapeExprKind::InputValue;
  node.input = input;
  node.value = element;
  node.range = range;
  return impl->intern(std::move(node));
}

//===----------------------------------------------------------------------===//
// The ring
//===----------------------------------------------------------------------===//

ShapeExpr ShapeContext::add(ShapeExpr a, ShapeExpr b) {
  if (!a || !b)
    return {};
  ShapeTerms terms(a.getTerms());
  llvm::append_range(terms, b.getTerms());
  return normalize(terms) ? impl->makeSum(std::move(terms)) : ShapeExpr();
}

ShapeExpr ShapeContext::sub(ShapeExpr a, ShapeExpr b) { return add(a, mul(b, constant(-1))); }

ShapeExpr ShapeContext::mul(ShapeExpr a, ShapeExpr b) {
  if (!a || !b)
    return {};
  ShapeTerms terms;
  for (const ShapeTerm &x : a.getTerms()) {
    for (const ShapeTerm &y : b.getTerms()) {
      ShapeTerm product = {0, x.atoms};
      llvm::append_range(product.atoms, y.atoms);
      if (llvm::MulOverflow(x.coefficient, y.coefficient, product.coefficient))
        return {};
      terms.push_back(std::move(product));
    }
  }
  return normalize(terms) ? impl->makeSum(std::move(terms)) : ShapeExpr();
}

ShapeExpr ShapeContext::product(ArrayRef<ShapeExpr> factors) {
  ShapeExpr result = constant(1);
  for (ShapeExpr factor : factors)
    result = mul(result, factor);
  return result;
}

ShapeExpr ShapeContext::divideExactly(ShapeExpr a, ShapeExpr b) {
  if (!a || !b || b.getTerms().empty())
    return {};
  // Division by leading terms: in an order that products respect it finds the quotient whenever there is one.
  const ShapeTerm &leading = b.getTerms().front();
  ShapeExpr quotient = constant(0);
  while (a && !a.getTerms().empty()) {
    const ShapeTerm &term = a.getTerms().front();
    auto atoms = divideMonomial(term.atoms, leading.atoms);
    // The least i64 over -1 isn't an i64.
    if (!atoms || leading.coefficient == -1 || term.coefficient % leading.coefficient != 0)
      return {};
    ShapeExpr step = impl->makeSum({{term.coefficient / leading.coefficient, *atoms}});
    ShapeExpr rest = sub(a, mul(step, b));
    // Powers of atoms that are 0 or 1 merge, so a step may fail to cancel the leading term.
    if (rest && !rest.getTerms().empty() && compareMonomials(rest.getTerms().front().atoms, term.atoms) >= 0)
      return {};
    quotient = add(quotient, step);
    a = rest;
  }
  return a ? quotient : ShapeExpr();
}

//===----------------------------------------------------------------------===//
// Built from others
//===----------------------------------------------------------------------===//

ShapeExpr ShapeContext::ceilDiv(ShapeExpr a, ShapeExpr b) {
  ShapeExpr minusOne = constant(-1);
  return mul(floorDiv(mul(a, minusOne), b), minusOne);
}

ShapeExpr ShapeContext::truncDiv(ShapeExpr a, ShapeExpr b) {
  if (!a || !b)
    return {};
  // What comes out even needs no rounding.
  if (ShapeExpr quotient = divideExactly(a, b))
    return quotient;
  if (isProvablyNonNegative(a) && isProvablyNonNegative(b))
    return floorDiv(a, b);
  ShapeExpr zero = constant(0), isNegativeA = less(a, zero), isNegativeB = less(b, zero);
  ShapeExpr quotient = floorDiv(select(isNegativeA, sub(zero, a), a), select(isNegativeB, sub(zero, b), b));
  return select(equal(isNegativeA, isNegativeB), quotient, sub(zero, quotient));
}

ShapeExpr ShapeContext::lessEqual(ShapeExpr a, ShapeExpr b) { return logicalNot(less(b, a)); }

ShapeExpr ShapeContext::logicalNot(ShapeExpr a) { return sub(constant(1), a); }

ShapeExpr ShapeContext::logicalAnd(ShapeExpr a, ShapeExpr b) { return mul(a, b); }

ShapeExpr ShapeContext::logicalOr(ShapeExpr a, ShapeExpr b) { return max(a, b); }

ShapeExpr ShapeContext::evaluateAffine(mlir::AffineExpr expr, ArrayRef<ShapeExpr> symbols) {
  if (auto number = llvm::dyn_cast<mlir::AffineConstantExpr>(expr))
    return constant(number.getValue());
  if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(expr))
    return symbol.getPosition() < symbols.size() ? symbols[symbol.getPosition()] : ShapeExpr();
  auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
  if (!binary)
    return {};
  ShapeExpr lhs = evaluateAffine(binary.getLHS(), symbols);
  ShapeExpr rhs = evaluateAffine(binary.getRHS(), symbols);
  switch (expr.getKind()) {
  case mlir::AffineExprKind::Add:
    return add(lhs, rhs);
  case mlir::AffineExprKind::Mul:
    return mul(lhs, rhs);
  case mlir::AffineExprKind::FloorDiv:
    return floorDiv(lhs, rhs);
  case mlir::AffineExprKind::CeilDiv:
    return ceilDiv(lhs, rhs);
  case mlir::AffineExprKind::Mod:
    return mod(lhs, rhs);
  default:
    return {};
  }
}
