// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler's part in tuning, each call in a child: a model as it is, with what was found, and as candidates.

#pragma once

#include "tools/heddle/tune_journal.h"
#include "tools/heddle/tune_model.h"
#include "tools/heddle/tune_profile.h"

#include <string>
#include <vector>

namespace heddle::cli {

/// Compiles one model with the options of |request|, which must outlive this.
class TuneCompiler {
public:
  /// |device| is the fingerprint that lines of tuning files are compared with.
  TuneCompiler(const TuneRequest &request, std::string device) : request(request), device(std::move(device)) {}

  /// Writes an artifact, with tiles of |tunings| over those of the user's folder.
  void compile(const std::string &artifact, const std::vector<std::string> &tunings) const;

  /// Writes an artifact for measurements, with at most |most| candidates of a kernel. Candidates that the compiler dies
  /// of are left out, and noted in |journal|, which may be null.
  void exportCandidates(const std::string &artifact, const std::vector<std::string> &tunings,
                        const ModelProfile &profile, size_t most, TuneJournal *journal) const;

private:
  const TuneRequest &request;
  std::string device;
};

} // namespace heddle::cli
