// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation of ops that keep, permute, repeat, join or part a tensor's elements.

#include <numeric>

#include "compiler/reference/Evaluation.h"
#include "compiler/reference/Indexing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;

namespace heddle::reference {

namespace {

using AxisMaps = std::vector<std::vector<int64_t>>;

// One identity map an axis.
AxisMaps getIdentityMaps(ArrayRef<int64_t> dims) {
  AxisMaps maps;
  for (int64_t dim : dims)
    maps.push_back(getIdentityMap(dim));
  return maps;
}

// The extents that |shape| asks for: 0 copies the input's, -1 is what is left over.
llvm::Expected<Dims> resolveShape(const HostTensor &input, ArrayRef<int64_t> shape, bool allowZero) {
  Dims dims(shape);
  std::optional<size_t> open;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !allowZero) {
      if (int64_t(i) >= input.getRank())
        return makeError("expects an input dimension to copy for the 0 at position " + Twine(i));
      dims[i] = input.getDim(i);
    } else if (dims[i] == -1) {
      if (open)
        return makeError("expects one -1 in the shape at most");
      open = i;
      dims[i] = 1;
    }
  }
  llvm::Expected<int64_t> wanted = countElements(dims);
  if (!wanted)
    return wanted.takeError();
  int64_t count = input.getNumElements();
  if (open && *wanted != 0 && count % *wanted == 0)
    dims[*open] = count / *wanted;
  else if (open || *wanted != count)
    return makeError("expects a shape of " + Twine(count) + " elements, got " + toString(shape));
  return dims;
}

// The rows of one axis that a slice takes, by ONNX's rules for what is out of range.
std::vector<int64_t> getSliceMap(int64_t extent, int64_t start, int64_t end, int64_t step) {
  auto clamp = [&](int64_t position) {
    int64_t fromFront = position < 0 ? position + extent : position;
    return step > 0 ? std::clamp(fromFront, int64_t(0), extent) : std::clamp(fromFront, int64_t(-1), extent - 1);
  };
  // A negative step starts within the tensor and may end before its first element.
  int64_t first = step > 0 ? clamp(start) : std::max<int64_t>(clamp(start), 0), last = clamp(end);
  if (extent == 0)
    return {};
  std::vector<int64_t> map;
  // The distance left is compared before each step: adding a huge step could overflow.
  for (int64_t i = first; step > 0 ? i < last : i > last; i += step) {
    map.push_back(i);
    if (step > 0 ? last - i <= step : i - last <= (step == INT64_MIN ? INT64_MAX : -step))
      break;
  }
  return map;
}

// The source of position |i|, which may lie outside [0, extent), by |mode|; -1 for the padding value.
int64_t getPadSource(nn::PadMode mode, int64_t i, int64_t extent) {
  if (i >= 0 && i < extent)
    return i;
  switch (mode) {
  case nn::PadMode::Constant:
    return -1;
  case nn::PadMode::Edge:
    return i < 0 ? 0 : extent - 1;
  case nn::PadMode::Wrap:
    return (i % extent + extent) % extent;
  case nn::PadMode::Reflect: {
    // There and back again, without repeating the ends: a period of 2 (extent - 1).
    int64_t period = std::max<int64_t>(2 * (extent - 1), 1);
    int64_t phase = (i % period + period) % period;
    return phase < extent ? phase : period - phase;
  }
  }
  return -1;
}

// The axes that an operand lists, or the first |count| ones.
llvm::Expected<Dims> resolveAxes(const HostTensor *axes, int64_t count, int64_t rank) {
  Dims resolved;
  for (int64_t i = 0; i < count; ++i) {
    int64_t axis = axes ? axes->getInts()[i] : i;
    if (axis < -rank || axis >= rank)
      return makeError("expects axes within [" + Twine(-rank) + ", " + Twine(rank) + "), got " + Twine(axis));
    resolved.push_back(axis < 0 ? axis + rank : axis);
    if (llvm::is_contained(ArrayRef(resolved).drop_back(), resolved.back()))
      return makeError("expects distinct axes");
  }
  return resolved;
}

// The sizes of a split: those given, or parts of equal size with the rest last.
llvm::Expected<Dims> getSplitSizes(nn::SplitOp op, int64_t extent) {
  int64_t count = op.getNumOutputs();
  if (std::optional<ArrayRef<int64_t>> sizes = op.getSplitSizes()) {
    int64_t total = std::accumulate(sizes->begin(), sizes->end(), int64_t(0));
    if (total != extent)
      return makeError("expects sizes that sum to " + Twine(extent) + ", got " + Twine(total));
    return Dims(*sizes);
  }
  Dims sizes;
  int64_t part = llvm::divideCeil(extent, count);
  for (int64_t i = 0; i < count; ++i)
    sizes.push_back(std::clamp(extent - i * part, int64_t(0), part));
  return sizes;
}

} // namespace

llvm::Expected<HostTensor> evaluate(nn::ReshapeOp op, In<nn::ReshapeOp> in) {
  llvm::Expected<Dims> dims = resolveShape(*in.getData(), in.getShape()->getInts(), op.getAllowzero());
  if (!dims)
    return dims.takeError();
  return in.getData()->withDims(*dims);
}

llvm::Expected<HostTensor> evaluate(nn::TransposeOp op, In<nn::TransposeOp> in) {
  return transpose(*in.getInput(), op.getPerm());
}

llvm::Expected<HostTensor> evaluate(nn::SqueezeOp op, In<nn::SqueezeOp> in) {
  Dims dims;
  for (auto [axis, dim] : llvm::enumerate(in.getInput()->getDims())) {
    if (!llvm::is_contained(op.getAxes(), int64_t(axis)))
      dims.push_back(dim);
    else if (dim != 1)
      return makeError("expects extent 1 at axis " + Twine(axis) + ", got " + Twine(dim));
  }
  return in.getInput()->withDims(dims);
}

llvm::Expected<HostTensor> evaluate(nn::UnsqueezeOp op, In<nn::UnsqueezeOp> in) {
  Dims dims(in.getInput()->getDims());
  for (int64_t axis : op.getAxes()) // ascending, and counted in the result
    dims.insert(dims.begin() + axis, 1);
  return in.getInput()->withDims(dims);
}

llvm::Expected<HostTensor> evaluate(nn::FlattenOp op, In<nn::FlattenOp> in) {
  AxisSplit split(in.getInput()->getDims(), op.getAxis());
  return in.getInput()->withDims({split.outer, split.extent * split.inner});
}

llvm::Expected<HostTensor> evaluate(nn::ExpandOp op, In<nn::ExpandOp> in) {
  llvm::Expected<Dims> dims = broadcastDims(in.getInput()->getDims(), in.getShape()->getInts());
  if (!dims)
    return dims.takeError();
  return broadcastTo(*in.getInput(), *dims);
}

llvm::Expected<HostTensor> evaluate(nn::TileOp op, In<nn::TileOp> in) {
  const HostTensor &x = *in.getInput();
  ArrayRef<int64_t> repeats = in.getRepeats()->getInts();
  if (int64_t(repeats.size()) != x.getRank())
    return makeError("expects " + Twine(x.getRank()) + " repeat counts, got " + Twine(repeats.size()));
  AxisMaps maps;
  for (auto [dim, repeat] : llvm::zip_equal(x.getDims(), repeats)) {
    if (repeat < 0)
      return makeError("expects repeat counts of at least 0, got " + Twine(repeat));
    if (auto count = countElements({dim, repeat}); !count)
      return count.takeError();
    std::vector<int64_t> map(dim * repeat);
    for (size_t i = 0; i < map.size(); ++i)
      map[i] = i % dim;
    maps.push_back(std::move(map));
  }
  return pickAxes(x, maps);
}

llvm::Expected<HostTensor> evaluate(nn::ConcatOp op, In<nn::ConcatOp> in) {
  int64_t axis = op.getAxis();
  auto inputs = in.getInputs();
  Dims dims(inputs.front()->getDims());
  dims[axis] = 0;
  for (const HostTensor *input : inputs) {
    Dims expected(dims);
    expected[axis] = input->getDim(axis);
    if (input->getDims() != ArrayRef<int64_t>(expected))
      return makeError("expects equal extents but along axis " + Twine(axis) + ", got shapes " +
                       toString(inputs.front()->getDims()) + " and " + toString(input->getDims()));
    dims[axis] += input->getDim(axis);
  }
  llvm::Expected<int64_t> count = countElements(dims);
  if (!count)
    return count.takeError();
  // y (outer, sum of extents, inner): for each outer index, the run of every input in turn
  AxisSplit split(dims, axis);
  return inputs.front()->visit([&](auto first) {
    using Element = typename decltype(first)::value_type;
    std::vector<Element> y;
    y.reserve(*count);
    for (int64_t outer = 0; outer < split.outer; ++outer)
      for (const HostTensor *input : inputs)
        input->visit([&](auto elements) {
          int64_t run = input->getDim(axis) * split.inner;
          y.insert(y.end(), elements.begin() + outer * run, elements.begin() + (outer + 1) * run);
        });
    return HostTensor(inputs.front()->getElementType(), dims, std::move(y));
  });
}

llvm::Expected<Results> evaluate(nn::SplitOp op, In<nn::SplitOp> in) {
  const HostTensor &x = *in.getInput();
  int64_t axis = op.getAxis(), begin = 0;
  llvm::Expected<Dims> sizes = getSplitSizes(op, x.getDim(axis));
  if (!sizes)
    return sizes.takeError();
  Results parts;
  for (int64_t size : *sizes) {
    AxisMaps maps = getIdentityMaps(x.getDims());
    maps[axis].assign(size, begin);
    std::iota(maps[axis].begin(), maps[axis].end(), begin);
    begin += size;
    llvm::Expected<HostTensor> part = pickAxes(x, maps);
    if (!part)
      return part.takeError();
    parts.push_back(std::move(*part));
  }
  return parts;
}

llvm::Expected<HostTensor> evaluate(nn::SliceOp op, In<nn::SliceOp> in) {
  const HostTensor &x = *in.getData();
  ArrayRef<int64_t> starts = in.getStarts()->getInts(), ends = in.getEnds()->getInts();
  auto hasLength = [&](const HostTensor *vector) {
    return !vector || vector->getNumElements() == int64_t(starts.size());
  };
  if (!hasLength(in.getEnds()) || !hasLength(in.getAxes()) || !hasLength(in.getSteps()))
    return makeError("expects starts, ends, axes and steps of one length");
  llvm::Expected<Dims> axes = resolveAxes(in.getAxes(), starts.size(), x.getRank());
  if (!axes)
    return axes.takeError();
  AxisMaps maps = getIdentityMaps(x.getDims());
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    int64_t step = in.getSteps() ? in.getSteps()->getInts()[i] : 1;
    if (step == 0)
      return makeError("expects a step other than 0");
    maps[axis] = getSliceMap(x.getDim(axis), starts[i], ends[i], step);
  }
  return pickAxes(x, maps);
}

llvm::Expected<HostTensor> evaluate(nn::PadOp op, In<nn::PadOp> in) {
  const HostTensor &x = *in.getData();
  ArrayRef<int64_t> pads = in.getPads()->getInts();
  int64_t count = in.getAxes() ? in.getAxes()->getNumElements() : x.getRank();
  if (int64_t(pads.size()) != 2 * count)
    return makeError("expects " + Twine(2 * count) + " pads, got " + Twine(pads.size()));
  llvm::Expected<Dims> axes = resolveAxes(in.getAxes(), count, x.getRank());
  if (!axes)
    return axes.takeError();
  AxisMaps maps = getIdentityMaps(x.getDims());
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    int64_t extent = x.getDim(axis), before = pads[i], after = pads[i + count];
    auto isTooLarge = [](int64_t pad) { return pad > HostTensor::kMaxElements || pad < -HostTensor::kMaxElements; };
    if (isTooLarge(before) || isTooLarge(after) || before + extent + after < 0)
      return makeError("expects pads that leave an extent, got " + Twine(before) + " and " + Twine(after) + " around " +
                       Twine(extent));
    if (extent == 0 && before + after > 0 && op.getMode() != nn::PadMode::Constant)
      return makeError("expects elements to repeat along axis " + Twine(axis));
    maps[axis].clear();
    for (int64_t position = -before; position < extent + after; ++position)
      maps[axis].push_back(getPadSource(op.getMode(), position, extent));
  }
  return pickAxes(x, maps, in.getValue());
}

llvm::Expected<HostTensor> evaluate(nn::TriluOp op, In<nn::TriluOp> in) {
  const HostTensor &x = *in.getInput();
  int64_t rows = x.getDims().drop_back().back(), columns = x.getDims().back();
  // Beyond the matrix a larger k changes nothing, and j - i can't reach it.
  int64_t k = in.getK() ? std::clamp(in.getK()->getInts()[0], -rows - 1, columns + 1) : 0;
  std::vector<int64_t> sources = getIdentityMap(x.getNumElements());
  for (int64_t &source : sources) {
    int64_t i = source / columns % rows, j = source % columns;
    if (op.getUpper() ? j - i < k : j - i > k)
      source = -1;
  }
  return pick(x, x.getDims(), sources);
}

} // namespace heddle::reference
