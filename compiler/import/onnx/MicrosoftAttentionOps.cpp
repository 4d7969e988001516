// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// com.microsoft's Attention, its quantised form QAttention, and MultiHeadAttention, which onnxruntime's optimiser
// writes for encoders and for decoders without grouped heads.

#include "compiler/import/onnx/MicrosoftAttentionOps.h"

#include "compiler/import/onnx/MicrosoftQuantizationOps.h"
#include "compiler/import/onnx/OpTable.h"

using namespace mlir;

namespace heddle::importer {

static Value add(NodeContext &node, Value left, Value right) {
  return node.createValue<nn::BinaryOp>(nn::BinaryKind::Add, left, right);
}

/// |tensor| in parts along |axis|.
static llvm::SmallVector<Value> split(NodeContext &node, Value tensor, int64_t axis, llvm::ArrayRef<int64_t> sizes) {
  auto attr = node.getBuilder().getDenseI64ArrayAttr(sizes);
  auto op = node.create<nn::SplitOp>(tensor, axis, static_cast<int64_t>(sizes.size()), attr);
  return op ? llvm::SmallVector<Value>(op->getResults()) : llvm::SmallVector<Value>(sizes.size());
}

/// How far queries are ahead of their rows: by the rows of |past|, which may be null.
static Value makeOffset(NodeContext &node, Value past, unsigned axis) {
  return past ? node.createAsScalar(extentOf(node, past, axis)) : Value();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
/// Where Attention and QAttention differ. Input and weights come first in both.
struct MergedForm {
  unsigned mask, past, attentionBias, pastLength;
  /// Query, key and value side by side.
  Value (*project)(NodeContext &node);
};

/// Projects, splits and attends: one node of Attention or QAttention.
class MergedAttention {
public:
  MergedAttention(NodeContext &node, MergedForm inputs) : node(node), form(node), inputs(inputs) {}

  LogicalResult run();

private:
  enum Input : unsigned { kInput, kWeights };

  LogicalResult checkNode();
  LogicalResult readSizes(llvm::SmallVectorImpl<int64_t> &sizes);
  LogicalResult project();
  Value appendPast();

  NodeContext &node;
  AttentionForm form;
  MergedForm inputs;
};
} // namespace

LogicalResult MergedAttention::checkNode() {
  if (node.getFlag("past_present_share_buffer", false))
    return node.unsupported("attribute 'past_present_share_buffer' is not supported: a program's past and present are "
                            "two tensors",
                            "export the model with past_present_share_buffer = 0");
  if (node.getFlag("do_rotary", false))
    return node.unsupported("attribute 'do_rotary' is not supported: the node doesn't say with which angles",
                            "rotate by RotaryEmbedding nodes before MultiHeadAttention");
  node.ignoreAttr("rotary_embedding_dim"); // speaks of do_rotary
  if (node.getInput(inputs.past) && node.getRank(inputs.past) != 5)
    return node.malformed("past must have 5 dimensions, not " + llvm::Twine(node.getRank(inputs.past)));
  return refuseInput(node, inputs.pastLength, "past_sequence_length", "it belongs to a shared buffer");
}

/// Channels of query, key and value: as the attribute says, else a third each.
LogicalResult MergedAttention::readSizes(llvm::SmallVectorImpl<int64_t> &sizes) {
  RankedTensorType weights = node.getType(kWeights);
  if (weights.getRank() != 2 || weights.isDynamicDim(1))
    return node.malformed("weights must have 2 dimensions, of which the last one is known");
  int64_t columns = weights.getDimSize(1), count = node.getInt("num_heads");
  sizes = node.getInts("qkv_hidden_sizes").value_or(llvm::SmallVector<int64_t>(3, columns / 3));
  if (node.hasFailed())
    return failure();
  if (sizes.size() != 3 || llvm::any_of(sizes, [&](int64_t size) { return size < 1 || size > columns; }) ||
      sizes[2] != columns - sizes[0] - sizes[1])
    return node.malformed("the sizes of query, key and value must be three that sum to " + llvm::Twine(columns));
  if (count < 1 || sizes[0] != sizes[1] || sizes[0] % count != 0 || sizes[2] % count != 0)
    return node.malformed("sizes " + llvm::Twine(sizes[0]) + ", " + llvm::Twine(sizes[1]) + " and " +
                          llvm::Twine(sizes[2]) + " of query, key and value can't be " + llvm::Twine(count) + " heads");
  return success();
}

/// One product gives query, key and value side by side, and stays one: the parts are views.
LogicalResult MergedAttention::project() {
  llvm::SmallVector<int64_t> sizes;
  if (failed(readSizes(sizes)))
    return failure();
  if (node.getRank(kInput) != 3)
    return node.malformed("input must have 3 dimensions, not " + llvm::Twine(node.getRank(kInput)));
  llvm::SmallVector<Value> parts = split(node, inputs.project(node), 2, sizes);
  int64_t count = node.getInt("num_heads");
  return success(succeeded(splitHeads(node, parts[0], count, "the query", form.query)) &&
                 succeeded(splitHeads(node, parts[1], count, "the key", form.key)) &&
                 succeeded(splitHeads(node, parts[2], count, "the value", form.value)));
}

/// Keys and values behind the past (2, batch, heads, rows, size); the present, of the same form.
Value MergedAttention::appendPast() {
  const int64_t first[] = {0};
  Value past = node.getInput(inputs.past);
  if (past) {
    llvm::SmallVector<Value> parts = split(node, past, 0, {1, 1});
    appendToPast(node, node.createValue<nn::SqueezeOp>(parts[0], llvm::ArrayRef(first)), form.key);
    appendToPast(node, node.createValue<nn::SqueezeOp>(parts[1], llvm::ArrayRef(first)), form.value);
  }
  if (node.getNode().outputs.size() < 2)
    return {};
  llvm::SmallVector<Value> presents;
  for (const Heads *heads : {&form.key, &form.value})
    presents.push_back(node.createValue<nn::UnsqueezeOp>(toBnsd(node, *heads), llvm::ArrayRef(first)));
  return node.createValue<nn::ConcatOp>(ValueRange(presents), int64_t(0));
}

LogicalResult MergedAttention::run() {
  if (failed(checkNode()) || failed(project()))
    return failure();
  Value present = appendPast();
  if (node.hasFailed() || failed(addIntegerMask(node, form, inputs.mask, LengthForm::EndsAndStarts)) ||
      failed(addAttentionBias(node, form, inputs.attentionBias)) || failed(readFillsAndScale(node, form)))
    return failure();
  if (form.isCausal)
    form.queryOffset = makeOffset(node, node.getInput(inputs.past), 3);
  FailureOr<AttentionForm::Result> result = form.build();
  if (failed(result))
    return failure();
  llvm::SmallVector<Value> outputs{joinHeads(node, result->output)};
  if (present)
    outputs.push_back(present);
  return node.setOutputs(outputs);
}

static Value createProjection(NodeContext &node) {
  Value rows = node.createValue<nn::MatMulOp>(node.getInput(0), node.getInput(1));
  return node.getInput(2) ? add(node, rows, node.getInput(2)) : rows;
}

static LogicalResult buildMergedAttention(NodeContext &node) {
  return MergedAttention(node, {/*mask=*/3, /*past=*/4, /*attentionBias=*/5, /*pastLength=*/6, createProjection}).run();
}

static LogicalResult buildQAttention(NodeContext &node) {
  constexpr unsigned kNone = ~0u; // an input that no node has
  return MergedAttention(node, {/*mask=*/5, /*past=*/8, kNone, kNone, createQuantizedProjection}).run();
}

//===----------------------------------------------------------------------===//
// MultiHeadAttention
//===----------------------------------------------------------------------===//

namespace {
/// One node of MultiHeadAttention.
class MultiHeadAttention {
public:
  explicit MultiHeadAttention(NodeContext &node) : node(node), form(node) {}

  LogicalResult run();

private:
  enum Input : unsigned {
    kQuery,
    kKey,
    kValue,
    kBias,
    kMask,
    kAttentionBias,
    kPastKey,
    kPastValue,
    kPastLength,
    kBeams
  };

  LogicalResult checkNode();
  LogicalResult readPacked(unsigned index, llvm::ArrayRef<Heads *> parts);
  LogicalResult readHeads(unsigned index, llvm::StringRef what, Heads &heads);
  LogicalResult readTensors();
  LogicalResult addProjectionBias();
  LogicalResult checkCausal();
  bool hasOutput(size_t index) const { return node.getNode().outputs.size() > index; }

  NodeContext &node;
  AttentionForm form;
  int64_t count = 0;
  Value presentKey, presentValue;
};
} // namespace

LogicalResult MultiHeadAttention::checkNode() {
  count = node.getInt("num_heads");
  if (node.hasFailed())
    return failure();
  if (count < 1)
    return node.malformed("attribute 'num_heads' can't be " + llvm::Twine(count));
  if ((node.getInput(kPastKey) != Value()) != (node.getInput(kPastValue) != Value()))
    return node.malformed("a past key needs a past value, and the reverse");
  if (failed(refuseInput(node, kPastLength, "past_sequence_length", "it belongs to a shared buffer")))
    return failure();
  return refuseInput(node, kBeams, "cache_indirection", "a program's cache has no beams");
}

/// Heads that lie side by side: (batch, sequence, heads, |parts|, size).
LogicalResult MultiHeadAttention::readPacked(unsigned index, llvm::ArrayRef<Heads *> parts) {
  RankedTensorType type = node.getType(index);
  auto number = static_cast<int64_t>(parts.size());
  if (type.getRank() == 5 && type.getDimSize(4) > kMostChannels / count)
    return node.malformed("packed heads can't have " + llvm::Twine(type.getDimSize(4)) + " channels");
  if (type.getRank() != 5 || type.getDimSize(2) != count || type.getDimSize(3) != number || type.isDynamicDim(4))
    return node.malformed("packed heads must be (batch, sequence, " + llvm::Twine(count) + ", " + llvm::Twine(number) +
                          ", size) with a known size");
  const int64_t packing[] = {3};
  llvm::SmallVector<int64_t> sizes(parts.size(), 1);
  for (auto [part, heads] : llvm::zip(split(node, node.getInput(index), 3, sizes), parts))
    *heads = {node.createValue<nn::SqueezeOp>(part, llvm::ArrayRef(packing)), count, type.getDimSize(4),
              /*isBnsd=*/false};
  return success(!node.hasFailed());
}

/// Rows, or a cache (batch, heads, sequence, size) that another node has filled.
LogicalResult MultiHeadAttention::readHeads(unsigned index, llvm::StringRef what, Heads &heads) {
  if (!node.getInput(index))
    return node.malformed("input '" + what + "' is missing");
  if (node.getRank(index) != 4)
    return splitHeads(node, node.getInput(index), count, what, heads);
  Value tensor = node.getInputAsDeclared(index, {1, 3});
  if (node.hasFailed())
    return failure();
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getDimSize(1) != count || type.isDynamicDim(3) || type.getDimSize(3) > kMostChannels / count)
    return node.malformed(what + " must be (batch, " + llvm::Twine(count) + ", sequence, size) with a known size");
  heads = {tensor, count, type.getDimSize(3), /*isBnsd=*/true};
  return success();
}

LogicalResult MultiHeadAttention::readTensors() {
  if (!node.getInput(kKey)) {
    if (failed(readPacked(kQuery, {&form.query, &form.key, &form.value})))
      return failure();
  } else {
    if (failed(readHeads(kQuery, "query", form.query)))
      return failure();
    bool isPacked = node.getRank(kKey) == 5;
    if (isPacked ? failed(readPacked(kKey, {&form.key, &form.value}))
                 : failed(readHeads(kKey, "key", form.key)) || failed(readHeads(kValue, "value", form.value)))
      return failure();
    if (node.getInput(kPastKey) && form.key.isBnsd)
      return node.malformed("a past can't stand before a key of 4 dimensions, which is a cache itself");
  }
  if (form.query.isBnsd)
    return node.malformed("query can't have 4 dimensions");
  return addProjectionBias();
}

/// What the projections left to add, (query + key + value channels). A key of 4 dimensions has got its own already.
LogicalResult MultiHeadAttention::addProjectionBias() {
  Value bias = node.getInput(kBias);
  if (!bias)
    return success();
  llvm::SmallVector<Heads *> parts{&form.query, &form.key, &form.value};
  llvm::SmallVector<int64_t> sizes;
  for (const Heads *heads : parts)
    sizes.push_back(heads->count * heads->size);
  RankedTensorType type = node.getType(kBias);
  if (type.getRank() != 1 || type.getDimSize(0) != sizes[0] + sizes[1] + sizes[2])
    return node.malformed("bias must be a vector of " + llvm::Twine(sizes[0] + sizes[1] + sizes[2]) + " numbers");
  for (auto [part, heads] : llvm::zip(split(node, bias, 0, sizes), parts)) {
    if (heads->isBnsd)
      continue;
    Value shape = node.createVector({heads->count, heads->size});
    heads->tensor = add(node, heads->tensor, node.createValue<nn::ReshapeOp>(part, shape, /*allowzero=*/false));
  }
  return success(!node.hasFailed());
}

/// onnxruntime lets the last row see all keys, which differs from causal where there are more of these.
LogicalResult MultiHeadAttention::checkCausal() {
  if (!form.isCausal)
    return success();
  int64_t rows = cast<RankedTensorType>(form.query.tensor.getType()).getDimSize(1);
  int64_t keys = cast<RankedTensorType>(form.key.tensor.getType()).getDimSize(form.key.sequenceAxis());
  bool isCross = form.key.isBnsd || (!ShapedType::isDynamic(rows) && !ShapedType::isDynamic(keys) && rows != keys);
  if (isCross)
    return node.unsupported("attribute 'unidirectional' is not supported for keys of another sequence: which of them "
                            "come later is not defined",
                            "give an attention_bias instead");
  return success();
}

LogicalResult MultiHeadAttention::run() {
  if (failed(checkNode()) || failed(readTensors()) || failed(readFillsAndScale(node, form)) || failed(checkCausal()))
    return failure();
  if (Value past = node.getInput(kPastKey)) {
    presentKey = appendToPast(node, past, form.key);
    presentValue = appendToPast(node, node.getInput(kPastValue), form.value);
    form.queryOffset = form.isCausal ? makeOffset(node, past, 2) : Value();
  } else if (hasOutput(1)) {
    presentKey = toBnsd(node, form.key);
    presentValue = toBnsd(node, form.value);
  }
  if (node.hasFailed() || failed(addIntegerMask(node, form, kMask, LengthForm::Ends)) ||
      failed(addAttentionBias(node, form, kAttentionBias)))
    return failure();
  Value scores = hasOutput(3) ? form.buildScores(2) : Value();
  FailureOr<AttentionForm::Result> result = form.build();
  if (failed(result))
    return failure();
  llvm::SmallVector<Value> outputs{joinHeads(node, result->output)};
  if (presentKey)
    outputs.append({presentKey, presentValue});
  if (scores)
    outputs.push_back(scores);
  return node.setOutputs(outputs);
}

static LogicalResult buildMultiHeadAttention(NodeContext &node) { return MultiHeadAttention(node).run(); }

llvm::ArrayRef<OpRow> getMicrosoftAttentionOps() {
  static constexpr OpRow kRows[] = {
      {"com.microsoft", "Attention", 1, 2, 7, buildMergedAttention},
      {"com.microsoft", "GatedRelativePositionBias", 1, 6, 7, buildGatedRelativePositionBias},
      {"com.microsoft", "GroupQueryAttention", 1, 1, 17, buildGroupQueryAttention},
      {"com.microsoft", "MultiHeadAttention", 1, 1, 10, buildMultiHeadAttention},
      {"com.microsoft", "QAttention", 1, 5, 9, buildQAttention},
      {"com.microsoft", "RelativePositionBias", 1, 3, 3, buildRelativePositionBias},
  };
  return kRows;
}

} // namespace heddle::importer
