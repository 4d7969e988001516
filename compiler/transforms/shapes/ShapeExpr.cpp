// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading shape expressions: accessors, printing, evaluation.

#include "compiler/transforms/shapes/ShapeExpr.h"

#include "compiler/transforms/shapes/ShapeNode.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace heddle;
using llvm::ArrayRef;
using llvm::raw_ostream;

//===----------------------------------------------------------------------===//
// Accessors
//===----------------------------------------------------------------------===//

ShapeExprKind ShapeExpr::getKind() const { return node->kind; }

std::optional<int64_t> ShapeExpr::getConstant() const {
  if (!node || node->kind != ShapeExprKind::Constant)
    return std::nullopt;
  return node->value;
}

unsigned ShapeExpr::getInput() const { return node->input; }
int64_t ShapeExpr::getPosition() const { return node->value; }
llvm::StringRef ShapeExpr::getName() const { return node->name; }
ArrayRef<ShapeExpr> ShapeExpr::getOperands() const { return node->operands; }
ArrayRef<ShapeTerm> ShapeExpr::getTerms() const { return node->terms; }
ShapeRange ShapeExpr::getRange() const { return node->range; }
unsigned ShapeExpr::getComplexity() const { return node->complexity; }
unsigned ShapeExpr::getId() const { return node->id; }

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void printTerm(raw_ostream &os, const ShapeTerm &term, bool isFirst) {
  bool isNegative = term.coefficient < 0;
  // Unsigned, because the least i64 has no positive counterpart.
  uint64_t magnitude = isNegative ? 0 - static_cast<uint64_t>(term.coefficient) : term.coefficient;
  if (!isFirst)
    os << (isNegative ? " - " : " + ");
  else if (isNegative)
    os << "-";
  if (magnitude != 1 || term.atoms.empty())
    os << magnitude << (term.atoms.empty() ? "" : "*");
  llvm::interleave(term.atoms, os, "*");
}

static llvm::StringRef getMnemonic(ShapeExprKind kind) {
  switch (kind) {
  case ShapeExprKind::Constant:
  case ShapeExprKind::Symbol:
  case ShapeExprKind::InputValue:
  case ShapeExprKind::Sum:
    return "";
  case ShapeExprKind::FloorDiv:
    return "floordiv";
  case ShapeExprKind::Mod:
    return "mod";
  case ShapeExprKind::Min:
    return "min";
  case ShapeExprKind::Max:
    return "max";
  case ShapeExprKind::Equal:
    return "equal";
  case ShapeExprKind::Less:
    return "less";
  case ShapeExprKind::Select:
    return "select";
  }
  return "";
}

void ShapeExpr::print(raw_ostream &os) const {
  if (!node) {
    os << "<none>";
    return;
  }
  switch (node->kind) {
  case ShapeExprKind::Constant:
    os << node->value;
    return;
  case ShapeExprKind::Symbol:
    os << node->name;
    return;
  case ShapeExprKind::InputValue:
    os << "input" << node->input << "[" << node->value << "]";
    return;
  case ShapeExprKind::Sum:
    for (auto [i, term] : llvm::enumerate(node->terms))
      printTerm(os, term, i == 0);
    return;
  default:
    os << getMnemonic(node->kind) << "(";
    llvm::interleaveComma(node->operands, os);
    os << ")";
  }
}

std::string ShapeExpr::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  return os.str();
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

using ValueOf = llvm::function_ref<int64_t(ShapeExpr)>;

static std::optional<int64_t> evaluateSum(ArrayRef<ShapeTerm> terms, ValueOf valueOf) {
  int64_t sum = 0;
  for (const ShapeTerm &term : terms) {
    int64_t product = term.coefficient;
    for (ShapeExpr atom : term.atoms) {
      std::optional<int64_t> value = evaluate(atom, valueOf);
      if (!value || llvm::MulOverflow(product, *value, product))
        return std::nullopt;
    }
    if (llvm::AddOverflow(sum, product, sum))
      return std::nullopt;
  }
  return sum;
}

static std::optional<int64_t> evaluateOperation(ShapeExprKind kind, ArrayRef<int64_t> v) {
  switch (kind) {
  case ShapeExprKind::FloorDiv:
  case ShapeExprKind::Mod:
    if (v[1] == 0 || (v[0] == INT64_MIN && v[1] == -1))
      return std::nullopt;
    return kind == ShapeExprKind::FloorDiv ? detail::floorDivide(v[0], v[1]) : detail::floorModulo(v[0], v[1]);
  case ShapeExprKind::Min:
    return *std::min_element(v.begin(), v.end());
  case ShapeExprKind::Max:
    return *std::max_element(v.begin(), v.end());
  case ShapeExprKind::Equal:
    return v[0] == v[1];
  case ShapeExprKind::Less:
    return v[0] < v[1];
  case ShapeExprKind::Select:
    return v[0] != 0 ? v[1] : v[2];
  default:
    return std::nullopt;
  }
}

std::optional<int64_t> heddle::evaluate(ShapeExpr expr, ValueOf valueOf) {
  if (!expr)
    return std::nullopt;
  switch (expr.getKind()) {
  case ShapeExprKind::Constant:
    return expr.getConstant();
  case ShapeExprKind::Symbol:
  case ShapeExprKind::InputValue:
    return valueOf(expr);
  case ShapeExprKind::Sum:
    return evaluateSum(expr.getTerms(), valueOf);
  default:
    break;
  }
  // As in the shape program, all operands count: a division by zero in the branch not taken is one as well.
  llvm::SmallVector<int64_t, 3> values;
  for (ShapeExpr operand : expr.getOperands()) {
    std::optional<int64_t> value = evaluate(operand, valueOf);
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  return evaluateOperation(expr.getKind(), values);
}
