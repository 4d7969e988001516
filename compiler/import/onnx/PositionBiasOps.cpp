// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// com.microsoft's biases that depend on distances: T5's buckets and WavLM's gates. Plain ops; attention adds what they
// give to its scores.

#include "compiler/import/onnx/MicrosoftAttentionOps.h"

#include <cmath>

using namespace mlir;

namespace heddle::importer {

//===----------------------------------------------------------------------===//
// RelativePositionBias
//===----------------------------------------------------------------------===//

/// The table of distances grows with max_distance; no model comes near this.
static constexpr int64_t kMostDistance = 1 << 16;

/// T5's bucket of a key |distance| behind its query: exact while near, then by the logarithm.
static int64_t getBucket(int64_t distance, int64_t buckets, bool isBidirectional, int64_t maxDistance) {
  int64_t base = 0;
  if (isBidirectional) {
    buckets /= 2;
    base = distance > 0 ? buckets : 0;
    distance = std::abs(distance);
  } else {
    distance = std::max<int64_t>(-distance, 0);
  }
  int64_t exact = buckets / 2;
  if (distance < exact)
    return base + distance;
  // In double: distances at powers of two stand exactly on an edge, and f32 falls on either side of it.
  double share = std::log(double(distance) / double(exact)) / std::log(double(maxDistance) / double(exact));
  auto far = static_cast<int64_t>(share * double(buckets - exact) + 1e-9);
  return base + std::min(exact + far, buckets - 1);
}

/// key - query for all pairs, (query, key), within |most| of 0 and counted from there.
static Value buildDistances(NodeContext &node, int64_t most) {
  Type i64 = node.getBuilder().getI64Type();
  auto count = [&](unsigned index) {
    return node.createValue<nn::RangeOp>(node.createScalar(i64, 0), node.createAsScalar(node.getInput(index)),
                                         node.createScalar(i64, 1));
  };
  Value queries = node.createValue<nn::UnsqueezeOp>(count(1), llvm::ArrayRef<int64_t>{1});
  Value distances = node.createValue<nn::BinaryOp>(nn::BinaryKind::Sub, count(2), queries);
  Value bound = node.createScalar(i64, double(most));
  Value clipped = node.createValue<nn::ClipOp>(distances, node.createScalar(i64, double(-most)), bound);
  return node.createValue<nn::BinaryOp>(nn::BinaryKind::Add, clipped, bound);
}

LogicalResult buildRelativePositionBias(NodeContext &node) {
  RankedTensorType table = node.getType(0);
  int64_t most = node.getInt("max_distance");
  bool isBidirectional = node.getFlag("is_bidirectional", false);
  if (node.hasFailed())
    return failure();
  if (table.getRank() != 2 || !table.hasStaticShape())
    return node.malformed("bias_table must have 2 dimensions of known extents");
  int64_t buckets = table.getDimSize(0), exact = buckets / (isBidirectional ? 4 : 2);
  if (exact < 1 || most <= exact || most > kMostDistance)
    return node.malformed("attribute 'max_distance' can't be " + llvm::Twine(most) + " for " + llvm::Twine(buckets) +
                          " buckets");
  for (unsigned index : {1u, 2u})
    if (node.getElementType(index) != node.getBuilder().getI64Type())
      return node.malformed("query_length and key_length must be i64");
  llvm::SmallVector<int64_t> ofDistance;
  for (int64_t distance = -most; distance <= most; ++distance)
    ofDistance.push_back(getBucket(distance, buckets, isBidirectional, most));
  Value bucketOf = node.createVector(ofDistance);
  Value chosen = node.createValue<nn::GatherOp>(bucketOf, buildDistances(node, most), int64_t(0));
  // The file says (buckets, heads) of numbers that lie as (heads, buckets).
  Value byHead = node.createValue<nn::ReshapeOp>(node.getInput(0), node.createVector({table.getDimSize(1), buckets}),
                                                 /*allowzero=*/false);
  Value bias = node.createValue<nn::GatherOp>(byHead, chosen, int64_t(1));
  return node.setOutputs(node.createValue<nn::UnsqueezeOp>(bias, llvm::ArrayRef<int64_t>{0}));
}

//===----------------------------------------------------------------------===//
// GatedRelativePositionBias
//===----------------------------------------------------------------------===//

LogicalResult buildGatedRelativePositionBias(NodeContext &node) {
  enum Input : unsigned { kQuery, kQueryBias, kRelative, kWeight, kBias, kScale, kTokenOffset };
  if (failed(refuseInput(node, kTokenOffset, "token_offset", "rows without padding have no batch dimension")))
    return failure();
  auto binary = [&](nn::BinaryKind kind, Value left, Value right) {
    return node.createValue<nn::BinaryOp>(kind, left, right);
  };
  Heads query;
  int64_t count = node.getInt("num_heads");
  Value rows = binary(nn::BinaryKind::Add, node.getInput(kQuery), node.getInput(kQueryBias));
  if (failed(splitHeads(node, rows, count, "query_layer", query)))
    return failure();
  // Two gates a row and head, each the sigmoid of a sum of half the columns.
  Value columns = node.createValue<nn::MatMulOp>(query.tensor, node.getInput(kWeight));
  columns = binary(nn::BinaryKind::Add, columns, node.getInput(kBias));
  columns = node.createValue<nn::ReshapeOp>(columns, node.createVector({0, 0, 0, 2, -1}), /*allowzero=*/false);
  Value sums = node.createValue<nn::ReduceOp>(nn::ReduceKind::Sum, columns, llvm::ArrayRef<int64_t>{4},
                                              /*keepdims=*/false);
  Value gates = node.createValue<nn::UnaryOp>(nn::UnaryKind::Sigmoid, sums);
  gates = node.createValue<nn::TransposeOp>(gates, llvm::ArrayRef<int64_t>{0, 2, 1, 3});
  auto parts = node.create<nn::SplitOp>(gates, int64_t(3), int64_t(2), DenseI64ArrayAttr());
  if (!parts)
    return failure();
  // update * (reset * scale - 1) + 2
  Type type = node.getElementType(kQuery);
  Value inner = binary(nn::BinaryKind::Mul, parts->getResult(1), node.getInput(kScale));
  inner = binary(nn::BinaryKind::Sub, inner, node.createScalar(type, 1));
  Value gate = binary(nn::BinaryKind::Mul, parts->getResult(0), inner);
  gate = binary(nn::BinaryKind::Add, gate, node.createScalar(type, 2));
  return node.setOutputs(binary(nn::BinaryKind::Mul, gate, node.getInput(kRelative)));
}

} // namespace heddle::importer
