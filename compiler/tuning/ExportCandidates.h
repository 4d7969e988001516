// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An artifact for measurements: a model's kernels, those that take most of its time, each in several configs.

#ifndef HEDDLE_COMPILER_TUNING_EXPORTCANDIDATES_H
#define HEDDLE_COMPILER_TUNING_EXPORTCANDIDATES_H

#include "compiler/pipelines/CompileModel.h"
#include "compiler/targets/ConfigCandidate.h"

#include <map>

namespace heddle {

/// A config that isn't to be measured: it has ended a compiler or a device before.
struct LeftOutCandidate {
  std::string signature;
  std::string rows;
  std::string config; ///< as formatConfig() writes it
};

struct CandidateOptions {
  /// The model, its one target, and where the artifact goes.
  CompileOptions compile;
  /// Shapes that are measured, each "NAME=1x128" for all inputs with symbols, separated by commas.
  std::vector<std::string> shapes;
  /// Seconds that kernels take in a run of the model, by their names in its artifact; empty: they are estimated.
  std::map<std::string, double> seconds;
  DeviceLimits limits;
  /// Of one kernel and bucket of rows; fewer where it takes less than a quarter of the time.
  size_t mostCandidates = 24;
  double mostShare = 0.97; ///< of the time: kernels that take the rest are left out
  std::vector<LeftOutCandidate> leftOut;
  /// Called before code of a kernel is made, one call at a time. With several threads others may still be under way.
  std::function<void(llvm::StringRef signature, llvm::StringRef rows, llvm::StringRef config)> onCandidate;
};

/// Compiles |options.compile|'s model up to its kernels and writes the artifact. |summary| says in one line what it
/// holds. The same options give the same bytes. Fails with |errors|.
mlir::LogicalResult exportCandidates(const CandidateOptions &options, mlir::MLIRContext &context, std::string &summary,
                                     ErrorList &errors);

} // namespace heddle

#endif // HEDDLE_COMPILER_TUNING_EXPORTCANDIDATES_H
