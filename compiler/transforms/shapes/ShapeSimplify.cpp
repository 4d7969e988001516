// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of shape expressions that aren't polynomials: each first tries to have one simple value, then takes its
// operands' common parts out, and what is left becomes an atom.

#include "compiler/transforms/shapes/ShapeNode.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace heddle;
using namespace heddle::detail;
using llvm::ArrayRef;

//===----------------------------------------------------------------------===//
// Proofs
//===----------------------------------------------------------------------===//

namespace {

/// Proves that an expression is at least 0, by its interval or by those after replacing a minimum, maximum or select
/// by its operands.
class NonNegativeProof {
public:
  explicit NonNegativeProof(ShapeContext &context) : context(context) {}

  bool holds(ShapeExpr expr, unsigned depth) {
    if (!expr)
      return false;
    if (expr.getRange().low >= 0)
      return true;
    if (depth == 0)
      return false;
    for (const ShapeTerm &term : expr.getTerms())
      if (term.atoms.size() == 1 && holdsReplacing(expr, term, depth - 1))
        return true;
    return false;
  }

private:
  bool holdsReplacing(ShapeExpr expr, const ShapeTerm &term, unsigned depth) {
    ShapeExpr atom = term.atoms[0];
    ArrayRef<ShapeExpr> operands = atom.getOperands();
    bool isPositive = term.coefficient > 0;
    auto holdsWith = [&](ShapeExpr operand) {
      ShapeExpr difference = context.sub(operand, atom);
      return holds(context.add(expr, context.mul(context.constant(term.coefficient), difference)), depth);
    };
    switch (atom.getKind()) {
    case ShapeExprKind::Min:
      // c*min(x, y) is at least r for positive c if c*x and c*y are, for negative c if one of them is.
      return isPositive ? llvm::all_of(operands, holdsWith) : llvm::any_of(operands, holdsWith);
    case ShapeExprKind::Max:
      return isPositive ? llvm::any_of(operands, holdsWith) : llvm::all_of(operands, holdsWith);
    case ShapeExprKind::Select:
      return llvm::all_of(operands.drop_front(), holdsWith);
    case ShapeExprKind::FloorDiv:
      return !isPositive && holdsReplacingQuotient(expr, term, depth);
    default:
      return false;
    }
  }

  /// k quotients of x by c are at most ceil(k / c) * x, for an x that is at least 0.
  bool holdsReplacingQuotient(ShapeExpr expr, const ShapeTerm &term, unsigned depth) {
    ShapeExpr atom = term.atoms[0], dividend = atom.getOperands()[0];
    std::optional<int64_t> divisor = atom.getOperands()[1].getConstant();
    if (!divisor || *divisor < 1 || term.coefficient == INT64_MIN || !holds(dividend, depth))
      return false;
    ShapeExpr bound = context.mul(context.constant(floorDivide(term.coefficient, *divisor)), dividend);
    ShapeExpr rest = context.sub(expr, context.mul(context.constant(term.coefficient), atom));
    return holds(context.add(rest, bound), depth);
  }

  ShapeContext &context;
};

} // namespace

/// Deeper nests of minima and maxima than this don't occur in clamped slices; the search doubles with each level.
static constexpr unsigned kProofDepth = 4;

bool ShapeContext::isProvablyNonNegative(ShapeExpr a) { return NonNegativeProof(*this).holds(a, kProofDepth); }

bool ShapeContext::isProvablyLessEqual(ShapeExpr a, ShapeExpr b) {
  if (!a || !b)
    return false;
  // The intervals also decide where the difference overflows: the least and greatest i64 are common slice bounds.
  return a == b || a.getRange().high <= b.getRange().low || isProvablyNonNegative(sub(b, a));
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

/// The atoms that all terms of |a| and |b| have in common.
static llvm::SmallVector<ShapeExpr, 2> getCommonMonomial(ArrayRef<ShapeTerm> a, ArrayRef<ShapeTerm> b) {
  llvm::SmallVector<ShapeExpr, 2> common = b.front().atoms;
  auto keepShared = [&](ArrayRef<ShapeTerm> terms) {
    for (const ShapeTerm &term : terms) {
      llvm::SmallVector<ShapeExpr, 2> shared;
      std::set_intersection(common.begin(), common.end(), term.atoms.begin(), term.atoms.end(),
                            std::back_inserter(shared), [](ShapeExpr x, ShapeExpr y) { return x.getId() < y.getId(); });
      common = std::move(shared);
    }
  };
  keepShared(a);
  keepShared(b);
  return common;
}

namespace {
/// a == quotient * b + remainder, where b is one term.
struct Division {
  ShapeTerms quotient;
  ShapeTerms remainder;
};
} // namespace

/// Takes out of each term of |a| as many whole |divisor|s as there are, so that coefficients that are left lie between
/// 0 and the divisor's: floordiv(10*S + 5, 8) is S + floordiv(2*S + 5, 8).
static Division divideTerms(ArrayRef<ShapeTerm> a, const ShapeTerm &divisor) {
  Division result;
  for (const ShapeTerm &term : a) {
    auto atoms = divideMonomial(term.atoms, divisor.atoms);
    if (!atoms) {
      result.remainder.push_back(term);
      continue;
    }
    int64_t quotient = floorDivide(term.coefficient, divisor.coefficient);
    int64_t remainder = floorModulo(term.coefficient, divisor.coefficient);
    if (quotient != 0)
      result.quotient.push_back({quotient, *atoms});
    if (remainder != 0)
      result.remainder.push_back({remainder, term.atoms});
  }
  return result;
}

/// floordiv(floordiv(x, n) + c, m) == floordiv(x + c * n, n * m) for constants c and positive n, m; null where |a| and
/// |b| aren't of that form.
static ShapeExpr joinDivisions(ShapeContext &context, ShapeExpr a, ShapeExpr b) {
  ShapeExpr inner;
  int64_t added = 0, divisor, offset;
  for (const ShapeTerm &term : a.getTerms()) {
    if (term.atoms.empty())
      added = term.coefficient;
    else if (inner || term.coefficient != 1 || term.atoms.size() != 1)
      return {};
    else
      inner = term.atoms.front();
  }
  std::optional<int64_t> outer = b.getConstant();
  if (!inner || inner.getKind() != ShapeExprKind::FloorDiv || !outer || *outer < 1)
    return {};
  std::optional<int64_t> first = inner.getOperands()[1].getConstant();
  if (!first || *first < 1 || llvm::MulOverflow(*first, *outer, divisor) || llvm::MulOverflow(added, *first, offset))
    return {};
  return context.floorDiv(context.add(inner.getOperands()[0], context.constant(offset)), context.constant(divisor));
}

ShapeExpr ShapeContext::floorDiv(ShapeExpr a, ShapeExpr b) {
  if (!a || !b || b.isConstant(0))
    return {};
  // 1. The common divisions come out even.
  if (a.isConstant(0))
    return a;
  if (ShapeExpr quotient = divideExactly(a, b))
    return quotient;

  // 2. A divisor with a positive leading coefficient, as long as the negatives exist.
  if (b.getTerms().front().coefficient < 0) {
    ShapeExpr negativeA = mul(a, constant(-1)), negativeB = mul(b, constant(-1));
    return negativeA && negativeB ? floorDiv(negativeA, negativeB) : ShapeExpr();
  }

  // 3. Factors of both cancel.
  auto monomial = getCommonMonomial(a.getTerms(), b.getTerms());
  int64_t content = std::gcd(getContent(a.getTerms()), getContent(b.getTerms()));
  if (!monomial.empty() || content > 1) {
    ShapeExpr factor = impl->makeSum({{content, monomial}});
    return floorDiv(divideExactly(a, factor), divideExactly(b, factor));
  }

  // 4. Whole divisors move out of the quotient.
  if (b.getTerms().size() == 1) {
    Division division = divideTerms(a.getTerms(), b.getTerms().front());
    if (!division.quotient.empty())
      return add(impl->makeSum(std::move(division.quotient)),
                 floorDiv(impl->makeSum(std::move(division.remainder)), b));
  }

  // 5. Successive divisions by constants are one, also where a constant is added between them: convolutions do so.
  if (ShapeExpr quotient = joinDivisions(*this, a, b))
    return quotient;

  // 6. What is less than the divisor gives 0.
  if (isProvablyNonNegative(a) && isProvablyLessEqual(add(a, constant(1)), b))
    return constant(0);
  return impl->makeAtom(ShapeExprKind::FloorDiv, {a, b}, floorDivideRanges(a.getRange(), b.getRange()));
}

ShapeExpr ShapeContext::mod(ShapeExpr a, ShapeExpr b) {
  if (!a || !b || b.isConstant(0))
    return {};
  if (b.isConstant(1) || b.isConstant(-1) || divideExactly(a, b))
    return constant(0);

  // Factors of both move out: mod(g*a, g*b) == g * mod(a, b) whatever the signs.
  auto monomial = getCommonMonomial(a.getTerms(), b.getTerms());
  int64_t content = std::gcd(getContent(a.getTerms()), getContent(b.getTerms()));
  if (!monomial.empty() || content > 1) {
    ShapeExpr factor = impl->makeSum({{content, monomial}});
    return mul(factor, mod(divideExactly(a, factor), divideExactly(b, factor)));
  }
  if (b.getTerms().size() == 1) {
    Division division = divideTerms(a.getTerms(), b.getTerms().front());
    if (!division.quotient.empty())
      return mod(impl->makeSum(std::move(division.remainder)), b);
  }
  if (isProvablyNonNegative(a) && isProvablyLessEqual(add(a, constant(1)), b))
    return a;
  return impl->makeAtom(ShapeExprKind::Mod, {a, b}, modRange(a.getRange(), b.getRange()));
}

//===----------------------------------------------------------------------===//
// Minimum and maximum
//===----------------------------------------------------------------------===//

/// The operands of nested minima (or maxima) of |a| and |b| without those that |isImplied| by another.
static llvm::SmallVector<ShapeExpr> getExtrema(ShapeExprKind kind, ShapeExpr a, ShapeExpr b,
                                               llvm::function_ref<bool(ShapeExpr other, ShapeExpr expr)> isImplied) {
  llvm::SmallVector<ShapeExpr> kept;
  auto insert = [&](ShapeExpr expr) {
    if (llvm::any_of(kept, [&](ShapeExpr other) { return isImplied(other, expr); }))
      return;
    llvm::erase_if(kept, [&](ShapeExpr other) { return isImplied(expr, other); });
    kept.push_back(expr);
  };
  for (ShapeExpr side : {a, b}) {
    if (side.getKind() == kind)
      llvm::for_each(side.getOperands(), insert);
    else
      insert(side);
  }
  llvm::sort(kept, [](ShapeExpr x, ShapeExpr y) { return x.getId() < y.getId(); });
  return kept;
}

ShapeExpr ShapeContext::min(ShapeExpr a, ShapeExpr b) {
  if (!a || !b)
    return {};
  auto operands = getExtrema(ShapeExprKind::Min, a, b,
                             [&](ShapeExpr other, ShapeExpr expr) { return isProvablyLessEqual(other, expr); });
  if (operands.size() == 1)
    return operands[0];
  ShapeRange range = operands[0].getRange();
  for (ShapeExpr operand : operands) {
    range.low = std::min(range.low, operand.getRange().low);
    range.high = std::min(range.high, operand.getRange().high);
  }
  return impl->makeAtom(ShapeExprKind::Min, operands, range);
}

ShapeExpr ShapeContext::max(ShapeExpr a, ShapeExpr b) {
  if (!a || !b)
    return {};
  auto operands = getExtrema(ShapeExprKind::Max, a, b,
                             [&](ShapeExpr other, ShapeExpr expr) { return isProvablyLessEqual(expr, other); });
  if (operands.size() == 1)
    return operands[0];
  ShapeRange range = operands[0].getRange();
  for (ShapeExpr operand : operands) {
    range.low = std::max(range.low, operand.getRange().low);
    range.high = std::max(range.high, operand.getRange().high);
  }
  return impl->makeAtom(ShapeExprKind::Max, operands, range);
}

ShapeExpr ShapeContext::getLimit(ShapeExpr a, ShapeExpr b) {
  if (!a || !b || b.getKind() != ShapeExprKind::Min || !llvm::is_contained(b.getOperands(), a))
    return {};
  ShapeExpr limit = constant(INT64_MAX);
  for (ShapeExpr operand : b.getOperands())
    if (operand != a)
      limit = min(limit, operand);
  return limit;
}

//===----------------------------------------------------------------------===//
// Comparison and selection
//===----------------------------------------------------------------------===//

/// Splits |difference|, divided by its content, into the terms with positive and, negated, those with negative
/// coefficients: equal differences compare by equal operands. False where a negation overflows.
static bool splitBySign(ShapeExpr difference, ShapeTerms &positive, ShapeTerms &negative) {
  int64_t content = getContent(difference.getTerms());
  for (const ShapeTerm &term : difference.getTerms()) {
    if (term.coefficient == INT64_MIN)
      return false;
    int64_t coefficient = term.coefficient / content;
    if (coefficient > 0)
      positive.push_back({coefficient, term.atoms});
    else
      negative.push_back({-coefficient, term.atoms});
  }
  return true;
}

/// True where the terms without the constant have a common divisor that the constant doesn't have.
static bool isNeverZero(ShapeExpr difference) {
  ArrayRef<ShapeTerm> terms = difference.getTerms();
  if (terms.empty() || !terms.back().atoms.empty())
    return false;
  int64_t content = getContent(terms.drop_back());
  return content == 0 || terms.back().coefficient % content != 0;
}

ShapeExpr ShapeContext::equal(ShapeExpr a, ShapeExpr b) {
  if (!a || !b)
    return {};
  if (a == b)
    return constant(1);
  ShapeExpr one = constant(1), difference = sub(a, b);
  for (auto [side, other] : {std::pair(a, b), std::pair(b, a)})
    if (ShapeExpr limit = getLimit(side, other))
      return lessEqual(side, limit);
  if (isProvablyLessEqual(add(a, one), b) || isProvablyLessEqual(add(b, one), a) ||
      (difference && isNeverZero(difference)))
    return constant(0);

  ShapeTerms positive, negative;
  if (difference && splitBySign(difference, positive, negative)) {
    a = impl->makeSum(std::move(positive));
    b = impl->makeSum(std::move(negative));
  }
  // The constant, or else the later expression, stands on the right.
  if (a.getConstant() || (!b.getConstant() && a.getId() > b.getId()))
    std::swap(a, b);
  if (a.isBoolean() && b.isConstant(1))
    return a;
  if (a.isBoolean() && b.isConstant(0))
    return logicalNot(a);
  return impl->makeAtom(ShapeExprKind::Equal, {a, b}, {0, 1});
}

ShapeExpr ShapeContext::less(ShapeExpr a, ShapeExpr b) {
  if (!a || !b)
    return {};
  if (isProvablyLessEqual(b, a))
    return constant(0);
  // Not add(a, 1) <= b for the greatest a: its sum is null, and nothing is proved.
  if (isProvablyLessEqual(add(a, constant(1)), b))
    return constant(1);

  ShapeTerms positive, negative;
  ShapeExpr difference = sub(a, b);
  if (difference && splitBySign(difference, positive, negative)) {
    a = impl->makeSum(std::move(positive));
    b = impl->makeSum(std::move(negative));
  }
  if (a.isBoolean() && b.isConstant(1))
    return logicalNot(a);
  if (a.isConstant(0) && b.isBoolean())
    return b;
  return impl->makeAtom(ShapeExprKind::Less, {a, b}, {0, 1});
}

ShapeExpr ShapeContext::select(ShapeExpr condition, ShapeExpr onTrue, ShapeExpr onFalse) {
  if (!condition || !onTrue || !onFalse)
    return {};
  if (auto value = condition.getConstant())
    return *value != 0 ? onTrue : onFalse;
  if (onTrue == onFalse)
    return onTrue;
  if (condition.isBoolean() && onTrue.isConstant(1) && onFalse.isConstant(0))
    return condition;
  if (condition.isBoolean() && onTrue.isConstant(0) && onFalse.isConstant(1))
    return logicalNot(condition);
  // x == y ? x : y is y, and so is x == y ? y : x swapped.
  if (condition.getKind() == ShapeExprKind::Equal) {
    ArrayRef<ShapeExpr> sides = condition.getOperands();
    if ((onTrue == sides[0] && onFalse == sides[1]) || (onTrue == sides[1] && onFalse == sides[0]))
      return onFalse;
  }
  ShapeRange a = onTrue.getRange(), b = onFalse.getRange();
  return impl->makeAtom(ShapeExprKind::Select, {condition, onTrue, onFalse},
                        {std::min(a.low, b.low), std::max(a.high, b.high)});
}
