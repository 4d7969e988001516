// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rooflines of devices.

#include "tools/heddle/device_roofline.h"

#include <algorithm>

namespace heddle::cli {

Roofline rooflineOf(const heddle_vulkan_limits_t &limits) {
  Roofline result = {};
  result.name = limits.device_name;
  result.flops = limits.f32_rate;
  result.byteOps = limits.byte_rate;
  result.memory = limits.memory_rate;
  result.l1 = result.l2 = result.l3 = result.cache = std::max(limits.cache_rate, limits.memory_rate);
  result.cacheBytes = limits.cache_bytes;
  return result;
}

Roofline rooflineOf(const heddle_vulkan_limits_t &limits, const Roofline &cpu) {
  Roofline result = cpu;
  result.name = limits.device_name;
  result.threads = 0;
  result.flops = limits.f32_rate;
  result.byteOps = limits.byte_rate;
  // Drivers make a load of their own of each number of a lane, far below what the memory gives; no kernel is bound to.
  for (double *rate : {&result.l1, &result.l2, &result.l3, &result.cache, &result.memory})
    *rate = std::max(*rate, limits.memory_rate);
  return result;
}

Roofline measureRoofline(const LoadedProgram &loaded, const std::string &device) {
  Roofline result;
  if (selectedDevice(loaded) == "cpu") {
    result = measureRoofline(loaded.threads);
  } else {
    heddle_vulkan_limits_t limits = {};
    check(heddle_vulkan_measure_limits(loaded.program.get(), &limits), loaded.context());
    result =
        limits.is_software ? rooflineOf(limits, measureRoofline(heddle_host_info()->thread_count)) : rooflineOf(limits);
  }
  result.device = device;
  return result;
}

} // namespace heddle::cli
