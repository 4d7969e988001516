// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the command fails: an exit code and a text in the house's form, thrown as CommandError and printed once, by
// main. Exceptions exist in this room only; nothing that throws is called from the runtime or the compiler.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::cli {

/// The exit codes that users and scripts rely on.
enum class Exit : int { Fine = 0, Differs = 1, Usage = 2, Model = 3, Device = 4, File = 5, Bug = 70 };

/// |text| holds one or more complete messages, `error[Hxxxx]: ...` with their context and help lines.
struct CommandError {
  Exit exit;
  std::string text;
};

/// Throws a CommandError of one message: |code| is "H0139" and so on (explain.cpp lists them all), |context| says
/// where, |help| what to do. Empty lines are left out.
[[noreturn]] void fail(Exit exit, std::string_view code, std::string_view message, std::string_view context = {},
                       std::string_view help = {});

/// "did you mean 'x'?" for the nearest of |known|; if none is near, |label| and the list of all: "inputs: a, b".
std::string suggest(std::string_view given, const std::vector<std::string> &known, std::string_view label);

/// Prints |text| to standard error, in colour if that is a terminal and NO_COLOR is unset.
void printError(std::string_view text);

/// Prints one line to standard error: progress, what was chosen, where a file went.
void note(std::string_view line);

} // namespace heddle::cli
