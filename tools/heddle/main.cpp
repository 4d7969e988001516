// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `heddle`: finds the command, runs it, prints what went wrong, and leaves with the exit code that says which kind of
// thing that was.

#include "tools/heddle/command.h"
#include "tools/heddle/compiler_library.h"
#include "tools/heddle/crash.h"
#include "tools/heddle/text.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <heddle/heddle.h>

namespace heddle::cli {

static void printHelp(std::FILE *stream, const std::vector<std::unique_ptr<Command>> &commands) {
  std::fputs("usage: heddle COMMAND [arguments]\n\n"
             "Compiles Transformer models ahead of time and runs what it made.\n\ncommands:\n",
             stream);
  for (const auto &command : commands)
    std::fprintf(stream, "  %-10s%s\n", command->options.command().c_str(), command->options.summary().c_str());
  std::fputs("\nheddle COMMAND --help lists the options of a command; heddle --version says what this is.\n", stream);
}

static void printVersion() {
#ifdef NDEBUG
  const char *build = "release";
#else
  const char *build = "debug";
#endif
  const CompilerLibrary *compiler = CompilerLibrary::find();
  std::printf("heddle %s\ncompiler: %s\nbuild: %s\n", heddle_version(),
              compiler ? compiler->version() : "not installed", build);
}

static Exit dispatch(const std::vector<std::string> &arguments) {
  // As git has it: `heddle help run` is `heddle run --help`.
  if (arguments.size() > 1 && arguments[0] == "help")
    return dispatch({arguments[1], "--help"});
  std::vector<std::unique_ptr<Command>> commands = makeCommands();
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "--help-all" ||
      arguments[0] == "help") {
    printHelp(arguments.empty() ? stderr : stdout, commands);
    return arguments.empty() ? Exit::Usage : Exit::Fine;
  }
  if (arguments[0] == "--version") {
    printVersion();
    return Exit::Fine;
  }
  std::vector<OptionSet *> sets;
  std::vector<std::string> names;
  for (const auto &command : commands) {
    sets.push_back(&command->options);
    names.push_back(command->options.command());
  }
  for (const auto &command : commands)
    if (command->options.command() == arguments[0])
      return command->options.parse({arguments.begin() + 1, arguments.end()}, sets) ? command->run() : Exit::Fine;
  if (arguments[0][0] == '-')
    fail(Exit::Usage, "H0131", "heddle has no option '" + arguments[0] + "'", {},
         "options follow the command: heddle COMMAND [arguments]");
  fail(Exit::Usage, "H0130", "there is no command '" + arguments[0] + "'", {},
       suggest(arguments[0], names, "commands"));
}

/// What was printed must have arrived: a full disk fails here, not at the printing.
static void checkStandardOutput() {
  if (std::fflush(stdout) != 0)
    fail(Exit::File, "H0521", std::string("cannot write standard output: ") + std::strerror(errno));
}

} // namespace heddle::cli

int main(int argc, char **argv) {
  using namespace heddle::cli;
  reportCrashes(argc, argv);
  try {
    Exit exit = dispatch({argv + 1, argv + argc});
    checkStandardOutput();
    return static_cast<int>(exit);
  } catch (const CommandError &error) {
    printError(error.text);
    return static_cast<int>(error.exit);
  } catch (const std::bad_alloc &) {
    printError("error[H0313]: out of memory\n");
    return static_cast<int>(Exit::Device);
  } catch (const std::exception &error) {
    printError(std::string("error[H0903]: internal error: ") + error.what() +
               "\n  help: this is a bug; reproduce it with: " + commandLine(argc, argv) + "\n");
    return static_cast<int>(Exit::Bug);
  }
}
