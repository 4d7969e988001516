// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How far a tensor of an artifact is from what the reference evaluator gives.

#ifndef HEDDLE_COMPILER_MEASURE_TENSORDIFFERENCE_H
#define HEDDLE_COMPILER_MEASURE_TENSORDIFFERENCE_H

#include "compiler/reference/HostTensor.h"
#include "mlir/IR/MLIRContext.h"

#include <heddle/heddle.h>
#include <optional>

namespace heddle {

/// Infinite beside elements that aren't finite, unless both are alike, and where one tensor has more elements.
struct TensorDifference {
  double relative = 0;    ///< max|a-b| / max|b|
  double cosine = 1;      ///< of all finite elements as one vector each
  double strayShare = 0;  ///< of the elements, those that are farther off than the bound
  double largestStep = 0; ///< max|a-b|
};

/// Compares element by element. |scale| is the least magnitude that a difference is measured against: a sum whose terms
/// cancel can't be closer to the exact one than its terms were. Elements beyond |bound| times the larger of it and
/// max|b| are strays.
TensorDifference compareTensors(const reference::HostTensor &actual, const reference::HostTensor &expected,
                                double scale, double bound);

/// What a dispatch stored, with its dimensions in the model's order; nothing where it has no such tensor's bytes.
std::optional<reference::HostTensor> readResult(const heddle_result_info_t &info, mlir::MLIRContext *context);

} // namespace heddle

#endif // HEDDLE_COMPILER_MEASURE_TENSORDIFFERENCE_H
