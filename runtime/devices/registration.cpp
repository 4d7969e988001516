// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The devices of this build: one line each, the default first.

#include "runtime/devices/cpu/cpu_device.h"

namespace heddle::runtime {

const device_driver *const device_drivers[] = {&cpu::driver, nullptr};

} // namespace heddle::runtime
