// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle explain: the long form of an error code. The texts lie with the codes, in the rooms that report them.

#include "compiler/support/ErrorCodes.h"
#include "tools/heddle/command.h"
#include "tools/heddle/error_codes.h"
#include "tools/heddle/text.h"

#include <cstdio>
#include <heddle/error_codes.h>

namespace heddle::cli {

namespace {

struct Explanation {
  const char *code, *summary, *text;
};

constexpr Explanation explanations[] = {
#define HEDDLE_EXPLANATION(code, summary, explanation) {#code, summary, explanation},
    HEDDLE_TOOL_ERROR_CODES(HEDDLE_EXPLANATION) HEDDLE_RUNTIME_ERROR_CODES(HEDDLE_EXPLANATION)
        HEDDLE_COMPILER_ERROR_CODES(HEDDLE_EXPLANATION)
#undef HEDDLE_EXPLANATION
};

/// Breaks each line of |text| at blanks into lines of at most 100 columns.
std::string wrapped(const std::string &text) {
  std::string out;
  for (std::string_view line : split(text, '\n')) {
    size_t column = 0;
    for (std::string_view word : split(line, ' ')) {
      bool breaks = column + word.size() + 1 > 100;
      out += column == 0 ? "" : breaks ? "\n" : " ";
      column = (breaks ? 0 : column + 1) + word.size();
      out += word;
    }
    out += "\n";
  }
  return out;
}

class ExplainCommand : public Command {
public:
  ExplainCommand() : Command("explain", "explain an error code", "CODE") {
    options.positional("CODE", code, "an error code such as H0301; 'all' lists them");
  }

  Exit run() override {
    require(code, "CODE");
    for (const Explanation &explanation : explanations) {
      if (code == "all")
        std::printf("%s  %s\n", explanation.code, explanation.summary);
      else if (lowered(explanation.code) == lowered(code))
        return print(explanation);
    }
    if (code == "all")
      return Exit::Fine;
    // No guess here: a code that looks alike means something else.
    fail(Exit::Usage, "H0137", "there is no error code '" + code + "'", {}, "heddle explain all lists them");
  }

private:
  static Exit print(const Explanation &explanation) {
    std::printf("%s: %s\n\n%s", explanation.code, explanation.summary, wrapped(explanation.text).c_str());
    return Exit::Fine;
  }

  std::string code;
};

} // namespace

std::unique_ptr<Command> makeExplainCommand() { return std::make_unique<ExplainCommand>(); }

} // namespace heddle::cli
