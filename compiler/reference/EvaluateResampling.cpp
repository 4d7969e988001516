// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation of interpolation, pooling and transposed convolution.

#include <cmath>

#include "compiler/reference/Evaluation.h"
#include "compiler/reference/Indexing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;

namespace heddle::reference {

namespace {

//===------------------------------------------------------------------------------------------------------------===//
// Interpolation
//===------------------------------------------------------------------------------------------------------------===//

// What one element of the result takes of an axis: places, and how much each weighs.
struct Taps {
  llvm::SmallVector<int64_t, 4> places;
  llvm::SmallVector<double, 4> weights;
};

// |span| is the scale times |from|: |to|, unless that was rounded.
double getCoordinate(nn::ResizeCoordinates coordinates, double i, double from, double to, double scale, double span) {
  switch (coordinates) {
  case nn::ResizeCoordinates::HalfPixelSymmetric:
    return from / 2 * (1 - to / (scale * from)) + (i + 0.5) / scale - 0.5;
  case nn::ResizeCoordinates::AlignCorners:
    return span == 1 ? 0 : i * (from - 1) / (span - 1);
  case nn::ResizeCoordinates::Asymmetric:
    return i / scale;
  case nn::ResizeCoordinates::PytorchHalfPixel:
    if (to == 1)
      return 0;
    [[fallthrough]];
  case nn::ResizeCoordinates::HalfPixel:
    return (i + 0.5) / scale - 0.5;
  }
  return 0;
}

double roundPlace(nn::ResizeRounding rounding, double x) {
  switch (rounding) {
  case nn::ResizeRounding::RoundPreferFloor:
    return std::ceil(x - 0.5);
  case nn::ResizeRounding::RoundPreferCeil:
    return std::floor(x + 0.5);
  case nn::ResizeRounding::Floor:
    return std::floor(x);
  case nn::ResizeRounding::Ceil:
    return std::ceil(x);
  }
  return x;
}

// Keys' function at distances 1 + t, t, 1 - t, 2 - t.
llvm::SmallVector<double, 4> getCubicWeights(double t, double a) {
  auto near = [&](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  auto far = [&](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

Taps getTaps(nn::ResizeOp op, double x, int64_t extent) {
  Taps taps;
  double base = std::floor(x), t = x - base;
  int64_t first = static_cast<int64_t>(base);
  switch (op.getKind()) {
  case nn::ResizeKind::Nearest:
    first = static_cast<int64_t>(roundPlace(op.getRounding(), x));
    taps.weights = {1};
    break;
  case nn::ResizeKind::Linear:
    taps.weights = {1 - t, t};
    break;
  case nn::ResizeKind::Cubic:
    first -= 1;
    taps.weights = getCubicWeights(t, op.getCubicCoeffA().convertToDouble());
    break;
  }
  double sum = 0;
  for (size_t i = 0; i < taps.weights.size(); ++i) {
    int64_t place = first + static_cast<int64_t>(i);
    bool isInside = place >= 0 && place < extent;
    if (op.getExcludeOutside() && !isInside && op.getKind() != nn::ResizeKind::Nearest)
      taps.weights[i] = 0;
    sum += taps.weights[i];
    taps.places.push_back(std::clamp<int64_t>(place, 0, extent - 1));
  }
  if (op.getExcludeOutside())
    for (double &weight : taps.weights)
      weight /= sum;
  return taps;
}

// |x| with axis |axis| replaced by the weighed taps.
HostTensor interpolate(const HostTensor &x, int64_t axis, ArrayRef<Taps> taps) {
  AxisSplit split(x.getDims(), axis);
  Dims dims(x.getDims());
  dims[axis] = taps.size();
  std::vector<double> y(split.outer * taps.size() * split.inner);
  for (int64_t outer = 0; outer < split.outer; ++outer)
    for (size_t i = 0; i < taps.size(); ++i)
      for (int64_t inner = 0; inner < split.inner; ++inner)
        for (auto [place, weight] : llvm::zip_equal(taps[i].places, taps[i].weights))
          y[(outer * taps.size() + i) * split.inner + inner] +=
              weight * x.getFloats()[(outer * split.extent + place) * split.inner + inner];
  return HostTensor(x.getElementType(), dims, std::move(y));
}

//===------------------------------------------------------------------------------------------------------------===//
// Windows
//===------------------------------------------------------------------------------------------------------------===//

// Calls |action| with each index within |dims|, in row-major order.
void forEachIndex(ArrayRef<int64_t> dims, llvm::function_ref<void(ArrayRef<int64_t>)> action) {
  if (llvm::is_contained(dims, 0))
    return;
  Dims index(dims.size(), 0);
  while (true) {
    action(index);
    size_t axis = dims.size();
    while (axis > 0 && ++index[axis - 1] == dims[axis - 1])
      index[--axis] = 0;
    if (axis == 0)
      return;
  }
}

// The number of windows along spatial dimension |i| of |extent|; 0 where none fits.
int64_t countWindows(nn::PoolOp op, size_t i, int64_t extent) {
  int64_t spatial = op.getKernel().size(), stride = op.getStrides()[i], before = op.getPads()[i];
  int64_t reach = op.getDilations()[i] * (op.getKernel()[i] - 1) + 1;
  int64_t room = extent + before + op.getPads()[i + spatial] - reach;
  if (room < 0)
    return 0;
  int64_t count = (room + (op.getCeilMode() ? stride - 1 : 0)) / stride + 1;
  return op.getCeilMode() && (count - 1) * stride >= extent + before ? count - 1 : count;
}

// What a window of |values| becomes, |count| being the number of its elements that are input or padding.
double poolFloats(nn::PoolOp op, ArrayRef<double> values, int64_t count) {
  double result = op.getKind() == nn::PoolKind::Max ? -INFINITY : 0;
  for (double value : values) {
    if (op.getKind() == nn::PoolKind::Max)
      result = std::isnan(value) || value > result ? value : result;
    else
      result += op.getKind() == nn::PoolKind::Lp ? std::pow(std::fabs(value), op.getP()) : value;
  }
  if (op.getKind() == nn::PoolKind::Average)
    return result / (op.getCountIncludePad() ? count : static_cast<int64_t>(values.size()));
  return op.getKind() == nn::PoolKind::Lp ? std::pow(result, 1.0 / op.getP()) : result;
}

int64_t poolInts(IntFormat format, ArrayRef<int64_t> values) {
  int64_t result = format.least();
  for (int64_t value : values)
    if (format.isUnsigned ? uint64_t(value) > uint64_t(result) : value > result)
      result = value;
  return result;
}

} // namespace

llvm::Expected<HostTensor> evaluate(nn::ResizeOp op, In<nn::ResizeOp> in) {
  HostTensor y = *in.getInput();
  for (auto [i, axis] : llvm::enumerate(op.getAxes())) {
    int64_t from = y.getDim(axis), to = in.getSizes()->getInts()[i];
    Dims dims(y.getDims());
    dims[axis] = to;
    if (to < 0 || (to > 0 && from == 0))
      return makeError("expects elements to interpolate along axis " + Twine(axis) + ", got " + Twine(from) + " for " +
                       Twine(to));
    if (auto count = countElements(dims); !count)
      return count.takeError();
    double scale = op.getScales() ? (*op.getScales())[i] : static_cast<double>(to) / from;
    double span = op.getScales() ? scale * from : to;
    std::vector<Taps> taps;
    std::vector<int64_t> places;
    for (int64_t position = 0; position < to; ++position) {
      taps.push_back(getTaps(op, getCoordinate(op.getCoordinates(), position, from, to, scale, span), from));
      places.push_back(taps.back().places.front());
    }
    if (op.getKind() != nn::ResizeKind::Nearest) {
      y = interpolate(y, axis, taps);
      continue;
    }
    std::vector<std::vector<int64_t>> maps;
    for (int64_t dim : y.getDims())
      maps.push_back(getIdentityMap(dim));
    maps[axis] = places;
    llvm::Expected<HostTensor> picked = pickAxes(y, maps);
    if (!picked)
      return picked.takeError();
    y = *picked;
  }
  return y;
}

llvm::Expected<HostTensor> evaluate(nn::PoolOp op, In<nn::PoolOp> in) {
  const HostTensor &x = *in.getInput();
  ArrayRef<int64_t> spatialDims = x.getDims().drop_front(2), kernel = op.getKernel();
  Dims dims(x.getDims().take_front(2)), windows, strides = getStrides(spatialDims);
  for (auto [i, extent] : llvm::enumerate(spatialDims)) {
    windows.push_back(countWindows(op, i, extent));
    if (windows.back() < 1)
      return makeError("expects a kernel that fits the padded input, got none at spatial dimension " + Twine(i));
  }
  dims.append(windows.begin(), windows.end());
  if (auto count = countElements(dims); !count)
    return count.takeError();
  int64_t planes = dims[0] * dims[1], planeSize = AxisSplit(x.getDims(), 1).inner;
  return x.visit([&](auto elements) {
    using Element = typename decltype(elements)::value_type;
    std::vector<Element> y, window;
    for (int64_t plane = 0; plane < planes; ++plane)
      forEachIndex(windows, [&](ArrayRef<int64_t> at) {
        window.clear();
        int64_t count = 0;
        forEachIndex(kernel, [&](ArrayRef<int64_t> offset) {
          int64_t source = plane * planeSize;
          bool isInput = true, isPadded = true;
          for (size_t i = 0; i < kernel.size(); ++i) {
            int64_t place = at[i] * op.getStrides()[i] + offset[i] * op.getDilations()[i] - op.getPads()[i];
            isInput &= place >= 0 && place < spatialDims[i];
            isPadded &= place < spatialDims[i] + op.getPads()[i + kernel.size()];
            source += place * strides[i];
          }
          count += isPadded;
          if (isInput)
            window.push_back(elements[source]);
        });
        if constexpr (std::is_floating_point_v<Element>)
          y.push_back(poolFloats(op, window, count));
        else
          y.push_back(poolInts(x.getIntFormat(), window));
      });
    return HostTensor(x.getElementType(), dims, std::move(y));
  });
}

llvm::Expected<HostTensor> evaluate(nn::ConvTransposeOp op, In<nn::ConvTransposeOp> in) {
  const HostTensor &x = *in.getInput(), &w = *in.getWeight();
  int64_t groups = op.getGroup(), channels = x.getDim(1), perGroup = w.getDim(1), features = perGroup * groups;
  if (w.getDim(0) != channels || channels % groups != 0)
    return makeError("expects a weight of " + Twine(channels) + " input channels in " + Twine(groups) +
                     " groups, got " + Twine(w.getDim(0)));
  if (in.getBias() && in.getBias()->getNumElements() != features)
    return makeError("expects a bias of " + Twine(features) + " entries, got " + Twine(in.getBias()->getNumElements()));
  ArrayRef<int64_t> spatialDims = x.getDims().drop_front(2), kernel = w.getDims().drop_front(2);
  Dims dims = {x.getDim(0), features};
  for (auto [i, extent] : llvm::enumerate(spatialDims)) {
    int64_t whole = (extent - 1) * op.getStrides()[i] + op.getDilations()[i] * (kernel[i] - 1) + 1;
    dims.push_back(whole + op.getOutputPadding()[i] - op.getPads()[i] - op.getPads()[i + kernel.size()]);
    if (dims.back() < 1)
      return makeError("expects a result of at least one element at spatial dimension " + Twine(i));
  }
  llvm::Expected<int64_t> count = countElements(dims);
  if (!count)
    return count.takeError();
  std::vector<double> y(*count);
  Dims strides = getStrides(dims), kernelDims = {perGroup};
  kernelDims.append(kernel.begin(), kernel.end());
  int64_t source = 0, kernelSize = AxisSplit(w.getDims(), 0).inner;
  forEachIndex(x.getDims(), [&](ArrayRef<int64_t> at) {
    // y[feature, i stride + k dilation - pad] += x[i] w[k]
    double value = x.getFloats()[source++];
    int64_t group = at[1] / (channels / groups), weight = at[1] * kernelSize;
    forEachIndex(kernelDims, [&](ArrayRef<int64_t> offset) {
      int64_t target = at[0] * strides[0] + (group * perGroup + offset[0]) * strides[1];
      bool isInside = true;
      for (size_t i = 0; i < kernel.size(); ++i) {
        int64_t place = at[i + 2] * op.getStrides()[i] + offset[i + 1] * op.getDilations()[i] - op.getPads()[i];
        isInside &= place >= 0 && place < dims[i + 2];
        target += place * strides[i + 2];
      }
      if (isInside)
        y[target] += value * w.getFloats()[weight];
      ++weight;
    });
  });
  if (in.getBias())
    for (size_t i = 0; i < y.size(); ++i)
      y[i] += in.getBias()->getFloats()[i / strides[1] % features];
  return HostTensor(x.getElementType(), dims, std::move(y));
}

} // namespace heddle::reference
