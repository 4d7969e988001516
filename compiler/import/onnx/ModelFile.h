// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model file: opened, mapped, and recognised for what it is if it isn't a model.

#ifndef HEDDLE_COMPILER_IMPORT_ONNX_MODELFILE_H
#define HEDDLE_COMPILER_IMPORT_ONNX_MODELFILE_H

#include "compiler/support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <optional>

namespace heddle::importer {

/// A mapped file and its names. Moves, doesn't copy; |bytes()| lives as long as it.
class ModelFile {
public:
  /// Maps the regular file at |path|; H0511 where that fails, H0512 for an empty one.
  static mlir::FailureOr<ModelFile> open(llvm::StringRef path, ErrorList &errors);

  llvm::StringRef bytes() const { return buffer->getBuffer(); }
  /// The path as the user gave it.
  llvm::StringRef getPath() const { return path; }
  /// Its last component, for messages.
  llvm::StringRef getName() const;
  /// The folder it lies in, "." for the working directory.
  llvm::StringRef getFolder() const;

private:
  std::string path;
  std::unique_ptr<llvm::MemoryBuffer> buffer;
};

/// Whether a file that starts with |bytes| is a text that stands for a file kept elsewhere.
bool isGitLfsPointer(llvm::StringRef bytes);

/// Reports what |file| is if it is one of the things that people mistake for a model (H0512): a Git LFS pointer, an
/// archive, a checkpoint, text ... Asked once the bytes have turned out not to be a model. Success where it is unknown.
mlir::LogicalResult reportOtherFormat(const ModelFile &file, ErrorList &errors);

} // namespace heddle::importer

#endif // HEDDLE_COMPILER_IMPORT_ONNX_MODELFILE_H
