// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results that a caller can act on differently have codes of their own; the others are told by name.

#include "runtime/devices/vulkan/result.h"

namespace heddle::runtime::vulkan {

std::string result_name(VkResult result) {
  switch (result) {
#define HEDDLE_CASE(name)                                                                                              \
  case name:                                                                                                           \
    return #name
    HEDDLE_CASE(VK_TIMEOUT);
    HEDDLE_CASE(VK_NOT_READY);
    HEDDLE_CASE(VK_INCOMPLETE);
    HEDDLE_CASE(VK_ERROR_OUT_OF_HOST_MEMORY);
    HEDDLE_CASE(VK_ERROR_OUT_OF_DEVICE_MEMORY);
    HEDDLE_CASE(VK_ERROR_INITIALIZATION_FAILED);
    HEDDLE_CASE(VK_ERROR_DEVICE_LOST);
    HEDDLE_CASE(VK_ERROR_MEMORY_MAP_FAILED);
    HEDDLE_CASE(VK_ERROR_LAYER_NOT_PRESENT);
    HEDDLE_CASE(VK_ERROR_EXTENSION_NOT_PRESENT);
    HEDDLE_CASE(VK_ERROR_FEATURE_NOT_PRESENT);
    HEDDLE_CASE(VK_ERROR_INCOMPATIBLE_DRIVER);
    HEDDLE_CASE(VK_ERROR_TOO_MANY_OBJECTS);
    HEDDLE_CASE(VK_ERROR_FRAGMENTED_POOL);
    HEDDLE_CASE(VK_ERROR_UNKNOWN);
    HEDDLE_CASE(VK_ERROR_OUT_OF_POOL_MEMORY);
    HEDDLE_CASE(VK_ERROR_INVALID_SHADER_NV);
#undef HEDDLE_CASE
  default:
    return "VkResult " + std::to_string(static_cast<int>(result));
  }
}

/// What helps where the device is too small.
static constexpr const char *less_work = "shorter sequences or smaller batches need less, or run with --device cpu";

heddle_status_t check_result(VkResult result, const char *what) {
  if (result >= 0)
    return nullptr;
  switch (result) {
  case VK_ERROR_OUT_OF_HOST_MEMORY:
    return fail(error::H0313, format("not enough memory: the Vulkan driver couldn't %s", what));
  case VK_ERROR_OUT_OF_DEVICE_MEMORY:
  case VK_ERROR_TOO_MANY_OBJECTS:
  case VK_ERROR_OUT_OF_POOL_MEMORY:
  case VK_ERROR_FRAGMENTED_POOL:
    return fail(error::H0407, format("not enough device memory: the Vulkan driver couldn't %s", what), less_work);
  case VK_ERROR_DEVICE_LOST:
    return fail(error::H0405, format("the Vulkan device was lost: the driver couldn't %s", what),
                "load the program again to continue on a fresh device; one of your own you have to make anew before");
  default:
    return fail(error::H0408, format("the Vulkan driver couldn't %s: %s", what, result_name(result).c_str()),
                "an update of the driver may help, or run with --device cpu");
  }
}

heddle_status_t beyond_limits(std::string message) { return fail(error::H0406, std::move(message), less_work); }

} // namespace heddle::runtime::vulkan
