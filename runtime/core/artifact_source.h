// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of an artifact: a mapped file that is held open, or the caller's memory.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/core/status.h"

namespace heddle::runtime {

/// Immutable once opened.
class artifact_source {
public:
  artifact_source() = default;
  artifact_source(const artifact_source &) = delete;
  artifact_source &operator=(const artifact_source &) = delete;
  /// Unmaps a file; the caller's memory isn't touched.
  ~artifact_source();

  heddle_status_t open_file(const char *path);
  void use_memory(const void *data, size_t length);

  const std::byte *data() const { return data_; }
  uint64_t length() const { return length_; }
  /// File descriptor to map parts of the file from; -1 for memory.
  int descriptor() const { return descriptor_; }
  /// "in model.heddle", the context of errors.
  const std::string &context() const { return context_; }

  /// Copies |length| bytes at |offset|, which lie within length(), without mapping the file's pages: they don't count
  /// as this process's memory, and a file that has shrunk is an error instead of SIGBUS.
  heddle_status_t read(uint64_t offset, size_t length, std::byte *to) const;

  /// Fails if the file has become shorter than what is mapped: touching the missing pages would raise SIGBUS.
  heddle_status_t check_length() const;

  /// Gives back the file's pages that were read through data(); those read again come from the system's cache.
  void release_pages() const;

  /// What Linux maps around a page that is read, of a cache of small blocks.
  static constexpr uint64_t least_fault_bytes = uint64_t(64) << 10;

  /// Bytes that the first read near |offset|, which lies within length(), brings into this process's memory: the system
  /// maps whole blocks of its cache, whose size depends on the kernel and on how the file came into the cache, so it is
  /// tried out. A power of two; 1 for memory, which the caller holds as it is. To be called after check_length().
  uint64_t fault_bytes(uint64_t offset) const;

private:
  const std::byte *data_ = nullptr;
  uint64_t length_ = 0;
  int descriptor_ = -1;
  std::string context_ = "in memory";
};

/// Says what a file that isn't an artifact is: "a zip archive", "a Git LFS pointer" ... and, in |help|, what to do.
std::string recognize_content(const std::byte *data, uint64_t length, std::string *help);

} // namespace heddle::runtime
