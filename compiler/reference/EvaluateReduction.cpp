// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation of reductions and row-wise ops: the axes in question are moved to the end, so that each row is contiguous.

#include <cmath>
#include <functional>
#include <numeric>

#include "compiler/reference/Evaluation.h"
#include "compiler/reference/Indexing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;

namespace heddle::reference {

namespace {

// All axes, those of |last| at the end in their order.
Dims moveToEnd(int64_t rank, ArrayRef<int64_t> last) {
  Dims perm;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!llvm::is_contained(last, axis))
      perm.push_back(axis);
  perm.append(last.begin(), last.end());
  return perm;
}

Dims invert(ArrayRef<int64_t> perm) {
  Dims inverse(perm.size());
  for (auto [i, axis] : llvm::enumerate(perm))
    inverse[axis] = i;
  return inverse;
}

// |dims| without |axes|, or with extent 1 there.
Dims getReducedDims(ArrayRef<int64_t> dims, ArrayRef<int64_t> axes, bool keepdims) {
  Dims reduced;
  for (auto [axis, dim] : llvm::enumerate(dims)) {
    if (!llvm::is_contained(axes, int64_t(axis)))
      reduced.push_back(dim);
    else if (keepdims)
      reduced.push_back(1);
  }
  return reduced;
}

double sum(ArrayRef<double> row) {
  double total = 0;
  for (double x : row)
    total += x;
  return total;
}

double maximum(ArrayRef<double> row) {
  double greatest = -INFINITY;
  for (double x : row)
    greatest = std::isnan(x) || x > greatest ? x : greatest; // a NaN stays: nothing is greater
  return greatest;
}

double logSumExp(ArrayRef<double> row) {
  double shift = maximum(row);
  if (std::isinf(shift)) // Nothing to shift by: all are -inf, or one is +inf and so is the result.
    return shift;
  double total = 0;
  for (double x : row)
    total += std::exp(x - shift);
  return shift + std::log(total);
}

double sumSquares(ArrayRef<double> row) {
  double total = 0;
  for (double x : row)
    total += x * x;
  return total;
}

double reduceFloats(nn::ReduceKind kind, ArrayRef<double> row) {
  switch (kind) {
  case nn::ReduceKind::Sum:
    return sum(row);
  case nn::ReduceKind::Mean:
    return sum(row) / row.size();
  case nn::ReduceKind::Max:
    return maximum(row);
  case nn::ReduceKind::Min: {
    std::vector<double> negated;
    for (double x : row)
      negated.push_back(-x);
    return -maximum(negated);
  }
  case nn::ReduceKind::Prod:
    return std::accumulate(row.begin(), row.end(), 1.0, std::multiplies<>());
  case nn::ReduceKind::L1: {
    double total = 0;
    for (double x : row)
      total += std::fabs(x);
    return total;
  }
  case nn::ReduceKind::L2:
    return std::sqrt(sumSquares(row));
  case nn::ReduceKind::SumSquare:
    return sumSquares(row);
  case nn::ReduceKind::LogSum:
    return std::log(sum(row));
  case nn::ReduceKind::LogSumExp:
    return logSumExp(row);
  }
  return NAN;
}

// Calls |step| on each element in turn, sums and products being modulo 2^64.
template <typename Fn> uint64_t foldInts(ArrayRef<int64_t> row, uint64_t initial, Fn step) {
  for (int64_t x : row)
    initial = step(initial, static_cast<uint64_t>(x));
  return initial;
}

// Truncated toward zero; a mean of nothing is 0, there being no NaN.
int64_t meanOfInts(IntFormat format, ArrayRef<int64_t> row) {
  __int128 total = 0;
  for (int64_t x : row)
    total += format.isUnsigned ? __int128(uint64_t(x)) : __int128(x);
  return row.empty() ? 0 : static_cast<int64_t>(total / static_cast<__int128>(row.size()));
}

int64_t extremeOfInts(IntFormat format, bool wantsGreatest, ArrayRef<int64_t> row) {
  int64_t best = wantsGreatest ? format.least() : format.greatest();
  for (int64_t x : row) {
    bool isGreater = format.isUnsigned ? uint64_t(x) > uint64_t(best) : x > best;
    if (x != best && isGreater == wantsGreatest)
      best = x;
  }
  return best;
}

int64_t reduceInts(nn::ReduceKind kind, IntFormat format, ArrayRef<int64_t> row) {
  switch (kind) {
  case nn::ReduceKind::Sum:
    return format.wrap(foldInts(row, 0, [](uint64_t y, uint64_t x) { return y + x; }));
  case nn::ReduceKind::Mean:
    return meanOfInts(format, row);
  case nn::ReduceKind::Max:
  case nn::ReduceKind::Min:
    return extremeOfInts(format, kind == nn::ReduceKind::Max, row);
  case nn::ReduceKind::Prod:
    return format.wrap(foldInts(row, 1, [](uint64_t y, uint64_t x) { return y * x; }));
  case nn::ReduceKind::L1:
    return format.wrap(
        foldInts(row, 0, [&](uint64_t y, uint64_t x) { return y + (!format.isUnsigned && int64_t(x) < 0 ? -x : x); }));
  case nn::ReduceKind::SumSquare:
    return format.wrap(foldInts(row, 0, [](uint64_t y, uint64_t x) { return y + x * x; }));
  case nn::ReduceKind::L2:
  case nn::ReduceKind::LogSum:
  case nn::ReduceKind::LogSumExp:
    break; // for floats alone, as the op's verifier says
  }
  return 0;
}

// y (rows) = fn of each row of x (rows, extent)
template <typename T, typename Fn> std::vector<T> mapRows(ArrayRef<T> x, int64_t rows, Fn fn) {
  std::vector<T> y;
  y.reserve(rows);
  int64_t extent = rows ? x.size() / rows : 0;
  for (int64_t row = 0; row < rows; ++row)
    y.push_back(fn(x.slice(row * extent, extent)));
  return y;
}

// Applies |fn| (row in, row out) along |axis|.
template <typename Fn> HostTensor mapAlongAxis(const HostTensor &x, int64_t axis, Fn fn) {
  Dims perm = moveToEnd(x.getRank(), {axis});
  HostTensor rows = transpose(x, perm);
  int64_t extent = x.getDim(axis);
  std::vector<double> y(x.getNumElements());
  for (size_t begin = 0; begin < y.size(); begin += extent)
    fn(rows.getFloats().slice(begin, extent), y.data() + begin);
  return transpose(HostTensor(x.getElementType(), rows.getDims(), std::move(y)), invert(perm));
}

// The rows that an op normalises: everything from |axis| on is one row.
struct Rows {
  int64_t count, extent;

  Rows(ArrayRef<int64_t> dims, int64_t axis) {
    AxisSplit split(dims, axis);
    count = split.outer;
    extent = split.extent * split.inner;
  }
};

llvm::Expected<HostTensor> broadcastOnto(StringRef name, const HostTensor &x, ArrayRef<int64_t> dims) {
  llvm::Expected<Dims> joint = broadcastDims(x.getDims(), dims);
  if (joint && ArrayRef<int64_t>(*joint) == dims)
    return broadcastTo(x, dims);
  llvm::consumeError(joint.takeError());
  return makeError("expects " + name + " of shape " + toString(x.getDims()) + " to broadcast onto input of shape " +
                   toString(dims));
}

/// (x - shift) / divisor * scale, where |statistics| gives a row's shift and divisor.
llvm::Expected<std::vector<double>>
scaleRows(const HostTensor &x, int64_t axis, const HostTensor &scale,
          llvm::function_ref<std::pair<double, double>(ArrayRef<double>)> statistics) {
  llvm::Expected<HostTensor> factors = broadcastOnto("scale", scale, x.getDims());
  if (!factors)
    return factors.takeError();
  Rows rows(x.getDims(), axis);
  std::vector<double> y(x.getNumElements());
  for (int64_t row = 0; row < rows.count; ++row) {
    auto [shift, divisor] = statistics(x.getFloats().slice(row * rows.extent, rows.extent));
    for (int64_t at = row * rows.extent; at < (row + 1) * rows.extent; ++at)
      y[at] = (x.getFloats()[at] - shift) / divisor * factors->getFloats()[at];
  }
  return y;
}

} // namespace

llvm::Expected<HostTensor> evaluate(nn::ReduceOp op, In<nn::ReduceOp> in) {
  const HostTensor &x = *in.getInput();
  HostTensor rows = transpose(x, moveToEnd(x.getRank(), op.getAxes()));
  Dims dims = getReducedDims(x.getDims(), op.getAxes(), op.getKeepdims());
  llvm::Expected<int64_t> count = countElements(dims);
  if (!count)
    return count.takeError();
  if (x.isFloat())
    return HostTensor(x.getElementType(), dims, mapRows<double>(rows.getFloats(), *count, [&](ArrayRef<double> row) {
                        return reduceFloats(op.getKind(), row);
                      }));
  return HostTensor(x.getElementType(), dims, mapRows<int64_t>(rows.getInts(), *count, [&](ArrayRef<int64_t> row) {
                      return reduceInts(op.getKind(), x.getIntFormat(), row);
                    }));
}

llvm::Expected<HostTensor> evaluate(nn::ArgReduceOp op, In<nn::ArgReduceOp> in) {
  const HostTensor &x = *in.getInput();
  int64_t axis = op.getAxis(), extent = x.getDim(axis);
  if (extent == 0)
    return makeError("expects at least one element along axis " + Twine(axis));
  Dims dims = getReducedDims(x.getDims(), {axis}, op.getKeepdims());
  bool wantsGreatest = op.getKind() == nn::ArgReduceKind::Max;
  bool isUnsigned = !x.isFloat() && x.getIntFormat().isUnsigned;

  // Whether a is further out than b in the direction wanted; a NaN is the furthest.
  auto isBetter = [&](auto a, auto b) {
    if constexpr (std::is_floating_point_v<decltype(a)>) {
      if (std::isnan(a) || std::isnan(b))
        return std::isnan(a) && !std::isnan(b);
    } else if (isUnsigned) {
      return wantsGreatest ? uint64_t(a) > uint64_t(b) : uint64_t(a) < uint64_t(b);
    }
    return wantsGreatest ? a > b : a < b;
  };
  std::vector<int64_t> y;
  transpose(x, moveToEnd(x.getRank(), {axis})).visit([&](auto rows) {
    for (size_t begin = 0; begin < rows.size(); begin += extent) {
      int64_t best = 0;
      for (int64_t i = 1; i < extent; ++i) {
        bool isTie = !isBetter(rows[begin + best], rows[begin + i]);
        if (isBetter(rows[begin + i], rows[begin + best]) || (op.getSelectLastIndex() && isTie))
          best = i;
      }
      y.push_back(best);
    }
  });
  return HostTensor(cast<ShapedType>(op.getOutput().getType()).getElementType(), dims, std::move(y));
}

llvm::Expected<HostTensor> evaluate(nn::CumSumOp op, In<nn::CumSumOp> in) {
  const HostTensor &x = *in.getInput();
  AxisSplit split(x.getDims(), op.getAxis());
  bool isExclusive = op.getExclusive(), isReverse = op.getReverse();
  return x.visit([&](auto elements) {
    using Element = typename decltype(elements)::value_type;
    // Integers add as unsigned, so that they wrap.
    using Total = std::conditional_t<std::is_integral_v<Element>, uint64_t, double>;
    std::vector<Element> y(elements.size());
    for (int64_t outer = 0; outer < split.outer; ++outer)
      for (int64_t inner = 0; inner < split.inner; ++inner) {
        Total total = 0;
        for (int64_t step = 0; step < split.extent; ++step) {
          int64_t i = isReverse ? split.extent - 1 - step : step;
          int64_t at = (outer * split.extent + i) * split.inner + inner;
          Total next = total + static_cast<Total>(elements[at]);
          y[at] = static_cast<Element>(isExclusive ? total : next);
          if constexpr (std::is_integral_v<Element>)
            y[at] = x.getIntFormat().wrap(y[at]);
          total = next;
        }
      }
    return HostTensor(x.getElementType(), x.getDims(), std::move(y));
  });
}

llvm::Expected<HostTensor> evaluate(nn::SoftmaxOp op, In<nn::SoftmaxOp> in) {
  return mapAlongAxis(*in.getInput(), op.getAxis(), [](ArrayRef<double> x, double *y) {
    // y = exp(x - max(x)); y /= sum(y)
    double shift = maximum(x), total = 0;
    for (size_t i = 0; i < x.size(); ++i)
      total += y[i] = std::exp(x[i] - shift);
    for (size_t i = 0; i < x.size(); ++i)
      y[i] /= total;
  });
}

llvm::Expected<HostTensor> evaluate(nn::LogSoftmaxOp op, In<nn::LogSoftmaxOp> in) {
  return mapAlongAxis(*in.getInput(), op.getAxis(), [](ArrayRef<double> x, double *y) {
    // y = x - max(x) - log(sum(exp(x - max(x))))
    double shift = maximum(x), total = 0;
    for (double value : x)
      total += std::exp(value - shift);
    for (size_t i = 0; i < x.size(); ++i)
      y[i] = x[i] - shift - std::log(total);
  });
}

llvm::Expected<HostTensor> evaluate(nn::LayerNormOp op, In<nn::LayerNormOp> in) {
  const HostTensor &x = *in.getInput();
  double epsilon = op.getEpsilon().convertToDouble();
  // y (rows, extent) = (x - mean) / sqrt(variance + epsilon) * scale
  auto y = scaleRows(x, op.getAxis(), *in.getScale(), [&](ArrayRef<double> row) {
    double extent = static_cast<double>(row.size()), mean = sum(row) / extent, variance = 0;
    for (double value : row)
      variance += (value - mean) * (value - mean) / extent;
    return std::pair(mean, std::sqrt(variance + epsilon));
  });
  if (!y)
    return y.takeError();
  if (in.getBias()) {
    llvm::Expected<HostTensor> bias = broadcastOnto("bias", *in.getBias(), x.getDims());
    if (!bias)
      return bias.takeError();
    for (size_t i = 0; i < y->size(); ++i)
      (*y)[i] += bias->getFloats()[i];
  }
  return HostTensor(x.getElementType(), x.getDims(), std::move(*y));
}

llvm::Expected<HostTensor> evaluate(nn::RmsNormOp op, In<nn::RmsNormOp> in) {
  const HostTensor &x = *in.getInput();
  double epsilon = op.getEpsilon().convertToDouble();
  // y (rows, extent) = x / sqrt(mean(x^2) + epsilon) * scale; rounding to x's type in between is left out, as all
  // rounding is
  auto y = scaleRows(x, op.getAxis(), *in.getScale(), [&](ArrayRef<double> row) {
    return std::pair(0.0, std::sqrt(sumSquares(row) / static_cast<double>(row.size()) + epsilon));
  });
  if (!y)
    return y.takeError();
  return HostTensor(in.getScale()->getElementType(), x.getDims(), std::move(*y));
}

} // namespace heddle::reference
