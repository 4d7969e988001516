// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Progress lines.

#include "tools/heddle/progress.h"

#include "tools/heddle/error.h"
#include "tools/heddle/text.h"

#include <cmath>
#include <cstdio>
#include <unistd.h>

namespace heddle::cli {

std::string progressText(const std::string &phase, size_t done, size_t total, double seconds) {
  std::string text = phase;
  if (total > 1)
    text += " " + std::to_string(done) + "/" + std::to_string(total);
  if (total > 1 && phase == "codegen")
    text += " kernels";
  // An estimate from little is a guess.
  if (done > 0 && done < total && seconds >= 1) {
    double left = seconds * static_cast<double>(total - done) / static_cast<double>(done);
    text += ", " + std::to_string(std::lround(std::ceil(left))) + " s left";
  }
  return text;
}

Progress::Progress() : isTerminal(isatty(STDERR_FILENO)) {}

void Progress::update(const std::string &phase, size_t done, size_t total) {
  if (total == 0) {
    finish();
    note(phase);
    return;
  }
  auto now = std::chrono::steady_clock::now();
  bool isNewPhase = phase != currentPhase;
  if (isNewPhase) {
    currentPhase = phase;
    phaseStart = now;
  }
  if (!isTerminal) {
    if (isNewPhase)
      note(phase);
    return;
  }
  write(progressText(phase, done, total, std::chrono::duration<double>(now - phaseStart).count()), isNewPhase);
}

void Progress::show(const std::string &text, bool isStep) {
  if (isTerminal)
    write(text, isStep);
  else if (isStep)
    note(text);
}

void Progress::write(const std::string &text, bool isAtOnce) {
  // A terminal can't show more than this, and writing to it costs time.
  const auto now = std::chrono::steady_clock::now();
  if (!isAtOnce && now - lastShown < std::chrono::milliseconds(50))
    return;
  lastShown = now;
  std::fprintf(stderr, "\r\x1b[K%s", printable(text).c_str());
  lineIsShown = true;
}

void Progress::finish() {
  if (lineIsShown)
    std::fputs("\r\x1b[K", stderr);
  lineIsShown = false;
}

} // namespace heddle::cli
