// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of attention in running form.

#include "compiler/reference/AttentionState.h"

#include <cmath>

using namespace mlir;

namespace heddle::reference {

StateRow merge(const StateRow &lhs, const StateRow &rhs) {
  // 1. An empty row changes nothing, whatever its maximum.
  if (rhs.sum == 0)
    return lhs;
  if (lhs.sum == 0)
    return rhs;

  // 2. Kept keys discard what masked ones have left.
  if ((lhs.sum < 0) != (rhs.sum < 0))
    return lhs.sum < 0 ? rhs : lhs;

  // 3. Both are brought to one maximum.
  double maximum = std::isnan(lhs.maximum) || lhs.maximum > rhs.maximum ? lhs.maximum : rhs.maximum;
  double left = std::exp(lhs.maximum - maximum), right = std::exp(rhs.maximum - maximum);
  StateRow joined{lhs.accumulator, maximum, lhs.sum * left + rhs.sum * right};
  for (size_t d = 0; d < joined.accumulator.size(); ++d)
    joined.accumulator[d] = lhs.accumulator[d] * left + rhs.accumulator[d] * right;
  return joined;
}

llvm::Expected<AttentionState> AttentionState::create(const HostTensor &accumulator, const HostTensor &maximum,
                                                      const HostTensor &sum, AffineMap map) {
  llvm::Expected<MappedLayout> layout = MappedLayout::create(map, accumulator.getDims());
  if (!layout)
    return layout.takeError();
  Dims expected;
  for (attn::Dimension dimension : {attn::kBatch, attn::kHead, attn::kQuery})
    expected.push_back(layout->extents[dimension]);
  for (const HostTensor *tensor : {&maximum, &sum})
    if (tensor->getDims() != ArrayRef<int64_t>(expected))
      return makeError("expects maximum and sum of shape (b, n, q) = " + toString(expected) + ", got " +
                       toString(tensor->getDims()));
  AttentionState state;
  state.elementType = accumulator.getElementType();
  state.accumulatorDims.assign(accumulator.getDims().begin(), accumulator.getDims().end());
  state.rowDims = expected;
  state.layout = *layout;
  state.accumulator = accumulator.getFloats();
  state.maximum = maximum.getFloats();
  state.sum = sum.getFloats();
  return state;
}

llvm::Error AttentionState::checkExtents(const Place &extents) const {
  for (attn::Dimension dimension : {attn::kBatch, attn::kHead, attn::kQuery, attn::kHeadSize})
    if (layout.extents[dimension] != extents[dimension])
      return makeError("expects an accumulator for (batch, heads, queries, value head size) = " +
                       toString({extents[0], extents[1], extents[2], extents[4]}) + ", got shape " +
                       toString(accumulatorDims));
  return llvm::Error::success();
}

std::tuple<int64_t, int64_t, int64_t> AttentionState::getPlace(int64_t index) const {
  int64_t heads = rowDims[1], queries = rowDims[2];
  return {index / queries / heads, index / queries % heads, index % queries};
}

int64_t AttentionState::getStart(int64_t index) const {
  auto [b, n, q] = getPlace(index);
  return layout.getOffset({b, n, q, 0, 0});
}

StateRow AttentionState::getRow(int64_t index) const {
  StateRow row{std::vector<double>(layout.extents[attn::kHeadSize]), maximum[index], sum[index]};
  for (size_t d = 0; d < row.accumulator.size(); ++d)
    row.accumulator[d] = accumulator[getStart(index) + d * layout.strides[attn::kHeadSize]];
  return row;
}

void AttentionState::setRow(int64_t index, const StateRow &row) {
  maximum[index] = row.maximum;
  sum[index] = row.sum;
  for (size_t d = 0; d < row.accumulator.size(); ++d)
    accumulator[getStart(index) + d * layout.strides[attn::kHeadSize]] = row.accumulator[d];
}

llvm::SmallVector<HostTensor, 2> AttentionState::takeResults() {
  return {HostTensor(elementType, accumulatorDims, std::move(accumulator)),
          HostTensor(elementType, rowDims, std::move(maximum)), HostTensor(elementType, rowDims, std::move(sum))};
}

} // namespace heddle::reference
