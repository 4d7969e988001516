// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cache of mapped files, on LLVM's memory buffers.

#include "dialects/nn/MappedFiles.h"

using namespace heddle::nn;

llvm::ErrorOr<MappedFiles::Buffer> MappedFiles::get(llvm::StringRef path) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = buffers.find(path);
  if (found != buffers.end())
    return found->second;
  // Without the need for a terminator, any file larger than a few pages is mapped instead of read.
  auto opened = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!opened)
    return opened.getError();
  Buffer buffer = std::move(*opened);
  buffers[path] = buffer;
  return buffer;
}
