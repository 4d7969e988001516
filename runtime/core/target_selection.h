// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of an artifact's targets to run on which device.

#pragma once

#include "runtime/core/device.h"

namespace heddle::runtime {

/// Finds the driver of device |name|, "vulkan" or "vulkan:1", and what stands behind the colon, "" for nothing. A null
/// or empty name means the first driver that |tables| have a target for, or else the first: an artifact of shaders
/// alone runs on a GPU without being told to, and nothing else does.
heddle_status_t find_driver(const char *name, const program_tables &tables, const device_driver **out_driver,
                            const char **out_selector);

/// The driver of the kind of device that |target| is for; null if this build has none.
const device_driver *driver_of(const target_table &target);

/// Whether |target| is code for |driver|'s kind of device: "cpu:x86-64-v4" is for "cpu".
bool is_target_of(const target_table &target, const device_driver &driver);

/// "devices here: cpu, vulkan:0 (llvmpipe)", with the reason where a kind has none. For failures: it asks all drivers.
std::string list_devices();

/// Takes the target |name|, or with null or "" the first, which is the best, that |driver|'s device can run. A failure
/// says for each target what is missing, and how to compile again.
heddle_status_t select_target(const program_tables &tables, const device_driver &driver, const char *name,
                              size_t *out_target);

} // namespace heddle::runtime
