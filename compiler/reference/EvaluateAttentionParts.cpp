// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation of what surrounds attention: joining and finishing states, the merged projection, rotary positions, the
// cache.

#include <cmath>

#include "compiler/reference/AttentionState.h"
#include "compiler/reference/Evaluation.h"
#include "compiler/reference/Indexing.h"
#include "compiler/reference/MatMul.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;

namespace heddle::reference {

namespace {

Type getElementType(Value value) { return cast<ShapedType>(value.getType()).getElementType(); }

// Columns [begin, begin + heads * headSize) of |x| (batch, sequence, columns) as (batch, sequence, heads, head size).
llvm::Expected<HostTensor> takeHeads(const HostTensor &x, int64_t begin, int64_t heads, int64_t headSize) {
  std::vector<int64_t> columns = getIdentityMap(heads * headSize);
  for (int64_t &column : columns)
    column += begin;
  llvm::Expected<HostTensor> part =
      pickAxes(x, {getIdentityMap(x.getDim(0)), getIdentityMap(x.getDim(1)), std::move(columns)});
  if (!part)
    return part.takeError();
  return part->withDims({x.getDim(0), x.getDim(1), heads, headSize});
}

// Where cos and sin of position (b, s) begin: a row of (positions, pairs) by its id, or of (batch or 1, sequence,
// pairs).
llvm::Expected<int64_t> getAngleOffset(const HostTensor &angles, const HostTensor *positionIds, int64_t b, int64_t s) {
  int64_t pairs = angles.getDims().back();
  if (!positionIds)
    return ((angles.getDim(0) == 1 ? 0 : b) * angles.getDim(1) + s) * pairs;
  int64_t batch = positionIds->getDim(0) == 1 ? 0 : b;
  int64_t position = positionIds->getInts()[batch * positionIds->getDim(1) + s];
  if (position < 0 || position >= angles.getDim(0))
    return makeError("expects positions within [0, " + Twine(angles.getDim(0)) + "), got " + Twine(position));
  return position * pairs;
}

// Whether angles and positions cover |batch| x |length| positions of |pairs| pairs.
llvm::Error checkAngles(const HostTensor &cos, const HostTensor &sin, const HostTensor *positionIds, int64_t batch,
                        int64_t length, int64_t pairs) {
  if (cos.getDims() != sin.getDims() || cos.getRank() != (positionIds ? 2 : 3) || cos.getDims().back() != pairs)
    return makeError("expects cos and sin of equal shape with " + Twine(pairs) + " pairs, got " +
                     toString(cos.getDims()) + " and " + toString(sin.getDims()));
  ArrayRef<int64_t> covered = positionIds ? positionIds->getDims() : cos.getDims().take_front(2);
  if (covered.size() != 2 || (covered[0] != batch && covered[0] != 1) || covered[1] != length)
    return makeError("expects positions of shape [" + Twine(batch) + ", " + Twine(length) + "], got " +
                     toString(covered));
  return llvm::Error::success();
}

} // namespace

llvm::Expected<Results> evaluate(attn::MergePartialsOp op, In<attn::MergePartialsOp> in) {
  AffineMap map = op.getOutputMapOrDefault();
  llvm::Expected<AttentionState> lhs =
      AttentionState::create(*in.getLhsAccumulator(), *in.getLhsMaximum(), *in.getLhsSum(), map);
  if (!lhs)
    return lhs.takeError();
  llvm::Expected<AttentionState> rhs =
      AttentionState::create(*in.getRhsAccumulator(), *in.getRhsMaximum(), *in.getRhsSum(), map);
  if (!rhs)
    return rhs.takeError();
  if (in.getLhsAccumulator()->getDims() != in.getRhsAccumulator()->getDims())
    return makeError("expects accumulators of equal shape, got " + toString(in.getLhsAccumulator()->getDims()) +
                     " and " + toString(in.getRhsAccumulator()->getDims()));
  for (int64_t row = 0; row < lhs->getNumRows(); ++row)
    lhs->setRow(row, merge(lhs->getRow(row), rhs->getRow(row)));
  return lhs->takeResults();
}

llvm::Expected<Results> evaluate(attn::FinalizePartialsOp op, In<attn::FinalizePartialsOp> in) {
  llvm::Expected<AttentionState> state =
      AttentionState::create(*in.getAccumulator(), *in.getMaximum(), *in.getSum(), op.getOutputMapOrDefault());
  if (!state)
    return state.takeError();
  double filling = op.getFullyMasked() == attn::FullyMasked::Nan ? NAN : 0;
  std::vector<double> lse(state->getNumRows(), -INFINITY);
  for (int64_t index = 0; index < state->getNumRows(); ++index) {
    // output = accumulator / |sum|, lse = maximum + log |sum|; a sum of 0 has met no key
    StateRow row = state->getRow(index);
    if (row.sum != 0)
      lse[index] = row.maximum + std::log(std::fabs(row.sum));
    for (double &value : row.accumulator)
      value = row.sum == 0 ? filling : value / std::fabs(row.sum);
    state->setRow(index, row);
  }
  HostTensor output = state->takeResults()[0];
  Results results = {HostTensor(getElementType(op.getOutput()), output.getDims(),
                                std::vector<double>(output.getFloats().begin(), output.getFloats().end()))};
  if (op.getLse())
    results.emplace_back(getElementType(op.getLse()), in.getSum()->getDims(), std::move(lse));
  return results;
}

llvm::Expected<Results> evaluate(attn::QkvProjectionOp op, In<attn::QkvProjectionOp> in) {
  // x (B, S, columns) = input (B, S, D) @ weight (D, columns) + bias (columns)
  llvm::Expected<HostTensor> product = matmul(*in.getInput(), *in.getWeight(), in.getInput()->getElementType());
  if (!product)
    return product.takeError();
  int64_t queryHeads = op.getQNumHeads(), keyHeads = op.getKvNumHeads(), headSize = op.getHeadSize(),
          valueSize = op.getVHeadSize();
  int64_t keyBegin = queryHeads * headSize, valueBegin = keyBegin + keyHeads * headSize;
  int64_t columns = valueBegin + keyHeads * valueSize;
  if (product->getRank() != 3 || product->getDim(2) != columns)
    return makeError("expects an input of rank 3 and a weight with " + Twine(columns) + " columns, got " +
                     toString(in.getInput()->getDims()) + " and " + toString(in.getWeight()->getDims()));
  if (in.getBias()) {
    if (in.getBias()->getDims() != ArrayRef<int64_t>{columns})
      return makeError("expects a bias of shape [" + Twine(columns) + "], got " + toString(in.getBias()->getDims()));
    std::vector<double> sums(product->getFloats().begin(), product->getFloats().end());
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] += in.getBias()->getFloats()[i % columns];
    product = HostTensor(product->getElementType(), product->getDims(), std::move(sums));
  }
  Results results;
  for (auto [begin, heads, size] : {std::tuple(int64_t(0), queryHeads, headSize),
                                    {keyBegin, keyHeads, headSize},
                                    {valueBegin, keyHeads, valueSize}}) {
    llvm::Expected<HostTensor> part = takeHeads(*product, begin, heads, size);
    if (!part)
      return part.takeError();
    results.push_back(std::move(*part));
  }
  return results;
}

llvm::Expected<HostTensor> evaluate(attn::RopeOp op, In<attn::RopeOp> in) {
  const HostTensor &x = *in.getInput(), &cos = *in.getCos(), &sin = *in.getSin();
  bool isBsnd = op.getLayout() == attn::Layout::Bsnd;
  int64_t batch = x.getDim(0), length = x.getDim(isBsnd ? 1 : 2), heads = x.getDim(isBsnd ? 2 : 1);
  int64_t headSize = x.getDim(3), pairs = op.getRotaryEmbeddingDim() / 2;
  if (llvm::Error error = checkAngles(cos, sin, in.getPositionIds(), batch, length, pairs))
    return error;

  std::vector<double> y(x.getFloats().begin(), x.getFloats().end());
  for (int64_t row = 0; row < batch * length * heads; ++row) {
    int64_t b = row / (length * heads), s = isBsnd ? row / heads % length : row % length;
    llvm::Expected<int64_t> angle = getAngleOffset(cos, in.getPositionIds(), b, s);
    if (!angle)
      return angle.takeError();
    for (int64_t k = 0; k < pairs; ++k) {
      int64_t first = row * headSize + (op.getInterleaved() ? 2 * k : k);
      int64_t second = op.getInterleaved() ? first + 1 : first + pairs;
      double c = cos.getFloats()[*angle + k], d = sin.getFloats()[*angle + k];
      y[first] = c * x.getFloats()[first] - d * x.getFloats()[second];
      y[second] = d * x.getFloats()[first] + c * x.getFloats()[second];
    }
  }
  return HostTensor(x.getElementType(), x.getDims(), std::move(y));
}

llvm::Expected<HostTensor> evaluate(attn::KvCacheUpdateOp op, In<attn::KvCacheUpdateOp> in) {
  const HostTensor &cache = *in.getCache(), &update = *in.getUpdate(), *starts = in.getWriteIndices();
  int64_t axis = op.getAxis();
  Dims expected(cache.getDims());
  expected[axis] = update.getDim(axis);
  if (update.getDims() != ArrayRef<int64_t>(expected))
    return makeError("expects an update of shape " + toString(expected) + " up to axis " + Twine(axis) + ", got " +
                     toString(update.getDims()));
  if (starts && starts->getNumElements() != cache.getDim(0))
    return makeError("expects one write index a batch, got " + Twine(starts->getNumElements()) + " for " +
                     Twine(cache.getDim(0)));

  AxisSplit rows(update.getDims(), axis);
  int64_t capacity = cache.getDim(axis), outerPerBatch = cache.getDim(0) ? rows.outer / cache.getDim(0) : 0;
  // targets: for each element of update its place in the cache
  std::vector<int64_t> targets(update.getNumElements());
  for (size_t i = 0; i < targets.size(); ++i) {
    int64_t inner = i % rows.inner, step = i / rows.inner % rows.extent, outer = i / rows.inner / rows.extent;
    int64_t start = starts ? starts->getInts()[outer / outerPerBatch] : 0;
    bool isCircular = op.getMode() == attn::CacheMode::Circular;
    if (capacity == 0 || start < 0 || (!isCircular && start >= capacity - step))
      return makeError("expects " + Twine(rows.extent) + " rows from row " + Twine(start) + " on within the cache's " +
                       Twine(capacity));
    int64_t row = (start % capacity + step) % capacity;
    targets[i] = (outer * capacity + row) * rows.inner + inner;
  }
  return cache.visit([&](auto elements) {
    using Element = typename decltype(elements)::value_type;
    std::vector<Element> y(elements.begin(), elements.end());
    update.visit([&](auto values) {
      for (size_t i = 0; i < targets.size(); ++i)
        y[targets[i]] = static_cast<Element>(values[i]);
    });
    return HostTensor(cache.getElementType(), cache.getDims(), std::move(y));
  });
}

} // namespace heddle::reference
