// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SmoothQuant (Xiao et al., 2023): s = max|x|^a / max|w|^(1-a) a channel, with a = 1/2. The product is the same in
// exact arithmetic; what moves is which of both sides has to hold the range.

#include "compiler/transforms/quantization/Smoothing.h"

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/NnOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace heddle;
using namespace heddle::nn;

/// A channel that is never used, or that no weight reads, gets the range of one that hardly is.
static constexpr float kLeastRange = 1e-5f;

/// max |w| over each index along |axis| of a constant.
static std::optional<SmallVector<float>> readMaxima(ConstantOp constant, unsigned axis) {
  FailureOr<ConstantData> data = ConstantData::get(constant);
  if (failed(data))
    return std::nullopt;
  RankedTensorType type = data->getType();
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  SmallVector<float> maxima(type.getDimSize(axis), 0);
  const uint8_t *bytes = data->getBytes().data();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j, bytes += sizeof(float)) {
      float value;
      std::memcpy(&value, bytes, sizeof value);
      float &largest = maxima[axis == 0 ? i : j];
      largest = std::max(largest, std::abs(value));
    }
  return maxima;
}

/// The same of |matrix|, a constant or constants transposed and concatenated; nothing where it is made in another way.
static std::optional<SmallVector<float>> findMaxima(Value matrix, unsigned axis) {
  auto type = cast<RankedTensorType>(matrix.getType());
  if (type.getRank() != 2 || !type.getElementType().isF32())
    return std::nullopt;
  if (auto constant = matrix.getDefiningOp<ConstantOp>())
    return readMaxima(constant, axis);
  if (auto transpose = matrix.getDefiningOp<TransposeOp>())
    return findMaxima(transpose.getInput(), transpose.getPerm()[axis]);
  auto concat = matrix.getDefiningOp<ConcatOp>();
  if (!concat)
    return std::nullopt;
  SmallVector<float> maxima;
  for (Value part : concat.getInputs()) {
    std::optional<SmallVector<float>> more = findMaxima(part, axis);
    if (!more)
      return std::nullopt;
    if (concat.getAxis() == axis || maxima.empty()) {
      maxima.append(*more);
      continue;
    }
    for (auto [largest, value] : llvm::zip(maxima, *more))
      largest = std::max(largest, value);
  }
  return maxima;
}

/// The ranges that |ranges| has for |site|, one a channel.
static ArrayRef<float> findRanges(const WeightSite &site, DictionaryAttr ranges) {
  for (StringRef node : site.nodes)
    if (auto values = ranges.getAs<DenseF32ArrayAttr>(node))
      return values;
  return {};
}

/// |maxima| as far as they are known of all products that read one activation.
static void mergeMaxima(std::optional<SmallVector<float>> &merged, const std::optional<SmallVector<float>> &maxima) {
  if (!merged || !maxima || merged->size() != maxima->size()) {
    merged.reset();
    return;
  }
  for (auto [largest, value] : llvm::zip(*merged, *maxima))
    largest = std::max(largest, value);
}

/// Around 1, so that scales stay where they were.
static SmallVector<float> makeFactors(ArrayRef<float> ranges, ArrayRef<float> maxima) {
  SmallVector<double> logs;
  for (auto [range, weight] : llvm::zip(ranges, maxima))
    logs.push_back(0.5 * (std::log(std::max(range, kLeastRange)) - std::log(std::max(weight, kLeastRange))));
  double mean = 0;
  for (double value : logs)
    mean += value / logs.size();
  SmallVector<float> factors;
  for (double value : logs)
    factors.push_back(static_cast<float>(std::exp(value - mean)));
  return factors;
}

SmoothingFactors nn::findSmoothingFactors(ArrayRef<WeightSite> sites, DictionaryAttr ranges) {
  llvm::MapVector<Value, std::pair<ArrayRef<float>, std::optional<SmallVector<float>>>> activations;
  for (const WeightSite &site : sites) {
    if (site.kind != WeightSiteKind::Product || !site.reason.empty())
      continue;
    auto gemm = dyn_cast<GemmOp>(site.op);
    ArrayRef<float> known = findRanges(site, ranges);
    std::optional<SmallVector<float>> maxima;
    // Channels are the columns of what is multiplied; of an activation that is transposed first they are its rows.
    bool hasColumns = !gemm || !gemm.getTransA();
    if (hasColumns && !known.empty())
      maxima = findMaxima(site.op->getOperand(1), gemm && gemm.getTransB() ? 1 : 0);
    auto [it, isNew] = activations.try_emplace(site.op->getOperand(0), known, maxima);
    if (!isNew)
      mergeMaxima(it->second.second, maxima);
  }
  SmoothingFactors factors;
  for (auto &[activation, known] : activations)
    if (known.second && known.second->size() == known.first.size())
      factors[activation] = makeFactors(known.first, *known.second);
  return factors;
}
