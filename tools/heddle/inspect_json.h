// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON form of `heddle inspect`.

#pragma once

#include "tools/heddle/memory.h"

#include <string>

namespace heddle::cli {

/// The whole description; |memory| may be null.
std::string programJson(const heddle_program_t *program, const MemoryReport *memory);

} // namespace heddle::cli
