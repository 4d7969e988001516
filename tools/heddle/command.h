// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A command of `heddle`, one file each.

#pragma once

#include "tools/heddle/error.h"
#include "tools/heddle/options.h"

#include <memory>
#include <vector>

namespace heddle::cli {

/// Constructed for every call of `heddle`, so that a configuration file can be checked against all options; only the
/// one that is asked for runs.
class Command {
public:
  Command(const char *name, const char *summary, const char *usage) : options(name, summary, usage) {}
  virtual ~Command() = default;

  /// Does the work with the options that have been parsed. Throws CommandError.
  virtual Exit run() = 0;

  OptionSet options;

protected:
  /// Throws the usage unless |value|, the argument called |argument|, was given.
  void require(const std::string &value, const char *argument) const;
};

std::unique_ptr<Command> makeCompileCommand();
std::unique_ptr<Command> makeRunCommand();
std::unique_ptr<Command> makeBenchCommand();
std::unique_ptr<Command> makeVerifyCommand();
std::unique_ptr<Command> makeTuneCommand();
std::unique_ptr<Command> makeInspectCommand();
std::unique_ptr<Command> makeProfileCommand();
std::unique_ptr<Command> makeDevicesCommand();
std::unique_ptr<Command> makeExplainCommand();

/// All commands, in the order of the help.
std::vector<std::unique_ptr<Command>> makeCommands();

} // namespace heddle::cli
