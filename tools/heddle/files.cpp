// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files, with the reason of the operating system in every error.

#include "tools/heddle/files.h"

#include "tools/heddle/error.h"
#include "tools/heddle/text.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace heddle::cli {

[[noreturn]] static void failToRead(const std::string &path, int error) {
  fail(Exit::File, "H0520", "cannot read '" + path + "': " + std::strerror(error));
}

namespace {

/// Closes what was opened, also where memory for the bytes is out.
struct InputDescriptor {
  int value;
  ~InputDescriptor() {
    if (value >= 0)
      close(value);
  }
};

} // namespace

/// A pipe gives its bytes in pieces, and a read may be interrupted: only an empty one is the end.
static std::string readAll(int descriptor, const std::string &name) {
  std::string bytes;
  char buffer[1 << 16];
  for (;;) {
    ssize_t count = read(descriptor, buffer, sizeof buffer);
    if (count == 0)
      return bytes;
    if (count > 0)
      bytes.append(buffer, static_cast<size_t>(count));
    else if (errno != EINTR)
      failToRead(name, errno);
  }
}

std::string readFile(const std::string &path) {
  if (path == "-")
    return readAll(STDIN_FILENO, "standard input");
  InputDescriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.value < 0)
    failToRead(path, errno);
  return readAll(file.value, path);
}

OutputFile::OutputFile(std::string outputPath) : path(std::move(outputPath)), temporary(path + ".XXXXXX") {
  // Renaming would put a file in the place of a device or a pipe.
  struct stat old;
  const bool isSystems = startsWith(path, "/dev/") || startsWith(path, "/proc/"); // /dev/stdout may lead to a file
  if (stat(path.c_str(), &old) == 0 && (isSystems || !S_ISREG(old.st_mode)))
    failWith(S_ISDIR(old.st_mode) ? EISDIR : EEXIST);
  int descriptor = mkstemp(temporary.data());
  if (descriptor < 0)
    failWith(errno);
  // mkstemp makes files private; an output has the mode that any program would give it.
  mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
  file = fdopen(descriptor, "wb");
  if (file)
    return;
  int error = errno;
  close(descriptor);
  unlink(temporary.c_str());
  failWith(error);
}

OutputFile::~OutputFile() {
  if (!file)
    return;
  std::fclose(file);
  unlink(temporary.c_str());
}

void OutputFile::failWith(int error) {
  std::string reason = error == EEXIST ? "it is no regular file" : std::strerror(error);
  fail(Exit::File, "H0521", "cannot write '" + path + "': " + reason, {},
       error == ENOENT ? "the folder doesn't exist: create it first" : "nothing was written");
}

void OutputFile::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size())
    failWith(errno);
}

void OutputFile::commit() {
  // Closed before it gets its name: on some file systems only that tells of a full disk.
  bool isWritten = std::fflush(file) == 0;
  int error = errno;
  if (std::fclose(std::exchange(file, nullptr)) != 0 && isWritten) {
    isWritten = false;
    error = errno;
  }
  if (isWritten && rename(temporary.c_str(), path.c_str()) == 0)
    return;
  error = isWritten ? errno : error;
  unlink(temporary.c_str());
  failWith(error);
}

} // namespace heddle::cli
