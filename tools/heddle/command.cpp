// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The list of commands, and what they share.

#include "tools/heddle/command.h"

namespace heddle::cli {

std::vector<std::unique_ptr<Command>> makeCommands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(makeCompileCommand());
  commands.push_back(makeRunCommand());
  commands.push_back(makeBenchCommand());
  commands.push_back(makeVerifyCommand());
  commands.push_back(makeTuneCommand());
  commands.push_back(makeInspectCommand());
  commands.push_back(makeProfileCommand());
  commands.push_back(makeDevicesCommand());
  commands.push_back(makeExplainCommand());
  return commands;
}

void Command::require(const std::string &value, const char *argument) const {
  if (value.empty())
    fail(Exit::Usage, "H0139", "heddle " + options.command() + " expects " + argument, {},
         "usage: heddle " + options.command() + " " + options.usageText());
}

} // namespace heddle::cli
