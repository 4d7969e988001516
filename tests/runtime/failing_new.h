// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operator new, and without a sanitizer an aligned_alloc, that fail at a chosen call. They replace those of a
// program that has failing_new.cpp among its sources.

#pragma once

#include "tests/runtime/test_support.h"

namespace heddle::test {

/// What the thread's allocations are told.
struct allocation_faults {
  long budget = -1;      ///< allocations until one fails: at 0 it does. Negative: none
  bool fails_on = false; ///< whether all that follow the failing one fail too
  bool was_refused = false;
  unsigned aside = 0; ///< above 0 in code whose allocations aren't meant
};
extern thread_local allocation_faults faults;

/// Whether this allocation fails.
bool is_refused();

/// Has |call|, which returns a status, fail at its first allocation, at its second, and so on until it succeeds, and
/// returns how often it failed. |on|: all that follow the failing one fail too. |expects| is the code of its last
/// status,
/// "" for success.
template <typename Call> long fail_at_each(Call call, bool on, const std::string &expects = "") {
  for (long at = 0; at < 100000; ++at) {
    faults = {at, on, false, 0};
    heddle_status_t handle = call();
    faults.budget = -1;
    const status status{handle};
    if (!faults.was_refused) {
      EXPECT_EQ(status.error_code(), expects) << status.text();
      return at;
    }
    EXPECT_EQ(status.error_code(), "H0313") << "allocation " << at << ": " << status.text();
    EXPECT_EQ(status.code(), HEDDLE_STATUS_OUT_OF_MEMORY);
  }
  ADD_FAILURE() << "never succeeds";
  return 0;
}

} // namespace heddle::test
