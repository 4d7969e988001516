// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of a size known only at run time, possibly large: it can be refused without an exception, is aligned for
// kernels, and large blocks ask for huge pages.

#pragma once

#include <cstddef>
#include <utility>

namespace heddle::runtime {

/// Owns one block that only ever grows. Content isn't kept when it grows.
class memory_block {
public:
  memory_block() = default;
  memory_block(const memory_block &) = delete;
  memory_block &operator=(const memory_block &) = delete;
  memory_block(memory_block &&other) noexcept
      : data_(std::exchange(other.data_, nullptr)), capacity_(std::exchange(other.capacity_, 0)) {}
  ~memory_block();

  /// Bytes that a block of |bytes| takes.
  static size_t rounded(size_t bytes);

  /// Makes room for |bytes|, at least one. Returns false, and holds nothing, if the system has not enough.
  bool reserve(size_t bytes);

  /// Aligned to HEDDLE_BUFFER_ALIGNMENT.
  std::byte *data() const { return data_; }
  size_t capacity() const { return capacity_; }

private:
  std::byte *data_ = nullptr;
  size_t capacity_ = 0;
};

} // namespace heddle::runtime
