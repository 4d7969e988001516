// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one run takes of memory, known before it runs.

#pragma once

#include "tools/heddle/json.h"
#include "tools/heddle/program.h"

#include <string>
#include <vector>

namespace heddle::cli {

/// What a run with certain inputs takes.
struct MemoryReport {
  std::string shapes; ///< "input_ids=1x128,attention_mask=1x128"
  std::string device; ///< that would run it; "" where none of this machine can
  unsigned threads = 0;
  heddle_plan_info_t plan = {};
  heddle_memory_info_t memory = {}; ///< nothing where there is no device

  /// Bytes that a process needs beyond what it has before it loads the artifact and makes its inputs: the peak of its
  /// resident memory, which each run reaches. Of tables it counts the rows that a run reads at least.
  int64_t hostBytes() const;
  int64_t deviceBytes() const { return memory.device_weight_bytes + memory.device_arena_bytes; }
};

/// Reports on a run of |loaded| with inputs of the shapes that --shape says, batch 1 and length 128 where it doesn't.
MemoryReport memoryOf(const LoadedProgram &loaded, const std::vector<std::string> &shapes);

/// Some lines for people.
std::string describeMemory(const MemoryReport &report);
/// The key "memory".
void writeMemory(JsonWriter &json, const MemoryReport &report);

} // namespace heddle::cli
