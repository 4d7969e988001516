// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants of a program in device memory, uploaded once. A shader sees those of its dispatch through one binding,
// so they lie side by side; a small one that many dispatches use lies beside each of their weights.

#pragma once

#include "runtime/core/artifact_reader.h"
#include "runtime/devices/vulkan/imported_weights.h"
#include "runtime/devices/vulkan/memory.h"

namespace heddle::runtime::vulkan {

/// Where a step finds a constant operand.
struct constant_place {
  uint32_t block = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0; ///< as on the device
};

/// One constant as the device holds it: an artifact's constant may be read in two element types.
struct constant_item {
  uint32_t constant;
  heddle_element_type_t type;
};

/// Items that lie in one block, in this order, each at a multiple of tensor_alignment.
struct constant_group {
  std::vector<uint32_t> items;
  uint64_t bytes = 0;
};

/// How the constants of a program are laid out. Made without a device, so that tests can look at it.
struct constant_layout {
  std::vector<constant_item> items;
  std::vector<uint64_t> item_bytes; ///< as on the device
  std::vector<constant_group> groups;
  /// By entry, step and operand: group, item and bytes from the group's begin; only those of constant operands are set.
  struct use {
    uint32_t group = 0;
    uint32_t item = 0;
    uint64_t offset = 0;
  };
  std::vector<std::vector<std::vector<use>>> uses;
};

/// Lays out the constants that steps on |target| name. Where all that are used together don't fit |range| bytes, each
/// dispatch gets copies of its own.
constant_layout lay_out_constants(const program_tables &tables, size_t target, uint64_t range);

/// Immutable once created.
class constant_store {
public:
  /// Imports or uploads. |device| and |loaded| outlive this.
  heddle_status_t create(const device &device, const artifact &loaded, size_t target);

  /// Place of operand |operand| (of a copy: 0), a constant, of step |step| of entry |entry|.
  constant_place place(size_t entry, size_t step, size_t operand) const;
  /// Imported sections follow the blocks.
  VkBuffer block(uint32_t index) const {
    return index < blocks_.size() ? blocks_[index].handle() : imported_[index - blocks_.size()].handle();
  }
  /// What became of the wish to import, for people; "" where there was none.
  const std::string &note() const { return note_; }
  /// Of all blocks, and of all imported sections.
  uint64_t bytes() const;
  uint64_t imported_bytes() const;

private:
  void import_mapped(const device &device);
  bool import_group(const constant_group &group, uint64_t range, uint32_t *out_section) const;
  heddle_status_t place_groups(const device &device);
  heddle_status_t upload(const device &device, const artifact &loaded);

  constant_layout layout_;
  std::vector<buffer> blocks_;
  std::vector<imported_weights> imported_;
  std::vector<constant_place> groups_; ///< place of each group; of an imported one |block| is one of |imported_|
  std::vector<bool> is_imported_;      ///< by group
  const artifact *loaded_ = nullptr;
  std::string note_;
};

} // namespace heddle::runtime::vulkan
