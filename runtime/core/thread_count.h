// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many threads this process should use.

#pragma once

#include <string>

#include "runtime/core/status.h"

namespace heddle::runtime {

/// More is taken for a mistake.
constexpr unsigned max_thread_count = 1024;

/// heddle_default_thread_count, but with an error where HEDDLE_THREADS isn't a number between 1 and max_thread_count.
heddle_status_t default_thread_count(unsigned *out_count);

/// Returns the CPUs' worth of time, rounded up, that the cgroup of this process may use, or 0 without a limit. The
/// files are read below |root|, "" outside of tests. Both versions of cgroups are understood, and every level counts.
unsigned cgroup_cpu_limit(const std::string &root);

} // namespace heddle::runtime
