// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a shader may need beyond Vulkan 1.1, by the names that artifacts use.

#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::runtime::vulkan {

enum feature : uint32_t {
  feature_float16 = 1u << 0,
  feature_int8 = 1u << 1,
  feature_storage_8bit = 1u << 2,
  feature_storage_16bit = 1u << 3,
  feature_dot = 1u << 4,
  feature_dot_accelerated = 1u << 5,
  feature_subgroup_arithmetic = 1u << 6,
  feature_subgroup_shuffle = 1u << 7,
  feature_subgroup_size = 1u << 8,
  /// No feature of Vulkan's: the device is a GPU, where a workgroup's shared memory is faster than all other memory.
  feature_shared_tiles = 1u << 9,
  /// Nor is this: no subgroup is smaller than 8, and they shuffle.
  feature_subgroup_of_8 = 1u << 10,
};

struct feature_name {
  const char *name;
  uint32_t bit;
};

constexpr feature_name feature_names[] = {
    {"float16", feature_float16},
    {"int8", feature_int8},
    {"storage_8bit", feature_storage_8bit},
    {"storage_16bit", feature_storage_16bit},
    {"integer_dot_product", feature_dot},
    {"integer_dot_product_accelerated", feature_dot_accelerated},
    {"subgroup_arithmetic", feature_subgroup_arithmetic},
    {"subgroup_shuffle", feature_subgroup_shuffle},
    {"subgroup_size_control", feature_subgroup_size},
    {"shared_tiles", feature_shared_tiles},
    {"subgroup_of_8", feature_subgroup_of_8},
};

/// The bit of |name|, of |length| characters; 0 if there is no such feature.
uint32_t feature_bit(const char *name, size_t length);

} // namespace heddle::runtime::vulkan
