// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compile report: what each kernel holds, how it is tiled, what it costs; as a ten-line summary, JSON or HTML.

#ifndef HEDDLE_COMPILER_DRIVER_REPORT_H
#define HEDDLE_COMPILER_DRIVER_REPORT_H

#include "compiler/measure/MeasureLoss.h"
#include "compiler/pipelines/CompileModel.h"

#include <string>
#include <vector>

namespace heddle {

/// One dispatch as the report shows it. Operations and bytes are estimates at the nominal shape.
struct KernelReport {
  std::string entry; ///< point that dispatches it
  std::string name, root;
  std::string signature; ///< as tuning files call it
  std::vector<std::string> nodes;
  std::string fused; ///< "Add, Erf, Mul into MatMul", or why nothing is
  /// Per target: its tiles and where they came from.
  std::vector<std::pair<std::string, std::string>> tiles;
  int64_t weightBytes = 0, operations = 0, bytes = 0;
};

/// One softmax that is attention or looks like it: raised with a form, or left alone for a reason.
struct AttentionReport {
  bool isRaised = false;
  /// "node", then "heads", "kv_heads", "mask" ... or "reason", with their values as text.
  std::vector<std::pair<std::string, std::string>> facts;
};

/// What became of the weights, and what that costs.
struct QuantizationReport {
  std::string scheme; ///< empty: nothing was to be quantised
  std::vector<PlaceReport> places;
  std::optional<QuantizationLoss> loss;
  std::string notMeasured; ///< why there is no loss
};

/// The whole report.
struct CompileReport {
  std::string model, producer, nominalShape;
  std::vector<std::pair<std::string, std::string>> inputs, outputs; ///< name, "i64[batch, seq]"
  std::vector<std::string> constantInputs; ///< that the model has a default for and the program doesn't take
  size_t nodeCount = 0;
  std::vector<AttentionReport> attentions;
  std::vector<std::pair<std::string, int64_t>> raised; ///< other ops made from several nodes: "layer_norm", how many
  std::vector<KernelReport> kernels;       ///< one a dispatch, in order, those of the general entry point first
  std::string buckets;                     ///< "sequence=32,64": sizes with entry points of their own; "" for none
  std::string tuning;                      ///< tuning files that tiles are from: "zen4.tuning.jsonl (12)"; "" for none
  std::vector<std::string> rejectedTuning; ///< a line for each entry that fits a kernel by name only
  std::vector<std::pair<std::string, uint64_t>> codeBytes; ///< per target
  QuantizationReport quantization;
  int64_t weightBytes = 0, bf16Weights = 0; ///< the second: matrices stored as bf16
  uint64_t artifactBytes = 0;
};

/// Gathers the report of what was compiled. |modelName| is the file's name without its folder; |quantization| has what
/// was measured, the rest is filled in.
CompileReport makeReport(const CompiledModel &compiled, llvm::StringRef modelName, QuantizationReport quantization);

/// At most ten lines for a terminal.
std::string formatSummary(const CompileReport &report);
std::string formatJson(const CompileReport &report);
std::string formatHtml(const CompileReport &report);

} // namespace heddle

#endif // HEDDLE_COMPILER_DRIVER_REPORT_H
