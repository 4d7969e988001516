// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the environment may ask of the Vulkan device: lower limits, so that tests reach the paths that split; switches
// to find out which feature a driver gets wrong; validation.
//
//   HEDDLE_VULKAN_LIMITS=range=1048576,shared=16384,groups=256,invocations=128,submit=1000,staging=1,clockless=1
//     range, shared: bytes; groups: workgroups along an axis; submit: microseconds of work; staging: 1 keeps the host
//     out of the device's memory, as on a card of its own; clockless: 1 takes no times from the device. A limit is
//     never raised.
//   HEDDLE_VULKAN_DISABLE=float16,dot,subgroup    or any feature by its own name
//   HEDDLE_VULKAN_SERIALIZE=1                     one submission for each step, waited for
//   HEDDLE_VULKAN_CACHE=0                         keeps no pipelines on disk
//   HEDDLE_VULKAN_SELF_TEST=off,again,fail=KERNEL
//     off: no shader is tested before it is used; again: nor is one for which the outcome is known spared; fail: each
//     shader of a kernel whose name has KERNEL in it is taken for wrong, with fail=KERNEL/0 that variant alone
//   HEDDLE_VULKAN_WEIGHTS=import                  where host and device share memory, weights stay in the mapped file;
//                                                 upload, the default, copies them
//   HEDDLE_VULKAN_VALIDATE=1                      Khronos' validation layer; what it reports fails the run

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/status.h"

namespace heddle::runtime::vulkan {

struct options {
  uint64_t range = UINT64_MAX;
  uint64_t shared = UINT64_MAX;
  uint64_t groups = UINT64_MAX;
  uint64_t invocations = UINT64_MAX;
  uint64_t submit_microseconds = 100000; ///< drivers give up after 2 s; a twentieth leaves room for a wrong estimate
  bool uses_staging = false;
  bool is_clockless = false;
  uint32_t disabled_features = 0; ///< bits of features.h
  bool is_serialized = false;
  bool is_validated = false;
  bool uses_cache = true;
  bool tests_shaders = true;
  bool repeats_tests = false;
  bool imports_weights = false;
  std::vector<std::string> wrong_shaders; ///< parts of kernels' names, some with "/" and a variant's number
};

/// Reads the environment. A word that isn't known is an error: a misspelt limit would test nothing.
heddle_status_t read_options(options *out);

} // namespace heddle::runtime::vulkan
