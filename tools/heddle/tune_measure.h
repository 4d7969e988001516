// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tuning on a device without compiler: candidates come from an artifact that was made elsewhere.

#pragma once

#include "tools/heddle/program.h"

#include <string>

namespace heddle::cli {

/// Measures |artifact| for |seconds| and adds what it finds to the tuning file |output|. A run that was killed goes on
/// where it ended.
Exit measureCandidates(const std::string &artifact, const std::string &output, const ExecutionOptions &execution,
                       double seconds);

} // namespace heddle::cli
