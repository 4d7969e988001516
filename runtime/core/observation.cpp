// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fills in what an observer is told from tables and plan; its vectors are kept from one dispatch to the next.

#include "runtime/core/observation.h"

namespace heddle::runtime {

void observation::report(const run_request &request, const program_tables &tables, const dispatch_step &dispatch,
                         const void *const *results, int64_t nanoseconds) {
  const dispatch_plan &planned = request.run_plan->dispatches[dispatch.index];
  const kernel_table &kernel = tables.kernels[dispatch.kernel];
  dims_.resize(dispatch.results.size() * HEDDLE_MAX_RANK);
  results_.clear();
  for (size_t i = 0; i < dispatch.results.size(); ++i) {
    const result_table &result = dispatch.results[i];
    int64_t *dims = dims_.data() + i * HEDDLE_MAX_RANK;
    read_dims(*request.run_plan, result.slots, dims);
    results_.push_back({result.name, result.type, result.slots.size(), dims, result.permutation.data(), results[i]});
  }
  const heddle_dispatch_info_t info = {dispatch.index,        kernel.name,     kernel.root,     dispatch.nodes.data(),
                                       dispatch.nodes.size(), results_.data(), results_.size(), planned.items,
                                       planned.flops,         planned.bytes,   nanoseconds,     dispatch.paths.data()};
  request.observer(request.observer_user, &info);
}

} // namespace heddle::runtime
