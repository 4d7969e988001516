// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The form of messages. Colour is added here, after the fact, because the runtime and the compiler hand out plain
// text that also goes to files and logs.

#include "tools/heddle/error.h"

#include "tools/heddle/text.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace heddle::cli {

void fail(Exit exit, std::string_view code, std::string_view message, std::string_view context, std::string_view help) {
  std::string text = "error[" + std::string(code) + "]: " + std::string(message) + "\n";
  if (!context.empty())
    text += "  " + std::string(context) + "\n";
  if (!help.empty())
    text += "  help: " + std::string(help) + "\n";
  throw CommandError{exit, std::move(text)};
}

std::string suggest(std::string_view given, const std::vector<std::string> &known, std::string_view label) {
  if (std::string nearest = nearestName(given, known); !nearest.empty())
    return "did you mean '" + nearest + "'?";
  if (known.empty())
    return {};
  return std::string(label) + ": " + join(known, ", ");
}

static bool standardErrorHasColour() {
  const char *noColour = std::getenv("NO_COLOR");
  return isatty(STDERR_FILENO) && !(noColour && *noColour);
}

/// The escape sequence of one line, by how it starts.
static const char *colourOf(std::string_view line) {
  if (line.substr(0, 6) == "error[")
    return "\x1b[1;31m";
  if (line.substr(0, 8) == "  help: ")
    return "\x1b[36m";
  return "";
}

void printError(std::string_view text) {
  bool colour = standardErrorHasColour();
  const std::string safe = printable(text);
  for (std::string_view line : splitLines(safe)) {
    const char *escape = colour ? colourOf(line) : "";
    std::fprintf(stderr, "%s%.*s%s\n", escape, static_cast<int>(line.size()), line.data(), *escape ? "\x1b[0m" : "");
  }
}

void note(std::string_view line) { std::fprintf(stderr, "%s\n", printable(line).c_str()); }

} // namespace heddle::cli
