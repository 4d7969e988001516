// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation of ops whose elements are chosen or placed by indices that are data themselves.

#include <type_traits>
#include <utility>

#include "compiler/reference/Evaluation.h"
#include "compiler/reference/Indexing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;

namespace heddle::reference {

namespace {

// All indices resolved within [0, extent).
llvm::Expected<std::vector<int64_t>> resolveIndices(ArrayRef<int64_t> indices, int64_t extent) {
  std::vector<int64_t> resolved;
  resolved.reserve(indices.size());
  for (int64_t index : indices) {
    llvm::Expected<int64_t> position = resolveIndex(index, extent);
    if (!position)
      return position.takeError();
    resolved.push_back(*position);
  }
  return resolved;
}

// For each element of |indices| the offset of the element of data that it names: its own place, but along |axis| the
// place that it says.
llvm::Expected<std::vector<int64_t>> getElementOffsets(const HostTensor &data, const HostTensor &indices,
                                                       int64_t axis) {
  Dims strides = getStrides(data.getDims());
  for (int64_t i = 0; i < data.getRank(); ++i)
    if (i != axis && indices.getDim(i) > data.getDim(i))
      return makeError("expects indices that extend no further than the data but along axis " + Twine(axis) +
                       ", got shapes " + toString(indices.getDims()) + " and " + toString(data.getDims()));
  llvm::Expected<std::vector<int64_t>> along = resolveIndices(indices.getInts(), data.getDim(axis));
  if (!along)
    return along.takeError();
  int64_t stride = std::exchange(strides[axis], 0);
  std::vector<int64_t> offsets = getOffsets(indices.getDims(), strides);
  for (auto [offset, position] : llvm::zip_equal(offsets, *along))
    offset += position * stride;
  return offsets;
}

// For each tuple of |indices| the offset of the slice that it names in a tensor whose leading |extents| it indexes.
llvm::Expected<std::vector<int64_t>> getTupleOffsets(const HostTensor &indices, ArrayRef<int64_t> extents,
                                                     ArrayRef<int64_t> strides) {
  std::vector<int64_t> offsets;
  ArrayRef<int64_t> tuples = indices.getInts();
  int64_t length = indices.getDims().back();
  int64_t count = AxisSplit(indices.getDims(), indices.getRank() - 1).outer;
  for (int64_t tuple = 0; tuple < count; ++tuple) {
    int64_t offset = 0;
    for (int64_t i = 0; i < length; ++i) {
      llvm::Expected<int64_t> position = resolveIndex(tuples[tuple * length + i], extents[i]);
      if (!position)
        return position.takeError();
      offset += *position * strides[i];
    }
    offsets.push_back(offset);
  }
  return offsets;
}

int64_t product(ArrayRef<int64_t> dims) {
  int64_t total = 1;
  for (int64_t dim : dims)
    total *= dim;
  return total;
}

template <typename T> bool isLess(T a, T b, bool isUnsigned) {
  if constexpr (std::is_integral_v<T>)
    if (isUnsigned)
      return uint64_t(a) < uint64_t(b);
  return a < b;
}

// What a scattered |update| makes of the element |old| in its place.
template <typename T> T combine(nn::ScatterReduction reduction, bool isUnsigned, T old, T update) {
  using Arithmetic = std::conditional_t<std::is_integral_v<T>, uint64_t, T>; // integers wrap
  bool hasNan = old != old || update != update;
  switch (reduction) {
  case nn::ScatterReduction::None:
    return update;
  case nn::ScatterReduction::Add:
    return static_cast<T>(Arithmetic(old) + Arithmetic(update));
  case nn::ScatterReduction::Mul:
    return static_cast<T>(Arithmetic(old) * Arithmetic(update));
  case nn::ScatterReduction::Max:
    return hasNan ? old + update : isLess(old, update, isUnsigned) ? update : old;
  case nn::ScatterReduction::Min:
    return hasNan ? old + update : isLess(update, old, isUnsigned) ? update : old;
  }
  return update;
}

// A copy of |data| with update i combined into place offsets[i].
HostTensor scatter(nn::ScatterReduction reduction, const HostTensor &data, ArrayRef<int64_t> offsets,
                   const HostTensor &updates) {
  return data.visit([&](auto elements) {
    using Element = typename decltype(elements)::value_type;
    std::vector<Element> y(elements.begin(), elements.end());
    bool isUnsigned = !data.isFloat() && data.getIntFormat().isUnsigned;
    updates.visit([&](auto values) {
      for (size_t i = 0; i < offsets.size(); ++i) {
        Element &place = y[offsets[i]];
        place = combine<Element>(reduction, isUnsigned, place, static_cast<Element>(values[i]));
        if constexpr (std::is_integral_v<Element>)
          place = data.getIntFormat().wrap(place);
      }
    });
    return HostTensor(data.getElementType(), data.getDims(), std::move(y));
  });
}

// The order of |row|'s elements, greatest or least first, a NaN before all, equal ones by index.
template <typename T> std::vector<int64_t> sortRow(ArrayRef<T> row, int64_t stride, bool isLargest, bool isUnsigned) {
  std::vector<int64_t> order = getIdentityMap((row.size() + stride - 1) / stride);
  auto isBefore = [&](T a, T b) {
    if (a != a || b != b)
      return a != a && b == b;
    return isLargest ? isLess(b, a, isUnsigned) : isLess(a, b, isUnsigned);
  };
  llvm::sort(order, [&](int64_t i, int64_t j) {
    T a = row[i * stride], b = row[j * stride];
    return isBefore(a, b) || (!isBefore(b, a) && i < j);
  });
  return order;
}

} // namespace

llvm::Expected<HostTensor> evaluate(nn::GatherOp op, In<nn::GatherOp> in) {
  const HostTensor &data = *in.getData(), &indices = *in.getIndices();
  int64_t axis = op.getAxis();
  llvm::Expected<std::vector<int64_t>> rows = resolveIndices(indices.getInts(), data.getDim(axis));
  if (!rows)
    return rows.takeError();
  // (before axis, indices, after axis), first with the indices as one axis
  std::vector<std::vector<int64_t>> maps;
  for (int64_t dim : data.getDims())
    maps.push_back(getIdentityMap(dim));
  maps[axis] = std::move(*rows);
  Dims dims(data.getDims().take_front(axis));
  dims.append(indices.getDims().begin(), indices.getDims().end());
  dims.append(data.getDims().begin() + axis + 1, data.getDims().end());
  llvm::Expected<HostTensor> y = pickAxes(data, maps);
  return y ? llvm::Expected<HostTensor>(y->withDims(dims)) : y.takeError();
}

llvm::Expected<HostTensor> evaluate(nn::GatherElementsOp op, In<nn::GatherElementsOp> in) {
  llvm::Expected<std::vector<int64_t>> offsets = getElementOffsets(*in.getData(), *in.getIndices(), op.getAxis());
  if (!offsets)
    return offsets.takeError();
  return pick(*in.getData(), in.getIndices()->getDims(), *offsets);
}

llvm::Expected<HostTensor> evaluate(nn::GatherNdOp op, In<nn::GatherNdOp> in) {
  const HostTensor &data = *in.getData(), &indices = *in.getIndices();
  int64_t batchDims = op.getBatchDims(), length = indices.getDims().back();
  ArrayRef<int64_t> batch = data.getDims().take_front(batchDims);
  if (batch != indices.getDims().take_front(batchDims))
    return makeError("expects equal batch dimensions, got shapes " + toString(data.getDims()) + " and " +
                     toString(indices.getDims()));
  Dims strides = getStrides(data.getDims());
  llvm::Expected<std::vector<int64_t>> starts =
      getTupleOffsets(indices, data.getDims().drop_front(batchDims), ArrayRef(strides).drop_front(batchDims));
  if (!starts)
    return starts.takeError();

  // y (batch, tuples, slice): element s of the slice that each tuple names within its batch
  ArrayRef<int64_t> slice = data.getDims().drop_front(batchDims + length);
  int64_t sliceSize = product(slice), batches = product(batch);
  int64_t batchStride = product(data.getDims().drop_front(batchDims));
  int64_t tuplesPerBatch = batches ? starts->size() / batches : 0;
  Dims dims(indices.getDims().drop_back());
  dims.append(slice.begin(), slice.end());
  if (auto count = countElements(dims); !count)
    return count.takeError();
  std::vector<int64_t> sources;
  for (size_t tuple = 0; tuple < starts->size(); ++tuple)
    for (int64_t s = 0; s < sliceSize; ++s)
      sources.push_back(tuple / tuplesPerBatch * batchStride + (*starts)[tuple] + s);
  return pick(data, dims, sources);
}

llvm::Expected<HostTensor> evaluate(nn::ScatterElementsOp op, In<nn::ScatterElementsOp> in) {
  const HostTensor &data = *in.getData(), &indices = *in.getIndices(), &updates = *in.getUpdates();
  if (indices.getDims() != updates.getDims())
    return makeError("expects indices and updates of one shape, got " + toString(indices.getDims()) + " and " +
                     toString(updates.getDims()));
  llvm::Expected<std::vector<int64_t>> offsets = getElementOffsets(data, indices, op.getAxis());
  if (!offsets)
    return offsets.takeError();
  return scatter(op.getReduction(), data, *offsets, updates);
}

llvm::Expected<HostTensor> evaluate(nn::ScatterNdOp op, In<nn::ScatterNdOp> in) {
  const HostTensor &data = *in.getData(), &indices = *in.getIndices(), &updates = *in.getUpdates();
  ArrayRef<int64_t> slice = data.getDims().drop_front(indices.getDims().back());
  Dims expected(indices.getDims().drop_back());
  expected.append(slice.begin(), slice.end());
  if (updates.getDims() != ArrayRef<int64_t>(expected))
    return makeError("expects updates of shape " + toString(expected) + ", got " + toString(updates.getDims()));
  llvm::Expected<std::vector<int64_t>> starts = getTupleOffsets(indices, data.getDims(), getStrides(data.getDims()));
  if (!starts)
    return starts.takeError();
  std::vector<int64_t> offsets;
  for (int64_t start : *starts)
    for (int64_t s = 0, size = product(slice); s < size; ++s)
      offsets.push_back(start + s);
  return scatter(op.getReduction(), data, offsets, updates);
}

llvm::Expected<HostTensor> evaluate(nn::OneHotOp op, In<nn::OneHotOp> in) {
  const HostTensor &indices = *in.getIndices();
  int64_t axis = op.getAxis(), depth = in.getDepth()->getInts()[0];
  if (in.getValues()->getNumElements() != 2)
    return makeError("expects two values, got " + Twine(in.getValues()->getNumElements()));
  Dims dims(indices.getDims());
  dims.insert(dims.begin() + axis, depth);
  llvm::Expected<int64_t> count = countElements(dims);
  if (!count)
    return count.takeError();
  // y (outer, depth, inner) = values[1] where the index of (outer, inner) is the position along depth
  AxisSplit split(dims, axis);
  std::vector<int64_t> sources(*count, 0);
  for (int64_t i = 0; i < indices.getNumElements() && depth > 0; ++i) {
    int64_t index = indices.getInts()[i];
    if (index < -depth || index >= depth)
      continue;
    int64_t position = index < 0 ? index + depth : index;
    sources[(i / split.inner * depth + position) * split.inner + i % split.inner] = 1;
  }
  return pick(*in.getValues(), dims, sources);
}

llvm::Expected<Results> evaluate(nn::TopKOp op, In<nn::TopKOp> in) {
  const HostTensor &x = *in.getInput();
  int64_t axis = op.getAxis(), k = in.getK()->getInts()[0];
  AxisSplit split(x.getDims(), axis);
  if (k < 0 || k > split.extent)
    return makeError("expects k within [0, " + Twine(split.extent) + "], got " + Twine(k));
  Dims dims(x.getDims());
  dims[axis] = k;
  std::vector<int64_t> indices(split.outer * k * split.inner), sources(indices.size());
  bool isUnsigned = !x.isFloat() && x.getIntFormat().isUnsigned;
  x.visit([&](auto elements) {
    for (int64_t outer = 0; outer < split.outer; ++outer)
      for (int64_t inner = 0; inner < split.inner && k > 0; ++inner) {
        int64_t begin = outer * split.extent * split.inner + inner;
        auto row = elements.slice(begin, (split.extent - 1) * split.inner + 1);
        std::vector<int64_t> order = sortRow(row, split.inner, op.getLargest(), isUnsigned);
        for (int64_t i = 0; i < k; ++i) {
          int64_t at = (outer * k + i) * split.inner + inner;
          indices[at] = order[i];
          sources[at] = begin + order[i] * split.inner;
        }
      }
  });
  Type indexType = cast<ShapedType>(op.getIndices().getType()).getElementType();
  return Results{pick(x, dims, sources), HostTensor(indexType, dims, std::move(indices))};
}

} // namespace heddle::reference
