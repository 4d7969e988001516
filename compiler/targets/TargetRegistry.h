// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the word a user writes after --target to a target.

#ifndef HEDDLE_COMPILER_TARGETS_TARGETREGISTRY_H
#define HEDDLE_COMPILER_TARGETS_TARGETREGISTRY_H

#include <memory>

#include "compiler/targets/Target.h"
#include "llvm/Support/Error.h"

namespace heddle {

/// Makes a target from what follows "<kind>:" ("" where nothing does).
using TargetParser = llvm::Expected<std::unique_ptr<Target>> (*)(llvm::StringRef variant);

/// Registers |kind|; a second registration replaces the first. Not thread-safe: call it at start-up.
void registerTarget(llvm::StringRef kind, TargetParser parser);

/// The target of |spec|, such as "cpu" or "cpu:x86-64-v3". The error names what is near.
llvm::Expected<std::unique_ptr<Target>> parseTarget(llvm::StringRef spec);

/// The candidates most like |word|, best first, for "did you mean"; empty where none is near.
std::vector<std::string> findNearest(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates);

/// Ends an error text with the nearest of |candidates|: "; did you mean 'a' or 'b'?".
std::string didYouMean(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGETS_TARGETREGISTRY_H
