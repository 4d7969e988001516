// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The devices of this build: one line each, the default first.

#include "runtime/devices/cpu/cpu_device.h"
#ifdef HEDDLE_VULKAN
#include "runtime/devices/vulkan/program.h"
#endif

namespace heddle::runtime {

const device_driver *const device_drivers[] = {&cpu::driver,
#ifdef HEDDLE_VULKAN
                                               &vulkan::driver,
#endif
                                               nullptr};

} // namespace heddle::runtime
