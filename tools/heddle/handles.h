// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Owners for the runtime's handles, and the step from its status objects to this room's errors.

#pragma once

#include "tools/heddle/error.h"

#include <heddle/heddle.h>
#include <memory>
#include <vector>

namespace heddle::cli {

template <auto release> struct Releaser {
  template <typename T> void operator()(T *handle) const { release(handle); }
};

using TensorPtr = std::unique_ptr<heddle_tensor_t, Releaser<heddle_tensor_release>>;
using ProgramPtr = std::unique_ptr<heddle_program_t, Releaser<heddle_program_release>>;
using DeviceListPtr = std::unique_ptr<heddle_device_list_t, Releaser<heddle_device_list_release>>;
using SessionPtr = std::unique_ptr<heddle_session_t, Releaser<heddle_session_release>>;
using ThreadPoolPtr = std::unique_ptr<heddle_thread_pool_t, Releaser<heddle_thread_pool_release>>;

/// Throws the CommandError that |status| stands for; releases it. |context| ("in model.heddle") goes before the
/// status's own, unless that names a file itself.
void check(heddle_status_t status, std::string_view context = {});

/// A zeroed tensor; throws if the shape overflows or memory is short.
TensorPtr createTensor(heddle_element_type_t type, const std::vector<int64_t> &dims);

std::vector<int64_t> dimsOf(const heddle_tensor_t *tensor);

/// "[batch,sequence]" as the model declares it, and "[1,128]" as a tensor is.
std::string describeDims(const heddle_tensor_info_t &info);
std::string describeDims(const std::vector<int64_t> &dims);

} // namespace heddle::cli
