// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A look into a SPIR-V module before a driver sees it, because drivers crash on modules that are no modules.

#pragma once

#include <cstdint>
#include <vector>

namespace heddle::runtime::vulkan {

/// Returns what keeps |words| from being a module of Vulkan 1.1 with a compute entry point "main" and no other storage
/// than set 0, bindings 0 to 3; "" if nothing does. It proves a module's form, not that it computes what it should.
const char *fault_of_module(const std::vector<uint32_t> &words);

} // namespace heddle::runtime::vulkan
