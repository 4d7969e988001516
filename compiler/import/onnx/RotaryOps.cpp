// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rotary positions, written out in plain ops: what stands behind them finds more to join than around one op.

#include "compiler/import/onnx/NodeContext.h"
#include "compiler/import/onnx/OpTable.h"

using namespace mlir;

namespace heddle::importer {

namespace {

/// Builds one rotation.
class RotaryImporter {
public:
  explicit RotaryImporter(NodeContext &node) : node(node) {}

  LogicalResult run();

private:
  LogicalResult readInput();
  Value readTable(unsigned index);
  Value slice(Value tensor, int64_t start, int64_t end, int64_t step);
  Value combine(nn::BinaryKind kind, Value cosine, Value first, Value sine, Value second);
  Value rotate(Value cosine, Value sine);

  NodeContext &node;
  Value input; ///< with heads as a dimension
  unsigned headAxis = 1;
  int64_t size = 0;    ///< of a head
  int64_t rotated = 0; ///< channels that are rotated, from the front of each head
};

/// The input with its heads apart: of three dimensions the last one holds all heads of a row.
LogicalResult RotaryImporter::readInput() {
  RankedTensorType type = node.getType(0);
  int64_t rank = type.getRank();
  if (rank != 3 && rank != 4)
    return node.malformed("the input must have 3 or 4 dimensions, not " + llvm::Twine(rank));
  size = type.getDimSize(static_cast<unsigned>(rank - 1));
  if (ShapedType::isDynamic(size))
    return node.unsupported("the size of heads must be known", "export the model with a fixed extent for it");
  input = node.getInput(0);
  int64_t numHeads = node.getInt("num_heads", 0);
  if (rank == 3) {
    headAxis = 2;
    if (numHeads < 1 || size % numHeads != 0)
      return node.malformed("attribute 'num_heads' can't be " + llvm::Twine(numHeads) + " for " + llvm::Twine(size) +
                            " channels");
    size /= numHeads;
    // A 0 copies the extent.
    Value shape = node.createVector({0, 0, numHeads, size});
    input = node.createValue<nn::ReshapeOp>(input, shape, /*allowzero=*/false);
  }
  rotated = node.getInt("rotary_embedding_dim", 0);
  if (rotated == 0)
    rotated = size;
  if (rotated < 2 || rotated % 2 != 0 || rotated > size)
    return node.malformed("attribute 'rotary_embedding_dim' can't be " + llvm::Twine(rotated) + " for heads of " +
                          llvm::Twine(size) + " channels");
  return success(!node.hasFailed());
}

/// Cosines or sines as (batch, positions, rotated / 2), with an axis for the heads.
Value RotaryImporter::readTable(unsigned index) {
  Value table = node.getInput(index);
  bool isIndexed = node.getInput(3) != Value();
  RankedTensorType type = node.getType(index);
  int64_t rank = isIndexed ? 2 : 3;
  int64_t width = type.getRank() == rank ? type.getDimSize(static_cast<unsigned>(rank) - 1) : 0;
  if (width != rotated / 2 && !ShapedType::isDynamic(width)) {
    (void)node.malformed("cosines and sines must have " + llvm::Twine(rank) + " dimensions, the last one of " +
                         llvm::Twine(rotated / 2));
    return {};
  }
  if (isIndexed)
    table = node.createValue<nn::GatherOp>(table, node.getInput(3), int64_t(0));
  return node.createValue<nn::UnsqueezeOp>(table, llvm::ArrayRef<int64_t>{headAxis});
}

/// Channels |start|, |start| + |step| ... before |end| of each head.
Value RotaryImporter::slice(Value tensor, int64_t start, int64_t end, int64_t step) {
  Value starts = node.createVector(start), ends = node.createVector(end);
  Value axes = node.createVector(3), steps = step == 1 ? Value() : node.createVector(step);
  return node.createValue<nn::SliceOp>(tensor, starts, ends, axes, steps);
}

/// |cosine| * |first| + or - |sine| * |second|
Value RotaryImporter::combine(nn::BinaryKind kind, Value cosine, Value first, Value sine, Value second) {
  Value left = node.createValue<nn::BinaryOp>(nn::BinaryKind::Mul, cosine, first);
  Value right = node.createValue<nn::BinaryOp>(nn::BinaryKind::Mul, sine, second);
  return node.createValue<nn::BinaryOp>(kind, left, right);
}

/// The rotated channels of all heads: pairs are the halves, or neighbours with the attribute interleaved.
Value RotaryImporter::rotate(Value cosine, Value sine) {
  bool isInterleaved = node.getFlag("interleaved", false);
  int64_t half = rotated / 2;
  Value first = isInterleaved ? slice(input, 0, rotated, 2) : slice(input, 0, half, 1);
  Value second = isInterleaved ? slice(input, 1, rotated, 2) : slice(input, half, rotated, 1);
  Value real = combine(nn::BinaryKind::Sub, cosine, first, sine, second);
  Value imaginary = combine(nn::BinaryKind::Add, cosine, second, sine, first);
  if (!isInterleaved)
    return node.createValue<nn::ConcatOp>(ValueRange{real, imaginary}, int64_t(3));
  const int64_t behind[] = {4};
  Value evens = node.createValue<nn::UnsqueezeOp>(real, llvm::ArrayRef(behind));
  Value odds = node.createValue<nn::UnsqueezeOp>(imaginary, llvm::ArrayRef(behind));
  Value pairs = node.createValue<nn::ConcatOp>(ValueRange{evens, odds}, int64_t(4));
  return node.createValue<nn::ReshapeOp>(pairs, node.createVector({0, 0, 0, rotated}), /*allowzero=*/false);
}

LogicalResult RotaryImporter::run() {
  if (failed(readInput()))
    return failure();
  Value cosine = readTable(1), sine = readTable(2);
  if (node.hasFailed())
    return failure();
  Value output = rotate(cosine, sine);
  if (rotated < size)
    output = node.createValue<nn::ConcatOp>(ValueRange{output, slice(input, rotated, size, 1)}, int64_t(3));
  if (headAxis == 2)
    output = node.createValue<nn::ReshapeOp>(output, node.createVector({0, 0, size * node.getInt("num_heads")}), false);
  return node.setOutputs(output);
}

LogicalResult buildRotaryEmbedding(NodeContext &node) { return RotaryImporter(node).run(); }

} // namespace

llvm::ArrayRef<OpRow> getRotaryOps() {
  static constexpr OpRow kRows[] = {
      {"", "RotaryEmbedding", 23, 3, 4, buildRotaryEmbedding},
  };
  return kRows;
}

} // namespace heddle::importer
