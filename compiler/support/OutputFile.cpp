// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not LLVM's streams: they end the process when the disk is full and nobody asked.

#include "compiler/support/OutputFile.h"

#include "llvm/Support/FileSystem.h"

#include <cerrno>
#include <unistd.h>

using namespace heddle;

static llvm::Error writeAll(int descriptor, llvm::StringRef text) {
  while (!text.empty()) {
    ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count >= 0)
      text = text.drop_front(count);
    else if (errno != EINTR)
      return llvm::errorCodeToError({errno, std::generic_category()});
  }
  return llvm::Error::success();
}

/// Whether there is something at |path| that isn't a file. What is linked from these folders may be one, but never one
/// to be replaced: /dev/stdout leads to wherever the shell does.
static bool isSpecial(llvm::StringRef path) {
  if (path.starts_with("/dev/") || path.starts_with("/proc/"))
    return true;
  llvm::sys::fs::file_status status;
  return !llvm::sys::fs::status(path, status) && !llvm::sys::fs::is_regular_file(status);
}

llvm::Error heddle::checkReplaceable(llvm::StringRef path) {
  if (!isSpecial(path))
    return llvm::Error::success();
  return llvm::sys::fs::is_directory(path)
             ? llvm::errorCodeToError(std::make_error_code(std::errc::is_a_directory))
             : llvm::createStringError(std::make_error_code(std::errc::file_exists), "it is no regular file");
}

llvm::Error heddle::writeTextFile(llvm::StringRef path, llvm::StringRef text) {
  if (path == "-" || path == "/dev/stdout")
    return writeAll(STDOUT_FILENO, text);
  if (isSpecial(path)) {
    int descriptor = -1;
    if (std::error_code code = llvm::sys::fs::openFileForWrite(path, descriptor, llvm::sys::fs::CD_OpenExisting))
      return llvm::errorCodeToError(code);
    llvm::Error error = writeAll(descriptor, text);
    if (::close(descriptor) != 0 && !error)
      return llvm::errorCodeToError({errno, std::generic_category()});
    return error;
  }
  llvm::Expected<llvm::sys::fs::TempFile> file = llvm::sys::fs::TempFile::create(path + ".%%%%%%%%.tmp");
  if (!file)
    return file.takeError();
  if (llvm::Error error = writeAll(file->FD, text))
    return llvm::joinErrors(std::move(error), file->discard());
  return file->keep(path);
}
