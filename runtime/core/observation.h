// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run's observer is told about a dispatch, the same on every device.

#pragma once

#include "runtime/core/device.h"

namespace heddle::runtime {

/// Keeps its memory from one dispatch to the next.
class observation {
public:
  /// Calls the observer of |request|, which has one. |results| are the addresses of the dispatch's results in host
  /// memory, in their order.
  void report(const run_request &request, const program_tables &tables, const dispatch_step &dispatch,
              const void *const *results, int64_t nanoseconds);

private:
  std::vector<int64_t> dims_;
  std::vector<heddle_result_info_t> results_;
};

} // namespace heddle::runtime
