// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The border between the runtime, whose containers may throw, and the C API, which never does. Apart from status.h, so
// that what is built without exceptions can include that.

#pragma once

#include <new>

#include "runtime/core/status.h"

namespace heddle::runtime {

/// Calls |body|, which returns a status, for a function of the C API. Containers throw where memory is out; here that
/// becomes a status. Nothing else is ever thrown in the runtime.
template <typename Body> heddle_status_t at_border(Body body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return out_of_memory();
  }
}

} // namespace heddle::runtime
