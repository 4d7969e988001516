// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ctrl-C as a wish to come to an end, for work whose results so far are worth keeping.

#pragma once

namespace heddle::cli {

/// While it lives, the first Ctrl-C is noted and the second ends the process. One at a time.
class InterruptGuard {
public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard &) = delete;
  InterruptGuard &operator=(const InterruptGuard &) = delete;

  /// Whether there was one.
  bool isInterrupted() const;
};

} // namespace heddle::cli
