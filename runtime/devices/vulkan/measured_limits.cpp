// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vulkan tells of no cache, so buffers of growing sizes find out where the last one ends.

#include "runtime/devices/vulkan/measured_limits.h"

#include <algorithm>
#include <cstdio>

#include "runtime/devices/vulkan/features.h"
#include "runtime/devices/vulkan/rate_meter.h"

namespace heddle::runtime::vulkan {

namespace {

/// The largest buffer: the caches of most devices are smaller, and it is what vulkan.h promises.
constexpr uint64_t most_bytes = 256u << 20;
/// The smallest buffer: all of a device reads it at once without its units being in each other's way.
constexpr uint64_t least_bytes = 256u << 10;
/// From one buffer to the next larger one.
constexpr uint64_t growth = 4;
/// A buffer that takes longer isn't read: the device is a slow one, whose caches are small.
constexpr double most_seconds = 0.05;
/// A cache is worth the name where it is so many times as fast as memory.
constexpr double faster = 1.25;

/// The largest power of two up to |bytes|, which isn't 0.
uint64_t power_of_two_within(uint64_t bytes) {
  uint64_t power = 1;
  while (power <= bytes / 2)
    power *= 2;
  return power;
}

heddle_status_t measure_reads(rate_meter *meter, heddle_vulkan_limits_t *out) {
  std::vector<read_rate> rates;
  uint64_t bytes = std::min(least_bytes, meter->bytes());
  for (;;) {
    double rate = 0;
    HEDDLE_RETURN_IF_ERROR(meter->measure(limit_shader::read_memory, bytes, &rate));
    rates.push_back({bytes, rate});
    const uint64_t next = std::min(bytes * growth, meter->bytes());
    if (next == bytes || static_cast<double>(next) > rate * most_seconds)
      break;
    bytes = next;
  }
  set_read_rates(rates, out);
  return nullptr;
}

} // namespace

void set_read_rates(const std::vector<read_rate> &rates, heddle_vulkan_limits_t *out) {
  out->memory_rate = out->cache_rate = rates.back().rate;
  out->cache_bytes = 0;
  for (const read_rate &read : rates)
    if (read.rate >= faster * rates.back().rate) {
      out->cache_bytes = read.bytes;
      out->cache_rate = std::max(out->cache_rate, read.rate);
    }
}

heddle_status_t measure_limits(const device &device, heddle_vulkan_limits_t *out) {
  heddle_vulkan_limits_t limits = {};
  std::snprintf(limits.device_name, sizeof(limits.device_name), "%s", device.gpu().properties.deviceName);
  limits.is_software = device.gpu().is_software() ? 1 : 0;
  rate_meter meter(device);
  const uint64_t bytes = power_of_two_within(std::min({most_bytes, device.limits().range, device.limits().allocation}));
  HEDDLE_RETURN_IF_ERROR(meter.create(bytes, least_bytes));
  HEDDLE_RETURN_IF_ERROR(meter.measure(limit_shader::multiply_floats, meter.bytes(), &limits.f32_rate));
  // As the compiler's variants ask for it.
  constexpr uint32_t dots = feature_dot | feature_dot_accelerated | feature_shared_tiles;
  const bool has_dots = (device.gpu().features & dots) == dots;
  HEDDLE_RETURN_IF_ERROR(meter.measure(has_dots ? limit_shader::dot_bytes : limit_shader::multiply_bytes, meter.bytes(),
                                       &limits.byte_rate));
  HEDDLE_RETURN_IF_ERROR(measure_reads(&meter, &limits));
  HEDDLE_RETURN_IF_ERROR(device.take_validation_error());
  *out = limits;
  return nullptr;
}

} // namespace heddle::runtime::vulkan
