// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the tensors of one run lie in a session's arena: inputs, outputs and buffers in one VkBuffer, so that several
// of them can be one range of a binding.

#pragma once

#include "runtime/core/plan.h"

namespace heddle::runtime::vulkan {

/// Alignment in bytes of each tensor: the most that Vulkan lets a device ask for.
constexpr uint64_t tensor_alignment = 256;

/// Bytes of an error record, and of the room for one.
constexpr uint64_t record_bytes = 16;

struct tensor_place {
  uint64_t offset = 0;
  uint64_t bytes = 0;  ///< in the declared type
  uint64_t record = 0; ///< behind the tensor, room for the error record of a dispatch that writes it
};

struct arena_layout {
  std::vector<tensor_place> inputs;
  std::vector<tensor_place> outputs;
  std::vector<tensor_place> buffers;
  uint64_t bytes = 0; ///< at least tensor_alignment: the first bytes belong to no tensor

  const tensor_place &at(const binding_table &binding) const;
};

/// Lays out a run of |entry| by |plan|. Tensors alive at the same step never overlap; inputs live until they are last
/// read, outputs from when they are first written. Fails if the sizes overflow.
heddle_status_t lay_out_arena(const entry_table &entry, const plan &plan, arena_layout *out);

} // namespace heddle::runtime::vulkan
