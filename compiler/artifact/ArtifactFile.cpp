// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffered writing with running checksums.

#include "compiler/artifact/ArtifactFile.h"

#include "compiler/support/OutputFile.h"

#include "llvm/ADT/STLExtras.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace heddle;

struct ArtifactFile::Checksums {
  XXH64_state_t section;
  /// Of the section up to the mark.
  XXH64_state_t atMark;
  /// Of the piece since the mark.
  XXH64_state_t piece;
};

/// Large enough that system calls don't show, small enough to forget about.
static constexpr size_t kBufferBytes = 1 << 20;

llvm::Expected<std::unique_ptr<ArtifactFile>> ArtifactFile::create(llvm::StringRef path) {
  if (llvm::Error error = checkReplaceable(path))
    return error;
  llvm::Expected<llvm::sys::fs::TempFile> file = llvm::sys::fs::TempFile::create(path + ".%%%%%%%%.tmp");
  if (!file)
    return file.takeError();
  return std::unique_ptr<ArtifactFile>(new ArtifactFile(std::move(*file), path));
}

ArtifactFile::ArtifactFile(llvm::sys::fs::TempFile file, llvm::StringRef path)
    : file(std::move(file)), path(path.str()), checksums(std::make_unique<Checksums>()) {
  buffer.reserve(kBufferBytes);
  XXH64_reset(&checksums->section, 0);
  XXH64_reset(&checksums->piece, 0);
}

ArtifactFile::~ArtifactFile() {
  if (!isDone)
    llvm::consumeError(file.discard());
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void ArtifactFile::flush() {
  uint64_t position = offset - buffer.size();
  llvm::ArrayRef<uint8_t> rest = buffer;
  while (!rest.empty() && !fault) {
    ssize_t count = ::pwrite(file.FD, rest.data(), rest.size(), position);
    if (count < 0) {
      if (errno != EINTR)
        fault = std::error_code(errno, std::generic_category());
      continue;
    }
    rest = rest.drop_front(count);
    position += count;
  }
  buffer.clear();
}

void ArtifactFile::write(llvm::ArrayRef<uint8_t> bytes) {
  XXH64_update(&checksums->section, bytes.data(), bytes.size());
  XXH64_update(&checksums->piece, bytes.data(), bytes.size());
  while (!bytes.empty()) {
    llvm::ArrayRef<uint8_t> part = bytes.take_front(kBufferBytes - buffer.size());
    buffer.insert(buffer.end(), part.begin(), part.end());
    offset += part.size();
    bytes = bytes.drop_front(part.size());
    if (buffer.size() == kBufferBytes)
      flush();
  }
}

void ArtifactFile::align(uint64_t alignment) {
  static constexpr uint8_t zeros[4096] = {};
  for (uint64_t rest = (alignment - offset % alignment) % alignment; rest != 0;) {
    uint64_t count = std::min<uint64_t>(rest, sizeof(zeros));
    write({zeros, static_cast<size_t>(count)});
    rest -= count;
  }
}

//===----------------------------------------------------------------------===//
// Sections and pieces
//===----------------------------------------------------------------------===//

void ArtifactFile::beginSection(uint64_t alignment) {
  align(alignment);
  sectionStart = offset;
  pieces.clear();
  XXH64_reset(&checksums->section, 0);
}

FileSection ArtifactFile::endSection() {
  return {sectionStart, offset - sectionStart, XXH64_digest(&checksums->section)};
}

void ArtifactFile::mark() {
  markOffset = offset;
  checksums->atMark = checksums->section;
  XXH64_reset(&checksums->piece, 0);
}

bool ArtifactFile::areEqual(uint64_t a, uint64_t b, uint64_t length) {
  std::vector<char> left(std::min<uint64_t>(length, kBufferBytes)), right(left.size());
  for (uint64_t done = 0; done < length; done += left.size()) {
    size_t count = std::min<uint64_t>(length - done, left.size());
    // The file is written, so a short read is a fault of the disk.
    if (::pread(file.FD, left.data(), count, a + done) != static_cast<ssize_t>(count) ||
        ::pread(file.FD, right.data(), count, b + done) != static_cast<ssize_t>(count))
      return false;
    if (std::memcmp(left.data(), right.data(), count) != 0)
      return false;
  }
  return true;
}

std::optional<uint64_t> ArtifactFile::takeBackRepeated() {
  Piece piece{XXH64_digest(&checksums->piece), markOffset, offset - markOffset};
  for (const Piece &other : pieces) {
    if (other.hash != piece.hash || other.length != piece.length)
      continue;
    flush();
    if (fault || !areEqual(other.offset, piece.offset, piece.length))
      continue;
    // What is taken back is overwritten by what comes next, or cut off by commit().
    offset = markOffset;
    checksums->section = checksums->atMark;
    return other.offset;
  }
  pieces.push_back(piece);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

llvm::Error ArtifactFile::commit(llvm::ArrayRef<uint8_t> header) {
  flush();
  uint64_t end = offset;
  // flush() writes the buffer just before |offset|.
  buffer.assign(header.begin(), header.end());
  offset = header.size();
  flush();
  if (!fault && ::ftruncate(file.FD, end) != 0)
    fault = std::error_code(errno, std::generic_category());
  if (fault)
    return llvm::errorCodeToError(fault);
  isDone = true;
  return file.keep(path);
}
