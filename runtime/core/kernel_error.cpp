// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels know numbers, the artifact knows names: a code, a site and a value become a sentence about the model's node.

#include "runtime/core/kernel_error.h"

namespace heddle::runtime {

heddle_status_t kernel_failure(const dispatch_step &dispatch, const char *kernel, int32_t code,
                               const heddle_error_record_t &record) {
  // Not the fault of anything in the model, so no site of it is named.
  if (code == HEDDLE_KERNEL_LOOP_CUT_SHORT)
    return fail(
        error::H0408,
        format("the device's driver ended a loop of kernel '%s' early: it takes more rounds than the driver allows",
               kernel),
        "run it on the CPU (--device cpu) or on another GPU, or with smaller inputs",
        dispatch.nodes.empty() ? std::string() : format("node '%s'", dispatch.nodes.front()));
  if (record.site < 0 || static_cast<uint64_t>(record.site) >= dispatch.error_sites.size())
    return fail(error::H0901, format("kernel '%s' failed with code %d at unknown site %lld", kernel, code,
                                     static_cast<long long>(record.site)));
  const error_site_table &site = dispatch.error_sites[static_cast<size_t>(record.site)];
  const std::string context = *site.op ? format("op %s", site.op) : "";
  const char *what = *site.what ? site.what : "index";
  switch (code) {
  case HEDDLE_KERNEL_INDEX_OUT_OF_RANGE:
    return fail(error::H0309,
                format("node '%s': %s %lld is out of range, expects %lld to %lld", site.node, what,
                       static_cast<long long>(record.value), static_cast<long long>(-record.limit),
                       static_cast<long long>(record.limit - 1)),
                {}, context);
  case HEDDLE_KERNEL_DIVISION_BY_ZERO:
    return fail(error::H0310, format("node '%s': integer division by zero", site.node), {}, context);
  default:
    return fail(error::H0901, format("kernel '%s' failed with unknown code %d in node '%s'", kernel, code, site.node));
  }
}

} // namespace heddle::runtime
