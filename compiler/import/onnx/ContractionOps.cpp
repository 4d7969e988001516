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

/// The padding that makes the result's extents ceil(extent / stride), for the spatial dimensions of |input|.
llvm::SmallVector<int64_t> makeSamePads(NodeContext &node, llvm::ArrayRef<int64_t> kernel,
                                        llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> dilations,
                                        bool isUpper) {
  size_t count = kernel.size();
  llvm::SmallVector<int64_t> pads(2 * count, 0);
  for (size_t i = 0; i < count; ++i) {
    int64_t extent = node.getType(0).getDimSize(static_cast<unsigned>(i + 2));
    if (ShapedType::isDynamic(extent)) {
      (void)node.unsupported("auto_pad needs extents that are known", "export the model with explicit pads");
      return pads;
    }
    int64_t outputs = (extent + strides[i] - 1) / strides[i];
    int64_t total = std::max<int64_t>((outputs - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - extent, 0);
    // What is odd goes to the end with SAME_UPPER, to the beginning with SAME_LOWER.
    pads[i] = isUpper ? total / 2 : total - total / 2;
    pads[count + i] = total - pads[i];
  }
  return pads;
}

/// Attributes default to no stride, dilation or padding; kernel_shape only repeats the weight's shape.
LogicalResult buildConv(NodeContext &node) {
  auto weight = node.getType(1);
  if (node.getRank(0) < 3 || weight.getRank() != node.getRank(0))
    return node.fail(ErrorCode::H0204, "input and weight must have one rank of at least 3");
  size_t count = static_cast<size_t>(weight.getRank()) - 2;
  auto kernel = node.getInts("kernel_shape").value_or(llvm::SmallVector<int64_t>(weight.getShape().drop_front(2)));
  auto strides = node.getInts("strides").value_or(llvm::SmallVector<int64_t>(count, 1));
  auto dilations = node.getInts("dilations").value_or(llvm::SmallVector<int64_t>(count, 1));
  auto pads = node.getInts("pads").value_or(llvm::SmallVector<int64_t>(2 * count, 0));
  auto isBad = [&](llvm::ArrayRef<int64_t> list) {
    return list.size() != count || llvm::any_of(list, [](int64_t value) { return value < 1 || value > INT32_MAX; });
  };
  if (isBad(strides) || isBad(dilations) || isBad(kernel))
    return node.malformed("strides, dilations and kernel_shape need " + llvm::Twine(count) + " positive numbers each");
  for (size_t i = 0; i < count; ++i)
    if (kernel[i] != weight.getDimSize(static_cast<unsigned>(i + 2)))
      return node.fail(ErrorCode::H0204, "kernel_shape is not that of the weight");
  std::string autoPad = node.getString("auto_pad", "NOTSET");
  if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER")
    pads = makeSamePads(node, kernel, strides, dilations, autoPad == "SAME_UPPER");
  else if (autoPad == "VALID")
    pads.assign(2 * count, 0);
  else if (autoPad != "NOTSET")
    return node.malformed("attribute 'auto_pad' can't be '" + autoPad + "'");
  int64_t group = node.getInt("group", 1);
  return node.emit<nn::ConvOp>(node.getInput(0), node.getInput(1), node.getInput(2), llvm::ArrayRef<int64_t>(strides),
                               llvm::ArrayRef<int64_t>(pads), llvm::ArrayRef<int64_t>(dilations), group);
}

} // namespace

llvm::ArrayRef<OpRow> getContractionOps() {
  static constexpr OpRow kRows[] = {
      {"", "MatMul", 1, 2, 2, buildMatMul},
      {"", "Gemm", 7, 2, 3, buildGemm},
      {"", "Einsum", 12, 1, kVariadic, buildEinsum},
      {"", "Conv", 1, 2, 3, buildConv},
  };
  return kRows;
}

} // namespace heddle::importer
