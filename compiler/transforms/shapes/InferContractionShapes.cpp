// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of products: matmul, gemm, einsum, convolution.

#include "compiler/transforms/shapes/ShapeAnalyzer.h"
#include "dialects/nn/EinsumEquation.h"

#include <map>

using namespace heddle;
using namespace mlir;

static constexpr llvm::StringLiteral kInnerMessage = "expects equal inner dimensions, got {a} and {b}";

static LogicalResult inferMatMul(ShapeAnalyzer &analyzer, Operation *op) {
  ShapeExprs lhs(analyzer.getDims(op->getOperand(0))), rhs(analyzer.getDims(op->getOperand(1)));
  // A vector is a row on the left and a column on the right; its extra dimension is dropped again.
  bool isRow = lhs.size() == 1, isColumn = rhs.size() == 1;
  if (isRow)
    lhs.insert(lhs.begin(), analyzer.context.constant(1));
  if (isColumn)
    rhs.push_back(analyzer.context.constant(1));
  if (failed(analyzer.requireEqual(op, lhs.back(), rhs[rhs.size() - 2], kInnerMessage)))
    return failure();
  FailureOr<ShapeExprs> dims = analyzer.broadcast(op, ArrayRef(lhs).drop_back(2), ArrayRef(rhs).drop_back(2));
  if (failed(dims))
    return failure();
  if (!isRow)
    dims->push_back(lhs[lhs.size() - 2]);
  if (!isColumn)
    dims->push_back(rhs.back());
  return analyzer.setDims(op->getResult(0), *dims);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::MatMulOp op) { return inferMatMul(analyzer, op); }

/// A zero point is a scalar or has one entry a row (of the left side, then perhaps one for each of its rows in all
/// batches) or column (of the right side).
static LogicalResult requireZeroPoints(ShapeAnalyzer &analyzer, nn::MatMulIntegerOp op, Value zeroPoints,
                                       ShapeExpr count) {
  if (!zeroPoints || analyzer.getDims(zeroPoints).empty())
    return success();
  if (analyzer.getDims(zeroPoints).size() > 1) {
    ArrayRef<ShapeExpr> have = analyzer.getDims(zeroPoints), want = analyzer.getDims(op.getLhs());
    for (auto [i, sizes] : llvm::enumerate(llvm::zip(have.drop_back(), want.drop_back())))
      if (failed(analyzer.requireEqual(op, std::get<0>(sizes), std::get<1>(sizes),
                                       "expects zero points of size {b} at dimension " + Twine(i) + ", got {a}")))
        return failure();
    return success();
  }
  return analyzer.requireEqual(op, analyzer.getDims(zeroPoints)[0], count, "expects {b} zero points, got {a}");
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::MatMulIntegerOp op) {
  ArrayRef<ShapeExpr> lhs = analyzer.getDims(op.getLhs()), rhs = analyzer.getDims(op.getRhs());
  ShapeExpr one = analyzer.context.constant(1);
  ShapeExpr rows = lhs.size() > 1 ? lhs[lhs.size() - 2] : one, columns = rhs.size() > 1 ? rhs.back() : one;
  if (failed(requireZeroPoints(analyzer, op, op.getLhsZeroPoint(), rows)) ||
      failed(requireZeroPoints(analyzer, op, op.getRhsZeroPoint(), columns)))
    return failure();
  return inferMatMul(analyzer, op);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::GemmOp op) {
  ArrayRef<ShapeExpr> lhs = analyzer.getDims(op.getLhs()), rhs = analyzer.getDims(op.getRhs());
  if (failed(analyzer.requireEqual(op, lhs[op.getTransA() ? 0 : 1], rhs[op.getTransB() ? 1 : 0], kInnerMessage)))
    return failure();
  ShapeExprs dims{lhs[op.getTransA() ? 1 : 0], rhs[op.getTransB() ? 0 : 1]};
  if (op.getAddend()) {
    ArrayRef<ShapeExpr> addend = analyzer.getDims(op.getAddend());
    for (auto [have, want] : llvm::zip(llvm::reverse(addend), llvm::reverse(dims)))
      if (!have.isConstant(1) && failed(analyzer.requireEqual(
                                     op, have, want, "expects C to broadcast onto the product, got sizes {a} and {b}")))
        return failure();
  }
  return analyzer.setDims(op.getOutput(), dims);
}

//===----------------------------------------------------------------------===//
// Einsum
//===----------------------------------------------------------------------===//

/// Takes the sizes of one input apart by its |term|: letters into |letters|, those of the ellipsis into |ellipsis|.
static LogicalResult bindTerm(ShapeAnalyzer &analyzer, nn::EinsumOp op, StringRef term, ArrayRef<ShapeExpr> dims,
                              std::map<char, ShapeExpr> &letters, ShapeExprs &ellipsis) {
  size_t named = term.size() - term.count('.');
  for (char letter : term) {
    if (letter == '.') {
      FailureOr<ShapeExprs> merged = analyzer.broadcast(op, ellipsis, dims.take_front(dims.size() - named));
      if (failed(merged))
        return failure();
      ellipsis = *merged;
      dims = dims.take_back(named);
      continue;
    }
    auto [bound, isNew] = letters.try_emplace(letter, dims.front());
    if (!isNew) {
      FailureOr<ShapeExpr> merged =
          analyzer.unify(op, bound->second, dims.front(),
                         Twine("expects one extent for letter '") + Twine(letter) + "', got {a} and {b}");
      if (failed(merged))
        return failure();
      bound->second = *merged;
    }
    dims = dims.drop_front();
    --named;
  }
  return success();
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::EinsumOp op) {
  std::string fault;
  std::optional<nn::EinsumEquation> equation = nn::EinsumEquation::parse(op.getEquation(), fault);
  if (!equation)
    return op.emitOpError() << fault;
  std::map<char, ShapeExpr> letters;
  ShapeExprs ellipsis, dims;
  for (auto [term, input] : llvm::zip(equation->inputs, op.getInputs()))
    if (failed(bindTerm(analyzer, op, term, analyzer.getDims(input), letters, ellipsis)))
      return failure();
  for (char letter : equation->output) {
    if (letter == '.')
      llvm::append_range(dims, ellipsis);
    else
      dims.push_back(letters[letter]);
  }
  return analyzer.setDims(op.getOutput(), dims);
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::ConvOp op) {
  ShapeContext &context = analyzer.context;
  ArrayRef<ShapeExpr> input = analyzer.getDims(op.getInput()), weight = analyzer.getDims(op.getWeight());
  if (failed(analyzer.requireEqual(op, input[1], context.mul(weight[1], context.constant(op.getGroup())),
                                   "expects {b} input channels, got {a}")))
    return failure();
  if (op.getBias() && failed(analyzer.requireEqual(op, analyzer.getDims(op.getBias())[0], weight[0],
                                                   "expects a bias of {b} entries, got {a}")))
    return failure();
  ShapeExprs dims{input[0], weight[0]};
  size_t spatial = input.size() - 2;
  for (size_t i = 0; i < spatial; ++i) {
    ShapeExpr one = context.constant(1);
    ShapeExpr pads = context.constant(op.getPads()[i] + op.getPads()[i + spatial]);
    ShapeExpr padded = context.add(input[i + 2], pads);
    ShapeExpr reach =
        context.add(context.mul(context.sub(weight[i + 2], one), context.constant(op.getDilations()[i])), one);
    if (failed(analyzer.require(
            op, rt::CheckKind::LessEqual, reach, padded,
            "expects a kernel that fits the padded input, got extent {a} in {b} at spatial dimension " + Twine(i))))
      return failure();
    ShapeExpr stride = context.constant(op.getStrides()[i]);
    dims.push_back(context.add(context.floorDiv(context.sub(padded, reach), stride), one));
  }
  return analyzer.setDims(op.getOutput(), dims);
}
