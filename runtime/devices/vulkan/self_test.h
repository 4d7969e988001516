// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The small case that an artifact carries for each shader, run on a device to see whether its driver compiles the
// shader rightly. The dispatch is cut, recorded and submitted as those of a run are, so it sees what they will see.

#pragma once

#include "runtime/devices/vulkan/pipelines.h"

namespace heddle::runtime::vulkan {

/// A shader's variant that has become a pipeline.
struct tested_variant {
  const char *kernel;
  const shader_table *shader; ///< with a self-test
  const shader_variant_table *table;
  const struct pipeline *made;
};

/// Runs |variant| on its case. |out_fault| is "" if all is right, else says where it isn't. Fails only if the device
/// doesn't get as far as a result.
heddle_status_t run_self_test(const device &device, const pipeline_set &pipelines, const tested_variant &variant,
                              std::string *out_fault);

} // namespace heddle::runtime::vulkan
