// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options on top of CLI11. Checks of values are ours, because CLI11's messages name neither the remedy nor the nearest
// name; unknown arguments are collected by CLI11 and judged here for the same reason.

#include "tools/heddle/options.h"

#include "tools/heddle/error.h"
#include "tools/heddle/files.h"
#include "tools/heddle/text.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>

namespace heddle::cli {

/// "--dump-phases-to" -> "HEDDLE_DUMP_PHASES_TO".
static std::string environmentTwin(const std::string &option) {
  std::string twin = "HEDDLE_";
  for (char c : option.substr(2))
    twin += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return twin;
}

[[noreturn]] static void failValue(const std::string &option, const std::string &expects, const std::string &value,
                                   const std::string &help = {}) {
  const char *twin = std::getenv(environmentTwin(option).c_str());
  std::string context = twin && value == twin ? "in the environment variable " + environmentTwin(option) : "";
  fail(Exit::Usage, "H0132", option + " expects " + expects + ", got '" + value + "'", context, help);
}

OptionSet::OptionSet(std::string command, std::string summary, std::string commandUsage)
    : name(std::move(command)), about(std::move(summary)), usage(std::move(commandUsage)),
      app(std::make_unique<CLI::App>(about, name)) {
  app->set_help_flag();
  app->allow_extras();
  text("--config", configPath, "FILE", "read options from a TOML file");
  flag("--dump-config", dumpsConfig, "print the options in effect as a configuration file and stop");
  for (CLI::Option *option : app->get_options())
    option->group("every command");
}

OptionSet::~OptionSet() = default;

void OptionSet::finish(CLI::Option *option, const char *placeholder) {
  option->type_name(placeholder)->group(group);
  option->envname(environmentTwin("--" + option->get_lnames().front()));
  if (option->get_items_expected_max() == 1)
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void OptionSet::positional(const char *argument, std::string &value, const char *help) {
  app->add_option(argument, value, help)->group("arguments")->type_name("");
}

void OptionSet::positionals(const char *argument, std::vector<std::string> &values, const char *help) {
  app->add_option(argument, values, help)->group("arguments")->type_name("");
}

void OptionSet::text(const char *flags, std::string &value, const char *placeholder, const char *help) {
  finish(app->add_option(flags, value, help), placeholder);
}

void OptionSet::list(const char *flags, std::vector<std::string> &values, const char *placeholder, const char *help) {
  // One value each time: else the option would swallow the arguments that follow.
  CLI::Option *option = app->add_option(flags, values, help)->expected(-1)->allow_extra_args(false);
  finish(option, placeholder);
}

void OptionSet::choice(const char *flags, std::string &value, const std::vector<std::string> &choices,
                       const char *help) {
  std::string placeholder = join(choices, "|");
  auto assign = [&value, choices, flags](const std::string &given) {
    if (std::find(choices.begin(), choices.end(), given) == choices.end())
      failValue(flags, join(choices, " or "), given, suggest(given, choices, "choices"));
    value = given;
  };
  finish(app->add_option_function<std::string>(flags, assign, help), placeholder.c_str());
}

void OptionSet::count(const char *flags, unsigned &value, const char *placeholder, const char *help) {
  auto assign = [&value, flags](const std::string &given) {
    constexpr int64_t most = 65536;
    std::optional<int64_t> number = parseCount(given);
    if (!number || *number < 1 || *number > most)
      failValue(flags, "a whole number from 1 to " + std::to_string(most), given);
    value = static_cast<unsigned>(*number);
  };
  finish(app->add_option_function<std::string>(flags, assign, help), placeholder);
}

void OptionSet::number(const char *flags, double &value, const char *placeholder, const char *help) {
  auto assign = [&value, flags](const std::string &given) {
    double number = 0;
    auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), number);
    // The upper bound keeps times within what clocks count; infinity and NaN fail it too.
    if (error != std::errc() || end != given.data() + given.size() || !(number > 0 && number <= 1e9))
      failValue(flags, "a number above 0", given);
    value = number;
  };
  finish(app->add_option_function<std::string>(flags, assign, help), placeholder);
}

void OptionSet::flag(const char *flags, bool &value, const char *help) {
  finish(app->add_flag(flags, value, help), "");
}

/// The long name, or the positional's own.
static std::string shownName(const CLI::Option &option) {
  return option.get_positional() ? option.get_name(true) : "--" + option.get_lnames().front();
}

std::vector<std::string> OptionSet::names() const {
  std::vector<std::string> result;
  for (const CLI::Option *option : static_cast<const CLI::App &>(*app).get_options())
    if (!option->get_positional())
      result.push_back(option->get_lnames().front());
  return result;
}

void OptionSet::checkExtras() const {
  for (const std::string &extra : app->remaining()) {
    if (extra == "--")
      continue;
    if (extra.size() < 2 || extra[0] != '-')
      fail(Exit::Usage, "H0134", "unexpected argument '" + extra + "'", {}, "usage: heddle " + name + " " + usage);
    std::vector<std::string> known;
    for (const std::string &option : names())
      known.push_back("--" + option);
    std::string given = extra.substr(0, extra.find('='));
    std::string nearest = nearestName(given, known);
    fail(Exit::Usage, "H0131", "heddle " + name + " has no option '" + given + "'", {},
         nearest.empty() ? "heddle " + name + " --help lists the options" : "did you mean '" + nearest + "'?");
  }
}

bool OptionSet::parse(const std::vector<std::string> &arguments, const std::vector<OptionSet *> &sets) {
  for (const std::string &argument : arguments) {
    if (argument == "--")
      break;
    if (argument == "--help" || argument == "-h" || argument == "--help-all") {
      std::fputs(help(argument == "--help-all").c_str(), stdout);
      return false;
    }
  }
  try {
    app->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ArgumentMismatch &error) {
    std::string option = std::string(error.what()).substr(0, std::string_view(error.what()).find(':'));
    fail(Exit::Usage, "H0133", option + " expects a value", {}, "heddle " + name + " --help shows its form");
  } catch (const CLI::ParseError &error) {
    fail(Exit::Usage, "H0132", error.what(), {}, "heddle " + name + " --help shows what is expected");
  }
  checkExtras();
  if (!configPath.empty())
    applyConfig(sets);
  if (dumpsConfig)
    std::fputs(dumpConfig().c_str(), stdout);
  return !dumpsConfig;
}

void OptionSet::applyConfig(const std::vector<OptionSet *> &sets) {
  std::istringstream stream(readFile(configPath));
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(stream);
  } catch (const CLI::Error &error) {
    fail(Exit::Usage, "H0135", std::string("cannot understand the configuration: ") + error.what(), "in " + configPath);
  }
  for (const CLI::ConfigItem &item : items) {
    if (item.name == "++" || item.name == "--") // CLI11's marks for the begin and end of a section
      continue;
    // Outside of sections a value is for every command that has the option.
    std::string section = item.parents.empty() ? "" : item.parents.front();
    std::vector<std::string> known, sections;
    for (const OptionSet *set : sets) {
      sections.push_back(set->name);
      if (section.empty() || section == set->name)
        for (const std::string &option : set->names())
          known.push_back(option);
    }
    if (!section.empty() && std::find(sections.begin(), sections.end(), section) == sections.end())
      fail(Exit::Usage, "H0135", "there is no command '" + section + "'", "in " + configPath,
           suggest(section, sections, "commands"));
    if (std::find(known.begin(), known.end(), item.name) == known.end())
      fail(Exit::Usage, "H0135", "there is no option '" + item.name + "'", "in " + configPath,
           suggest(item.name, known, "options"));
    if (section.empty() || section == name)
      applyConfigItem(item.name, item.inputs);
  }
}

void OptionSet::applyConfigItem(const std::string &item, const std::vector<std::string> &values) {
  CLI::Option *option = app->get_option_no_throw("--" + item);
  if (!option || option->count() > 0)
    return;
  if (values.empty()) {
    if (option->get_items_expected_max() > 1) // an empty list
      return;
    fail(Exit::Usage, "H0135", "wrong value for '" + item + "': expects one, got an empty list", "in " + configPath);
  }
  try {
    for (const std::string &value : values)
      option->add_result(value);
    option->run_callback();
  } catch (const CLI::Error &error) {
    fail(Exit::Usage, "H0135", std::string("wrong value for '") + item + "': " + error.what(), "in " + configPath);
  }
}

std::string OptionSet::dumpConfig() const {
  std::string out = "[" + name + "]\n";
  auto quoted = [](const std::string &value) {
    const char *quote = value.find('"') == std::string::npos ? "\"" : "'";
    return quote + value + quote;
  };
  for (const CLI::Option *option : static_cast<const CLI::App &>(*app).get_options()) {
    if (option->get_positional() || option->count() == 0 || option->get_group() == "every command")
      continue;
    std::vector<std::string> values;
    for (const std::string &value : option->results())
      values.push_back(quoted(value));
    bool isList = option->get_items_expected_max() > 1;
    std::string value = option->get_items_expected_max() == 0 ? option->results().back() : values.back();
    out += option->get_lnames().front() + " = " + (isList ? "[" + join(values, ", ") + "]" : value) + "\n";
  }
  return out;
}

std::string OptionSet::help(bool all) const {
  std::string out = "usage: heddle " + name + " " + usage + "\n\n" + about + "\n";
  for (std::string_view group : {"arguments", "options", kRareGroup, "every command"}) {
    if (!all && (group == kRareGroup || group == "every command"))
      continue;
    std::string lines;
    for (const CLI::Option *option : static_cast<const CLI::App &>(*app).get_options()) {
      if (option->get_group() != group)
        continue;
      std::string left = "  ";
      for (const std::string &letter : option->get_snames())
        left += "-" + letter + ", ";
      left += shownName(*option);
      if (!option->get_type_name().empty())
        left += " " + option->get_type_name();
      left.resize(std::max<size_t>(left.size() + 2, 30), ' ');
      lines += left + option->get_description() + "\n";
      if (all && !option->get_positional())
        lines += std::string(30, ' ') + "environment: " + environmentTwin(shownName(*option)) + "\n";
    }
    if (!lines.empty())
      out += "\n" + std::string(group) + ":\n" + lines;
  }
  if (!all)
    out += "\n--help-all shows configuration files and environment variables too.\n";
  return out;
}

} // namespace heddle::cli
