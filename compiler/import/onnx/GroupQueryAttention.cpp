// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// com.microsoft's GroupQueryAttention: grouped heads on a cache that is padded on the right, with rotation, window,
// soft cap and sink. What its text leaves open is as onnxruntime's kernel for CPUs has it.

#include "compiler/import/onnx/MicrosoftAttentionOps.h"
#include "compiler/import/onnx/RotaryOps.h"

#include <cmath>

using namespace mlir;

namespace heddle::importer {

namespace {
/// One node.
class GroupedAttention {
public:
  explicit GroupedAttention(NodeContext &node) : node(node), i64(node.getBuilder().getI64Type()), form(node) {}

  LogicalResult run();

private:
  enum Input : unsigned {
    kQuery,
    kKey,
    kValue,
    kPastKey,
    kPastValue,
    kLengths,
    kTotalLength,
    kCosine,
    kSine,
    kPositions,
    kAttentionBias,
    kSink,
    kKeyScale,
    kValueScale,
    kQueryNorm,
    kKeyNorm,
    kQueryLengths
  };

  LogicalResult checkNode();
  LogicalResult checkInputs();
  LogicalResult readTensors();
  LogicalResult readLengths();
  LogicalResult normalize(unsigned weightIndex, llvm::StringRef epsilonName, Heads &heads);
  Value makePositions();
  LogicalResult rotate();
  Value padKeys(Value tensor, unsigned axis);
  void appendToCache(unsigned pastIndex, Heads &heads);
  LogicalResult readNumbers();
  Value addSink(const AttentionForm::Result &result);

  bool hasPast() const { return node.getInput(kPastKey) != Value(); }
  Value binary(nn::BinaryKind kind, Value left, Value right) {
    return node.createValue<nn::BinaryOp>(kind, left, right);
  }
  Value unsqueeze(Value tensor, llvm::ArrayRef<int64_t> axes) {
    return node.createValue<nn::UnsqueezeOp>(tensor, axes);
  }
  /// 0, 1 ... before |end|, a vector of one number.
  Value count(Value end) {
    return node.createValue<nn::RangeOp>(node.createScalar(i64, 0), node.createAsScalar(end),
                                         node.createScalar(i64, 1));
  }

  NodeContext &node;
  Type i64;
  AttentionForm form;
  Value rows;        ///< new ones, a vector of one number
  Value totalLength; ///< the longest sequence with the new rows, a vector of one number
  Value totals;      ///< the same of each batch, (batch)
  Value pastLengths; ///< (batch); null without a past
  Value length;      ///< of the buffer, a vector of one number; null without a past
  Value isPrompt;    ///< a vector of one boolean; null without a past
};
} // namespace

/// Attributes that change what the node computes in ways that aren't supported.
LogicalResult GroupedAttention::checkNode() {
  if (node.getInt("qk_output", 0) != 0)
    return node.unsupported("attribute 'qk_output' is not supported: scores are never held at once",
                            "export the model without that output");
  if (node.getFlag("sliding_window_cache", false))
    return node.unsupported("attribute 'sliding_window_cache' is not supported", "export the model with a full cache");
  for (llvm::StringRef name : {"k_quant_type", "v_quant_type"})
    if (node.getString(name, "NONE") != "NONE")
      return node.unsupported("attribute '" + name + "' other than NONE is not supported",
                              "export the model with a cache of floats");
  node.ignoreAttr("kv_cache_bit_width"); // speaks of quantised caches
  return checkInputs();
}

LogicalResult GroupedAttention::checkInputs() {
  for (auto [index, name] :
       {std::pair<unsigned, llvm::StringRef>{kLengths, "seqlens_k"}, {kTotalLength, "total_sequence_length"}})
    if (!node.getInput(index) || !node.getElementType(index).isSignlessInteger())
      return node.malformed("input '" + name + "' must be there and hold integers");
  if (hasPast() != (node.getInput(kPastValue) != Value()))
    return node.malformed("a past key needs a past value, and the reverse");
  if (hasPast() && (node.getRank(kPastKey) != 4 || node.getRank(kPastValue) != 4))
    return node.malformed("past keys and values must have 4 dimensions");
  if (failed(refuseInput(node, kKeyScale, "k_scale", "caches are floats")) ||
      failed(refuseInput(node, kValueScale, "v_scale", "caches are floats")))
    return failure();
  return refuseInput(node, kQueryLengths, "query_seqlens", "chunks of a prompt are given without padding");
}

/// Query, key and value, which may lie side by side in the first input.
LogicalResult GroupedAttention::readTensors() {
  int64_t heads = node.getInt("num_heads"), keyHeads = node.getInt("kv_num_heads");
  if (node.hasFailed())
    return failure();
  if (heads < 1 || keyHeads < 1 || heads > kMostChannels || heads % keyHeads != 0)
    return node.malformed(llvm::Twine(heads) + " query heads can't share " + llvm::Twine(keyHeads) + " key heads");
  if ((node.getInput(kKey) != Value()) != (node.getInput(kValue) != Value()))
    return node.malformed("a key needs a value, and the reverse");
  if (node.getInput(kKey))
    return success(succeeded(splitHeads(node, node.getInput(kQuery), heads, "query", form.query)) &&
                   succeeded(splitHeads(node, node.getInput(kKey), keyHeads, "key", form.key)) &&
                   succeeded(splitHeads(node, node.getInput(kValue), keyHeads, "value", form.value)));
  Heads all;
  if (failed(splitHeads(node, node.getInput(kQuery), heads + 2 * keyHeads, "query", all)))
    return failure();
  auto sizes = node.getBuilder().getDenseI64ArrayAttr({heads, keyHeads, keyHeads});
  auto parts = node.create<nn::SplitOp>(all.tensor, int64_t(2), int64_t(3), sizes);
  if (!parts)
    return failure();
  form.query = {parts->getResult(0), heads, all.size, /*isBnsd=*/false};
  form.key = {parts->getResult(1), keyHeads, all.size, /*isBnsd=*/false};
  form.value = {parts->getResult(2), keyHeads, all.size, /*isBnsd=*/false};
  return success();
}

/// How long sequences are with and without the new rows. Where these are all there is, it is a prompt, which starts at
/// row 0 even of a cache that is there already.
LogicalResult GroupedAttention::readLengths() {
  auto toVector = [&](unsigned index, int64_t extent) {
    Value number = node.getInput(index);
    if (node.getElementType(index) != i64)
      number = node.createValue<nn::CastOp>(number, i64);
    return node.createValue<nn::ReshapeOp>(number, node.createVector(extent), /*allowzero=*/false);
  };
  rows = extentOf(node, form.query.tensor, 1);
  totals = binary(nn::BinaryKind::Add, toVector(kLengths, -1), node.createVector(1));
  totalLength = toVector(kTotalLength, 1);
  if (!hasPast())
    return success(!node.hasFailed());
  isPrompt = node.createValue<nn::CompareOp>(nn::CompareKind::Eq, rows, totalLength);
  pastLengths =
      node.createValue<nn::WhereOp>(isPrompt, node.createVector(int64_t(0)), binary(nn::BinaryKind::Sub, totals, rows));
  return success(!node.hasFailed());
}

/// The root mean square norm of each head, where there are weights for it.
LogicalResult GroupedAttention::normalize(unsigned weightIndex, llvm::StringRef epsilonName, Heads &heads) {
  double epsilon = node.getFloat(epsilonName, node.getFloat("qk_norm_epsilon", 1e-6));
  Value weight = node.getInput(weightIndex);
  if (!weight || node.hasFailed())
    return success(!node.hasFailed());
  heads.tensor =
      node.createValue<nn::RmsNormOp>(heads.tensor, weight, uint64_t(3), llvm::APFloat(static_cast<float>(epsilon)));
  return success(!node.hasFailed());
}

/// Positions of the new rows, (batch or 1, sequence). Of given ones a prompt uses the first alone.
Value GroupedAttention::makePositions() {
  Value steps = unsqueeze(count(rows), {0}), given = node.getInput(kPositions);
  if (!given)
    return hasPast() ? binary(nn::BinaryKind::Add, steps, unsqueeze(pastLengths, {1})) : steps;
  Value zero = node.createVector({0, 0}), one = node.createVector({1, 1});
  Value first = node.createValue<nn::SliceOp>(given, zero, one, node.createVector({0, 1}), Value());
  // Says that there is one, which broadcasts.
  first = node.createValue<nn::ReshapeOp>(first, one, /*allowzero=*/false);
  Value ofPrompt = binary(nn::BinaryKind::Add, first, steps);
  return hasPast() ? node.createValue<nn::WhereOp>(isPrompt, ofPrompt, given) : ofPrompt;
}

LogicalResult GroupedAttention::rotate() {
  bool isInterleaved = node.getFlag("rotary_interleaved", false);
  if (!node.getFlag("do_rotary", false))
    return success(!node.hasFailed());
  if (!node.getInput(kCosine) || !node.getInput(kSine) || node.getRank(kCosine) != 2 || node.getRank(kSine) != 2)
    return node.malformed("attribute 'do_rotary' needs cosines and sines of 2 dimensions");
  if (node.getInput(kPositions) && (node.getRank(kPositions) != 2 || node.getElementType(kPositions) != i64))
    return node.malformed("position_ids must be (batch, sequence) of i64");
  int64_t columns = node.getType(kCosine).getDimSize(1), most = form.query.size / 2;
  if (columns < 1 || columns > most)
    return node.malformed("cosines must have from 1 to " + llvm::Twine(most) + " columns");
  int64_t rotated = 2 * columns;
  Value positions = makePositions();
  Value cosine = node.createValue<nn::GatherOp>(node.getInput(kCosine), positions, int64_t(0));
  Value sine = node.createValue<nn::GatherOp>(node.getInput(kSine), positions, int64_t(0));
  for (Heads *heads : {&form.query, &form.key})
    heads->tensor = rotateHeads(node, *heads, rotated, isInterleaved, cosine, sine);
  return success(!node.hasFailed());
}

/// |tensor| with zeros behind the keys on |axis|, which then are as many as the buffer holds.
Value GroupedAttention::padKeys(Value tensor, unsigned axis) {
  Value missing = binary(nn::BinaryKind::Sub, length, extentOf(node, tensor, axis));
  Value pads = node.createValue<nn::ConcatOp>(ValueRange{node.createVector(int64_t(0)), missing}, int64_t(0));
  Value nothing = node.createScalar(getElementTypeOrSelf(tensor.getType()), 0);
  return node.createValue<nn::PadOp>(nn::PadMode::Constant, tensor, pads, nothing, node.createVector(int64_t(axis)));
}

/// Makes |heads| the present: the rows of input |pastIndex| up to each batch's length, the new ones behind them, zeros
/// to the end of the buffer, which is as long as the past or as the longest sequence.
void GroupedAttention::appendToCache(unsigned pastIndex, Heads &heads) {
  Value past = node.getInput(pastIndex), zero = node.createScalar(i64, 0);
  length = binary(nn::BinaryKind::Max, extentOf(node, past, 2), totalLength);
  // Row of the new ones that belongs at each place, (batch, places).
  Value source = binary(nn::BinaryKind::Sub, count(length), unsqueeze(pastLengths, {1}));
  auto compare = [&](nn::CompareKind kind, Value bound) {
    // (batch, 1, places, 1)
    return unsqueeze(node.createValue<nn::CompareOp>(kind, source, bound), {1, 3});
  };
  Value isPast = compare(nn::CompareKind::Lt, zero), isBehind = compare(nn::CompareKind::Ge, rows);
  Value last = binary(nn::BinaryKind::Sub, rows, node.createVector(1));
  Value nearest = binary(nn::BinaryKind::Min, binary(nn::BinaryKind::Max, source, zero), last);
  Value added = node.createValue<nn::GatherNdOp>(heads.tensor, unsqueeze(nearest, {2}), int64_t(1));
  added = node.createValue<nn::TransposeOp>(added, llvm::ArrayRef<int64_t>{0, 2, 1, 3});
  Value nothing = node.createScalar(getElementTypeOrSelf(past.getType()), 0), kept = padKeys(past, 2);
  Value fresh = node.createValue<nn::WhereOp>(isBehind, nothing, added);
  heads.tensor = node.createValue<nn::WhereOp>(isPast, kept, fresh);
  heads.isBnsd = true;
}

LogicalResult GroupedAttention::readNumbers() {
  if (form.query.size < 1)
    return node.malformed("heads can't be empty");
  form.scale = node.getFloat("scale", 0.0);
  if (form.scale == 0)
    form.scale = 1.0 / std::sqrt(static_cast<double>(form.query.size));
  form.softcap = node.getFloat("softcap", 0.0);
  form.isCausal = node.getFlag("causal", true);
  int64_t window = node.getInt("local_window_size", -1);
  if (node.hasFailed())
    return failure();
  if (window == 0 || window < -1 || (window > 0 && !form.isCausal))
    return node.malformed("attribute 'local_window_size' can't be " + llvm::Twine(window) +
                          (form.isCausal ? "" : " without causal"));
  // The window's size counts the query's own position.
  form.left = window > 0 ? window - 1 : -1;
  form.queryOffset = form.isCausal ? pastLengths : Value();
  form.keyLength = totals;
  form.wantsLse = node.getFlag("smooth_softmax", false) || node.getInput(kSink);
  if (failed(addAttentionBias(node, form, kAttentionBias)))
    return failure();
  if (hasPast() && !form.biases.empty())
    form.biases[0].tensor = padKeys(form.biases[0].tensor, 3);
  return success(!node.hasFailed());
}

/// A sink takes its share of each row: exp(lse) / (exp(lse) + exp(sink)) of the output is left.
Value GroupedAttention::addSink(const AttentionForm::Result &result) {
  if (!form.wantsLse)
    return result.output.tensor;
  Value distance = node.createValue<nn::TransposeOp>(result.lse, llvm::ArrayRef<int64_t>{0, 2, 1});
  Type type = getElementTypeOrSelf(distance.getType());
  if (Value sink = node.getInput(kSink)) {
    if (node.getElementType(kSink) != type)
      sink = node.createValue<nn::CastOp>(sink, type);
    distance = binary(nn::BinaryKind::Sub, distance, sink);
  }
  Value share = unsqueeze(node.createValue<nn::UnaryOp>(nn::UnaryKind::Sigmoid, distance), {3});
  if (Type output = getElementTypeOrSelf(result.output.tensor.getType()); output != type)
    share = node.createValue<nn::CastOp>(share, output);
  return binary(nn::BinaryKind::Mul, result.output.tensor, share);
}

LogicalResult GroupedAttention::run() {
  if (failed(checkNode()) || failed(readTensors()) || failed(readLengths()) ||
      failed(normalize(kQueryNorm, "q_norm_epsilon", form.query)) ||
      failed(normalize(kKeyNorm, "k_norm_epsilon", form.key)) || failed(rotate()))
    return failure();
  if (hasPast()) {
    appendToCache(kPastKey, form.key);
    appendToCache(kPastValue, form.value);
  }
  if (node.hasFailed() || failed(readNumbers()))
    return failure();
  FailureOr<AttentionForm::Result> result = form.build();
  if (failed(result))
    return failure();
  result->output.tensor = addSink(*result);
  llvm::SmallVector<Value> outputs{joinHeads(node, result->output)};
  if (node.getNode().outputs.size() > 1)
    outputs.append({toBnsd(node, form.key), toBnsd(node, form.value)});
  return node.setOutputs(outputs);
}

LogicalResult buildGroupQueryAttention(NodeContext &node) { return GroupedAttention(node).run(); }

} // namespace heddle::importer
