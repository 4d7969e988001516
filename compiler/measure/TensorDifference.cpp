// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Differences of tensors, and the order of dimensions in which kernels store them.

#include "compiler/measure/TensorDifference.h"

#include "compiler/measure/RuntimeSession.h"
#include "llvm/ADT/SmallVector.h"

#include <cmath>

using namespace mlir;
using namespace heddle;
using reference::HostTensor;

static std::vector<double> toDoubles(const HostTensor &tensor) {
  return tensor.visit([](auto elements) { return std::vector<double>(elements.begin(), elements.end()); });
}

TensorDifference heddle::compareTensors(const HostTensor &actual, const HostTensor &expected, double scale,
                                        double bound) {
  TensorDifference result;
  std::vector<double> a = toDoubles(actual), b = toDoubles(expected);
  if (a.size() != b.size())
    return {INFINITY, 0, 1, INFINITY};
  std::vector<double> steps(a.size());
  double largest = scale, product = 0, aSquares = 0, bSquares = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    // In the type's own range: the reference computes in f64, where f32 overflows.
    bool isAlike = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) || a[i] == static_cast<float>(b[i]);
    bool isFinite = std::isfinite(a[i]) && std::isfinite(b[i]);
    steps[i] = isFinite ? std::abs(a[i] - b[i]) : isAlike ? 0 : INFINITY;
    result.largestStep = std::max(result.largestStep, steps[i]);
    if (!isFinite)
      continue;
    largest = std::max(largest, std::abs(b[i]));
    product += a[i] * b[i];
    aSquares += a[i] * a[i];
    bSquares += b[i] * b[i];
  }
  result.relative = largest > 0 ? result.largestStep / largest : result.largestStep;
  double limit = largest > 0 ? bound * largest : bound;
  result.strayShare = static_cast<double>(llvm::count_if(steps, [&](double step) { return step > limit; })) /
                      std::max<double>(1, static_cast<double>(steps.size()));
  if (aSquares > 0 || bSquares > 0)
    result.cosine = product / std::sqrt(aSquares * bSquares);
  if (std::isnan(result.cosine))
    result.cosine = 0;
  return result;
}

std::optional<HostTensor> heddle::readResult(const heddle_result_info_t &info, MLIRContext *context) {
  size_t rank = info.rank;
  reference::Dims dims(rank);
  int64_t count = 1;
  for (size_t i = 0; i < rank; ++i) {
    dims[info.permutation[i]] = info.dims[i];
    count *= info.dims[i];
  }
  Type type = toType(context, info.type);
  auto stored =
      HostTensor::fromBytes(type, ArrayRef(info.dims, rank),
                            ArrayRef(static_cast<const char *>(info.data), HostTensor::getByteSize(type, count)));
  if (!stored) {
    llvm::consumeError(stored.takeError());
    return std::nullopt;
  }
  // The place in the model's order of each stored element.
  SmallVector<int64_t> strides(rank, 1), steps(rank), index(rank, 0);
  for (size_t i = rank; i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  for (size_t i = 0; i < rank; ++i)
    steps[i] = strides[info.permutation[i]];
  std::vector<int64_t> places(count);
  for (int64_t &place : places) {
    for (size_t i = 0; i < rank; ++i)
      place += index[i] * steps[i];
    for (size_t i = rank; i-- > 0;) {
      if (++index[i] < info.dims[i])
        break;
      index[i] = 0;
    }
  }
  return stored->visit([&](auto elements) {
    std::vector<typename decltype(elements)::value_type> ordered(count);
    for (auto [place, element] : llvm::zip_equal(places, elements))
      ordered[place] = element;
    return HostTensor(type, dims, std::move(ordered));
  });
}
