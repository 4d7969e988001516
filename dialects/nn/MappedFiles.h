// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files mapped into memory, each once: a model has hundreds of weights in one file.

#ifndef HEDDLE_DIALECTS_NN_MAPPEDFILES_H
#define HEDDLE_DIALECTS_NN_MAPPEDFILES_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ErrorOr.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <mutex>

namespace heddle::nn {

/// Maps files on first use and keeps them mapped for its own lifetime; a buffer handed out may outlive it. Safe to call
/// from several threads. A file must not shrink while it is mapped.
class MappedFiles {
public:
  using Buffer = std::shared_ptr<const llvm::MemoryBuffer>;

  /// The bytes of |path|, or why it can't be opened.
  llvm::ErrorOr<Buffer> get(llvm::StringRef path);

private:
  std::mutex mutex;
  llvm::StringMap<Buffer> buffers;
};

} // namespace heddle::nn

#endif // HEDDLE_DIALECTS_NN_MAPPEDFILES_H
