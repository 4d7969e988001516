// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Links object files to the kernel image that artifacts hold.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_LINKIMAGE_H
#define HEDDLE_COMPILER_TARGETS_CPU_LINKIMAGE_H

#include <string>
#include <vector>

#include "compiler/targets/Target.h"
#include "llvm/Support/Error.h"

namespace heddle::cpu {

/// An object file and the kernel it holds; no name where it holds none.
struct KernelObject {
  std::string kernel;
  std::vector<char> bytes;
};

/// Names that |object| uses and doesn't define: library calls that crept in.
llvm::Expected<std::vector<std::string>> findUndefinedSymbols(const KernelObject &object);

/// Links |objects| in order to a position-independent ELF image without relocations or writable data. Deterministic.
llvm::Expected<KernelImage> linkImage(llvm::ArrayRef<KernelObject> objects);

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_LINKIMAGE_H
