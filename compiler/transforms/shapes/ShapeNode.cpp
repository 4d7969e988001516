// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uniquing of shape expressions, their polynomials' normal form, and interval arithmetic.

#include "compiler/transforms/shapes/ShapeNode.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace heddle;
using namespace heddle::detail;
using llvm::ArrayRef;

//===----------------------------------------------------------------------===//
// Uniquing
//===----------------------------------------------------------------------===//

void ShapeNode::Profile(llvm::FoldingSetNodeID &profile) const {
  profile.AddInteger(static_cast<unsigned>(kind));
  profile.AddInteger(input);
  profile.AddInteger(value);
  for (ShapeExpr operand : operands)
    profile.AddPointer(operand.getImpl());
  // An atom's only term is the atom itself; it has none while it is being looked up.
  if (kind != ShapeExprKind::Sum)
    return;
  for (const ShapeTerm &term : terms) {
    profile.AddInteger(term.coefficient);
    profile.AddInteger(term.atoms.size());
    for (ShapeExpr atom : term.atoms)
      profile.AddPointer(atom.getImpl());
  }
}

ShapeExpr ShapeContextImpl::intern(ShapeNode candidate) {
  llvm::FoldingSetNodeID profile;
  candidate.Profile(profile);
  void *position = nullptr;
  if (ShapeNode *found = unique.FindNodeOrInsertPos(profile, position))
    return ShapeExpr(found);

  auto node = std::make_unique<ShapeNode>(std::move(candidate));
  node->id = nodes.size();
  for (ShapeExpr operand : node->operands)
    node->complexity += operand.getComplexity();
  for (const ShapeTerm &term : node->terms)
    for (ShapeExpr atom : term.atoms)
      node->complexity += 1 + atom.getComplexity();
  ShapeExpr expr(node.get());
  if (node->kind != ShapeExprKind::Sum && node->kind != ShapeExprKind::Constant)
    node->terms.push_back({1, {expr}});
  unique.InsertNode(node.get(), position);
  nodes.push_back(std::move(node));
  return expr;
}

ShapeExpr ShapeContextImpl::makeAtom(ShapeExprKind kind, ArrayRef<ShapeExpr> operands, ShapeRange range) {
  ShapeNode node;
  node.kind = kind;
  node.operands.assign(operands.begin(), operands.end());
  node.range = range;
  return intern(std::move(node));
}

ShapeExpr ShapeContextImpl::makeSum(ShapeTerms terms) {
  if (terms.size() == 1 && terms[0].coefficient == 1 && terms[0].atoms.size() == 1)
    return terms[0].atoms[0];
  ShapeNode node;
  if (terms.empty() || (terms.size() == 1 && terms[0].atoms.empty())) {
    node.value = terms.empty() ? 0 : terms[0].coefficient;
    node.range = {node.value, node.value};
    node.terms = std::move(terms);
    return intern(std::move(node));
  }
  node.kind = ShapeExprKind::Sum;
  node.range = {0, 0};
  for (const ShapeTerm &term : terms) {
    ShapeRange product = {term.coefficient, term.coefficient};
    for (ShapeExpr atom : term.atoms)
      product = multiplyRanges(product, atom.getRange());
    node.range = addRanges(node.range, product);
  }
  node.terms = std::move(terms);
  return intern(std::move(node));
}

//===----------------------------------------------------------------------===//
// Polynomials
//===----------------------------------------------------------------------===//

int detail::compareMonomials(ArrayRef<ShapeExpr> a, ArrayRef<ShapeExpr> b) {
  if (a.size() != b.size())
    return a.size() < b.size() ? -1 : 1;
  for (auto [x, y] : llvm::zip(a, b))
    if (x != y)
      return x.getId() < y.getId() ? 1 : -1;
  return 0;
}

/// Sorts the atoms of a product; of an atom that is 0 or 1 all powers are equal.
static void normalizeMonomial(llvm::SmallVectorImpl<ShapeExpr> &atoms) {
  llvm::sort(atoms, [](ShapeExpr a, ShapeExpr b) { return a.getId() < b.getId(); });
  auto end = std::unique(atoms.begin(), atoms.end(), [](ShapeExpr a, ShapeExpr b) { return a == b && a.isBoolean(); });
  atoms.erase(end, atoms.end());
}

bool detail::normalize(ShapeTerms &terms) {
  for (ShapeTerm &term : terms)
    normalizeMonomial(term.atoms);
  llvm::sort(terms, [](const ShapeTerm &a, const ShapeTerm &b) { return compareMonomials(a.atoms, b.atoms) > 0; });
  ShapeTerms merged;
  for (ShapeTerm &term : terms) {
    if (merged.empty() || compareMonomials(merged.back().atoms, term.atoms) != 0)
      merged.push_back(std::move(term));
    else if (llvm::AddOverflow(merged.back().coefficient, term.coefficient, merged.back().coefficient))
      return false;
  }
  llvm::erase_if(merged, [](const ShapeTerm &term) { return term.coefficient == 0; });
  terms = std::move(merged);
  return true;
}

std::optional<llvm::SmallVector<ShapeExpr, 2>> detail::divideMonomial(ArrayRef<ShapeExpr> a, ArrayRef<ShapeExpr> b) {
  llvm::SmallVector<ShapeExpr, 2> quotient;
  for (ShapeExpr atom : a) {
    if (!b.empty() && b.front() == atom)
      b = b.drop_front();
    else
      quotient.push_back(atom);
  }
  if (!b.empty())
    return std::nullopt;
  return quotient;
}

int64_t detail::getContent(ArrayRef<ShapeTerm> terms) {
  uint64_t content = 0;
  for (const ShapeTerm &term : terms)
    content = std::gcd(content, term.coefficient < 0 ? 0 - static_cast<uint64_t>(term.coefficient)
                                                     : static_cast<uint64_t>(term.coefficient));
  // 2^63 is no i64; as a divisor 1 is as right, if less useful.
  return content > static_cast<uint64_t>(INT64_MAX) ? 1 : static_cast<int64_t>(content);
}

int64_t detail::floorDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t detail::floorModulo(int64_t a, int64_t b) {
  // Not a - quotient * b, whose product may overflow.
  int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

static int64_t saturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (llvm::AddOverflow(a, b, sum))
    return a < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

static int64_t saturatingMul(int64_t a, int64_t b) {
  int64_t product;
  if (llvm::MulOverflow(a, b, product))
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
  return product;
}

ShapeRange detail::addRanges(ShapeRange a, ShapeRange b) {
  // An end without a bound stays without one, whatever is added.
  int64_t low = a.low == INT64_MIN || b.low == INT64_MIN ? INT64_MIN : saturatingAdd(a.low, b.low);
  int64_t high = a.high == INT64_MAX || b.high == INT64_MAX ? INT64_MAX : saturatingAdd(a.high, b.high);
  return {low, high};
}

ShapeRange detail::multiplyRanges(ShapeRange a, ShapeRange b) {
  int64_t corners[] = {saturatingMul(a.low, b.low), saturatingMul(a.low, b.high), saturatingMul(a.high, b.low),
                       saturatingMul(a.high, b.high)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

ShapeRange detail::floorDivideRanges(ShapeRange a, ShapeRange b) {
  // A divisor of zero has no quotient, so one that is at least 0 is at least 1.
  if (b.low < 0)
    return {INT64_MIN, INT64_MAX};
  int64_t least = std::max<int64_t>(b.low, 1), greatest = std::max<int64_t>(b.high, 1);
  return {floorDivide(a.low, a.low < 0 ? least : greatest), floorDivide(a.high, a.high < 0 ? greatest : least)};
}

ShapeRange detail::modRange(ShapeRange a, ShapeRange b) {
  if (b.low < 0)
    return {INT64_MIN, INT64_MAX};
  int64_t high = b.high == INT64_MAX ? INT64_MAX : b.high - 1;
  return {0, std::max<int64_t>(a.low >= 0 ? std::min(high, a.high) : high, 0)};
}
