// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The crash message. It is made in advance, because a signal handler may do little more than write and leave.

#include "tools/heddle/crash.h"

#include "tools/heddle/error.h"

#include <csignal>
#include <cstring>
#include <string_view>
#include <unistd.h>

namespace heddle::cli {

static std::string crashMessage;

/// Touching what a mapped file no longer has is the fault of whoever cut it off.
static constexpr std::string_view shrunkMessage =
    "error[H0507]: a model or artifact became shorter while it was in use\n"
    "  help: replace such files by renaming a new one over the old one\n";

std::string commandLine(int argc, char **argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) {
    bool isPlain = *argv[i] && !argv[i][std::strcspn(argv[i], " \t\n'\"\\$`*?[](){}<>|&;#~!")];
    line += i ? " " : "";
    if (isPlain) {
      line += argv[i];
      continue;
    }
    line += '\'';
    for (const char *c = argv[i]; *c; ++c)
      line += *c == '\'' ? std::string("'\\''") : std::string(1, *c);
    line += '\'';
  }
  return line;
}

/// Sanitizers report better than we do, so their builds keep their handlers.
static constexpr bool isSanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return true;
#else
  return false;
#endif
#else
  return false;
#endif
}

void reportCrashes(int argc, char **argv) {
  if (isSanitized())
    return;
  crashMessage = "error[H0903]: internal error: the process was stopped by a fault of its own\n"
                 "  help: this is a bug; reproduce it with: " +
                 commandLine(argc, argv) + "\n";
  std::signal(SIGBUS, [](int) {
    [[maybe_unused]] ssize_t written = write(STDERR_FILENO, shrunkMessage.data(), shrunkMessage.size());
    _exit(static_cast<int>(Exit::File));
  });
  for (int signal : {SIGSEGV, SIGILL, SIGFPE, SIGABRT})
    std::signal(signal, [](int) {
      [[maybe_unused]] ssize_t written = write(STDERR_FILENO, crashMessage.data(), crashMessage.size());
      _exit(static_cast<int>(Exit::Bug));
    });
}

} // namespace heddle::cli
