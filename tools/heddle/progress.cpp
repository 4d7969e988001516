// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Progress lines.

#include "tools/heddle/progress.h"

#include "tools/heddle/error.h"

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
  // A terminal can't show more than this, and writing to it costs time.
  if (!isNewPhase && now - lastShown < std::chrono::milliseconds(50))
    return;
  lastShown = now;
  double seconds = std::chrono::duration<double>(now - phaseStart).count();
  std::fprintf(stderr, "\r\x1b[K%s", progressText(phase, done, total, seconds).c_str());
  lineIsShown = true;
}

void Progress::finish() {
  if (lineIsShown)
    std::fputs("\r\x1b[K", stderr);
  lineIsShown = false;
}

} // namespace heddle::cli
