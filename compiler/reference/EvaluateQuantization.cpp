// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation of ONNX's quantisation ops. They are computed in f32 as the ops say, true division and half to even, since
// an integer that is one off would not be a matter of tolerance.

#include <cmath>

#include "compiler/reference/Evaluation.h"
#include "compiler/reference/Indexing.h"
#include "compiler/reference/MatMul.h"
#include "dialects/nn/WeightQuantization.h"
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

// |x| as doubles, minus the zero point of its row (zeroAxis 0 of the matrix; perhaps one in each batch) or column (1).
llvm::Expected<HostTensor> subtractZeroPoint(const HostTensor &x, const HostTensor *zero, int64_t zeroAxis) {
  Type f64 = Float64Type::get(x.getElementType().getContext());
  std::vector<double> values(x.getInts().begin(), x.getInts().end());
  if (zero) {
    AxisSplit split(x.getDims(), std::max<int64_t>(x.getRank() - 2 + zeroAxis, 0));
    if (zeroAxis == 0 && zero->getRank() > 1) {
      for (size_t i = 0; i < values.size(); ++i)
        values[i] -= zero->getInts()[i / split.inner];
      return HostTensor(f64, x.getDims(), std::move(values));
    }
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

namespace {

// One row to |codes|; gives its scale and zero point.
std::pair<float, int64_t> quantizeRow(ArrayRef<double> row, MutableArrayRef<int64_t> codes) {
  float low = 0, high = 0;
  for (double value : row) {
    if (!std::isfinite(static_cast<float>(value)))
      return {std::numeric_limits<float>::quiet_NaN(), 0};
    low = std::min(low, static_cast<float>(value));
    high = std::max(high, static_cast<float>(value));
  }
  float scale = (high - low) / 255;
  if (scale < std::numeric_limits<float>::min())
    scale = 1;
  float zero = std::clamp(std::nearbyint(-low / scale), 0.0f, 255.0f), inverse = 1 / scale;
  for (auto [value, code] : llvm::zip(row, codes))
    code = static_cast<int64_t>(std::clamp(std::nearbyint(static_cast<float>(value) * inverse) + zero, 0.0f, 255.0f));
  return {scale, static_cast<int64_t>(zero)};
}

} // namespace

llvm::Expected<Results> evaluate(nn::QuantizeRowsOp op, In<nn::QuantizeRowsOp> in) {
  const HostTensor &x = *in.getInput();
  int64_t length = x.getDims().back(), count = 1;
  Dims rows(x.getDims());
  rows.back() = 1;
  for (int64_t extent : rows)
    count *= extent;
  std::vector<int64_t> codes(x.getNumElements()), zeros(count);
  std::vector<double> scales(count);
  for (int64_t i = 0; i < count; ++i)
    std::tie(scales[i], zeros[i]) =
        quantizeRow(x.getFloats().slice(i * length, length), MutableArrayRef<int64_t>(codes).slice(i * length, length));
  Type codeType = cast<ShapedType>(op.getOutput().getType()).getElementType();
  return Results{HostTensor(codeType, x.getDims(), std::move(codes)),
                 HostTensor(x.getElementType(), rows, std::move(scales)), HostTensor(codeType, rows, std::move(zeros))};
}

namespace {

// A matrix of weights seen as groups of elements that share a scale, the codes that become of it, and its scales.
class WeightQuantizer {
public:
  WeightQuantizer(nn::QuantizeWeightOp op, const HostTensor &w)
      : w(w), axis(op.getAxis()), blockSize(op.getBlockSize()), pairSafe(op.getPairSafe()),
        limit(op.getTo().isSignlessInteger(4) ? 7 : 127), codes(w.getNumElements()) {}

  // The elements from |first| to |last| along the other axis at |index| of the axis.
  void quantize(int64_t index, int64_t first, int64_t last) {
    nn::WeightRange range;
    for (int64_t i = first; i < last; i += 2) {
      if (pairSafe)
        range.addPair(at(index, i), i + 1 < last ? at(index, i + 1) : 0);
      else
        for (int64_t j = i; j < std::min(i + 2, last); ++j)
          range.add(at(index, j));
    }
    float scale = nn::getWeightScale(range, limit);
    scales.push_back(scale);
    for (int64_t i = first; i < last; i += 2) {
      bool isPair = i + 1 < last;
      int8_t pair[2] = {};
      pair[0] = nn::getWeightCode(at(index, i), scale, limit);
      pair[1] = isPair ? nn::getWeightCode(at(index, i + 1), scale, limit) : 0;
      if (pairSafe)
        nn::makePairSafe(pair[0], pair[1]);
      for (int64_t j = i; j < std::min(i + 2, last); ++j)
        codes[place(index, j)] = pair[j - i];
    }
  }

  Results run(Type codeType) {
    int64_t extent = w.getDim(axis), depth = w.getDim(1 - axis), block = blockSize == 0 ? depth : blockSize;
    Dims shape = blockSize == 0 ? Dims{extent} : Dims{w.getDim(0), w.getDim(1)};
    int64_t blocks = blockSize == 0 ? 1 : llvm::divideCeil(depth, block);
    if (blockSize != 0)
      shape[1 - axis] = blocks;
    // Scales are stored in row-major order: blocks outside where they lie along dimension 0.
    for (int64_t outer = 0; outer < (axis == 0 ? extent : blocks); ++outer)
      for (int64_t inner = 0; inner < (axis == 0 ? blocks : extent); ++inner) {
        int64_t first = (axis == 0 ? inner : outer) * block;
        quantize(axis == 0 ? outer : inner, first, std::min(first + block, depth));
      }
    return {HostTensor(codeType, w.getDims(), std::move(codes)),
            HostTensor(w.getElementType(), shape, std::move(scales))};
  }

private:
  int64_t place(int64_t index, int64_t other) const {
    return axis == 0 ? index * w.getDim(1) + other : other * w.getDim(1) + index;
  }
  float at(int64_t index, int64_t other) const { return static_cast<float>(w.getFloats()[place(index, other)]); }

  const HostTensor &w;
  int64_t axis, blockSize;
  bool pairSafe;
  int limit;
  std::vector<int64_t> codes;
  std::vector<double> scales;
};

} // namespace

llvm::Expected<Results> evaluate(nn::QuantizeWeightOp op, In<nn::QuantizeWeightOp> in) {
  return WeightQuantizer(op, *in.getInput()).run(op.getTo());
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
