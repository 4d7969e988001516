// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle_vulkan_measure_limits: what a device does at most.

#pragma once

#include <vector>

#include <heddle/vulkan.h>

#include "runtime/devices/vulkan/device.h"

namespace heddle::runtime::vulkan {

heddle_status_t measure_limits(const device &device, heddle_vulkan_limits_t *out);

/// The rate at which buffers of a size are read.
struct read_rate {
  uint64_t bytes;
  double rate;
};

/// Sets memory_rate, cache_rate and cache_bytes by |rates|, at least one, smallest buffer first: the caches end where a
/// larger buffer is read markedly slower, down to nearly the rate of the largest.
void set_read_rates(const std::vector<read_rate> &rates, heddle_vulkan_limits_t *out);

} // namespace heddle::runtime::vulkan
