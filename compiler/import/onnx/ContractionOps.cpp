// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that are sums of products.

#include "compiler/import/onnx/NodeContext.h"
#include "compiler/import/onnx/OpTable.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace heddle::importer {

namespace {

LogicalResult buildMatMul(NodeContext &node) { return node.emit<nn::MatMulOp>(node.getInput(0), node.getInput(1)); }

/// Alpha and beta are f32 in the file, whatever the type of the matrices.
LogicalResult buildGemm(NodeContext &node) {
  llvm::APFloat alpha(static_cast<float>(node.getFloat("alpha", 1.0)));
  llvm::APFloat beta(static_cast<float>(node.getFloat("beta", 1.0)));
  bool transA = node.getFlag("transA", false), transB = node.getFlag("transB", false);
  return node.emit<nn::GemmOp>(node.getInput(0), node.getInput(1), node.getInput(2), alpha, beta, transA, transB);
}

/// The term of the result where the equation leaves it out: the dimensions of `...`, then the letters that occur once,
/// in the alphabet's order (capitals first), as numpy has it.
std::string makeImplicitTerm(llvm::StringRef inputs) {
  std::string once;
  for (char letter : inputs)
    if (llvm::isAlpha(letter) && inputs.count(letter) == 1)
      once += letter;
  llvm::sort(once);
  return (inputs.contains("...") ? "..." : "") + once;
}

/// Spaces have no meaning in an equation, and our op wants its last term written.
LogicalResult buildEinsum(NodeContext &node) {
  std::string equation = node.getString("equation");
  llvm::erase_if(equation, llvm::isSpace);
  if (!llvm::StringRef(equation).contains("->"))
    equation += "->" + makeImplicitTerm(equation);
  return node.emit<nn::EinsumOp>(llvm::StringRef(equation), ValueRange(node.getInputs()));
}

} // namespace

llvm::ArrayRef<OpRow> getContractionOps() {
  static constexpr OpRow kRows[] = {
      {"", "MatMul", 1, 2, 2, buildMatMul},
      {"", "Gemm", 7, 2, 3, buildGemm},
      {"", "Einsum", 12, 1, kVariadic, buildEinsum},
  };
  return kRows;
}

} // namespace heddle::importer
