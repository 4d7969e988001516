// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tuning files a compilation takes: those of the user's folder, then those that --tuning names. And what this
// machine has, for which they may have entries.

#pragma once

#include "compiler/driver/heddle_compiler.h"

#include <string>
#include <vector>

namespace heddle::cli {

/// The user's folder: $XDG_CONFIG_HOME/heddle, or ~/.config/heddle.
std::string tuningFolder();

/// Files for one compilation.
class TuningFiles {
public:
  /// |named|: paths that --tuning gave, in order. All *.tuning.jsonl of the user's folder come before them, by name.
  /// |targets| are those of the compilation, as --target has them; drivers of Vulkan are asked only for that one.
  TuningFiles(const std::vector<std::string> &named, const std::string &targets);

  /// Hands them to |options|; this must outlive the compilation.
  void attach(heddle_compile_options_t &options) const;
  const std::vector<std::string> &getPaths() const { return paths; }

private:
  std::vector<std::string> paths, devices;
  std::vector<const char *> pathPointers, devicePointers;
  size_t userCount = 0;
};

} // namespace heddle::cli
