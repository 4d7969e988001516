// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of one command: command line, environment twins, configuration file and help. CLI11 does the parsing;
// it stays behind this header, so that its errors leave in the house's form only.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace heddle::cli {

/// A command declares its options bound to members of its own, then parse() fills them. What isn't given keeps its
/// value. The command line wins over the environment (--dump-phases-to has the twin HEDDLE_DUMP_PHASES_TO), which wins
/// over the configuration file. An option given again replaces the earlier value, unless it collects a list.
class OptionSet {
public:
  /// |usage| follows "heddle COMMAND" in the help: "ARTIFACT [options]".
  OptionSet(std::string command, std::string summary, std::string usage);
  ~OptionSet();

  void positional(const char *name, std::string &value, const char *help);
  void positionals(const char *name, std::vector<std::string> &values, const char *help);
  /// |flags| is "--name" or "-n,--name"; |placeholder| stands for the value in the help.
  void text(const char *flags, std::string &value, const char *placeholder, const char *help);
  void list(const char *flags, std::vector<std::string> &values, const char *placeholder, const char *help);
  void choice(const char *flags, std::string &value, const std::vector<std::string> &choices, const char *help);
  void count(const char *flags, unsigned &value, const char *placeholder, const char *help);
  void number(const char *flags, double &value, const char *placeholder, const char *help);
  void flag(const char *flags, bool &value, const char *help);
  /// What is declared from here on stands in --help-all alone: --help has twenty options at most.
  void rare() { group = kRareGroup; }

  /// Returns false if the arguments asked for help or for --dump-config, which is printed then. |sets| are those of
  /// all commands: a configuration file may hold values for them.
  bool parse(const std::vector<std::string> &arguments, const std::vector<OptionSet *> &sets);

  const std::string &command() const { return name; }
  const std::string &summary() const { return about; }
  const std::string &usageText() const { return usage; }
  /// Names without dashes, as a configuration file has them.
  std::vector<std::string> names() const;
  std::string help(bool all) const;

private:
  static constexpr const char *kRareGroup = "rarely needed";

  void finish(CLI::Option *option, const char *placeholder);
  void checkExtras() const;
  void applyConfig(const std::vector<OptionSet *> &sets);
  void applyConfigItem(const std::string &item, const std::vector<std::string> &values);
  std::string dumpConfig() const;

  std::string name, about, usage;
  const char *group = "options";
  std::unique_ptr<CLI::App> app;
  std::string configPath;
  bool dumpsConfig = false;
};

} // namespace heddle::cli
