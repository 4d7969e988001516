// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the counters of all cores agree and run at one rate whatever the cores do, the kernel finds out for itself:
// it keeps time by them only then.

#include "runtime/devices/cpu/span_clock.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace heddle::runtime::cpu {

namespace {

int64_t nanoseconds_now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool system_reads_counter() {
#if defined(__x86_64__)
  char name[4] = {};
  const int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  const ssize_t length = ::read(file, name, sizeof(name));
  close(file);
  return length == sizeof(name) && std::memcmp(name, "tsc\n", sizeof(name)) == 0;
#else
  return false;
#endif
}

} // namespace

int64_t span_clock::ticks() const {
#if defined(__x86_64__)
  if (reads_counter_)
    return static_cast<int64_t>(__rdtsc());
#endif
  return nanoseconds_now();
}

span_clock::reading span_clock::read() const {
  const int64_t nanoseconds = nanoseconds_now();
  return {reads_counter_ ? ticks() : nanoseconds, nanoseconds};
}

void span_clock::start() {
  static const bool reads_counter = system_reads_counter();
  reads_counter_ = reads_counter;
  begin_ = read();
}

void span_clock::stop() {
  const reading end = read();
  last_tick_ = std::max(begin_.ticks, end.ticks);
  const int64_t ticks = last_tick_ - begin_.ticks;
  rate_ = ticks == 0 ? 1 : static_cast<double>(end.nanoseconds - begin_.nanoseconds) / static_cast<double>(ticks);
}

int64_t span_clock::nanoseconds(int64_t ticks) const {
  // A core may read its counter a little before or after another one: never outside the run.
  const int64_t since = std::clamp(ticks, begin_.ticks, last_tick_) - begin_.ticks;
  return begin_.nanoseconds + static_cast<int64_t>(static_cast<double>(since) * rate_);
}

} // namespace heddle::runtime::cpu
