// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SPIR-V is code, and drivers trust it: what reaches one has the structure of a module and is what its artifact says.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle::runtime::vulkan {

/// What an artifact says of the module of a variant.
struct module_claims {
  uint32_t features;                 ///< bits of features.h that the variant asks of a device
  uint64_t push_constant_words;      ///< as many as a dispatch has
  std::array<uint32_t, 3> workgroup; ///< also the specialisation constants 0, 1, 2
  std::vector<uint32_t> constants;   ///< all specialisation constants, from number 0 on
  uint64_t shared_bytes;
};

/// Why a driver shall not see |words|: they are no compute shader "main" of Vulkan 1.1 that has its data in bindings 0
/// to 3 of set 0 and is as |claims| says. "" if they are. Takes time in proportion to the words.
std::string fault_of_module(const std::vector<uint32_t> &words, const module_claims &claims);

/// Bytes of all workgroup variables of |words|, with |constants| for the specialisation constants from number 0 on;
/// nothing where |words| are no module, or a size is made by operations that this doesn't know.
std::optional<uint64_t> shared_bytes_of_module(const std::vector<uint32_t> &words,
                                               const std::vector<uint32_t> &constants);

} // namespace heddle::runtime::vulkan
