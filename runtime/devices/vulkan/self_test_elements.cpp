// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/devices/vulkan/self_test_elements.h"

#include <cstring>

#include "runtime/core/status.h"
#include "runtime/devices/vulkan/elements.h"

namespace heddle::runtime::vulkan {

void make_device_elements(heddle_element_type_t type, const self_test_input &input, std::byte *to) {
  self_test_input stored = input;
  stored.bytes = device_bytes(type, input.bytes);
  runtime::make_elements(is_narrowed(type) ? HEDDLE_ELEMENT_U32 : type, stored, to);
}

int unwritten_byte(heddle_element_type_t type) { return is_float(type) ? 0xff : 0xa5; }

std::string format_element(heddle_element_type_t type, const void *element) {
  if (is_float(type))
    return format("%g", read_float(type, element));
  const size_t size = heddle_element_type_size(type);
  uint64_t bits = 0;
  std::memcpy(&bits, element, size);
  const bool is_signed = type == HEDDLE_ELEMENT_I8 || type == HEDDLE_ELEMENT_I16 || type == HEDDLE_ELEMENT_I32;
  const unsigned unused = is_signed ? static_cast<unsigned>(64 - 8 * size) : 0;
  char text[24];
  return format_value(type, static_cast<int64_t>(bits << unused) >> unused, text);
}

} // namespace heddle::runtime::vulkan
