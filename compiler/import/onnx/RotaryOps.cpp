// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rotary positions, written out in plain ops: what stands behind them finds more to join than around one op. The
// standard operator, and the one of com.microsoft whose inputs are in another order.

#include "compiler/import/onnx/RotaryOps.h"

#include "compiler/import/onnx/OpTable.h"

using namespace mlir;

namespace heddle::importer {

//===----------------------------------------------------------------------===//
// Rotation
//===----------------------------------------------------------------------===//

/// Channels |start|, |start| + |step| ... before |end| of each head.
static Value slice(NodeContext &node, Value tensor, int64_t start, int64_t end, int64_t step) {
  Value starts = node.createVector(start), ends = node.createVector(end);
  Value axes = node.createVector(3), steps = step == 1 ? Value() : node.createVector(step);
  return node.createValue<nn::SliceOp>(tensor, starts, ends, axes, steps);
}

/// |cosine| * |first| + or - |sine| * |second|
static Value combine(NodeContext &node, nn::BinaryKind kind, Value cosine, Value first, Value sine, Value second) {
  Value left = node.createValue<nn::BinaryOp>(nn::BinaryKind::Mul, cosine, first);
  Value right = node.createValue<nn::BinaryOp>(nn::BinaryKind::Mul, sine, second);
  return node.createValue<nn::BinaryOp>(kind, left, right);
}

Value rotateHeads(NodeContext &node, const Heads &heads, int64_t rotated, bool isInterleaved, Value cosine,
                  Value sine) {
  const int64_t headAxis[] = {heads.isBnsd ? 1 : 2};
  cosine = node.createValue<nn::UnsqueezeOp>(cosine, llvm::ArrayRef(headAxis));
  sine = node.createValue<nn::UnsqueezeOp>(sine, llvm::ArrayRef(headAxis));
  int64_t half = rotated / 2;
  Value input = heads.tensor;
  Value first = isInterleaved ? slice(node, input, 0, rotated, 2) : slice(node, input, 0, half, 1);
  Value second = isInterleaved ? slice(node, input, 1, rotated, 2) : slice(node, input, half, rotated, 1);
  Value real = combine(node, nn::BinaryKind::Sub, cosine, first, sine, second);
  Value imaginary = combine(node, nn::BinaryKind::Add, cosine, second, sine, first);
  llvm::SmallVector<Value> parts{real, imaginary};
  if (isInterleaved) {
    const int64_t behind[] = {4};
    for (Value &part : parts)
      part = node.createValue<nn::UnsqueezeOp>(part, llvm::ArrayRef(behind));
    Value pairs = node.createValue<nn::ConcatOp>(ValueRange(parts), int64_t(4));
    parts = {node.createValue<nn::ReshapeOp>(pairs, node.createVector({0, 0, 0, rotated}), /*allowzero=*/false)};
  }
  if (rotated < heads.size)
    parts.push_back(slice(node, input, rotated, heads.size, 1));
  return parts.size() == 1 ? parts.front() : node.createValue<nn::ConcatOp>(ValueRange(parts), int64_t(3));
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

namespace {
/// Builds one rotation.
class RotaryImporter {
public:
  explicit RotaryImporter(NodeContext &node) : node(node), isStandard(node.getNode().domain.empty()) {}

  LogicalResult run();

private:
  LogicalResult readNode();
  LogicalResult readInput();
  Value readPositions();
  Value readTable(unsigned index, Value positions);

  NodeContext &node;
  bool isStandard;
  Heads heads;
  int64_t rotated = 0; ///< channels that are rotated, from the front of each head
};
} // namespace

/// Attributes that only one of the operators has.
LogicalResult RotaryImporter::readNode() {
  if (isStandard)
    return success();
  if (node.getFlag("is_packed_batching", false))
    return node.unsupported("attribute 'is_packed_batching' is not supported: batches of packed rows have no batch "
                            "dimension",
                            "export the model for padded batches");
  if (node.getFloat("scale", 1.0) != 1.0)
    return node.unsupported("attribute 'scale' other than 1 is not supported: onnxruntime ignores it",
                            "fold the scale into the cosines and sines");
  return success();
}

/// The input with its heads apart: of three dimensions the last one holds all heads of a row.
LogicalResult RotaryImporter::readInput() {
  RankedTensorType type = node.getType(0);
  int64_t rank = type.getRank();
  if (rank != 3 && rank != 4)
    return node.malformed("the input must have 3 or 4 dimensions, not " + llvm::Twine(rank));
  int64_t size = type.getDimSize(static_cast<unsigned>(rank - 1));
  if (ShapedType::isDynamic(size))
    return node.unsupported("the size of heads must be known", "export the model with a fixed extent for it");
  int64_t numHeads = node.getInt("num_heads", 0);
  rotated = node.getInt("rotary_embedding_dim", 0);
  if (!isStandard && rank == 3 && numHeads == 0 && rotated == 0) {
    // Heads are as wide as the tables say.
    RankedTensorType table = node.getType(2);
    if (table.getRank() == 2 && table.getDimSize(1) > 0)
      numHeads = size / 2 / table.getDimSize(1);
  }
  heads = {node.getInput(0), type.getDimSize(1), size, /*isBnsd=*/true};
  if (rank == 3) {
    if (numHeads < 1 || size % numHeads != 0)
      return node.malformed("attribute 'num_heads' can't be " + llvm::Twine(numHeads) + " for " + llvm::Twine(size) +
                            " channels");
    if (failed(splitHeads(node, node.getInput(0), numHeads, "the input", heads)))
      return failure();
  }
  if (rotated == 0)
    rotated = heads.size;
  if (rotated < 2 || rotated % 2 != 0 || rotated > heads.size)
    return node.malformed("attribute 'rotary_embedding_dim' can't be " + llvm::Twine(rotated) + " for heads of " +
                          llvm::Twine(heads.size) + " channels");
  return success(!node.hasFailed());
}

/// Rows of the tables, (batch or 1, sequence); null where these have a row for each element already. One number of
/// the operator of com.microsoft is where the sequence starts.
Value RotaryImporter::readPositions() {
  Value positions = node.getInput(isStandard ? 3 : 1);
  if (!positions)
    return {};
  int64_t rank = cast<RankedTensorType>(positions.getType()).getRank();
  if (rank == 2)
    return positions;
  if (isStandard || rank > 1) {
    (void)node.malformed("position_ids can't have " + llvm::Twine(rank) + " dimensions");
    return {};
  }
  Type i64 = node.getBuilder().getI64Type();
  Value length = node.createAsScalar(extentOf(node, heads.tensor, heads.sequenceAxis()));
  Value steps = node.createValue<nn::RangeOp>(node.createScalar(i64, 0), length, node.createScalar(i64, 1));
  // Says that there is one, also where the file doesn't.
  Value first = node.createValue<nn::ReshapeOp>(positions, node.createVector(1), /*allowzero=*/false);
  Value places = node.createValue<nn::BinaryOp>(nn::BinaryKind::Add, first, steps);
  return node.createValue<nn::UnsqueezeOp>(places, llvm::ArrayRef<int64_t>{0});
}

/// Cosines or sines as (batch or 1, sequence, rotated / 2).
Value RotaryImporter::readTable(unsigned index, Value positions) {
  RankedTensorType type = node.getType(index);
  int64_t rank = positions ? 2 : 3;
  int64_t width = type.getRank() == rank ? type.getDimSize(static_cast<unsigned>(rank) - 1) : 0;
  if (width != rotated / 2 && !ShapedType::isDynamic(width)) {
    (void)node.malformed("cosines and sines must have " + llvm::Twine(rank) + " dimensions, the last one of " +
                         llvm::Twine(rotated / 2));
    return {};
  }
  Value table = node.getInput(index);
  return positions ? node.createValue<nn::GatherOp>(table, positions, int64_t(0)) : table;
}

LogicalResult RotaryImporter::run() {
  if (failed(readNode()) || failed(readInput()))
    return failure();
  Value positions = readPositions();
  if (node.hasFailed())
    return failure();
  unsigned firstTable = isStandard ? 1 : 2;
  Value cosine = readTable(firstTable, positions), sine = readTable(firstTable + 1, positions);
  bool isInterleaved = node.getFlag("interleaved", false);
  if (node.hasFailed())
    return failure();
  heads.tensor = rotateHeads(node, heads, rotated, isInterleaved, cosine, sine);
  return node.setOutputs(joinHeads(node, heads, /*keepsHeads=*/heads.isBnsd));
}

static LogicalResult buildRotaryEmbedding(NodeContext &node) { return RotaryImporter(node).run(); }

llvm::ArrayRef<OpRow> getRotaryOps() {
  static constexpr OpRow kRows[] = {
      {"", "RotaryEmbedding", 23, 3, 4, buildRotaryEmbedding},
      {"com.microsoft", "RotaryEmbedding", 1, 4, 4, buildRotaryEmbedding},
  };
  return kRows;
}

} // namespace heddle::importer
