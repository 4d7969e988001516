// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells `perf` the names of kernels, which lie in no file with symbols.

#pragma once

#include "runtime/devices/cpu/kernel_image.h"

namespace heddle::runtime::cpu {

/// Whether the environment has HEDDLE_PERF_MAP set to other than 0. `perf` asks its map for names of code in memory
/// that is no file's alone, so the code must be a copy then.
bool perf_map_is_wanted();

/// Appends the kernels of |target| to /tmp/perf-<pid>.map. Best effort: a profile without names is no reason not to
/// run.
void write_perf_map(const program_tables &tables, const target_table &target, const kernel_image &image);

} // namespace heddle::runtime::cpu
