// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensor behind heddle_tensor_t: a shape and memory, its own or the caller's, or a buffer on a device.

#pragma once

#include <atomic>
#include <cstddef>
#include <optional>

#include <heddle/vulkan.h>

#include "runtime/core/memory_block.h"
#include "runtime/core/status.h"

/// Shape and type are immutable; |references| is all that threads share.
struct heddle_tensor_t {
  std::atomic<size_t> references{1};
  heddle_element_type_t type = HEDDLE_ELEMENT_F32;
  size_t rank = 0;
  int64_t dims[HEDDLE_MAX_RANK] = {};
  size_t element_count = 0;
  size_t byte_length = 0;
  void *data = nullptr;                         ///< null where |buffer| is set
  std::optional<heddle_vulkan_buffer_t> buffer; ///< where the elements lie, if that is no host memory
  heddle::runtime::memory_block owned;          ///< empty for a wrapped tensor
  heddle_release_fn_t release = nullptr;
  void *user = nullptr;
};

namespace heddle::runtime {

/// heddle_tensor_create with the content left unspecified, for outputs that are about to be written.
heddle_status_t create_unset_tensor(heddle_element_type_t type, size_t rank, const int64_t *dims,
                                    heddle_tensor_t **out_tensor);

} // namespace heddle::runtime
