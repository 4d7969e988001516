// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk from the model's folder to an external file, one component at a time: only so is each of them known to be no
// link. (ONNX: CVE-2024-27318, CVE-2025-51480 are what happens otherwise.)

#include "compiler/import/onnx/ExternalFiles.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir;

namespace heddle::importer {

namespace {

/// Closes a descriptor at the end of its scope.
class Descriptor {
public:
  explicit Descriptor(int value) : value(value) {}
  ~Descriptor() {
    if (value >= 0)
      ::close(value);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(value, other.value);
    return *this;
  }
  int get() const { return value; }

private:
  int value;
};

using Fail = llvm::function_ref<LogicalResult(const llvm::Twine &reason)>;

/// The size of the open file, if it is one that may be read.
FailureOr<uint64_t> checkFile(int descriptor, Fail fail) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0)
    return fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    return fail("it is no regular file");
  if (status.st_nlink != 1)
    return fail("it has several hard links, so it may be a file from elsewhere; copy it");
  return static_cast<uint64_t>(status.st_size);
}

/// Opens |components| from |folder| without following links and checks what is found.
FailureOr<uint64_t> openWithin(const std::string &folder, llvm::ArrayRef<llvm::StringRef> components, Fail fail) {
  // The folder itself is the user's own choice, so links to it are fine.
  Descriptor current(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (current.get() < 0)
    return fail(std::strerror(errno));
  for (llvm::StringRef component : components) {
    bool isLast = component.end() == components.back().end();
    // O_NONBLOCK: opening a pipe would wait for its writer.
    int flags = O_NOFOLLOW | O_CLOEXEC | (isLast ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY);
    int next = ::openat(current.get(), component.str().c_str(), flags);
    if (next < 0) {
      struct stat status;
      bool isLink = ::fstatat(current.get(), component.str().c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                    S_ISLNK(status.st_mode);
      return isLink ? fail("'" + component + "' is a symbolic link") : fail(std::strerror(errno));
    }
    current = Descriptor(next);
  }
  return checkFile(current.get(), fail);
}

} // namespace

FailureOr<ExternalFile> ExternalFiles::get(llvm::StringRef location, Fail fail) {
  auto found = files.find(location);
  if (found != files.end())
    return found->second;
  if (location.empty())
    return fail("it has no location");
  if (location.contains('\0'))
    return fail("its location holds a zero byte");
  if (location.starts_with("/"))
    return fail("absolute paths are not followed");
  llvm::SmallVector<llvm::StringRef> components;
  location.split(components, '/', -1, /*KeepEmpty=*/false);
  llvm::erase(components, ".");
  if (llvm::is_contained(components, ".."))
    return fail("it lies outside the model's folder");
  if (components.empty() || location.ends_with("/"))
    return fail("its location names no file");
  FailureOr<uint64_t> size = openWithin(folder, components, fail);
  if (failed(size))
    return failure();
  ExternalFile file{folder + "/" + llvm::join(components, "/"), *size};
  files[location] = file;
  return file;
}

} // namespace heddle::importer
