// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file under construction: sections one after the other, their checksums, and the rename at the end. Private to
// this room.

#ifndef HEDDLE_COMPILER_ARTIFACT_ARTIFACTFILE_H
#define HEDDLE_COMPILER_ARTIFACT_ARTIFACTFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace heddle {

/// A range of the file with the checksum of its bytes.
struct FileSection {
  uint64_t offset;
  uint64_t length;
  uint64_t checksum;
};

/// Appends to a temporary file beside |path|. A write that fails is remembered and reported by commit(); what follows
/// it does nothing. Without a commit the temporary file is removed.
class ArtifactFile {
public:
  static llvm::Expected<std::unique_ptr<ArtifactFile>> create(llvm::StringRef path);
  ~ArtifactFile();

  /// Where the next byte goes.
  uint64_t getOffset() const { return offset; }
  void write(llvm::ArrayRef<uint8_t> bytes);
  /// Writes zeros up to a multiple of |alignment|.
  void align(uint64_t alignment);

  /// A section starts at the next multiple of |alignment| and ends where endSection is called.
  void beginSection(uint64_t alignment);
  FileSection endSection();

  /// Within a section: a piece begins here.
  void mark();
  uint64_t getMark() const { return markOffset; }
  /// Offset of an earlier piece of the section equal to that since the mark, which is then taken back; none where there
  /// is none, and the piece is remembered.
  std::optional<uint64_t> takeBackRepeated();

  /// Puts |header| at the start and renames the file to its final path.
  llvm::Error commit(llvm::ArrayRef<uint8_t> header);

private:
  struct Piece {
    uint64_t hash;
    uint64_t offset;
    uint64_t length;
  };

  explicit ArtifactFile(llvm::sys::fs::TempFile file, llvm::StringRef path);
  void flush();
  bool areEqual(uint64_t a, uint64_t b, uint64_t length);

  llvm::sys::fs::TempFile file;
  std::string path;
  bool isDone = false;
  std::error_code fault;
  uint64_t offset = 0;
  /// Bytes before |offset| that aren't written yet.
  std::vector<uint8_t> buffer;

  uint64_t sectionStart = 0;
  uint64_t markOffset = 0;
  struct Checksums;
  std::unique_ptr<Checksums> checksums;
  std::vector<Piece> pieces;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_ARTIFACT_ARTIFACTFILE_H
