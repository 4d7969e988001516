// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Output files appear whole or not at all.

#ifndef HEDDLE_COMPILER_SUPPORT_OUTPUTFILE_H
#define HEDDLE_COMPILER_SUPPORT_OUTPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace heddle {

/// Fails if |path| is a folder, a device or a pipe: renaming would put a file in its place.
llvm::Error checkReplaceable(llvm::StringRef path);

/// Puts |text| into the file |path| by way of a temporary file beside it; on an error an older file stays as it was. A
/// device or a pipe is written as it is; "-" is standard output.
llvm::Error writeTextFile(llvm::StringRef path, llvm::StringRef text);

} // namespace heddle

#endif // HEDDLE_COMPILER_SUPPORT_OUTPUTFILE_H
