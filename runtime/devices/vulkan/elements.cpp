// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers of 64 bits lie in 32 on devices: narrowed on their way there, where a value that doesn't fit is found, and
// widened on their way back.

#include "runtime/devices/vulkan/elements.h"

#include <cstdio>
#include <cstring>

namespace heddle::runtime::vulkan {

namespace {

template <typename Wide, typename Narrow> bool narrow(const void *from, uint64_t bytes, void *to, int64_t *out_value) {
  // By memcpy: neither the host's tensors nor their types promise more than bytes.
  for (uint64_t i = 0; i < bytes / sizeof(Wide); ++i) {
    Wide value;
    std::memcpy(&value, static_cast<const std::byte *>(from) + i * sizeof(Wide), sizeof(Wide));
    const auto kept = static_cast<Narrow>(value);
    if (kept != value) {
      *out_value = static_cast<int64_t>(value);
      return false;
    }
    std::memcpy(static_cast<std::byte *>(to) + i * sizeof(Narrow), &kept, sizeof(Narrow));
  }
  return true;
}

template <typename Wide, typename Narrow> void widen(const void *from, uint64_t bytes, void *to) {
  for (uint64_t i = 0; i < bytes / sizeof(Wide); ++i) {
    Narrow kept;
    std::memcpy(&kept, static_cast<const std::byte *>(from) + i * sizeof(Narrow), sizeof(Narrow));
    const Wide value = kept;
    std::memcpy(static_cast<std::byte *>(to) + i * sizeof(Wide), &value, sizeof(Wide));
  }
}

} // namespace

bool to_device(heddle_element_type_t type, const void *from, uint64_t bytes, void *to, int64_t *out_value) {
  if (type == HEDDLE_ELEMENT_I64)
    return narrow<int64_t, int32_t>(from, bytes, to, out_value);
  if (type == HEDDLE_ELEMENT_U64)
    return narrow<uint64_t, uint32_t>(from, bytes, to, out_value);
  if (bytes != 0)
    std::memcpy(to, from, bytes);
  return true;
}

void from_device(heddle_element_type_t type, const void *from, uint64_t bytes, void *to) {
  if (type == HEDDLE_ELEMENT_I64)
    return widen<int64_t, int32_t>(from, bytes, to);
  if (type == HEDDLE_ELEMENT_U64)
    return widen<uint64_t, uint32_t>(from, bytes, to);
  if (bytes != 0)
    std::memcpy(to, from, bytes);
}

const char *format_value(heddle_element_type_t type, int64_t value, char (&text)[24]) {
  if (type == HEDDLE_ELEMENT_U64)
    std::snprintf(text, sizeof(text), "%llu", static_cast<unsigned long long>(value));
  else
    std::snprintf(text, sizeof(text), "%lld", static_cast<long long>(value));
  return text;
}

} // namespace heddle::runtime::vulkan
