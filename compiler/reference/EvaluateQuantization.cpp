// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation of ONNX's quantisation ops. They are computed in f32 as the ops say, true division and half to even, since
// an integer that is one off would not be a matter of tolerance.

#include <cmath>

#include "compiler/reference/Evaluation.h"
#include "compiler/reference/Indexing.h"
#include "compiler/reference/MatMul.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;

namespace heddle::reference {

namespace {

// For each element of |x| which element of |scale| is its own: the only one, the one at its index along
// |axis|, or with blocks the one of its block.
llvm::Expected<std::vector<int64_t>> getScaleSources(const HostTensor &x, const HostTensor &scale, int64_t axis,
                                                     int64_t blockSize) {
  if (blockSize == 0 && scale.getNumElements() == 1)
    return std::vector<int64_t>(x.getNumElements(), 0);
  ArrayRef<int64_t> dims = x.getDims();
  Dims expected;
  if (blockSize == 0) {
    expected = {dims[axis]};
  } else {
    expected.assign(dims.begin(), dims.end());
    expected[axis] = llvm::divideCeil(dims[axis], blockSize);
  }
  if (scale.getDims() != ArrayRef<int64_t>(expected))
    return makeError("expects a scale of shape " + toString(expected) + ", got " + toString(scale.getDims()));
  AxisSplit split(dims, axis);
  std::vector<int64_t> sources = getIdentityMap(x.getNumElements());
  for (int64_t &source : sources) {
    int64_t inner = source % split.inner, position = source / split.inner % split.extent;
    int64_t outer = source / split.inner / split.extent;
    source = blockSize == 0 ? position : (outer * expected[axis] + position / blockSize) * split.inner + inner;
  }
  return sources;
}

// An error unless |zero| is absent or has one entry for each of |scale|.
llvm::Error checkZeroPoint(const HostTensor *zero, const HostTensor &scale) {
  if (zero && zero->getNumElements() != scale.getNumElements())
    return makeError("expects a zero point of shape " + toString(scale.getDims()) + ", got " +
                     toString(zero->getDims()));
  return llvm::Error::success();
}

// saturate(round_half_even(x / scale) + zero)
int64_t quantize(float x, float scale, int64_t zero, IntFormat format) {
  // Limits apply before the conversion, which wouldn't be defined beyond them; a NaN becomes the zero point.
  double code = std::nearbyint(x / scale) + static_cast<double>(zero);
  if (std::isnan(code))
    return zero;
  return static_cast<int64_t>(std::clamp(code, format.toDouble(format.least()), format.toDouble(format.greatest())));
}

HostTensor makeScalar(Type type, double value) { return HostTensor(type, {}, std::vector<double>{value}); }

// |x| as doubles, minus the zero point of its row (zeroAxis 0 of the matrix) or column (1).
llvm::Expected<HostTensor> subtractZeroPoint(const HostTensor &x, const HostTensor *zero, int64_t zeroAxis) {
  Type f64 = Float64Type::get(x.getElementType().getContext());
  std::vector<double> values(x.getInts().begin(), x.getInts().end());
  if (zero) {
    AxisSplit split(x.getDims(), std::max<int64_t>(x.getRank() - 2 + zeroAxis, 0));
    if (zero->getNumElements() != 1 && zero->getNumElements() != split.extent)
      return makeError("expects a zero point of shape [] or [" + Twine(split.extent) + "], got " +
                       toString(zero->getDims()));
    bool isScalar = zero->getNumElements() == 1;
    for (size_t i = 0; i < values.size(); ++i)
      values[i] -= zero->getInts()[isScalar ? 0 : i / split.inner % split.extent];
  }
  return HostTensor(f64, x.getDims(), std::move(values));
}

} // namespace

llvm::Expected<HostTensor> evaluate(nn::QuantizeLinearOp op, In<nn::QuantizeLinearOp> in) {
  const HostTensor &x = *in.getInput(), &scale = *in.getScale();
  llvm::Expected<std::vector<int64_t>> sources = getScaleSources(x, scale, op.getAxis(), op.getBlockSize());
  if (!sources)
    return sources.takeError();
  if (llvm::Error error = checkZeroPoint(in.getZeroPoint(), scale))
    return error;
  IntFormat format = IntFormat::of(op.getTo());
  std::vector<int64_t> y(x.getNumElements());
  for (size_t i = 0; i < y.size(); ++i) {
    int64_t zero = in.getZeroPoint() ? in.getZeroPoint()->getInts()[(*sources)[i]] : 0;
    y[i] = quantize(x.getFloats()[i], scale.getFloats()[(*sources)[i]], zero, format);
  }
  return HostTensor(op.getTo(), x.getDims(), std::move(y));
}

llvm::Expected<HostTensor> evaluate(nn::DequantizeLinearOp op, In<nn::DequantizeLinearOp> in) {
  const HostTensor &x = *in.getInput(), &scale = *in.getScale();
  llvm::Expected<std::vector<int64_t>> sources = getScaleSources(x, scale, op.getAxis(), op.getBlockSize());
  if (!sources)
    return sources.takeError();
  if (llvm::Error error = checkZeroPoint(in.getZeroPoint(), scale))
    return error;
  std::vector<double> y(x.getNumElements());
  for (size_t i = 0; i < y.size(); ++i) {
    int64_t zero = in.getZeroPoint() ? in.getZeroPoint()->getInts()[(*sources)[i]] : 0;
    // y = (x - zero) * scale, rounded once to f32 and then to the scale's type
    float product = static_cast<float>(x.getInts()[i] - zero) * static_cast<float>(scale.getFloats()[(*sources)[i]]);
    y[i] = roundToType(product, scale.getElementType());
  }
  return HostTensor(scale.getElementType(), x.getDims(), std::move(y));
}

llvm::Expected<Results> evaluate(nn::DynamicQuantizeLinearOp op, In<nn::DynamicQuantizeLinearOp> in) {
  const HostTensor &x = *in.getInput();
  float low = 0, high = 0;
  for (double value : x.getFloats()) {
    low = std::fmin(low, static_cast<float>(value));
    high = std::fmax(high, static_cast<float>(value));
  }
  float scale = (high - low) / 255;
  IntFormat format{8, true};
  int64_t zero = scale == 0 ? 0 : quantize(-low, scale, 0, format);
  std::vector<int64_t> y(x.getNumElements());
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = scale == 0 ? 0 : quantize(x.getFloats()[i], scale, zero, format);
  Type codeType = cast<ShapedType>(op.getOutput().getType()).getElementType();
  return Results{HostTensor(codeType, x.getDims(), std::move(y)), makeScalar(x.getElementType(), scale),
                 HostTensor(codeType, {}, std::vector<int64_t>{zero})};
}

llvm::Expected<HostTensor> evaluate(nn::MatMulIntegerOp op, In<nn::MatMulIntegerOp> in) {
  // Doubles are exact here: 9-bit differences, and a sum below 2^53 for every K that fits memory.
  llvm::Expected<HostTensor> lhs = subtractZeroPoint(*in.getLhs(), in.getLhsZeroPoint(), 0);
  if (!lhs)
    return lhs.takeError();
  llvm::Expected<HostTensor> rhs = subtractZeroPoint(*in.getRhs(), in.getRhsZeroPoint(), 1);
  if (!rhs)
    return rhs.takeError();
  llvm::Expected<HostTensor> sums = matmul(*lhs, *rhs, lhs->getElementType());
  if (!sums)
    return sums.takeError();
  Type type = cast<ShapedType>(op.getOutput().getType()).getElementType();
  std::vector<int64_t> y;
  for (double sum : sums->getFloats())
    y.push_back(IntFormat::of(type).wrap(static_cast<int64_t>(sum)));
  return HostTensor(type, sums->getDims(), std::move(y));
}

} // namespace heddle::reference
