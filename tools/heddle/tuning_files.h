// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tuning files a compilation takes: those of the user's folder, then those that --tuning names; and what this
// machine is called in them.

#pragma once

#include "compiler/driver/heddle_compiler.h"

#include <string>
#include <vector>

namespace heddle::cli {

/// The user's folder: $XDG_CONFIG_HOME/heddle, or ~/.config/heddle.
std::string tuningFolder();

/// Whether the user's folder counts.
enum class UserTuning { Take, Leave };

/// Files for one compilation.
class TuningFiles {
public:
  /// |named|: paths that --tuning gave, in order. All *.tuning.jsonl of the user's folder come before them, by name.
  explicit TuningFiles(const std::vector<std::string> &named, UserTuning user = UserTuning::Take);

  /// Hands them and the devices of its targets to |options|; this must outlive the compilation. Asks the drivers where
  /// a target and a file are for them.
  void attach(heddle_compile_options_t &options);
  const std::vector<std::string> &getPaths() const { return paths; }

private:
  std::vector<std::string> paths, devices;
  std::vector<const char *> pathPointers, devicePointers;
  size_t userCount = 0;
};

} // namespace heddle::cli
