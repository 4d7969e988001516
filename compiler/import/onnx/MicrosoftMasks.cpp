// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks and numbers of com.microsoft's attention, as onnxruntime's kernels for CPUs read them: a key that the mask
// hides gets mask_filter_value, one that lies ahead the lowest number, whatever the mask says of it.

#include "compiler/import/onnx/MicrosoftAttentionOps.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace heddle::importer {

static constexpr llvm::StringLiteral kMaskHelp =
    "give it as (batch), (batch, keys) or (batch, sequence, keys), with integers";

/// True if |mask| is known to hold one length a batch: sums over a row each, or by the names that the file gives.
static bool isOnePerBatch(NodeContext &node, unsigned index, Value mask) {
  while (auto cast = mask.getDefiningOp<nn::CastOp>())
    mask = cast.getInput();
  if (auto sum = mask.getDefiningOp<nn::ReduceOp>())
    return cast<RankedTensorType>(sum.getInput().getType()).getRank() == 2;
  llvm::StringRef name = node.getDeclaredDim(index, 0);
  return !name.empty() && name == node.getDeclaredDim(0, 0);
}

/// Elements of the vector |tensor| from |start| to before |end|, which are vectors of one i64.
static Value sliceVector(NodeContext &node, Value tensor, Value start, Value end) {
  return node.createValue<nn::SliceOp>(tensor, start, end, node.createVector(int64_t(0)), Value());
}

/// Where keys start in a vector of (2 * batch), of which the second half says so; from 0 on in one of another length.
static Value readStarts(NodeContext &node, Value mask, Value batch) {
  auto binary = [&](nn::BinaryKind kind, Value left, Value right) {
    return node.createValue<nn::BinaryOp>(kind, left, right);
  };
  // Zeros stand behind the vector, and are what is read unless its length is the one.
  Value length = extentOf(node, mask, 0), zero = node.createVector(int64_t(0));
  Value pads = node.createValue<nn::ConcatOp>(ValueRange{zero, batch}, int64_t(0));
  Value fill = node.createScalar(getElementTypeOrSelf(mask.getType()), 0);
  Value padded = node.createValue<nn::PadOp>(nn::PadMode::Constant, mask, pads, fill, Value());
  Value isHalved =
      node.createValue<nn::CompareOp>(nn::CompareKind::Eq, length, binary(nn::BinaryKind::Add, batch, batch));
  Value start = node.createValue<nn::WhereOp>(isHalved, batch, length);
  return sliceVector(node, padded, start, binary(nn::BinaryKind::Add, start, batch));
}

/// Lengths: (batch) is where keys end, (2 * batch) also where they start, and of (3 * batch + 2) the rest repeats what
/// the first third says.
static LogicalResult addLengths(NodeContext &node, AttentionForm &form, unsigned index, LengthForm lengthForm) {
  Value mask = node.getInput(index);
  int64_t length = node.getType(index).getDimSize(0), batch = node.getType(0).getDimSize(0);
  bool areKnown = !ShapedType::isDynamic(length) && !ShapedType::isDynamic(batch);
  bool hasStarts = lengthForm == LengthForm::EndsAndStarts;
  if (areKnown && length != batch && length != 3 * batch + 2 && !(hasStarts && length == 2 * batch))
    return node.malformed("a mask of one dimension can't hold " + llvm::Twine(length) + " numbers for " +
                              llvm::Twine(batch) + " sequences",
                          kMaskHelp);
  if (areKnown ? length == batch : isOnePerBatch(node, index, mask)) {
    form.masks.push_back({KeyMask::Kind::Before, {mask, {attn::kBatch}}});
    return success();
  }
  Value count = extentOf(node, node.getInput(0), 0);
  Value ends = sliceVector(node, mask, node.createVector(int64_t(0)), count);
  form.masks.push_back({KeyMask::Kind::Before, {ends, {attn::kBatch}}});
  if (hasStarts && (!areKnown || length == 2 * batch))
    form.masks.push_back({KeyMask::Kind::From, {readStarts(node, mask, count), {attn::kBatch}}});
  return success(!node.hasFailed());
}

/// (batch, 1, most, most), of which the last rows before the number of keys belong to the queries.
static Value sliceMegatronMask(NodeContext &node, const AttentionForm &form, Value mask) {
  Value keys = extentOf(node, form.key.tensor, form.key.sequenceAxis());
  Value rows = extentOf(node, form.query.tensor, form.query.sequenceAxis());
  Value first = node.createValue<nn::BinaryOp>(nn::BinaryKind::Sub, keys, rows);
  Value starts = node.createValue<nn::ConcatOp>(ValueRange{first, node.createVector(int64_t(0))}, int64_t(0));
  Value ends = node.createValue<nn::ConcatOp>(ValueRange{keys, keys}, int64_t(0));
  return node.createValue<nn::SliceOp>(mask, starts, ends, node.createVector({2, 3}), Value());
}

LogicalResult addIntegerMask(NodeContext &node, AttentionForm &form, unsigned index, LengthForm lengthForm) {
  Value mask = node.getInput(index);
  if (!mask)
    return success();
  RankedTensorType type = node.getType(index);
  if (!type.getElementType().isIntOrIndex() || type.getElementType().isInteger(1))
    return node.malformed("a mask must be a tensor of integers", kMaskHelp);
  auto add = [&](Value tensor, std::initializer_list<unsigned> axes) {
    form.masks.push_back({KeyMask::Kind::Positive, {tensor, axes}});
    return success(!node.hasFailed());
  };
  switch (type.getRank()) {
  case 1:
    return addLengths(node, form, index, lengthForm);
  case 2:
    // One number for all keys adds the same to every score, which changes no weight.
    return type.getDimSize(1) == 1 ? success() : add(mask, {attn::kBatch, attn::kKey});
  case 3:
    return add(mask, {attn::kBatch, attn::kQuery, attn::kKey});
  case 4:
    if (lengthForm == LengthForm::Ends || node.getFlag("unidirectional", false))
      break;
    return add(sliceMegatronMask(node, form, mask), {attn::kBatch, attn::kHead, attn::kQuery, attn::kKey});
  default:
    break;
  }
  return node.malformed("a mask can't have " + llvm::Twine(type.getRank()) + " dimensions here", kMaskHelp);
}

LogicalResult addAttentionBias(NodeContext &node, AttentionForm &form, unsigned index) {
  Value bias = node.getInput(index);
  if (!bias)
    return success();
  if (node.getRank(index) != 4)
    return node.malformed("attention_bias must have 4 dimensions, not " + llvm::Twine(node.getRank(index)));
  form.biases.push_back(Capture::alignRight(bias));
  return success();
}

LogicalResult readFillsAndScale(NodeContext &node, AttentionForm &form) {
  if (form.query.size < 1)
    return node.malformed("heads can't be empty");
  form.scale = node.getFloat("scale", 0.0);
  if (form.scale == 0)
    form.scale = 1.0 / std::sqrt(static_cast<double>(form.query.size));
  form.isCausal = node.getFlag("unidirectional", false);
  form.maskFill = node.getFloat("mask_filter_value", -10000.0);
  form.causalFill = std::numeric_limits<float>::lowest();
  return success(!node.hasFailed());
}

LogicalResult refuseInput(NodeContext &node, unsigned index, llvm::StringRef what, llvm::StringRef reason) {
  if (!node.getInput(index))
    return success();
  return node.unsupported("input '" + what + "' is not supported: " + reason, "leave the input out");
}

} // namespace heddle::importer
