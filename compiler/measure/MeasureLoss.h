// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What quantisation costs in accuracy, measured by running both forms of every place side by side; and the search for
// places that must stay float to keep within a bound. Errors alone are measured here, never time.

#ifndef HEDDLE_COMPILER_MEASURE_MEASURELOSS_H
#define HEDDLE_COMPILER_MEASURE_MEASURELOSS_H

#include "compiler/measure/Verify.h"
#include "compiler/pipelines/CompileModel.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// One run's inputs as a user gives them. What |inputs| point to lives until the next sample is asked for.
struct CalibrationSample {
  std::string name; ///< for messages: "ids.jsonl, line 3"
  std::vector<VerifyInput> inputs;
};

struct LossOptions {
  CompileOptions compile;        ///< what is to be measured; its output isn't touched
  std::optional<double> maxLoss; ///< bound of the relative error: places are left float until it holds
  /// Gives sample |index|, from 0 on and perhaps anew from 0; false where there is no more, failure where the user
  /// will hear from elsewhere why. Null: inputs are generated.
  std::function<mlir::FailureOr<bool>(size_t index, CalibrationSample &sample)> samples;
};

/// How far one output is from that of the float model.
struct OutputLoss {
  std::string name;
  double cosine = 1, leastCosine = 1; ///< over sequences, which are what the first dimension counts: mean, least
  double largestError = 0, relativeError = 0; ///< max |difference|; the same / max |float|
};

/// One place of weights: what it became, or why it stayed float.
struct PlaceReport {
  std::string kind; ///< "product", "table", "convolution", "attention"
  std::vector<std::string> nodes;
  std::string reason; ///< empty where it is quantised
};

/// What the passes of quantisation left on |module|.
std::vector<PlaceReport> describePlaces(mlir::ModuleOp module);

/// One place of weights, or attention, compared with its float form on the same input.
struct PlaceLoss {
  std::string kind;
  std::vector<std::string> nodes;
  bool isQuantized = true; ///< else the search left it float
  double sqnr = 0;         ///< signal to quantisation noise, in dB; at most 200
  double cosine = 1;       ///< the least that such noise leaves between both forms' results
  int64_t outlier = -1;    ///< channel of the input that reaches farthest; none for a table
  double outlierRatio = 0; ///< its max |x| to the median channel's
};

struct QuantizationLoss {
  std::string inputs; ///< what it was measured on
  std::vector<OutputLoss> outputs;
  std::vector<OutputLoss> plainScales; ///< what the outputs would be without pair-safe weights; empty where they are
  std::vector<PlaceLoss> places;
  std::vector<std::string> exclude;        ///< a node of each place that the search left float: values for --exclude
  std::vector<std::string> lossyAttention; ///< a node of each attention whose scores `auto` leaves float for their loss
  std::vector<std::string> lossyValues;    ///< the same of weights and values
  /// What attention's values reach: an option of the compilation.
  std::map<std::string, std::vector<float>> valueRanges;
  /// What attention's keys are about, where that is much of them: an option of the compilation.
  std::map<std::string, std::vector<float>> keyOffsets;
  /// What smoothing takes, where it makes the outputs better than they are without: options of the compilation.
  std::map<std::string, std::vector<float>> channelRanges;
  size_t sampleCount = 0;
  int64_t floatWeightBytes = 0; ///< of the model without quantisation

  /// The largest of the outputs'.
  double getRelativeError() const;
  /// Quantised places by SQNR, the worst first, at most |count|.
  std::vector<const PlaceLoss *> getWorst(size_t count) const;
};

/// Compiles both forms into a temporary artifact for this machine's CPU and runs it. Fails with |errors| where that
/// can't be done (inputs that the model refuses), or where no choice of places keeps within the bound.
mlir::LogicalResult measureLoss(const LossOptions &options, mlir::MLIRContext &context, QuantizationLoss &loss,
                                ErrorList &errors);

} // namespace heddle

#endif // HEDDLE_COMPILER_MEASURE_MEASURELOSS_H
