// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where elements lie, and how they are moved.

#include "compiler/reference/Indexing.h"

#include <numeric>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;

namespace heddle::reference {

Dims getStrides(ArrayRef<int64_t> dims) {
  Dims strides(dims.size(), 1);
  for (int64_t axis = int64_t(dims.size()) - 2; axis >= 0; --axis)
    strides[axis] = strides[axis + 1] * dims[axis + 1];
  return strides;
}

Dims getBroadcastStrides(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  Dims strides(to.size(), 0);
  Dims own = getStrides(from);
  size_t missing = to.size() - from.size();
  for (size_t axis = 0; axis < from.size(); ++axis)
    if (from[axis] != 1)
      strides[missing + axis] = own[axis];
  return strides;
}

std::vector<int64_t> getOffsets(ArrayRef<int64_t> dims, ArrayRef<int64_t> strides) {
  // Axis by axis from the left: each offset so far becomes one for every index of the next axis.
  std::vector<int64_t> offsets = {0};
  for (auto [dim, stride] : llvm::zip_equal(dims, strides)) {
    std::vector<int64_t> longer;
    longer.reserve(offsets.size() * dim);
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < dim; ++i)
        longer.push_back(offset + i * stride);
    offsets = std::move(longer);
  }
  return offsets;
}

llvm::Expected<Dims> broadcastDims(ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
  size_t rank = std::max(lhs.size(), rhs.size());
  Dims dims(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    // From the right; a missing dimension counts as 1.
    int64_t a = i < lhs.size() ? lhs[lhs.size() - 1 - i] : 1;
    int64_t b = i < rhs.size() ? rhs[rhs.size() - 1 - i] : 1;
    if (a != b && a != 1 && b != 1)
      return makeError("expects operands that broadcast, got shapes " + toString(lhs) + " and " + toString(rhs));
    dims[rank - 1 - i] = a == 1 ? b : a;
  }
  if (auto count = countElements(dims); !count)
    return count.takeError();
  return dims;
}

HostTensor pick(const HostTensor &data, ArrayRef<int64_t> dims, ArrayRef<int64_t> sources, const HostTensor *fill) {
  return data.visit([&](auto elements) {
    using Element = typename decltype(elements)::value_type;
    Element filling = 0;
    if (fill)
      fill->visit([&](auto only) { filling = static_cast<Element>(only[0]); });
    std::vector<Element> values(sources.size());
    for (size_t i = 0; i < sources.size(); ++i)
      values[i] = sources[i] < 0 ? filling : elements[sources[i]];
    return HostTensor(data.getElementType(), dims, std::move(values));
  });
}

llvm::Expected<HostTensor> pickAxes(const HostTensor &data, ArrayRef<std::vector<int64_t>> maps,
                                    const HostTensor *fill) {
  Dims dims;
  for (const std::vector<int64_t> &map : maps)
    dims.push_back(map.size());
  if (auto count = countElements(dims); !count)
    return count.takeError();

  Dims strides = getStrides(data.getDims());
  std::vector<int64_t> sources = {0};
  for (auto [map, stride] : llvm::zip_equal(maps, strides)) {
    std::vector<int64_t> longer;
    longer.reserve(sources.size() * map.size());
    for (int64_t source : sources)
      for (int64_t index : map)
        longer.push_back(source < 0 || index < 0 ? -1 : source + index * stride);
    sources = std::move(longer);
  }
  return pick(data, dims, sources, fill);
}

std::vector<int64_t> getIdentityMap(int64_t extent) {
  std::vector<int64_t> map(extent);
  std::iota(map.begin(), map.end(), 0);
  return map;
}

HostTensor transpose(const HostTensor &data, ArrayRef<int64_t> perm) {
  if (llvm::equal(perm, llvm::seq<int64_t>(0, perm.size())))
    return data;
  Dims own = getStrides(data.getDims()), dims, strides;
  for (int64_t axis : perm) {
    dims.push_back(data.getDim(axis));
    strides.push_back(own[axis]);
  }
  return pick(data, dims, getOffsets(dims, strides));
}

HostTensor broadcastTo(const HostTensor &data, ArrayRef<int64_t> dims) {
  if (data.getDims() == dims)
    return data;
  return pick(data, dims, getOffsets(dims, getBroadcastStrides(data.getDims(), dims)));
}

AxisSplit::AxisSplit(ArrayRef<int64_t> dims, int64_t axis) {
  for (auto [i, dim] : llvm::enumerate(dims))
    (int64_t(i) < axis ? outer : int64_t(i) == axis ? extent : inner) *= dim;
}

llvm::Expected<int64_t> resolveIndex(int64_t index, int64_t extent) {
  if (index < -extent || index >= extent)
    return makeError("expects an index within [" + Twine(-extent) + ", " + Twine(extent) + "), got " + Twine(index));
  return index < 0 ? index + extent : index;
}

} // namespace heddle::reference
