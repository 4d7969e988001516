// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tells one device from another for tuning: a JSON object that stands in each line of a tuning file.

#pragma once

#include <heddle/heddle.h>
#include <string>
#include <vector>

namespace heddle::cli {

/// The CPU with |threads| threads: vendor, family, model, usable features, cache sizes.
std::string fingerprintOfCpu(unsigned threads);

/// The device that |device| names, as --device has it; "" means the CPU. Throws if it isn't there. Asks the drivers.
std::string fingerprintOf(const std::string &device, unsigned threads);

/// Of a device as the runtime lists it; a CPU with all threads that the process may use.
std::string fingerprintOf(const heddle_device_info_t &device);

/// This machine's Vulkan devices that can be used. Asks the drivers.
std::vector<std::string> fingerprintsOfGpus();

} // namespace heddle::cli
