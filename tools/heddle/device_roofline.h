// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The roofline of whatever device a program runs on.

#pragma once

#include "tools/heddle/program.h"
#include "tools/heddle/roofline.h"

#include <heddle/vulkan.h>

namespace heddle::cli {

/// Measures the device that |loaded| runs on; |device| is what reports call it. On the CPU with the program's threads.
/// Throws as measureRoofline(threads) does, and CommandError where the device fails.
Roofline measureRoofline(const LoadedProgram &loaded, const std::string &device);

/// |limits| of a device of its own, whose caches have no names.
Roofline rooflineOf(const heddle_vulkan_limits_t &limits);

/// |limits| of a device that is the CPU: it computes by its own code and reads what |cpu|, with all threads, reads.
Roofline rooflineOf(const heddle_vulkan_limits_t &limits, const Roofline &cpu);

} // namespace heddle::cli
