// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of an artifact's targets to run on which device.

#pragma once

#include "runtime/core/device.h"

namespace heddle::runtime {

/// Finds the driver |name|; null or "" means the first one.
heddle_status_t find_driver(const char *name, const device_driver **out_driver);

/// Whether |target| is code for |driver|'s kind of device: "cpu:x86-64-v4" is for "cpu".
bool is_target_of(const target_table &target, const device_driver &driver);

/// Takes the target |name|, or with null or "" the first, which is the best, that |driver|'s device can run. A failure
/// says for each target what is missing, and how to compile again.
heddle_status_t select_target(const program_tables &tables, const device_driver &driver, const char *name,
                              size_t *out_target);

} // namespace heddle::runtime
