// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which part of weights that are mapped from the artifact a run brings into memory.

#pragma once

#include <utility>
#include <vector>

#include <heddle/heddle.h>

#include "runtime/core/artifact_source.h"
#include "runtime/core/plan.h"
#include "runtime/core/program_tables.h"

namespace heddle::runtime::cpu {

/// Sets |out|'s weight_bytes and table_bytes for a run of |entry| by |plan|, in whole blocks of the system's.
void measure_mapped_weights(const artifact_source &source, const program_tables &tables, const entry_table &entry,
                            const plan &plan, heddle_memory_info_t *out);

/// Begin and end, in the file.
using byte_range = std::pair<uint64_t, uint64_t>;

/// Bytes of all blocks of a file of |length| bytes that |ranges| lie in, which may overlap; none is empty. Blocks lie
/// at multiples of their size, |block|; those that would reach beyond the file's end are halves, quarters and so on of
/// it.
int64_t bytes_of_blocks(std::vector<byte_range> ranges, uint64_t block, uint64_t length);

} // namespace heddle::runtime::cpu
