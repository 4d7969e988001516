// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tuning files (*.tuning.jsonl): what `heddle tune` found, one JSON object a line, for one kernel signature, bucket of
// rows and device each:
//
//   {"heddle_tuning":1,"device":{"kind":"cpu",...},"signature":"f32_contract_?x768x768_1f0c93aa","rows":"65-256",
//    "config":{"row_tile":8,...},"ratio":0.91,"pairs":21,"producer":"heddle 0.1.0"}
//
// Order doesn't matter but that a later line wins over an earlier one for the same three; unknown fields are ignored,
// and so are "ratio" and "pairs", which are for people. Files are input: whatever is in them, reading gives the lines
// that are entries, and says what is wrong with the others.

#ifndef HEDDLE_COMPILER_TUNING_TUNINGFILE_H
#define HEDDLE_COMPILER_TUNING_TUNINGFILE_H

#include "compiler/support/Error.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace heddle {

struct TuningEntry {
  llvm::json::Object device; ///< fingerprint; "kind" is "cpu" or "vulkan"
  std::string signature;     ///< of a kernel (KernelSignature.h)
  std::string rows;          ///< a bucket's name or "any" (RowBucket.h)
  llvm::json::Object config; ///< of the target's table; whether it fits a kernel the target says
};

struct TuningFile {
  std::string name; ///< without its folder
  std::vector<TuningEntry> entries;
  std::vector<std::string> problems; ///< a line each: "line 7: expects ..., got ..."
};

/// Reads the lines of |text|.
TuningFile parseTuningFile(llvm::StringRef name, llvm::StringRef text);

/// Reads the file at |path|. Fails with |errors| where it can't be read, or holds lines of which none is an entry: then
/// it is something else.
mlir::LogicalResult readTuningFile(llvm::StringRef path, TuningFile &out, ErrorList &errors);

} // namespace heddle

#endif // HEDDLE_COMPILER_TUNING_TUNINGFILE_H
