// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a calibration sample, as a user's file has it, to the inputs of a run.

#ifndef HEDDLE_COMPILER_MEASURE_BINDSAMPLE_H
#define HEDDLE_COMPILER_MEASURE_BINDSAMPLE_H

#include "compiler/measure/MeasureLoss.h"
#include "compiler/measure/RuntimeSession.h"

namespace heddle {

/// Inputs for a run, in the order of the entry point; null for those that a default stands for.
struct BoundSample {
  std::vector<TensorPtr> owners;
  std::vector<const heddle_tensor_t *> inputs;
};

/// Binds |sample|, whose data must outlive the result, to the first |inputCount| inputs of |session|. A tensor without
/// a name holds ids: it goes to the input of ids. Masks, positions and types without data of their own get what suits
/// the ids' shape. Fails with |errors| that name the sample where a name is none of the model's, nothing takes the
/// ids, or an input without a default is missing; whether shapes and types fit is left to the run.
mlir::LogicalResult bindSample(const CalibrationSample &sample, const RuntimeSession &session, size_t inputCount,
                               mlir::MLIRContext &context, BoundSample &bound, ErrorList &errors);

} // namespace heddle

#endif // HEDDLE_COMPILER_MEASURE_BINDSAMPLE_H
