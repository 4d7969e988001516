// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON form of `heddle inspect`.

#pragma once

#include <heddle/heddle.h>
#include <string>

namespace heddle::cli {

/// What a run with certain inputs takes.
struct MemoryReport {
  std::string shapes; ///< "input_ids=1x128,attention_mask=1x128"
  uint64_t weightBytes = 0;
  heddle_plan_info_t plan = {};
};

/// The whole description; |memory| may be null.
std::string programJson(const heddle_program_t *program, const MemoryReport *memory);

} // namespace heddle::cli
