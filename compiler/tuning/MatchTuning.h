// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which entries of tuning files are for a target: those of the very device, else of one like it.

#ifndef HEDDLE_COMPILER_TUNING_MATCHTUNING_H
#define HEDDLE_COMPILER_TUNING_MATCHTUNING_H

#include "compiler/targets/Target.h"
#include "compiler/tuning/TuningFile.h"

namespace heddle {

/// What there is to choose from.
struct TuningSources {
  /// In order: a later one wins.
  std::vector<TuningFile> files;
  /// So many of the first files are from the user's folder, all others were named for this compilation. These win over
  /// those.
  size_t userFileCount = 0;
  /// Fingerprints of what this machine has: its CPU, and Vulkan devices, the one first that it would take. Empty:
  /// nothing is known of it.
  std::vector<llvm::json::Object> devices;
};

/// The configs of |sources| for |target|. Of the entries for one kernel and bucket that wins which is from a file that
/// was named, then the one whose device fits best, then the last.
///
/// On a CPU that is the machine itself ("this device") or one with the same features and cache sizes ("same ISA and
/// caches"), where the target is this machine, else one with the target's features ("same ISA"). On Vulkan it is a
/// device of this machine ("this device"), or else the only Vulkan device of a file that was named ("the file's
/// device").
TunedConfigs matchTuning(const TuningSources &sources, const Target &target);

/// The files that were named for this compilation and hold no entry for any of |targets|.
std::vector<std::string> findForeignFiles(const TuningSources &sources, llvm::ArrayRef<const Target *> targets);

} // namespace heddle

#endif // HEDDLE_COMPILER_TUNING_MATCHTUNING_H
