// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loader of kernel images: one ELF file without relocations, thread-local or writable data, and without any need
// of other libraries, so that mapping its segments is all there is to do. No dlopen: it would want a file of its own,
// run initialisers and resolve names, none of which a kernel image has.

#pragma once

#include <cstddef>
#include <vector>

#include "runtime/core/artifact_source.h"
#include "runtime/core/program_tables.h"

namespace heddle::runtime::cpu {

/// A mapped image. Nothing of it is ever writable and executable at once.
class kernel_image {
public:
  kernel_image() = default;
  kernel_image(const kernel_image &) = delete;
  kernel_image &operator=(const kernel_image &) = delete;
  ~kernel_image();

  /// Checks the ELF file in |section| of |source| and maps it. From a file, its pages are mapped; where the system
  /// doesn't execute from that file (noexec), without one, or if |is_copy|, the code is copied and then made
  /// executable.
  heddle_status_t load(const artifact_source &source, const section_table &section, bool is_copy);

  /// Address of virtual address |address| if that lies in executable code, else null.
  const void *code_address(uint64_t address) const;

  /// Bytes from |address| to the end of its segment; 0 if it isn't code.
  uint64_t code_bytes_from(uint64_t address) const;

private:
  struct segment {
    uint64_t file_offset; ///< within the section
    uint64_t address;     ///< virtual
    uint64_t size;
    bool executable;
  };

  heddle_status_t read_segments(const std::byte *image, uint64_t length);
  heddle_status_t map_segments(const artifact_source &source, const section_table &section, bool is_copy);
  bool map_from_file(const segment &segment, int descriptor, uint64_t section_offset) const;
  bool map_copy(const segment &segment, const std::byte *image) const;
  const segment *code_segment(uint64_t address) const;
  std::byte *at(uint64_t address) const { return base_ + (address - first_page_); }

  std::vector<segment> segments_; ///< in order, disjoint by pages
  std::byte *reservation_ = nullptr;
  size_t reserved_bytes_ = 0;
  std::byte *base_ = nullptr; ///< where first_page_ lies
  uint64_t first_page_ = 0;
};

} // namespace heddle::runtime::cpu
