// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What onnxruntime's optimiser joins, taken apart again: com.microsoft's norms with residuals, embeddings, biased
// activations and products. Our own passes fuse more than these.

#include "compiler/import/onnx/NodeMath.h"
#include "compiler/import/onnx/OpTable.h"

#include <numeric>

using namespace mlir;

namespace heddle::importer {

namespace {

using nn::UnaryKind;

//===------------------------------------------------------------------------------------------------------------===//
// Norms.
//===------------------------------------------------------------------------------------------------------------===//

/// The norm of input + skip + bias. The fourth output is that sum, which the next residual reads; the two before are
/// statistics, which nothing outside of training does.
template <bool isCentred> LogicalResult buildSkipNorm(NodeContext &node) {
  NodeMath math{node};
  double epsilon = node.getFloat("epsilon", 1e-12f);
  int64_t axis = node.getRank(0) - 1;
  if (axis < 1)
    return node.fail(ErrorCode::H0204, "the input must have at least 2 dimensions");
  unsigned biasIndex = isCentred ? 4 : 3;
  auto operand = [&](unsigned index) { return math.widen(node.getInput(index)); };
  Value sum = math.addOptional(math.add(operand(0), operand(1)), operand(biasIndex));
  llvm::APFloat rounded(static_cast<float>(epsilon));
  Value norm = isCentred ? node.createValue<nn::LayerNormOp>(sum, operand(2), operand(3), axis, rounded)
                         : node.createValue<nn::RmsNormOp>(sum, operand(2), axis, rounded);
  Type element = node.getElementType(0);
  Value output = math.cast(norm, element), total = math.cast(sum, element);
  if (node.getNode().outputs.size() < 2)
    return node.setOutputs(output);
  Value mean = math.mean(sum, axis);
  Value inverse = math.inverseRoot(isCentred ? math.sub(sum, mean) : sum, axis, epsilon);
  return node.setOutputs({output, mean, inverse, total});
}

/// The sums of word, position and segment embeddings, normalised; and where the padding of each sequence begins, if
/// it is at the end, as other operators of onnxruntime take it.
class EmbedImporter {
public:
  explicit EmbedImporter(NodeContext &node) : node(node), math{node} {}

  LogicalResult run() {
    for (unsigned required : {2u, 3u, 5u, 6u})
      if (!node.getInput(required))
        return node.malformed("input " + llvm::Twine(required) + " is left out");
    if (!node.getInput(1) != !node.getInput(4))
      return node.malformed("segment ids and their embedding must both be there or both be left out");
    if (node.getRank(0) != 2)
      return node.fail(ErrorCode::H0204, "input_ids must have 2 dimensions");
    node.ignoreAttr("mask_index_type"); // for the shape of the second output, which is inferred
    Value words = embed(2, node.getInput(0)), sum = math.add(words, embedPositions());
    if (node.getInput(1))
      sum = math.add(sum, embed(4, node.getInput(1)));
    llvm::APFloat epsilon(static_cast<float>(node.getFloat("epsilon", 1e-12f)));
    Value norm = node.createValue<nn::LayerNormOp>(sum, math.widen(node.getInput(5)), math.widen(node.getInput(6)),
                                                   int64_t(2), epsilon);
    Type element = node.getElementType(2);
    return node.setOutputs({math.cast(norm, element), countMask(), math.cast(sum, element)});
  }

private:
  Value embed(unsigned table, Value ids) {
    return math.widen(node.createValue<nn::GatherOp>(node.getInput(table), ids, int64_t(0)));
  }

  /// Of the given positions, or of 0, 1 ... in each sequence.
  Value embedPositions() {
    if (Value positions = node.getInput(8))
      return embed(3, positions);
    Value length = node.createValue<nn::ShapeOp>(node.getInput(0), int64_t(1), int64_t(2));
    Value zero = node.createVector(0);
    return math.widen(node.createValue<nn::SliceOp>(node.getInput(3), zero, length, zero, Value()));
  }

  /// How many elements of each sequence's mask are 1; 0 where there is no mask.
  Value countMask() {
    Type i32 = node.getBuilder().getI32Type();
    Value mask = node.getInput(7);
    if (!mask) {
      Value batch = node.createValue<nn::ShapeOp>(node.getInput(0), int64_t(0), int64_t(1));
      return node.createValue<nn::ConstantOfShapeOp>(batch, node.getBuilder().getI32IntegerAttr(0));
    }
    Value isOne = node.createValue<nn::CompareOp>(nn::CompareKind::Eq, mask, math.number(1, mask));
    const int64_t axes[] = {1};
    return node.createValue<nn::ReduceOp>(nn::ReduceKind::Sum, math.cast(isOne, i32), llvm::ArrayRef<int64_t>(axes),
                                          /*keepdims=*/false);
  }

  NodeContext &node;
  NodeMath math;
};

LogicalResult buildEmbedNorm(NodeContext &node) { return EmbedImporter(node).run(); }

//===------------------------------------------------------------------------------------------------------------===//
// Activations with a bias.
//===------------------------------------------------------------------------------------------------------------===//

/// An activation of the first input plus the second, if that is there.
template <UnaryKind kind> LogicalResult buildBiased(NodeContext &node) {
  NodeMath math{node};
  Value sum = math.addOptional(math.widen(node.getInput(0)), math.widen(node.getInput(1)));
  return node.setOutputs(math.cast(math.unary(kind, sum), node.getElementType(0)));
}

/// left * gelu(right), the halves of the channels plus the bias.
LogicalResult buildBiasSplitGelu(NodeContext &node) {
  NodeMath math{node};
  Value sum = math.add(math.widen(node.getInput(0)), math.widen(node.getInput(1)));
  auto halves = node.create<nn::SplitOp>(sum, node.getRank(0) - 1, int64_t(2), DenseI64ArrayAttr());
  if (!halves)
    return failure();
  Value result = math.mul(halves->getResult(0), math.unary(UnaryKind::GeluErf, halves->getResult(1)));
  return node.setOutputs(math.cast(result, node.getElementType(0)));
}

/// The sum of all three inputs.
LogicalResult buildBiasAdd(NodeContext &node) {
  NodeMath math{node};
  Value sum = math.add(math.widen(node.getInput(0)), math.widen(node.getInput(1)));
  return node.setOutputs(math.cast(math.add(sum, math.widen(node.getInput(2))), node.getElementType(0)));
}

//===------------------------------------------------------------------------------------------------------------===//
// Products.
//===------------------------------------------------------------------------------------------------------------===//

/// Input |index| as numpy's product takes it: |isBatchLast| brings its first dimension next to the last one, then
/// |isTransposed| swaps the last two. Vectors stay as they are.
Value makeFactor(NodeContext &node, unsigned index, bool isTransposed, bool isBatchLast) {
  int64_t rank = node.getRank(index);
  if (rank < 2 || (!isTransposed && !isBatchLast))
    return node.getInput(index);
  llvm::SmallVector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  if (isBatchLast)
    std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (isTransposed)
    std::swap(perm[perm.size() - 2], perm.back());
  return node.createValue<nn::TransposeOp>(node.getInput(index), llvm::ArrayRef<int64_t>(perm));
}

LogicalResult buildFusedMatMul(NodeContext &node) {
  NodeMath math{node};
  Value left = makeFactor(node, 0, node.getFlag("transA", false), node.getFlag("transBatchA", false));
  Value right = makeFactor(node, 1, node.getFlag("transB", false), node.getFlag("transBatchB", false));
  double alpha = node.getFloat("alpha", 1.0);
  Value product = node.createValue<nn::MatMulOp>(left, right);
  return node.setOutputs(alpha == 1.0 ? product : math.mul(product, math.number(alpha, product)));
}

LogicalResult buildGemmFastGelu(NodeContext &node) {
  NodeMath math{node};
  Value product = node.createValue<nn::MatMulOp>(node.getInput(0), node.getInput(1));
  return node.setOutputs(math.unary(UnaryKind::GeluTanh, math.addOptional(product, node.getInput(2))));
}

} // namespace

llvm::ArrayRef<OpRow> getFusedOps() {
  static constexpr OpRow kRows[] = {
      {"com.microsoft", "SkipLayerNormalization", 1, 3, 5, buildSkipNorm<true>},
      {"com.microsoft", "SkipSimplifiedLayerNormalization", 1, 3, 4, buildSkipNorm<false>},
      {"com.microsoft", "EmbedLayerNormalization", 1, 1, 9, buildEmbedNorm},
      {"com.microsoft", "BiasGelu", 1, 2, 2, buildBiased<UnaryKind::GeluErf>},
      {"com.microsoft", "FastGelu", 1, 1, 2, buildBiased<UnaryKind::GeluTanh>},
      {"com.microsoft", "BiasSplitGelu", 1, 2, 2, buildBiasSplitGelu},
      {"com.microsoft", "BiasAdd", 1, 3, 3, buildBiasAdd},
      {"com.microsoft", "FusedMatMul", 1, 2, 2, buildFusedMatMul},
      {"com.microsoft", "TransposeMatMul", 1, 2, 2, buildFusedMatMul},
      {"com.microsoft", "GemmFastGelu", 1, 2, 3, buildGemmFastGelu},
  };
  return kRows;
}

} // namespace heddle::importer
