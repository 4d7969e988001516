// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A handler that leaves a mark and makes room for the system's own.

#include "tools/heddle/interrupt.h"

#include <csignal>

namespace heddle::cli {

static volatile std::sig_atomic_t wasInterrupted = 0;

InterruptGuard::InterruptGuard() {
  wasInterrupted = 0;
  struct sigaction action = {};
  action.sa_handler = [](int) { wasInterrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

InterruptGuard::~InterruptGuard() { std::signal(SIGINT, SIG_DFL); }

bool InterruptGuard::isInterrupted() const { return wasInterrupted != 0; }

} // namespace heddle::cli
