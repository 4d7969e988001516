// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of self-tests as the device has them.

#pragma once

#include <string>

#include "runtime/core/self_test_elements.h"

namespace heddle::runtime::vulkan {

/// Writes |input|'s elements to |to| in the device's form.
void make_device_elements(heddle_element_type_t type, const self_test_input &input, std::byte *to);

std::string format_element(heddle_element_type_t type, const void *element);

/// What each byte of a result of |type| is before, so that what isn't written is seen: floats are NaNs then, booleans
/// neither true nor false, and integers rarely right.
int unwritten_byte(heddle_element_type_t type);

} // namespace heddle::runtime::vulkan
