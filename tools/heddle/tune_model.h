// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The whole way of tuning a model on this machine: compile it as it is, see where its time goes, have candidates made,
// measure them, and compare the whole model with and without what was found.

#pragma once

#include "tools/heddle/program.h"
#include "tools/heddle/tune_journal.h"

#include <string>
#include <vector>

namespace heddle::cli {

/// What `heddle tune` was asked for.
struct TuneRequest {
  std::string model, output, target;
  std::string precision, quantize, attention;
  std::vector<std::string> shapes, tunings, excludes;
  bool noTuning = false, noPairSafe = false;
  double seconds = 600;
  unsigned candidates = 0; ///< of a kernel at most; 0: as many as there is time for
  ExecutionOptions execution;
};

/// Tunes |request.model| for the device and writes |request.output|. A run that was killed goes on where it ended: the
/// folder |request.output|.work has what it did.
Exit tuneModel(const TuneRequest &request);

/// Writes an artifact with candidates of |request.model| to |path|, without measuring anything.
Exit exportCandidates(const TuneRequest &request, const std::string &path);

/// Whether a whole model is faster: less than the same time, beyond chance.
constexpr double kModelBound = 1;

} // namespace heddle::cli
