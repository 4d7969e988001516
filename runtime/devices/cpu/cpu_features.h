// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What this CPU can do, by the names that LLVM has for features and that artifacts use.

#pragma once

namespace heddle::runtime::cpu {

/// Whether the CPU has |name| and the operating system saves the registers that go with it. A name that this runtime
/// doesn't know counts as missing: an artifact that needs it is refused, never run on a guess.
bool has_feature(const char *name);

} // namespace heddle::runtime::cpu
