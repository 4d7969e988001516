// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which part of weights that are mapped from the artifact a run brings into memory.

#pragma once

#include <heddle/heddle.h>

#include "runtime/core/artifact_source.h"
#include "runtime/core/plan.h"
#include "runtime/core/program_tables.h"

namespace heddle::runtime::cpu {

/// Sets |out|'s weight_bytes and table_bytes for a run of |entry| by |plan|, in whole blocks of the system's.
void measure_mapped_weights(const artifact_source &source, const program_tables &tables, const entry_table &entry,
                            const plan &plan, heddle_memory_info_t *out);

} // namespace heddle::runtime::cpu
