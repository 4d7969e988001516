// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention as one operator: the standard one of opset 23 and later becomes attn.sdpa, with its masks as regions.

#include "compiler/import/onnx/AttentionForm.h"
#include "compiler/import/onnx/OpTable.h"

#include <cmath>

using namespace mlir;

namespace heddle::importer {

namespace {

/// The operator's inputs, in order.
enum Input : unsigned { kQueryIn, kKeyIn, kValueIn, kMaskIn, kPastKeyIn, kPastValueIn, kValidLengthIn };

/// Builds attn.sdpa from one node.
class AttentionImporter {
public:
  explicit AttentionImporter(NodeContext &node) : node(node), builder(node.getBuilder()), form(node) {}

  LogicalResult run();

private:
  LogicalResult checkNode();
  LogicalResult readHeads(unsigned index, llvm::StringRef countName, Heads &heads);
  Value appendPast(Heads &heads, unsigned pastIndex);
  LogicalResult readTensors();
  LogicalResult readMask();
  LogicalResult readNumbers();
  Value padMask(Value mask);
  Value makeOffset();

  bool hasPast() const { return node.getInput(kPastKeyIn) != Value(); }
  bool hasOutput(size_t index) const { return node.getNode().outputs.size() > index; }
  Type floatType() const { return node.getElementType(kQueryIn); }

  NodeContext &node;
  OpBuilder &builder;
  AttentionForm form;
  Value presentKey, presentValue;
  int64_t qkMode = 0;
};

/// What the definition rules out, and what our op can't do as exactly.
LogicalResult AttentionImporter::checkNode() {
  if (!isa<FloatType>(floatType()))
    return node.malformed("query must be a tensor of floats");
  if (hasPast() != (node.getInput(kPastValueIn) != Value()))
    return node.malformed("a past key needs a past value, and the reverse");
  if (node.getInput(kValidLengthIn) && node.getOpset() < 24)
    return node.malformed("input nonpad_kv_seqlen is not known before opset 24");
  if (node.getInput(kValidLengthIn) && hasPast())
    return node.unsupported("nonpad_kv_seqlen together with a past is not supported",
                            "give either the whole cache with its length or a past that is concatenated");
  // The op's softmax is f32, or f64 for f64: never less exact than a narrower type that is asked for.
  int64_t precision = node.getInt("softmax_precision", ::onnx::TensorProto::FLOAT);
  if (precision == ::onnx::TensorProto::DOUBLE && !floatType().isF64())
    return node.unsupported("a softmax in double is not supported for a query of another type",
                            "leave softmax_precision out");
  qkMode = node.getInt("qk_matmul_output_mode", 0);
  if (qkMode < 0 || qkMode > 3)
    return node.malformed("attribute 'qk_matmul_output_mode' can't be " + llvm::Twine(qkMode));
  return success();
}

/// Input |index| as heads. The rank says how they lie: of three dimensions the last one holds all heads of a row, as
/// many as attribute |countName| says.
LogicalResult AttentionImporter::readHeads(unsigned index, llvm::StringRef countName, Heads &heads) {
  RankedTensorType type = node.getType(index);
  int64_t rank = type.getRank();
  if (rank != 3 && rank != 4)
    return node.malformed("query, key and value must have 3 or 4 dimensions, not " + llvm::Twine(rank));
  heads.isBnsd = rank == 4;
  heads.tensor = heads.isBnsd ? node.getInputAsDeclared(index, {1, 3}) : node.getInput(index);
  if (!heads.tensor)
    return failure(); // reported
  type = cast<RankedTensorType>(heads.tensor.getType());
  if (type.isDynamicDim(static_cast<unsigned>(rank - 1)) || (heads.isBnsd && type.isDynamicDim(1)))
    return node.unsupported("the number of heads and their size must be known",
                            "export the model with fixed extents for them");
  int64_t last = type.getDimSize(static_cast<unsigned>(rank - 1));
  if (heads.isBnsd) {
    heads.count = type.getDimSize(1);
    heads.size = last;
    if (node.getInt(countName, heads.count) != heads.count)
      return node.malformed("attribute '" + countName + "' differs from the number of heads, " +
                            llvm::Twine(heads.count));
    return success();
  }
  heads.count = node.getInt(countName);
  if (node.hasFailed())
    return failure();
  if (heads.count < 1 || last % heads.count != 0)
    return node.malformed("attribute '" + countName + "' can't be " + llvm::Twine(heads.count) + " for " +
                          llvm::Twine(last) + " channels");
  return splitHeads(node, heads.tensor, heads.count, countName, heads);
}

/// |heads| behind the past in input |pastIndex|, if there is one; returns the present, in BNSD, where it is wanted.
Value AttentionImporter::appendPast(Heads &heads, unsigned pastIndex) {
  if (hasPast())
    return appendToPast(node, node.getInput(pastIndex), heads);
  return hasOutput(1) ? toBnsd(node, heads) : Value();
}

LogicalResult AttentionImporter::readTensors() {
  if (failed(readHeads(kQueryIn, "q_num_heads", form.query)) || failed(readHeads(kKeyIn, "kv_num_heads", form.key)) ||
      failed(readHeads(kValueIn, "kv_num_heads", form.value)))
    return failure();
  if (form.query.size < 1)
    return node.malformed("heads can't be empty");
  if (form.key.count < 1 || form.query.count % form.key.count != 0)
    return node.malformed(llvm::Twine(form.query.count) + " query heads can't share " + llvm::Twine(form.key.count) +
                          " key heads");
  presentKey = appendPast(form.key, kPastKeyIn);
  presentValue = appendPast(form.value, kPastValueIn);
  return success(!node.hasFailed());
}

/// Since opset 24 a mask may end before the keys do: those behind it are not seen. Only a length that is known can
/// be seen to be shorter; one that is not has to be the keys'.
Value AttentionImporter::padMask(Value mask) {
  auto type = cast<RankedTensorType>(mask.getType());
  auto keyType = cast<RankedTensorType>(form.key.tensor.getType());
  unsigned last = static_cast<unsigned>(type.getRank()) - 1;
  int64_t keys = keyType.getDimSize(form.key.sequenceAxis());
  if (node.getOpset() < 24 || type.isDynamicDim(last) || type.getDimSize(last) == keys)
    return mask;
  Value length = extentOf(node, form.key.tensor, form.key.sequenceAxis());
  Value missing = node.createValue<nn::BinaryOp>(nn::BinaryKind::Sub, length, node.createVector(type.getDimSize(last)));
  Value zeros = node.createVector(llvm::SmallVector<int64_t>(2 * last + 1, 0));
  Value pads = node.createValue<nn::ConcatOp>(ValueRange{zeros, missing}, int64_t(0));
  Type element = type.getElementType();
  Value fill = node.createScalar(element, element.isInteger(1) ? 0 : -INFINITY);
  return node.createValue<nn::PadOp>(nn::PadMode::Constant, mask, pads, fill, Value());
}

/// The mask, which broadcasts from the right over (b, n, q, kv). Whatever isn't a boolean is added, and hides what it
/// makes -inf.
LogicalResult AttentionImporter::readMask() {
  Value mask = node.getInput(kMaskIn);
  if (!mask)
    return success();
  int64_t rank = node.getRank(kMaskIn);
  if (rank < 1 || rank > 4)
    return node.malformed("attn_mask must have 1 to 4 dimensions, not " + llvm::Twine(rank));
  bool isBias = !node.getElementType(kMaskIn).isInteger(1);
  if (isBias && node.getElementType(kMaskIn) != floatType())
    mask = node.createValue<nn::CastOp>(mask, floatType());
  if (!node.hasFailed())
    mask = padMask(mask);
  if (node.hasFailed())
    return failure();
  Capture capture = Capture::alignRight(mask);
  form.masks.push_back({isBias ? KeyMask::Kind::Finite : KeyMask::Kind::Keep, capture});
  if (isBias)
    form.biases.push_back(capture);
  return success();
}

/// How far positions of queries are ahead of their rows; null for not at all. Without a cache position 0 is that of
/// the first query and of the first key, however many there are of each.
Value AttentionImporter::makeOffset() {
  if (!form.isCausal && form.left < 0 && form.right < 0)
    return {};
  if (hasPast())
    return node.createAsScalar(extentOf(node, node.getInput(kPastKeyIn), 2));
  Value lengths = node.getInput(kValidLengthIn);
  if (!lengths)
    return {};
  Value rows = extentOf(node, form.query.tensor, form.query.sequenceAxis());
  return node.createValue<nn::BinaryOp>(nn::BinaryKind::Sub, lengths, rows);
}

LogicalResult AttentionImporter::readNumbers() {
  form.isCausal = node.getFlag("is_causal", false);
  if (node.getOpset() >= 25) {
    form.left = node.getInt("left_window_size", -1);
    form.right = node.getInt("right_window_size", -1);
    if (form.left < -1 || form.right < -1)
      return node.malformed("a window can't be smaller than -1");
  }
  form.queryOffset = makeOffset();
  form.keyLength = node.getInput(kValidLengthIn);
  form.scale = node.getFloat("scale", 1.0 / std::sqrt(static_cast<double>(form.query.size)));
  form.softcap = node.getFloat("softcap", 0.0);
  return success(!node.hasFailed());
}

LogicalResult AttentionImporter::run() {
  if (failed(checkNode()) || failed(readTensors()) || failed(readMask()) || failed(readNumbers()))
    return failure();
  form.wantsWeights = qkMode == 3 && hasOutput(3);
  Value scores = qkMode < 3 && hasOutput(3) ? form.buildScores(qkMode) : Value();
  FailureOr<AttentionForm::Result> result = form.build();
  if (failed(result))
    return failure();
  // An output that nobody names is not there.
  llvm::SmallVector<Value> outputs{joinHeads(node, result->output, node.getRank(kQueryIn) == 4)};
  if (presentKey)
    outputs.append({presentKey, presentValue});
  if (hasOutput(3))
    outputs.push_back(scores ? scores : result->weights);
  return node.setOutputs(outputs);
}

LogicalResult buildAttention(NodeContext &node) { return AttentionImporter(node).run(); }

} // namespace

llvm::ArrayRef<OpRow> getAttentionOps() {
  static constexpr OpRow kRows[] = {
      {"", "Attention", 23, 3, 7, buildAttention},
  };
  return kRows;
}

} // namespace heddle::importer
