// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What happens when a bug of ours kills the process: a message with a line that reproduces it, and exit code 70.

#pragma once

#include <string>

namespace heddle::cli {

/// Has fatal signals report in the form of all errors and leave with Exit::Bug. Call once, first.
void reportCrashes(int argc, char **argv);

/// The command line, quoted for a shell.
std::string commandLine(int argc, char **argv);

} // namespace heddle::cli
