// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives each buffer of an entry point its place in the arena, so that buffers alive at the same time never overlap.

#pragma once

#include "runtime/core/program_tables.h"

namespace heddle::runtime {

/// Places |buffers| of the given |bytes| at multiples of HEDDLE_BUFFER_ALIGNMENT: first fit over lifetimes, largest
/// buffers first. Returns false if the arena's size doesn't fit i64. |bytes| are not negative.
bool plan_memory(const std::vector<buffer_table> &buffers, const std::vector<int64_t> &bytes,
                 std::vector<int64_t> *out_offsets, int64_t *out_arena_bytes);

} // namespace heddle::runtime
