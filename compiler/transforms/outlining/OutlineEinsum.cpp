// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Einsum: a product of two f32 tensors whose letters are batches, rows, columns and one depth is a kernel.contract; all
// else is a kernel.reduce over the letters that don't reach the result.

#include "compiler/transforms/outlining/Contraction.h"
#include "compiler/transforms/outlining/Reduction.h"
#include "compiler/transforms/outlining/ScalarOps.h"
#include "dialects/nn/EinsumEquation.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;

static Type elementTypeOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

namespace {
/// A letter, or beyond all letters a dimension that `...` stands for, counted from the right.
using Label = int;
constexpr Label kEllipsisLabel = 256;
using Term = SmallVector<Label, 6>;

/// An equation over the dimensions of its operands.
struct Equation {
  SmallVector<Term, 3> inputs;
  Term output;
  llvm::MapVector<Label, ShapeExpr> extents;
};
} // namespace

/// One label for each of |rank| dimensions that |term| describes.
static Term getLabels(StringRef term, int64_t rank) {
  Term labels;
  int64_t covered = rank - (static_cast<int64_t>(term.size()) - 1); // by the ellipsis, if there is one
  for (char letter : term) {
    if (letter != '.')
      labels.push_back(letter);
    for (int64_t i = covered; letter == '.' && i > 0; --i)
      labels.push_back(kEllipsisLabel + i - 1);
  }
  return labels;
}

static Equation getEquation(Outliner &outliner, nn::EinsumOp op) {
  std::string fault;
  // The verifier has parsed it before.
  nn::EinsumEquation parsed = *nn::EinsumEquation::parse(op.getEquation(), fault);
  Equation equation;
  for (auto [term, input] : llvm::zip_equal(parsed.inputs, op.getInputs())) {
    ShapeDims dims = outliner.getDims(input);
    equation.inputs.push_back(getLabels(term, dims.size()));
    for (auto [label, dim] : llvm::zip_equal(equation.inputs.back(), dims)) {
      ShapeExpr &extent = equation.extents.insert({label, dim}).first->second;
      extent = extent.isConstant(1) ? dim : extent; // what `...` stands for may be stretched
    }
  }
  equation.output = getLabels(parsed.output, outliner.getDims(op.getOutput()).size());
  return equation;
}

/// The index of an operand of |dims| that |term| describes, |loops| holding the loop of each label.
static AffineIndex termIndex(const Term &term, ArrayRef<ShapeExpr> dims, const Equation &equation,
                             const llvm::DenseMap<Label, AffineExpr> &loops) {
  AffineIndex index;
  for (auto [label, dim] : llvm::zip_equal(term, dims)) {
    AffineExpr loop = loops.lookup(label);
    bool stretches = dim.isConstant(1) && !equation.extents.lookup(label).isConstant(1);
    index.push_back(stretches ? getAffineConstantExpr(0, loop.getContext()) : loop);
  }
  return index;
}

/// Loops in the order of |labels|.
static llvm::DenseMap<Label, AffineExpr> numberLoops(ArrayRef<Label> labels, MLIRContext *context) {
  llvm::DenseMap<Label, AffineExpr> loops;
  for (auto [i, label] : llvm::enumerate(labels))
    loops[label] = getAffineDimExpr(i, context);
  return loops;
}

static ShapeDims getExtents(const Equation &equation, ArrayRef<Label> labels) {
  return llvm::map_to_vector<4>(labels, [&](Label label) { return equation.extents.lookup(label); });
}

//===----------------------------------------------------------------------===//
// As a matrix product
//===----------------------------------------------------------------------===//

/// The labels in the order batch..., row, column, depth; none where the equation isn't a product of matrices.
static std::optional<Term> orderAsProduct(const Equation &equation) {
  if (equation.inputs.size() != 2)
    return std::nullopt;
  Term batch, rows, columns, depth;
  for (auto [label, extent] : equation.extents) {
    auto countIn = [&, wanted = label](const Term &term) { return llvm::count(term, wanted); };
    int64_t left = countIn(equation.inputs[0]), right = countIn(equation.inputs[1]), result = countIn(equation.output);
    if (left > 1 || right > 1) // a diagonal
      return std::nullopt;
    if (!result && left && right)
      depth.push_back(label);
    else if (!result) // summed on one side alone
      return std::nullopt;
    else
      (left && right ? batch : left ? rows : columns).push_back(label);
  }
  if (rows.empty() || columns.empty() || depth.size() != 1)
    return std::nullopt;
  // Further rows and columns are batches: rows merge again where memory allows.
  Term labels(batch);
  labels.append(rows.begin(), rows.end() - 1);
  labels.append(columns.begin(), columns.end() - 1);
  labels.append({rows.back(), columns.back(), depth.front()});
  return labels;
}

static bool contractEinsum(Outliner &outliner, nn::EinsumOp op, Operation *end, const Equation &equation) {
  std::optional<Term> labels = orderAsProduct(equation);
  if (!labels || !elementTypeOf(op.getOutput()).isF32())
    return false;
  auto loops = numberLoops(*labels, outliner.getContext());
  Value lhs = op.getInputs()[0], rhs = op.getInputs()[1];
  Contraction c;
  c.bounds = getExtents(equation, *labels);
  c.lhs = *outliner.findView(lhs);
  c.rhs = rhs;
  c.lhsIndex = termIndex(equation.inputs[0], outliner.getDims(lhs), equation, loops);
  c.rhsIndex = termIndex(equation.inputs[1], outliner.getDims(rhs), equation, loops);
  c.resultIndex = termIndex(equation.output, outliner.getDims(op.getOutput()), equation, loops);
  return buildContraction(
      outliner, c, op, end, [](ScalarEmitter &, Value product) { return product; }, WhenUnstrided::GiveUp);
}

//===----------------------------------------------------------------------===//
// As a sum
//===----------------------------------------------------------------------===//

static void sumEinsum(Outliner &outliner, nn::EinsumOp op, Operation *end, const Equation &equation) {
  Term labels(equation.output);
  for (auto [label, extent] : equation.extents)
    if (!llvm::is_contained(equation.output, label))
      labels.push_back(label);
  auto loops = numberLoops(labels, outliner.getContext());
  ShapeDims bounds = getExtents(equation, labels);
  AffineIndex resultIndex = termIndex(equation.output, outliner.getDims(op.getOutput()), equation, loops);
  auto reduced = llvm::to_vector(llvm::seq<int64_t>(equation.output.size(), labels.size()));
  Type type = elementTypeOf(op.getOutput()), sumType = getSumType(type);
  buildReduction(
      outliner, {bounds, reduced, resultIndex, {kernel::Combiner::Sum}, {kernelElementType(sumType)}}, op, end,
      [&](ScalarEmitter &emitter) -> SmallVector<Value> {
        Value product;
        for (auto [input, term] : llvm::zip_equal(op.getInputs(), equation.inputs)) {
          Value factor = emitter.emitAsF32(input, termIndex(term, outliner.getDims(input), equation, loops));
          product = product ? emitBinary(emitter.getBuilder(), nn::BinaryKind::Mul, product, factor, sumType, sumType)
                            : factor;
        }
        return {product};
      },
      [&](ScalarEmitter &emitter, ArrayRef<Value> sums) {
        return emitCast(emitter.getBuilder(), sums[0], sumType, type);
      });
}

void heddle::outlineEinsum(Outliner &outliner, nn::EinsumOp root, Operation *end) {
  Equation equation = getEquation(outliner, root);
  if (!contractEinsum(outliner, root, end, equation))
    sumEinsum(outliner, root, end, equation);
}
