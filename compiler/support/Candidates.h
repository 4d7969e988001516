// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Configs of kernels to be measured, as an artifact holds them. Field for field the tables of
// runtime/include/heddle/artifact.fbs, which says what each means to the runtime.

#ifndef HEDDLE_COMPILER_SUPPORT_CANDIDATES_H
#define HEDDLE_COMPILER_SUPPORT_CANDIDATES_H

#include "compiler/support/Shader.h"

namespace heddle {

/// Elements of an input: by heddle/self_test.h, or all |fill|.
struct CandidateInput {
  uint64_t elements = 0;
  uint32_t seed = 0;
  uint32_t limit = 0;
  std::optional<int64_t> fill = std::nullopt;
};

struct CandidateCase {
  std::vector<int64_t> sizes;
  std::vector<CandidateInput> inputs;
  std::vector<SelfTestOutput> outputs; ///< empty: unknown
};

struct Candidate {
  std::string entry;  ///< name of the entry point
  std::string config; ///< JSON
  float seconds = 0;  ///< expected
};

struct CandidateGroup {
  std::string signature;
  std::string rows;
  std::string kernel; ///< its name in the model's artifact
  std::vector<std::string> nodes;
  float share = 0;
  uint32_t dispatches = 1;
  CandidateCase timing;
  std::optional<CandidateCase> check;
  std::vector<Candidate> candidates;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_SUPPORT_CANDIDATES_H
