// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The description that heddle_program_info returns, with the storage that its arrays lie in.

#pragma once

#include <heddle/candidates.h>

#include "runtime/core/artifact_reader.h"

namespace heddle::runtime {

struct program_description {
  heddle_program_info_t info{};

  std::vector<heddle_target_info_t> targets;
  std::vector<std::vector<heddle_shader_info_t>> shaders;          ///< of each target
  std::vector<std::vector<heddle_shader_variant_info_t>> variants; ///< of each shader of each target
  std::vector<heddle_section_info_t> sections;
  std::vector<heddle_entry_info_t> entries;
  std::vector<std::vector<heddle_tensor_info_t>> tensors; ///< inputs, then outputs, of each entry
  std::vector<heddle_kernel_info_t> kernels;
  std::vector<std::vector<const char *>> kernel_nodes;
  std::vector<heddle_candidate_group_t> candidate_groups;
  std::vector<std::vector<heddle_candidate_t>> candidates; ///< of each group
};

/// Describes |artifact|, which must outlive the description. |missing_features| has one static text per target;
/// |selected| is the target in use, or any other number.
void describe_program(const artifact &artifact, const std::vector<const char *> &missing_features, size_t selected,
                      program_description *out);

} // namespace heddle::runtime
