// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files beside the model that hold its external data. What a model names is untrusted: nothing outside its folder is
// opened, and no link is followed.

#ifndef HEDDLE_COMPILER_IMPORT_ONNX_EXTERNALFILES_H
#define HEDDLE_COMPILER_IMPORT_ONNX_EXTERNALFILES_H

#include "mlir/Support/LogicalResult.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

#include <cstdint>
#include <string>

namespace heddle::importer {

/// A file that was found fit: its path, as one opens it from the working directory, and its size.
struct ExternalFile {
  std::string path;
  uint64_t size;
};

/// Checks each location once; a model has hundreds of tensors in one file.
class ExternalFiles {
public:
  /// |folder| is the one that the model file lies in.
  explicit ExternalFiles(llvm::StringRef folder) : folder(folder.str()) {}

  /// The file at |location|, relative to the model's folder. Refused, with the reason given to |fail|: an absolute
  /// path, `..`, a symbolic link anywhere below the folder, a file with several hard links, anything but a regular
  /// file.
  mlir::FailureOr<ExternalFile> get(llvm::StringRef location,
                                    llvm::function_ref<mlir::LogicalResult(const llvm::Twine &reason)> fail);

private:
  std::string folder;
  llvm::StringMap<ExternalFile> files;
};

} // namespace heddle::importer

#endif // HEDDLE_COMPILER_IMPORT_ONNX_EXTERNALFILES_H
