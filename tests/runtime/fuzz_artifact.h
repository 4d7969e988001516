// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the mutation test and the libFuzzer harness do with bytes that may be an artifact.

#pragma once

#include <cstddef>

namespace heddle::test {

/// Loads |data|, aligned to 64 bytes, for inspection and for the CPU, reads the whole description, and plans every
/// entry point with small inputs. Runs no kernel: native code can't be made safe. Returns whether it loaded.
bool explore_artifact(const void *data, size_t size);

/// Runs every entry point of the artifact at |data| with small inputs, after what would be executable of its code has
/// been overwritten by returns. Kernels then write nothing and return what happens to be in a register, so that all
/// around them runs, refusals included.
void run_without_code(void *data, size_t size);

} // namespace heddle::test
