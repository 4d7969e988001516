// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a caller says of an artifact for measurements, most of it as JSON.

#ifndef HEDDLE_COMPILER_DRIVER_CANDIDATEREQUEST_H
#define HEDDLE_COMPILER_DRIVER_CANDIDATEREQUEST_H

#include "compiler/driver/heddle_compiler.h"
#include "compiler/tuning/ExportCandidates.h"

namespace heddle {

/// Fills |options|, all but how the model is compiled. JSON that isn't what the header says is an error.
mlir::LogicalResult readCandidateRequest(const heddle_candidate_options_t &request, CandidateOptions &options,
                                         ErrorList &errors);

} // namespace heddle

#endif // HEDDLE_COMPILER_DRIVER_CANDIDATEREQUEST_H
