// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much shared memory a SPIR-V module declares under given specialisation constants: what the table of variants says
// is compared with it, for every kernel that runs here.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/targets/Target.h"

namespace heddle::conformance {

/// Bytes of all workgroup variables of |words|, with |constants| for the specialisation constants from number 0 on;
/// nothing where their sizes are made by operations that this doesn't know.
std::optional<uint64_t> count_shared_bytes(const std::vector<uint32_t> &words, const std::vector<uint32_t> &constants);

/// Expects each variant in |image| to need exactly the shared memory that it states.
void expect_stated_memory(const KernelImage &image);

} // namespace heddle::conformance
