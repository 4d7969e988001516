// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns what a kernel left in its error record into a message about the model.

#pragma once

#include <heddle/executable_abi.h>

#include "runtime/core/program_tables.h"
#include "runtime/core/status.h"

namespace heddle::runtime {

/// The failure of |dispatch|, whose kernel is named |kernel|, after it returned |code| and left |record|.
heddle_status_t kernel_failure(const dispatch_step &dispatch, const char *kernel, int32_t code,
                               const heddle_error_record_t &record);

} // namespace heddle::runtime
