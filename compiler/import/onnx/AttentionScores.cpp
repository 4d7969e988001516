// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention's scores as a tensor, for models that make an output of them: plain ops beside attn.sdpa, which never holds
// them all. Nobody reading them, they are dead code.

#include "compiler/import/onnx/AttentionForm.h"

#include <cmath>

using namespace mlir;

namespace heddle::importer {

namespace {
/// Writes terms of the scores as tensors that broadcast over (b, n, q, kv).
class TermWriter {
public:
  TermWriter(NodeContext &node, const AttentionForm &form) : node(node), form(form) {}

  Value binary(nn::BinaryKind kind, Value left, Value right) {
    return node.createValue<nn::BinaryOp>(kind, left, right);
  }
  Value compare(nn::CompareKind kind, Value left, Value right) {
    return node.createValue<nn::CompareOp>(kind, left, right);
  }
  Value both(Value keep, Value condition) { return keep ? binary(nn::BinaryKind::And, keep, condition) : condition; }

  /// (b, n, q, kv), with 1 where the capture has no such dimension.
  Value spread(const Capture &capture) {
    llvm::SmallVector<int64_t> missing;
    for (unsigned axis = 0; axis < 4; ++axis)
      if (!llvm::is_contained(capture.axes, axis))
        missing.push_back(axis);
    return missing.empty() ? capture.tensor : node.createValue<nn::UnsqueezeOp>(capture.tensor, missing);
  }

  /// (kv)
  Value keyPositions() { return count(form.key); }

  /// (q, 1), or (b, 1, q, 1) where batches differ.
  Value queryPositions() {
    Value rows = node.createValue<nn::UnsqueezeOp>(count(form.query), llvm::ArrayRef<int64_t>{1});
    if (!form.queryOffset)
      return rows;
    bool isScalar = cast<RankedTensorType>(form.queryOffset.getType()).getRank() == 0;
    Value offset = isScalar ? form.queryOffset : spread({form.queryOffset, {0}});
    return binary(nn::BinaryKind::Add, rows, offset);
  }

  /// What |mask| keeps; null where its -inf are added anyway.
  Value keeps(const KeyMask &mask) {
    Value tensor = spread(mask.capture);
    switch (mask.kind) {
    case KeyMask::Kind::Keep:
      return tensor;
    case KeyMask::Kind::Positive:
      return compare(nn::CompareKind::Gt, tensor, node.createScalar(getElementTypeOrSelf(tensor.getType()), 0));
    case KeyMask::Kind::Before:
      return compare(nn::CompareKind::Lt, keyPositions(), toI64(tensor));
    case KeyMask::Kind::From:
      return compare(nn::CompareKind::Ge, keyPositions(), toI64(tensor));
    case KeyMask::Kind::Finite:
      return {};
    }
    llvm_unreachable("all kinds are above");
  }

  /// What positions keep; null for all.
  Value keepsOrder() {
    Value keep;
    auto require = [&](nn::CompareKind kind, int64_t distance) {
      Value bound = binary(nn::BinaryKind::Add, queryPositions(), node.createScalar(i64(), double(distance)));
      keep = both(keep, compare(kind, keyPositions(), bound));
    };
    if (form.isCausal)
      require(nn::CompareKind::Le, 0);
    if (form.left >= 0)
      require(nn::CompareKind::Ge, -form.left);
    if (form.right >= 0)
      require(nn::CompareKind::Le, form.right);
    return keep;
  }

private:
  Type i64() { return node.getBuilder().getI64Type(); }
  Value toI64(Value tensor) {
    return getElementTypeOrSelf(tensor.getType()) == i64() ? tensor : node.createValue<nn::CastOp>(tensor, i64());
  }
  /// 0, 1 ... as many as |heads| has rows
  Value count(const Heads &heads) {
    Value extent = node.createAsScalar(extentOf(node, heads.tensor, heads.sequenceAxis()));
    return node.createValue<nn::RangeOp>(node.createScalar(i64(), 0), extent, node.createScalar(i64(), 1));
  }

  NodeContext &node;
  const AttentionForm &form;
};
} // namespace

/// The key heads that each query head reads, (b, n, d, kv).
static Value repeatKeys(NodeContext &node, const Heads &key, int64_t groupSize) {
  Value keys = toBnsd(node, key);
  if (groupSize > 1) {
    keys = node.createValue<nn::UnsqueezeOp>(keys, llvm::ArrayRef<int64_t>{2});
    keys = node.createValue<nn::ExpandOp>(keys, node.createVector({1, 1, groupSize, 1, 1}));
    keys = node.createValue<nn::ReshapeOp>(keys, node.createVector({0, key.count * groupSize, -1, key.size}),
                                           /*allowzero=*/false);
  }
  return node.createValue<nn::TransposeOp>(keys, llvm::ArrayRef<int64_t>{0, 1, 3, 2});
}

/// Adds what hides keys: the fills, or -inf where keys aren't there at all.
Value AttentionForm::addHidden(Value scores) const {
  TermWriter writer(node, *this);
  Type type = scoreType();
  Value byMask, zero = node.createScalar(type, 0);
  for (const KeyMask &mask : masks)
    if (Value keep = writer.keeps(mask))
      byMask = writer.both(byMask, keep);
  if (keyLength)
    byMask = writer.both(byMask, writer.keeps({KeyMask::Kind::Before, {keyLength, {0}}}));
  Value byOrder = writer.keepsOrder(), fill;
  if (byMask)
    fill = node.createValue<nn::WhereOp>(byMask, zero, node.createScalar(type, maskFill.value_or(-INFINITY)));
  if (byOrder)
    fill = node.createValue<nn::WhereOp>(byOrder, fill ? fill : zero,
                                         node.createScalar(type, causalFill.value_or(-INFINITY)));
  return fill ? writer.binary(nn::BinaryKind::Add, scores, fill) : scores;
}

Value AttentionForm::buildScores(int64_t stage) const {
  if (node.hasFailed())
    return {};
  AttentionForm wide = widen();
  TermWriter writer(node, wide);
  Value keys = repeatKeys(node, wide.key, query.count / key.count);
  Value scores = node.createValue<nn::MatMulOp>(toBnsd(node, wide.query), keys);
  scores = writer.binary(nn::BinaryKind::Mul, scores, node.createScalar(scoreType(), scale));
  if (stage >= 1 && softcap != 0) {
    Value cap = node.createScalar(scoreType(), softcap);
    Value bent = writer.binary(nn::BinaryKind::Div, scores, cap);
    scores = writer.binary(nn::BinaryKind::Mul, node.createValue<nn::UnaryOp>(nn::UnaryKind::Tanh, bent), cap);
  }
  if (stage >= 2) {
    for (const Capture &bias : wide.biases)
      scores = writer.binary(nn::BinaryKind::Add, scores, writer.spread(bias));
    scores = wide.addHidden(scores);
  }
  Type type = getElementTypeOrSelf(query.tensor.getType());
  return type == scoreType() ? scores : node.createValue<nn::CastOp>(scores, type);
}

} // namespace heddle::importer
