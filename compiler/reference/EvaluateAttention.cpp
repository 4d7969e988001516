// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation of attention, whole and in running form, row by row as the ops' definitions write it.

#include <cmath>

#include "compiler/reference/AttentionRows.h"
#include "compiler/reference/AttentionState.h"
#include "compiler/reference/Evaluation.h"

using namespace mlir;

namespace heddle::reference {

namespace {

template <typename OpTy> AttentionInputs getInputs(In<OpTy> in) {
  return {in.getQuery(),    in.getKey(),           in.getValue(),        in.getScaleOperand(),  in.getQOffset(),
          in.getKvLen(),    in.getScoreCaptures(), in.getMaskCaptures(), in.getQueryScale(),    in.getQueryZeroPoint(),
          in.getKeyScale(), in.getKeyZeroPoint(),  in.getValueScale(),   in.getValueZeroPoint()};
}

std::optional<double> toDouble(std::optional<llvm::APFloat> value) {
  return value ? std::optional<double>(value->convertToDouble()) : std::nullopt;
}

// exp(score - maximum), which is 0 for a score of -inf whatever the maximum.
double weigh(double score, double maximum) { return score == -INFINITY ? 0 : std::exp(score - maximum); }

// The weight as the product with value sees it: p * min(round_half_even(weight / p), 127) where it is quantised.
double quantize(double weight, std::optional<double> probabilityScale) {
  if (!probabilityScale)
    return weight;
  return *probabilityScale * std::fmin(std::nearbyint(weight / *probabilityScale), 127);
}

// Keys of one row that take part, with their greatest score.
struct Kept {
  std::vector<bool> keep;
  double maximum = -INFINITY;
  bool any = false;

  // Those that the mask region keeps; without any, all keys where the rule is literal.
  Kept(const AttentionRows &rows, bool isLiteral) : keep(rows.getKeep()) {
    if (isLiteral && !rows.keepsAny())
      keep.assign(keep.size(), true);
    for (auto [score, kept] : llvm::zip_equal(rows.getScores(), keep))
      if (kept) {
        any = true;
        maximum = std::isnan(score) || score > maximum ? score : maximum;
      }
  }

  // The weights relative to |reference|, and their sum.
  std::vector<double> weights(const AttentionRows &rows, double reference, double &sum) const {
    std::vector<double> result(keep.size());
    sum = 0;
    for (size_t j = 0; j < keep.size(); ++j)
      sum += result[j] = keep[j] ? weigh(rows.getScores()[j], reference) : 0;
    return result;
  }
};

// Of |kept|'s row, in blocks of |block| keys: codes of 7 bits relative to their block's greatest score, brought to that
// of the row, and their sum.
std::vector<double> codeWeights(const AttentionRows &rows, const Kept &kept, int64_t block, double &sum) {
  ArrayRef<double> scores = rows.getScores();
  std::vector<double> result(scores.size());
  sum = 0;
  for (size_t begin = 0; begin < scores.size(); begin += block) {
    size_t end = std::min(begin + static_cast<size_t>(block), scores.size());
    double maximum = -INFINITY;
    for (size_t j = begin; j < end; ++j)
      if (kept.keep[j])
        maximum = std::isnan(scores[j]) || scores[j] > maximum ? scores[j] : maximum;
    double factor = weigh(maximum, kept.maximum);
    for (size_t j = begin; j < end; ++j) {
      result[j] = kept.keep[j] ? std::nearbyint(127 * weigh(scores[j], maximum)) : 0;
      // A block far below the row's greatest score adds nothing, rather than 0 times what may not be finite.
      result[j] = result[j] == 0 ? 0 : result[j] * factor;
      sum += result[j];
    }
  }
  return result;
}

// The tensors that attn.sdpa fills.
struct Outputs {
  std::vector<double> output, lse, probabilities;
};

// What happens to a row's probabilities: the rule for rows without keys, then a region, or rounding to steps or to
// codes by blocks, or nothing.
struct Weighting {
  attn::FullyMasked rule;
  std::optional<double> probabilityScale;
  std::optional<int64_t> codedBlock;
  CapturingRegion region;
};

llvm::Error evaluateRow(const AttentionRows &rows, Weighting &weighting, std::vector<double> &out, double &lse,
                        double *probabilities) {
  Kept kept(rows, weighting.rule == attn::FullyMasked::Literal);
  std::vector<double> weights(kept.keep.size());
  bool hasRegion = weighting.region.isPresent();
  if (!kept.any) {
    lse = -INFINITY;
    double filling = weighting.rule == attn::FullyMasked::Nan ? NAN : 0;
    std::fill_n(probabilities, rows.getExtents()[attn::kKey], filling);
    weights.assign(weights.size(), filling);
    out.assign(out.size(), hasRegion ? 0 : filling);
    if (!hasRegion)
      return llvm::Error::success();
  } else {
    // weight (keys) = exp(score - maximum) / sum
    double sum;
    weights = weighting.codedBlock ? codeWeights(rows, kept, *weighting.codedBlock, sum)
                                   : kept.weights(rows, kept.maximum, sum);
    lse = kept.maximum + std::log(sum);
    for (size_t j = 0; j < weights.size(); ++j) {
      probabilities[j] = weights[j] / sum;
      weights[j] = quantize(weights[j], weighting.probabilityScale) / sum;
    }
    out.assign(out.size(), 0);
  }
  if (hasRegion)
    if (llvm::Error error = rows.changeWeights(weighting.region, weights))
      return error;
  // out (value head size) = weight (keys) @ value (keys, value head size)
  rows.addValues(weights, out.data());
  return llvm::Error::success();
}

Type getElementType(Value value) { return cast<ShapedType>(value.getType()).getElementType(); }

} // namespace

llvm::Expected<Results> evaluate(attn::SdpaOp op, In<attn::SdpaOp> in) {
  llvm::Expected<AttentionRows> rows = AttentionRows::create(cast<attn::AttentionInterface>(op.getOperation()),
                                                             toDouble(op.getScale()), getInputs<attn::SdpaOp>(in));
  if (!rows)
    return rows.takeError();
  auto [batches, heads, queries, keys, valueSize] = rows->getExtents();
  Dims dims = getMappedDims(op.getOutputMapOrDefault(), rows->getExtents());
  llvm::Expected<MappedLayout> layout = MappedLayout::create(op.getOutputMapOrDefault(), dims);
  if (!layout)
    return layout.takeError();
  llvm::Expected<int64_t> count = countElements(dims), weightCount = countElements({batches, heads, queries, keys});
  if (!count || !weightCount)
    return llvm::joinErrors(count.takeError(), weightCount.takeError());

  llvm::Expected<CapturingRegion> region =
      CapturingRegion::create(op.getProbability(), in.getProbabilityCaptures(), op.getProbabilityCaptureMapList());
  if (!region)
    return region.takeError();
  Weighting weighting{op.getFullyMasked(), toDouble(op.getProbabilityScale()), op.getPvInt8Block(), std::move(*region)};
  Outputs all{std::vector<double>(*count), std::vector<double>(batches * heads * queries),
              std::vector<double>(op.getProbabilities() ? *weightCount : keys)};
  std::vector<double> out(valueSize);
  for (int64_t index = 0; index < int64_t(all.lse.size()); ++index) {
    int64_t b = index / queries / heads, n = index / queries % heads, q = index % queries;
    if (llvm::Error error = rows->computeRow(b, n, q))
      return error;
    double *probabilities = all.probabilities.data() + (op.getProbabilities() ? index * keys : 0);
    if (llvm::Error error = evaluateRow(*rows, weighting, out, all.lse[index], probabilities))
      return error;
    for (int64_t d = 0; d < valueSize; ++d)
      all.output[layout->getOffset({b, n, q, 0, d})] = out[d];
  }

  Results results = {HostTensor(getElementType(op.getOutput()), dims, std::move(all.output))};
  if (op.getLse())
    results.emplace_back(getElementType(op.getLse()), Dims{batches, heads, queries}, std::move(all.lse));
  if (op.getProbabilities())
    results.emplace_back(getElementType(op.getProbabilities()), Dims{batches, heads, queries, keys},
                         std::move(all.probabilities));
  return results;
}

llvm::Expected<Results> evaluate(attn::OnlineSdpaOp op, In<attn::OnlineSdpaOp> in) {
  AttentionInputs inputs = getInputs<attn::OnlineSdpaOp>(in);
  inputs.kvOffset = in.getKvOffset();
  llvm::Expected<AttentionRows> rows =
      AttentionRows::create(cast<attn::AttentionInterface>(op.getOperation()), toDouble(op.getScale()), inputs);
  if (!rows)
    return rows.takeError();
  llvm::Expected<AttentionState> state =
      AttentionState::create(*in.getAccumulator(), *in.getMaximum(), *in.getSum(), op.getOutputMapOrDefault());
  if (!state)
    return state.takeError();
  Place extents = rows->getExtents();
  if (llvm::Error error = state->checkExtents(extents))
    return error;

  bool isLiteral = op.getFullyMasked() == attn::FullyMasked::Literal;
  std::optional<double> probabilityScale = toDouble(op.getProbabilityScale());
  for (int64_t index = 0; index < state->getNumRows(); ++index) {
    StateRow before = state->getRow(index);
    auto [b, n, q] = state->getPlace(index);
    if (llvm::Error error = rows->computeRow(b, n, q))
      return error;
    Kept kept(*rows, isLiteral);
    if (!kept.any)
      continue;
    // A row of masked keys alone carries a negative sum, and counts only until a kept key comes.
    double sign = rows->keepsAny() ? 1 : -1;
    StateRow after{std::vector<double>(before.accumulator.size()), kept.maximum, 0};
    if (before.sum * sign > 0 && !(kept.maximum > before.maximum))
      after.maximum = std::isnan(kept.maximum) ? kept.maximum : before.maximum;
    std::vector<double> weights = kept.weights(*rows, after.maximum, after.sum);
    for (double &weight : weights)
      weight = quantize(weight, probabilityScale);
    rows->addValues(weights, after.accumulator.data());
    after.sum *= sign;
    state->setRow(index, merge(before, after));
  }
  return state->takeResults();
}

} // namespace heddle::reference
