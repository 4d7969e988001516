// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files, with the reason of the operating system in every error.

#include "tools/heddle/files.h"

#include "tools/heddle/error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace heddle::cli {

[[noreturn]] static void failToRead(const std::string &path, int error) {
  fail(Exit::File, "H0520", "cannot read '" + path + "': " + std::strerror(error));
}

std::string readFile(const std::string &path) {
  bool isStandardInput = path == "-";
  std::FILE *file = isStandardInput ? stdin : std::fopen(path.c_str(), "rb");
  if (!file)
    failToRead(path, errno);
  std::string bytes;
  char buffer[1 << 16];
  errno = 0;
  size_t count = 0;
  do {
    count = std::fread(buffer, 1, sizeof buffer, file);
    bytes.append(buffer, count);
  } while (count == sizeof buffer);
  int error = std::ferror(file) ? errno : 0;
  if (!isStandardInput)
    std::fclose(file);
  if (error)
    failToRead(isStandardInput ? "standard input" : path, error);
  return bytes;
}

OutputFile::OutputFile(std::string outputPath) : path(std::move(outputPath)), temporary(path + ".XXXXXX") {
  int descriptor = mkstemp(temporary.data());
  if (descriptor < 0)
    failWith(errno);
  // mkstemp makes files private; an output has the mode that any program would give it.
  mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
  file = fdopen(descriptor, "wb");
}

OutputFile::~OutputFile() {
  if (!file)
    return;
  std::fclose(file);
  unlink(temporary.c_str());
}

void OutputFile::failWith(int error) {
  fail(Exit::File, "H0521", "cannot write '" + path + "': " + std::strerror(error), {},
       error == ENOENT ? "the folder doesn't exist: create it first" : "nothing was written");
}

void OutputFile::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size())
    failWith(errno);
}

void OutputFile::commit() {
  if (std::fflush(file) != 0 || rename(temporary.c_str(), path.c_str()) != 0)
    failWith(errno);
  std::fclose(file);
  file = nullptr;
}

} // namespace heddle::cli
