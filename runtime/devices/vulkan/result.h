// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statuses of a device. Every call of Vulkan that returns a VkResult goes through here.

#pragma once

#include <volk.h>

#include "runtime/core/status.h"

namespace heddle::runtime::vulkan {

/// A structure of Vulkan's, zero but for its type.
template <typename Struct> Struct tagged(VkStructureType type) {
  Struct value = {};
  value.sType = type;
  return value;
}

/// "VK_ERROR_DEVICE_LOST", or the number in text.
std::string result_name(VkResult result);

/// Success for any result that isn't negative; else a status of its own for memory and a lost device, or H0408. |what|
/// says what was tried: "submit work".
heddle_status_t check_result(VkResult result, const char *what);

/// H0406: more work than the device takes, as |message| says, and what to do about it.
heddle_status_t beyond_limits(std::string message);

} // namespace heddle::runtime::vulkan
