// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The devices as people are told of them.

#include "runtime/devices/vulkan/program.h"

#include "runtime/devices/vulkan/features.h"

namespace heddle::runtime::vulkan {

namespace {

device_description describe(const gpu &gpu, size_t index) {
  device_description out;
  out.name = "vulkan:" + std::to_string(index);
  out.title = gpu.properties.deviceName;
  out.kind = kind_of(gpu);
  out.driver = gpu.driver;
  out.memory_bytes = gpu.memory_bytes();
  for (const feature_name &feature : feature_names)
    if (gpu.features & feature.bit)
      out.features.push_back(feature.name);
  const limits &limits = gpu.limits;
  out.limits =
      format("a binding of %llu MiB, an allocation of %llu MiB, %u KiB of shared memory, %u invocations",
             static_cast<unsigned long long>(limits.range >> 20),
             static_cast<unsigned long long>(limits.allocation >> 20), limits.shared_bytes >> 10, limits.invocations);
  out.problem = gpu.unfit;
  return out;
}

} // namespace

void list_for_people(std::vector<device_description> *out) {
  std::vector<gpu> gpus;
  heddle_status_t status = list_devices(&gpus);
  if (status || gpus.empty()) {
    device_description none;
    none.name = "vulkan";
    none.problem = status ? heddle_status_message(status) : "Vulkan has no device here";
    heddle_status_release(status);
    out->push_back(std::move(none));
    return;
  }
  for (size_t i = 0; i < gpus.size(); ++i)
    out->push_back(describe(gpus[i], i));
}

} // namespace heddle::runtime::vulkan
