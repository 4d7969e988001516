// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Figures gathered from runs of a float and a partly quantised model, sample by sample; nothing grows with their
// number.

#ifndef HEDDLE_COMPILER_MEASURE_LOSSSTATISTICS_H
#define HEDDLE_COMPILER_MEASURE_LOSSSTATISTICS_H

#include "compiler/measure/MeasureLoss.h"
#include "compiler/measure/RuntimeSession.h"

namespace heddle {

class LossStatistics {
public:
  /// |entry| has the results that nn-quantize-weights adds to compare |placeCount| places.
  LossStatistics(const heddle_entry_info_t &entry, size_t placeCount);

  /// Takes in the outputs of a run of the float model and of the other one on the same inputs.
  void add(llvm::ArrayRef<TensorPtr> plain, llvm::ArrayRef<TensorPtr> quantized);

  size_t getSampleCount() const { return sampleCount; }
  /// The model's own outputs of float numbers.
  std::vector<OutputLoss> getOutputs() const;
  /// The largest of theirs.
  double getRelativeError() const;
  /// Signal to noise of a place in dB, within 0 and 200.
  double getSqnr(size_t place) const;
  /// max |x| of each channel of a place's input; empty for a table.
  llvm::ArrayRef<float> getChannels(size_t place) const { return places[place].channels; }
  /// What the keys of a place of attention are on average, for each head and channel; empty where that is little of
  /// what they reach, or wasn't asked for.
  std::vector<float> getKeyOffsets(size_t place) const;
  /// 1 - the least of the outputs' mean cosines.
  double getDistance() const;
  /// Noise to signal of a place, as squares.
  double getNoise(size_t place) const;
  /// The least cosine that such noise leaves between two results.
  static double getLeastCosine(double noise);
  /// The channel of its input that reaches farthest and its ratio to the median; -1 where there is none.
  std::pair<int64_t, double> getOutlier(size_t place) const;

private:
  struct Output {
    size_t index;
    double cosineSum = 0, leastCosine = 1, largestError = 0, largestValue = 0;
    size_t sequences = 0;
  };
  struct Place {
    double error = 0, signal = 0;
    std::vector<float> channels;
    std::vector<double> offsets; ///< sums of the samples' means
    float reach = 0;
  };
  static void compare(const heddle_tensor_t *plain, const heddle_tensor_t *quantized, Output &output);

  std::vector<std::string> names; ///< of all results
  std::vector<Output> outputs;
  std::vector<Place> places;
  size_t sampleCount = 0;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_MEASURE_LOSSSTATISTICS_H
