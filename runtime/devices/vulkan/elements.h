// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How elements look on the device: as on the host, but for integers of 64 bits, which have 32 there.

#pragma once

#include <cstddef>
#include <cstdint>

#include <heddle/heddle.h>

namespace heddle::runtime::vulkan {

inline bool is_narrowed(heddle_element_type_t type) { return type == HEDDLE_ELEMENT_I64 || type == HEDDLE_ELEMENT_U64; }

/// Bytes that |bytes| of the host's elements take on the device.
inline uint64_t device_bytes(heddle_element_type_t type, uint64_t bytes) {
  return is_narrowed(type) ? bytes / 2 : bytes;
}

/// Copies |bytes| of the host's elements to |to| in the device's form. Returns false if a value doesn't fit, which is
/// then in |out_value| (its bits).
bool to_device(heddle_element_type_t type, const void *from, uint64_t bytes, void *to, int64_t *out_value);

/// Copies |bytes| of the host's elements, which lie at |from| in the device's form, to |to|.
void from_device(heddle_element_type_t type, const void *from, uint64_t bytes, void *to);

/// "-5000000000", or a number without sign for u64.
const char *format_value(heddle_element_type_t type, int64_t value, char (&text)[24]);

} // namespace heddle::runtime::vulkan
