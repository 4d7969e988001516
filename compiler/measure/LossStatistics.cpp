// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums are in f64 and in the order of the elements, so that figures don't depend on threads.

#include "compiler/measure/LossStatistics.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace heddle;

static ArrayRef<float> floatsOf(const heddle_tensor_t *tensor) {
  return {static_cast<const float *>(heddle_tensor_data(tensor)), heddle_tensor_element_count(tensor)};
}

/// Splits "heddle.error.12" into what follows "heddle." and the number; nothing for the model's own names.
static std::optional<std::pair<StringRef, size_t>> parseComparison(StringRef name, size_t placeCount) {
  size_t place = 0;
  if (!name.consume_front("heddle."))
    return std::nullopt;
  auto [kind, number] = name.rsplit('.');
  if (number.getAsInteger(10, place) || place >= placeCount)
    return std::nullopt;
  return std::pair(kind, place);
}

LossStatistics::LossStatistics(const heddle_entry_info_t &entry, size_t placeCount) : places(placeCount) {
  for (size_t i = 0; i < entry.output_count; ++i) {
    names.push_back(entry.outputs[i].name);
    if (!parseComparison(entry.outputs[i].name, placeCount) && entry.outputs[i].type == HEDDLE_ELEMENT_F32)
      outputs.push_back({i});
  }
}

/// The first dimension counts sequences, each of which has a cosine.
void LossStatistics::compare(const heddle_tensor_t *plain, const heddle_tensor_t *quantized, Output &output) {
  ArrayRef<float> a = floatsOf(plain), b = floatsOf(quantized);
  size_t sequences = heddle_tensor_rank(plain) > 1 ? std::max<int64_t>(heddle_tensor_dims(plain)[0], 1) : 1;
  size_t length = a.size() / sequences;
  if (a.size() != b.size() || length == 0)
    return;
  for (size_t s = 0; s < sequences; ++s) {
    double dot = 0, left = 0, right = 0;
    for (size_t i = s * length; i < (s + 1) * length; ++i) {
      double x = a[i], y = b[i];
      // A model's own infinity or NaN is no loss.
      if (!std::isfinite(x))
        continue;
      dot += x * y;
      left += x * x;
      right += y * y;
      output.largestValue = std::max(output.largestValue, std::abs(x));
      double difference = std::abs(x - y);
      output.largestError = std::max(output.largestError, std::isnan(difference) ? INFINITY : difference);
    }
    double cosine = left == 0 && right == 0 ? 1 : dot / std::sqrt(left * right);
    cosine = std::isnan(cosine) ? 0 : cosine;
    output.cosineSum += cosine;
    output.leastCosine = std::min(output.leastCosine, cosine);
    ++output.sequences;
  }
}

void LossStatistics::add(ArrayRef<TensorPtr> plain, ArrayRef<TensorPtr> quantized) {
  ++sampleCount;
  for (Output &output : outputs)
    compare(plain[output.index].get(), quantized[output.index].get(), output);
  // From the float model's run: a place is charged with its own error, not with those before it.
  for (size_t i = 0; i < names.size(); ++i) {
    auto comparison = parseComparison(names[i], places.size());
    if (!comparison)
      continue;
    Place &place = places[comparison->second];
    ArrayRef<float> values = floatsOf(plain[i].get());
    if (comparison->first == "error")
      place.error += values.front();
    else if (comparison->first == "signal")
      place.signal += values.front();
    else if (comparison->first == "reach")
      place.reach = std::max(place.reach, values.front());
    else if (comparison->first == "offset") {
      place.offsets.resize(values.size(), 0);
      for (auto [sum, value] : llvm::zip(place.offsets, values))
        sum += value;
    } else {
      place.channels.resize(values.size(), 0);
      for (auto [largest, value] : llvm::zip(place.channels, values))
        largest = std::max(largest, value);
    }
  }
}

std::vector<OutputLoss> LossStatistics::getOutputs() const {
  std::vector<OutputLoss> result;
  for (const Output &output : outputs) {
    OutputLoss loss;
    loss.name = names[output.index];
    loss.cosine = output.sequences ? output.cosineSum / output.sequences : 1;
    loss.leastCosine = output.leastCosine;
    loss.largestError = output.largestError;
    loss.relativeError = output.largestValue > 0 ? output.largestError / output.largestValue : output.largestError;
    result.push_back(std::move(loss));
  }
  return result;
}

double LossStatistics::getRelativeError() const {
  double largest = 0;
  for (const OutputLoss &output : getOutputs())
    largest = std::max(largest, output.relativeError);
  return largest;
}

double LossStatistics::getDistance() const {
  double largest = 0;
  for (const OutputLoss &output : getOutputs())
    largest = std::max(largest, 1 - output.cosine);
  return largest;
}

double LossStatistics::getSqnr(size_t place) const {
  constexpr double kMost = 200;
  const Place &figures = places[place];
  double decibels = 10 * std::log10(figures.signal / figures.error);
  // No error at all is infinitely good, errors of nothing and what isn't a number infinitely bad.
  return figures.error == 0 ? kMost : std::isnan(decibels) ? 0 : std::clamp(decibels, 0.0, kMost);
}

std::vector<float> LossStatistics::getKeyOffsets(size_t place) const {
  // Below that the offset is less of the keys' range than they leave of it anyway, and isn't worth a subtraction.
  constexpr float kLeastShare = 0.25F;
  std::vector<float> means;
  float largest = 0;
  for (double sum : places[place].offsets) {
    means.push_back(static_cast<float>(sum / static_cast<double>(sampleCount)));
    largest = std::max(largest, std::abs(means.back()));
  }
  bool isKnown = llvm::all_of(means, [](float mean) { return std::isfinite(mean); });
  return isKnown && largest > kLeastShare * places[place].reach ? means : std::vector<float>();
}

double LossStatistics::getNoise(size_t place) const {
  return places[place].error == 0 ? 0 : places[place].error / places[place].signal;
}

double LossStatistics::getLeastCosine(double noise) {
  // A vector within e of x is at most arcsin(e / |x|) from it.
  return noise < 1 ? std::sqrt(1 - noise) : 0;
}

std::pair<int64_t, double> LossStatistics::getOutlier(size_t place) const {
  const std::vector<float> &channels = places[place].channels;
  if (channels.empty())
    return {-1, 0};
  auto largest = llvm::max_element(channels);
  std::vector<float> sorted = channels;
  auto middle = sorted.begin() + sorted.size() / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  return {largest - channels.begin(), *middle > 0 ? *largest / *middle : 1};
}
