// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opening, mapping and recognising files. Everything that a user may give by mistake is named here, because "bad magic"
// helps nobody who forgot `git lfs pull`.

#include "runtime/core/artifact_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heddle::runtime {

namespace {

heddle_status_t io_error(const char *path, const char *what, int number) {
  return fail(error::H0501, format("%s '%s': %s", what, path, std::strerror(number)));
}

constexpr const char *shrunk_help = "replace artifacts by renaming a new file over the old one";

bool is_text(const char *data, size_t length) {
  return std::all_of(data, data + length, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 ? byte != 0x7f : byte == '\n' || byte == '\r' || byte == '\t';
  });
}

} // namespace

artifact_source::~artifact_source() {
  if (descriptor_ < 0)
    return;
  if (data_)
    munmap(const_cast<std::byte *>(data_), length_);
  close(descriptor_);
}

heddle_status_t artifact_source::open_file(const char *path) {
  context_ = format("in %s", path);
  // Not blocking: opening a pipe would wait for its writer. A file on a network may be interrupted.
  do {
    descriptor_ = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0)
    return io_error(path, "cannot open", errno);
  struct stat info;
  if (fstat(descriptor_, &info) != 0)
    return io_error(path, "cannot examine", errno);
  if (S_ISDIR(info.st_mode))
    return fail(error::H0501, format("cannot open '%s': it is a folder", path));
  // Pipes and devices have no length to check against.
  if (!S_ISREG(info.st_mode))
    return fail(error::H0501, format("cannot open '%s': it is no regular file", path));
  if (info.st_size == 0)
    return fail(error::H0502, "the file is empty", "compile the model again", context_);
  void *mapping = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, descriptor_, 0);
  if (mapping == MAP_FAILED)
    return io_error(path, "cannot map", errno);
  data_ = static_cast<const std::byte *>(mapping);
  length_ = static_cast<uint64_t>(info.st_size);
  return nullptr;
}

void artifact_source::use_memory(const void *data, size_t length) {
  data_ = static_cast<const std::byte *>(data);
  length_ = length;
}

heddle_status_t artifact_source::read(uint64_t offset, size_t length, std::byte *to) const {
  if (descriptor_ < 0) {
    std::memcpy(to, data_ + offset, length);
    return nullptr;
  }
  while (length != 0) {
    const ssize_t count = pread(descriptor_, to, length, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return fail(error::H0501, format("cannot read the artifact: %s", std::strerror(errno)), {}, context_);
    if (count == 0) {
      HEDDLE_RETURN_IF_ERROR(check_length());
      return fail(error::H0507, "the artifact shrank while it was loaded", shrunk_help, context_);
    }
    to += count;
    offset += static_cast<uint64_t>(count);
    length -= static_cast<size_t>(count);
  }
  return nullptr;
}

heddle_status_t artifact_source::check_length() const {
  struct stat info;
  if (descriptor_ < 0)
    return nullptr;
  if (fstat(descriptor_, &info) != 0)
    return fail(error::H0501, format("cannot examine the artifact: %s", std::strerror(errno)), {}, context_);
  if (static_cast<uint64_t>(info.st_size) < length_)
    return fail(error::H0507,
                format("the artifact shrank from %llu to %llu bytes after it was loaded",
                       static_cast<unsigned long long>(length_), static_cast<unsigned long long>(info.st_size)),
                shrunk_help, context_);
  return nullptr;
}

void artifact_source::release_pages() const {
  if (descriptor_ >= 0)
    madvise(const_cast<std::byte *>(data_), length_, MADV_DONTNEED);
}

uint64_t artifact_source::fault_bytes(uint64_t offset) const {
  if (descriptor_ < 0)
    return 1;
  // No block is larger than a huge page. An entry of the page map has its highest bit set if the page is in memory.
  constexpr uint64_t window = uint64_t(2) << 20;
  constexpr uint64_t smallest_page = 4096;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t first = offset / window * window;
  const uint64_t pages = (std::min(length_ - first, window) + page - 1) / page;
  std::byte *start = const_cast<std::byte *>(data_) + first;
  madvise(start, pages * page, MADV_DONTNEED);
  static_cast<void>(static_cast<const volatile std::byte *>(data_)[offset]);
  uint64_t entries[window / smallest_page] = {};
  const int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (map >= 0) {
    // What isn't read stays zero.
    [[maybe_unused]] const ssize_t count =
        pread(map, entries, pages * sizeof(uint64_t),
              static_cast<off_t>(reinterpret_cast<uintptr_t>(start) / page * sizeof(uint64_t)));
    close(map);
  }
  const auto present = std::count_if(entries, entries + pages, [](uint64_t entry) { return entry >> 63 != 0; });
  uint64_t block = least_fault_bytes;
  while (block < static_cast<uint64_t>(present) * page)
    block *= 2;
  return block;
}

std::string recognize_content(const std::byte *data, uint64_t length, std::string *help) {
  const char *text = reinterpret_cast<const char *>(data);
  auto starts_with = [&](const char *prefix, size_t prefix_length) {
    return length >= prefix_length && std::memcmp(text, prefix, prefix_length) == 0;
  };
  *help = "compile the model with 'heddle compile MODEL -o OUT' and give the result";
  if (starts_with("version https://git-lfs", 23)) {
    *help = "fetch the real file with 'git lfs pull'";
    return "a Git LFS pointer, not the file it stands for";
  }
  // The magic's line end, changed by a transfer in text mode.
  if (starts_with("HEDDLE\n", 7) || starts_with("HEDDLE\r\r\n", 9)) {
    *help = "copy it again in binary mode";
    return "an artifact whose line ends were converted by a transfer in text mode";
  }
  if (starts_with("PK\x03\x04", 4))
    return "a zip archive";
  if (starts_with("\x1f\x8b", 2))
    return "gzip-compressed data";
  if (starts_with("\x7f"
                  "ELF",
                  4))
    return "an ELF program or library";
  if (is_text(text, std::min<uint64_t>(length, 512)))
    return "a text file";
  // An ONNX model starts with field 1, its format version, as a varint.
  if (length >= 4 && text[0] == 0x08 && text[1] >= 3 && text[1] <= 32)
    return "probably an ONNX model";
  return "something else";
}

} // namespace heddle::runtime
