// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole files in, whole files out.

#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace heddle::cli {

/// The bytes of the file at |path|, or of standard input for "-". Throws with path and reason.
std::string readFile(const std::string &path);

/// A file that appears at once or not at all: bytes go to a temporary file in the same folder, which commit() renames
/// over |path|. Without commit() the destructor removes it, and an older file at |path| stays as it was.
class OutputFile {
public:
  /// Throws with path and reason if the folder is missing or not writable.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  void write(std::string_view bytes);
  void commit();

private:
  [[noreturn]] void failWith(int error);

  std::string path;
  std::string temporary;
  std::FILE *file = nullptr;
};

} // namespace heddle::cli
