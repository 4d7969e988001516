// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Through aligned_alloc, not mmap, so that sanitizers see every access past an end.

#include "runtime/core/memory_block.h"

#include <cstdint>
#include <cstdlib>

#include <sys/mman.h>

#include <heddle/executable_abi.h>

#include "runtime/core/checked_math.h"

namespace heddle::runtime {

namespace {
constexpr size_t huge_page_bytes = size_t(2) << 20;
} // namespace

memory_block::~memory_block() { std::free(data_); }

size_t memory_block::rounded(size_t bytes) {
  // From half a huge page on, the rounding costs less than the faults and TLB entries of small pages.
  return align_up(bytes == 0 ? 1 : bytes,
                  bytes >= huge_page_bytes / 2 ? huge_page_bytes : size_t(HEDDLE_BUFFER_ALIGNMENT));
}

bool memory_block::reserve(size_t bytes) {
  if (data_ && bytes <= capacity_)
    return true;
  // The old block goes first: the peak would otherwise be both.
  std::free(data_);
  data_ = nullptr;
  capacity_ = 0;
  // Half the address space is no size that any sum below could wrap at.
  if (bytes > SIZE_MAX / 2)
    return false;
  const size_t size = rounded(bytes);
  const bool huge = bytes >= huge_page_bytes / 2;
  const size_t alignment = huge ? huge_page_bytes : HEDDLE_BUFFER_ALIGNMENT;
  data_ = static_cast<std::byte *>(std::aligned_alloc(alignment, size));
  if (!data_)
    return false;
  capacity_ = size;
  // A wish: without it the block works on small pages.
  if (huge)
    madvise(data_, size, MADV_HUGEPAGE);
  return true;
}

} // namespace heddle::runtime
