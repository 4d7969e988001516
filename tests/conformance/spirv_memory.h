// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the table of variants says of shared memory is compared with what the modules declare, for every kernel that
// runs here.

#pragma once

#include "compiler/targets/Target.h"

namespace heddle::conformance {

/// Expects each variant in |image| to need exactly the shared memory that it states.
void expect_stated_memory(const KernelImage &image);

} // namespace heddle::conformance
