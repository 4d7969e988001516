// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs an artifact and the reference evaluator side by side and compares them kernel by kernel. One of the few places
// of the compiler that executes code.
//
// Where activations are quantised, by the model's file or by --quantize, a value that is a bit off may round to the
// next code, and all that follows differs. There the comparison goes in step: each kernel is compared with what the
// reference makes of the tensors that the artifact stored before, within the tolerance but for 1 % of a result's
// elements, integers within one step; the outputs of a run of the reference alone must have a cosine of 0.9999. Where
// they have not, one code that rounded the other way in an early layer may be why: then they must be no farther from
// the reference than noise of 1e-5, that a float model is allowed, may take it (NoiseBound.h).

#ifndef HEDDLE_COMPILER_MEASURE_VERIFY_H
#define HEDDLE_COMPILER_MEASURE_VERIFY_H

#include "compiler/support/Error.h"
#include "mlir/IR/MLIRContext.h"

#include <string>
#include <vector>

namespace heddle {

/// One input: |type| is an ElementType of artifact.fbs, |data| row-major and the caller's.
struct VerifyInput {
  std::string name;
  int type;
  std::vector<int64_t> dims;
  const void *data;
};

struct VerifyOptions {
  std::string artifactPath, modelPath;
  std::vector<VerifyInput> inputs; ///< empty: generated
  /// Bound of max|a-b| / max|b| per tensor (for sums that cancel: / max|term|). Negative: what the arithmetic allows,
  /// 1e-5, in step 1e-4, for bf16 1e-2.
  double tolerance = -1;
  unsigned threads = 1;
  std::string device; ///< that runs the artifact: "vulkan:1"; empty: its default
};

/// Compares every result that the artifact's kernels have in common with the model, then the outputs. |summary| is the
/// table to print. Fails with |errors| where something couldn't be run, and without where results differ.
mlir::LogicalResult verify(const VerifyOptions &options, mlir::MLIRContext &context, std::string &summary,
                           ErrorList &errors);

} // namespace heddle

#endif // HEDDLE_COMPILER_MEASURE_VERIFY_H
